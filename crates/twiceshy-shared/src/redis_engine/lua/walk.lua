-- KEYS: head, index. ARGV: two bounds, the limit.
local position, tag = state(KEYS[1])
return {text(position), tag, redis.call('ZRANGE', KEYS[2], ARGV[1], ARGV[2], 'BYLEX', 'LIMIT', '0', ARGV[3])}
