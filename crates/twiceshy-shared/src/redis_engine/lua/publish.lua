-- KEYS: snapshots, the parts of one. ARGV: its number, how many parts it has, its description.
if redis.call('HLEN', KEYS[2]) ~= tonumber(ARGV[2]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('PERSIST', KEYS[2])
return 1
