-- KEYS: head, members. ARGV: the member, the position it acknowledges, 1 if it renews its lease.
local position, tag = state(KEYS[1])
local is_member = acknowledge(KEYS[2], ARGV[1], math.min(tonumber(ARGV[2]), position), tonumber(ARGV[3]))
return is_member and {text(position), tag}
