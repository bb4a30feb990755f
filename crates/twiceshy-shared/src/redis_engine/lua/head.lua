-- The head and the cut of a shard. Positions are numbers, which are exact up to 2^53; tags are text.
local function state(key)
  local found = redis.call('HMGET', key, 'position', 'tag', 'cut', 'cut_tag')
  return tonumber(found[1] or '0'), found[2] or '0', tonumber(found[3] or '0'), found[4] or '0'
end

local function text(number)
  return string.format('%.0f', number)
end

-- The tag of a record; false if the log does not have it.
local function tag_at(log, position)
  local id = text(position) .. '-0'
  local entry = redis.call('XRANGE', log, id, id)[1]
  return entry and entry[2][2]
end

