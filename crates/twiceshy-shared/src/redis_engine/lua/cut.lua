-- KEYS: head, log, snapshots, then the parts of old snapshots. ARGV: the position, then the numbers of those snapshots.
local LOG = KEYS[2]
local position, tag, cut = state(KEYS[1])
local up_to = math.min(tonumber(ARGV[1]), position)
if up_to > cut then
  local known = tag_at(LOG, up_to)
  if not known then return redis.error_reply('ERR the log has a gap') end
  redis.call('HSET', KEYS[1], 'cut', text(up_to), 'cut_tag', known)
  redis.call('XTRIM', LOG, 'MINID', text(up_to + 1) .. '-0')
end
for i = 2, #ARGV do
  redis.call('HDEL', KEYS[3], ARGV[i])
  redis.call('UNLINK', KEYS[i + 2])
end
return 1
