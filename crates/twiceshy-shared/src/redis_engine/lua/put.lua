-- Writes a value, and notes the key if it had none.
local function put(values, valued, key, value)
  if redis.call('HSET', values, key, value) == 1 then redis.call('ZADD', valued, '0', key) end
end

