-- KEYS: head, index. ARGV: pairs of bounds.
local position, tag = state(KEYS[1])
local found = {text(position), tag}
for i = 1, #ARGV, 2 do
  found[#found + 1] = redis.call('ZRANGE', KEYS[2], ARGV[i], ARGV[i + 1], 'BYLEX')
end
return found
