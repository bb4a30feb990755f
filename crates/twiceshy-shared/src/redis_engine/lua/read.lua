-- KEYS: head, log. ARGV: the position and the tag after which to read, the limit in bytes.
local LOG = KEYS[2]
local position, tag, cut, cut_tag = state(KEYS[1])
local after, limit = tonumber(ARGV[1]), tonumber(ARGV[3])
if after < cut then return {'cut'} end
local known = false
if after == cut then
  known = cut_tag
elseif after <= position then
  known = tag_at(LOG, after)
end
if known ~= ARGV[2] then return {'broken'} end

local records, bytes = {'records'}, 0
while after < position do
  local entries = redis.call('XRANGE', LOG, text(after + 1) .. '-0', '+', 'COUNT', 16)
  if #entries == 0 then return {'broken'} end
  for _, entry in ipairs(entries) do
    if bytes > 0 and bytes >= limit then return records end
    local fields = entry[2]
    records[#records + 1] = entry[1]
    records[#records + 1] = fields[2]
    records[#records + 1] = fields[4]
    bytes = bytes + #fields[4]
    after = after + 1
  end
end
return records
