-- The keys of an announcement: after its member, 8 bytes, each with its length.
local function keys_of(body)
  local keys, at = {}, 9
  while at <= #body do
    local len = struct.unpack('<I4', body, at)
    keys[#keys + 1] = string.sub(body, at + 4, at + 3 + len)
    at = at + 4 + len
  end
  return keys
end

-- Counts the open announcements of each key.
local function count(announced, body, by)
  for _, key in ipairs(keys_of(body)) do
    if redis.call('HINCRBY', announced, key, by) <= 0 then redis.call('HDEL', announced, key) end
  end
end

