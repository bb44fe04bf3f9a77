-- Notes with an end, under one key: 1 writes one if none that lasts is there, 2 writes it in any case, 3 drops it. Answers T and
-- the note that is there, V if it is of a version that this one does not know, or A.
local VERSION = 1
local op, now, slack, term, at = struct.unpack('<Bddd', ARGV[1])
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
if op == 3 then
  redis.call('DEL', KEYS[1])
  return 'A'
end
local known = op == 1 and redis.call('GET', KEYS[1])
if known then
  local version, stop = struct.unpack('<Bd', known)
  if version ~= VERSION then
    return 'V'
  elseif stop > now then
    return 'T' .. known
  end
end
local stop = math.min(now + term, 9007199254740991)
local last = math.max(math.floor((stop - now + 999) / 1000), 1) + slack
redis.call('SET', KEYS[1], struct.pack('<Bd', VERSION, stop) .. string.sub(ARGV[1], at), 'PX', string.format('%.0f', last))
return 'A'
