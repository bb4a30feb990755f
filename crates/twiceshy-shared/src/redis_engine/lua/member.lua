-- Acknowledges a position for a member, and counts a renewal. A member is 'renewals position'. False if it is none.
local function acknowledge(key, id, position, renewals)
  local member = redis.call('HGET', key, id)
  if not member then return false end
  local renewed, acknowledged = string.match(member, '^(%d+) (%d+)$')
  acknowledged = math.max(tonumber(acknowledged), position)
  redis.call('HSET', key, id, text(tonumber(renewed) + renewals) .. ' ' .. text(acknowledged))
  return true
end

