-- KEYS: the parts of a snapshot. ARGV: a part's number, its bytes, how many seconds an unfinished snapshot is kept.
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return redis.call('EXPIRE', KEYS[1], ARGV[3])
