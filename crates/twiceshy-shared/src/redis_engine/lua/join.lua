-- KEYS: head, members. ARGV: the member.
redis.call('HSET', KEYS[2], ARGV[1], '0 ' .. text((state(KEYS[1]))))
return 1
