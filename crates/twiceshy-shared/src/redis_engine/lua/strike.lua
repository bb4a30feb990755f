-- KEYS: members. ARGV: the member, how often it has renewed.
local member = redis.call('HGET', KEYS[1], ARGV[1])
if not member or string.match(member, '^%d+') ~= ARGV[2] then return 0 end
return redis.call('HDEL', KEYS[1], ARGV[1])
