-- The common check: limits of one entity, small numbers, one group that pays if it is admitted. Key and argument number i are
-- one check. It is answered by the server's time and the value as it was, and whoever asked does the same sums again. What is not
-- common is answered by nothing, with nothing written, and the general script is asked. Every call of a function counts here.
local unpack = unpack or table.unpack
local replies, time, server = {}, nil, nil

-- Meters only, and the value has their entries and no others: all is read at once, changed in place, and written at once. True
-- if it was written, false if it was refused, nothing if it must be done entry by entry.
local function quick(key, told, value, count, now, slack)
  local layout, asked
  if count == 4 then
    layout = '<BBI4BI3I7I2I5I4BI3I7I2I5I4BI3I7I2I5I4BI3I7I2I5'
    asked = { read('<I4I3I3I2I5BI4I3I3I2I5BI4I3I3I2I5BI4I3I3I2I5', told, 14) }
  else
    layout = '<BB' .. string.rep('I4BI3I7I2I5', count)
    asked = { read('<' .. string.rep('I4I3I3I2I5B', count), told, 14) }
  end
  local state, last = { read(layout, value) }, 0
  for number = 1, count do
    local at, ask = number * 6 - 3, number * 6 - 5
    local units, per, since, part = asked[ask + 3], asked[ask + 4], state[at + 3], state[at + 4]
    local used, expires = state[at + 2], since + state[at + 5]
    if state[at] ~= asked[ask] then
      return nil
    elseif expires <= now or since > now + STANDSTILL then
      used, since, part = 0, now, 0
    else
      if part >= units then
        since, part = since + 1, 0
      end
      local parts = (now - since) * units - part
      if parts >= EXACT then
        return nil
      elseif parts >= per then
        local drained = (parts - parts % per) / per
        if drained >= used then
          used, since, part = 0, now, 0
        else
          parts = drained * per + part
          used, part = used - drained, parts % units
          since = since + (parts - part) / units
        end
      end
    end
    used = used + asked[ask + 1]
    if used > asked[ask + 2] then
      return false
    end
    local parts = used * per + part
    local rest = parts % units
    local span = (parts - rest) / units
    if rest > 0 then
      span = span + 1
    end
    state[at + 2], state[at + 3], state[at + 4], state[at + 5] = used, since, part, span
    expires = since + span
    if expires > last then
      last = expires
    end
  end
  redis.call('SET', key, pack(layout, unpack(state)), 'PX', math.floor((last - now + 999) / 1000) + slack)
  return true
end

for number = 1, #KEYS do
  local key, told = KEYS[number], ARGV[number]
  local value = redis.call('GET', key) or ''
  local now, slack, meters = read('<dI4B', told)
  if now == 0 then
    if not time then
      time = redis.call('TIME')
      server = time[1] * 1000000 + time[2]
    end
    now = server
  end
  local small, done = true, nil
  if #value > 0 then
    local version, flags = string.byte(value, 1, 2)
    small = version == 1 and flags == 1
    if small and meters > 0 and #value == 2 + meters * ENTRY then
      done = quick(key, told, value, meters, now, slack)
    end
  end
  if small and done == nil then
    done = merged()(key, told, value, now, slack)
  end
  if done == nil then
    replies[number] = false
  elseif time then
    replies[number] = { value, time[1], time[2] }
  else
    replies[number] = { value }
  end
end
return replies
