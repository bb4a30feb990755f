-- KEYS: values, valued, open, announced. ARGV: how many are closed, their numbers, then keys with their values.
local VALUES, VALUED, OPEN, ANNOUNCED = unpack(KEYS)
local last, bodies = 1 + tonumber(ARGV[1]), {}
for i = 2, last do
  bodies[ARGV[i]] = redis.call('HGET', OPEN, ARGV[i])
  if not bodies[ARGV[i]] then return 0 end
end
for id, body in pairs(bodies) do
  redis.call('HDEL', OPEN, id)
  count(ANNOUNCED, body, -1)
end
for i = last + 1, #ARGV, 2 do put(VALUES, VALUED, ARGV[i], ARGV[i + 1]) end
return 1
