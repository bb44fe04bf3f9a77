-- A mark on a server: written once, and lost with the counters beside it. Who finds another one knows that they were lost.
-- KEYS[1]: the mark. ARGV[1]: what it is to be if there is none. Kept for as long as somebody may remember counters beside it.
local KEEP = 3456000000
local mark = redis.call('GET', KEYS[1])
if not mark then
  mark = ARGV[1]
  redis.call('SET', KEYS[1], mark, 'PX', string.format('%.0f', KEEP))
elseif redis.call('PTTL', KEYS[1]) < KEEP / 2 then
  redis.call('PEXPIRE', KEYS[1], string.format('%.0f', KEEP))
end
return mark
