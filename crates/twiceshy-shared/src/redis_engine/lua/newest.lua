-- KEYS: head, log, snapshots. The newest snapshot of a record that the log has, or of the one before its first: another was made from
-- records that were lost.
local LOG = KEYS[2]
local position, tag, cut, cut_tag = state(KEYS[1])
local all = redis.call('HGETALL', KEYS[3])
local best, id, description = -1, false, false
for i = 1, #all, 2 do
  local at, with = string.match(all[i + 1], '^(%d+) (%d+) ')
  at = tonumber(at)
  if at > best and at >= cut and at <= position then
    local known = at == cut and cut_tag or tag_at(LOG, at)
    if known == with then best, id, description = at, all[i], all[i + 1] end
  end
end
return id and {id, description}
