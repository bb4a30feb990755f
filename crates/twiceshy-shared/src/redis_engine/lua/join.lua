-- KEYS: head, members. ARGV: the member, the tag of a shard without records.
local position = state(KEYS[1])
if position == 0 then redis.call('HSET', KEYS[1], 'position', '0', 'tag', ARGV[2], 'cut', '0', 'cut_tag', ARGV[2]) end
redis.call('HSET', KEYS[2], ARGV[1], '0 ' .. text(position))
return 1
