-- Notes that a node is there, forgets those that have not been heard of, and tells who is.
-- KEYS[1]: the hash of nodes. ARGV: the node's id, what it tells of itself, for how many milliseconds that holds.
local key, id, told, term = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local all = redis.call('HGETALL', key)
local gone, out = {}, {}
for index = 1, #all, 2 do
  local name, value = all[index], all[index + 1]
  if name ~= id then
    local at = tonumber(string.sub(value, 1, 16)) or 0
    if now - at > term then
      gone[#gone + 1] = name
    else
      out[#out + 1] = name
      out[#out + 1] = string.format('%.0f', now - at)
      out[#out + 1] = string.sub(value, 17)
    end
  end
end
if told ~= '' then
  redis.call('HSET', key, id, string.format('%016.0f', now) .. told)
  out[#out + 1] = id
  out[#out + 1] = '0'
  out[#out + 1] = told
end
for index = 1, #gone do
  redis.call('HDEL', key, gone[index])
end
if told == '' then
  redis.call('HDEL', key, id)
end
-- For long: servers that must forget something forget first what ends first.
redis.call('PEXPIRE', key, 3456000000)
return out
