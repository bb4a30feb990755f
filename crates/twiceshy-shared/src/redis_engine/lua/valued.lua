-- KEYS: values, valued. ARGV: the lower bound, the limit. False if there are not as many keys as values.
if redis.call('HLEN', KEYS[1]) ~= redis.call('ZCARD', KEYS[2]) then return false end
return redis.call('ZRANGE', KEYS[2], ARGV[1], '+', 'BYLEX', 'LIMIT', '0', ARGV[2])
