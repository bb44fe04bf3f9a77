-- The common check: limits of one entity, small numbers, one group that pays if it is admitted. Key and argument number i are
-- one check. It is answered by the server's time and the value as it was, and whoever asked does the same sums again. What is not
-- common is answered by nothing, with nothing written, and the general script is asked. Every call of a function counts here. Functions
-- that use nothing from outside are cheap to make, and tables are not.

-- A meter after a charge: its units, its mark and the time in which they drain. False if it is refused, nothing if its sums are
-- too large.
local function metered(used, since, part, span, cost, capacity, units, per, now)
  if since + span <= now or since > now + 1000000 then
    used, since, part = 0, now, 0
  else
    if part >= units then
      since, part = since + 1, 0
    end
    local parts = (now - since) * units - part
    if parts >= per then
      if parts >= 9007199254740992 then
        return nil
      end
      local drained = (parts - parts % per) / per
      if drained >= used then
        used, since, part = 0, now, 0
      elseif units == 1 then
        used, since = used - drained, since + drained * per
      else
        parts = drained * per + part
        used, part = used - drained, parts % units
        since = since + (parts - part) / units
      end
    end
  end
  used = used + cost
  if used > capacity then
    return false
  end
  span = used * per
  if units > 1 then
    span = span + part
    local rest = span % units
    span = (span - rest) / units
    if rest > 0 then
      span = span + 1
    end
  end
  return used, since, part, span
end

-- So many meters, all read at once and written at once.
local STATES = '<BBI4BI3I7I2I5I4BI3I7I2I5I4BI3I7I2I5I4BI3I7I2I5'
local ASKED = '<I4I3I3I2I5BI4I3I3I2I5BI4I3I3I2I5BI4I3I3I2I5B'

local read, sub = struct.unpack, string.sub
local replies, time, server = {}, nil, nil
for number = 1, #KEYS do
  local key, told = KEYS[number], ARGV[number]
  local value = redis.call('GET', key) or ''
  local now, slack, count = read('<dI4B', told)
  if now == 0 then
    if not time then
      time = redis.call('TIME')
      server = time[1] * 1000000 + time[2]
    end
    now = server
  end
  local done, bytes = nil, #value
  local is_small = bytes == 0 or sub(value, 1, 2) == '\1\1'

  -- Up to four meters, and the value has their entries and no others, or none.
  if is_small and count > 0 and count < 5 and (bytes == 0 or bytes == 2 + count * 22) then
    local layout = count == 4 and STATES or sub(STATES, 1, 3 + count * 11)
    local own1, cost1, most1, units1, per1, _, own2, cost2, most2, units2, per2, _, own3, cost3, most3, units3, per3, _,
      own4, cost4, most4, units4, per4 = read(count == 4 and ASKED or sub(ASKED, 1, 1 + count * 11), told, 14)
    local id1, id2, id3, id4 = own1, own2, own3, own4
    local used1, since1, part1, span1, used2, since2, part2, span2 = 0, now, 0, 0, 0, now, 0, 0
    local used3, since3, part3, span3, used4, since4, part4, span4 = 0, now, 0, 0, 0, now, 0, 0
    if bytes > 0 then
      _, _, id1, _, used1, since1, part1, span1, id2, _, used2, since2, part2, span2, id3, _, used3, since3, part3, span3,
        id4, _, used4, since4, part4, span4 = read(layout, value)
    end
    if id1 == own1 and (count < 2 or id2 == own2) and (count < 3 or id3 == own3) and (count < 4 or id4 == own4) then
      local last = 0
      used1, since1, part1, span1 = metered(used1, since1, part1, span1, cost1, most1, units1, per1, now)
      done = used1
      if done then
        last = since1 + span1
      end
      if done and count > 1 then
        used2, since2, part2, span2 = metered(used2, since2, part2, span2, cost2, most2, units2, per2, now)
        done = used2
        if done and since2 + span2 > last then
          last = since2 + span2
        end
      end
      if done and count > 2 then
        used3, since3, part3, span3 = metered(used3, since3, part3, span3, cost3, most3, units3, per3, now)
        done = used3
        if done and since3 + span3 > last then
          last = since3 + span3
        end
      end
      if done and count > 3 then
        used4, since4, part4, span4 = metered(used4, since4, part4, span4, cost4, most4, units4, per4, now)
        done = used4
        if done and since4 + span4 > last then
          last = since4 + span4
        end
      end
      if done then
        local left = last - now + 999
        redis.call('SET', key, struct.pack(layout, 1, 1, id1, 1, used1, since1, part1, span1, id2, 1, used2, since2, part2,
          span2, id3, 1, used3, since3, part3, span3, id4, 1, used4, since4, part4, span4),
          'PX', math.floor(left / 1000) + slack)
      end
    end
  end

  if is_small and done == nil then
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
