-- KEYS: head, log, index, values, valued, open, announced, members.
-- ARGV: the position and the tag of the head, the new tag, the record, the member that has applied it or '', the channel, the shard, and
-- lists, each after its length: close, unopened, rowless, remove, add, open (number, body), values (flag, key, value).
local HEAD, LOG, INDEX, VALUES, VALUED, OPEN, ANNOUNCED, MEMBERS = unpack(KEYS)
local position, tag = state(HEAD)
if text(position) ~= ARGV[1] or tag ~= ARGV[2] then return {'moved'} end

local at = 8
local function list(width)
  local first = at + 1
  at = first + width * tonumber(ARGV[at])
  return first, at - 1
end

local closing, fewer = {}, {}
local first, last = list(1)
for i = first, last do
  local id = ARGV[i]
  if not closing[id] then
    local body = redis.call('HGET', OPEN, id)
    if not body then return {'closed'} end
    closing[id] = body
    for _, key in ipairs(keys_of(body)) do fewer[key] = (fewer[key] or 0) + 1 end
  end
end

local busy = {'busy'}
first, last = list(1)
for i = first, last do
  local open = tonumber(redis.call('HGET', ANNOUNCED, ARGV[i]) or '0')
  if open > (fewer[ARGV[i]] or 0) then busy[#busy + 1] = ARGV[i] end
end
first, last = list(1)
for i = first, last do
  if redis.call('HEXISTS', VALUES, ARGV[i]) == 1 then busy[#busy + 1] = ARGV[i] end
end
if #busy > 1 then return busy end

-- From here on everything is done.
position = position + 1
redis.call('XADD', LOG, text(position) .. '-0', 't', ARGV[3], 'r', ARGV[4])
redis.call('HSET', HEAD, 'position', text(position), 'tag', ARGV[3])
first, last = list(1)
for i = first, last do redis.call('ZREM', INDEX, ARGV[i]) end
first, last = list(1)
for i = first, last do redis.call('ZADD', INDEX, '0', ARGV[i]) end
for id, body in pairs(closing) do
  redis.call('HDEL', OPEN, id)
  count(ANNOUNCED, body, -1)
end
first, last = list(2)
for i = first, last, 2 do
  local before = redis.call('HGET', OPEN, ARGV[i])
  if before then count(ANNOUNCED, before, -1) end
  redis.call('HSET', OPEN, ARGV[i], ARGV[i + 1])
  count(ANNOUNCED, ARGV[i + 1], 1)
end
local done = {'done'}
first, last = list(3)
for i = first, last, 3 do
  local key = ARGV[i + 1]
  if ARGV[i] == '1' then
    put(VALUES, VALUED, key, ARGV[i + 2])
  elseif redis.call('HDEL', VALUES, key) == 1 then
    redis.call('ZREM', VALUED, key)
    done[#done + 1] = key
  end
end
if ARGV[5] ~= '' then acknowledge(MEMBERS, ARGV[5], position, 0) end
-- Who may not publish can still append: others ask from time to time.
redis.pcall('PUBLISH', ARGV[6], ARGV[7] .. ' ' .. text(position))
return done
