-- The common check: limits of one entity, small numbers, one group that pays if it is admitted. Key and argument number i are
-- one check. It is answered by the server's time and the value as it was, and whoever asked does the same sums again. What is not
-- common is answered by nothing, with nothing written, and the general script is asked.
--
-- Every call of a function counts here, every number that goes in or out of bytes, and every table, most of all in the answer: a
-- check alone is answered by one string, and several by one table of values with the time behind them.

-- So many counters, all read at once and written at once. A name is an entry's id with its kind above it: 1 a meter, 3 a fixed
-- window, 5 a sliding one, which has the count of the window before it in the lower 24 bits of the last two fields.
local STATES = '<I2I5I3I7I2I5I5I3I7I2I5I5I3I7I2I5I5I3I7I2I5'
local SECOND_KIND, FIFTH_KIND = 8589934592, 21474836480
-- The version of values, and that all entries are small.
local HEAD = 257

local told_by, read, sub, call = cmsgpack.unpack, struct.unpack, string.sub, redis.call
local checks, replies, time, server = #KEYS, nil, nil, nil
if checks > 1 then
  replies = {}
end
for number = 1, checks do
  local key, told = KEYS[number], ARGV[number]
  local value = call('GET', key) or ''
  local now, slack, count, own1, cost1, most1, units1, per1, own2, cost2, most2, units2, per2, own3, cost3, most3, units3, per3,
    own4, cost4, most4, units4, per4 = told_by(told)
  if now == 0 then
    if not time then
      time = call('TIME')
      server = time[1] * 1000000 + time[2]
    end
    now = server
  end
  -- True if it is admitted, false if it is refused, nothing if it is not common.
  local done, bytes = nil, #value

  -- Up to four charges, and the value has their entries and no others, or none.
  if count < 5 and (bytes == 0 or bytes == 2 + count * 22) then
    local layout = count == 4 and STATES or sub(STATES, 1, 3 + count * 10)
    local head, id1, id2, id3, id4 = HEAD, own1, own2, own3, own4
    local used1, since1, part1, span1, used2, since2, part2, span2 = 0, 0, 0, 0, 0, 0, 0, 0
    local used3, since3, part3, span3, used4, since4, part4, span4 = 0, 0, 0, 0, 0, 0, 0, 0
    if bytes > 0 then
      head, id1, used1, since1, part1, span1, id2, used2, since2, part2, span2, id3, used3, since3, part3, span3,
        id4, used4, since4, part4, span4 = read(layout, value)
    end
    if head == HEAD and id1 == own1 and (count < 2 or id2 == own2) and (count < 3 or id3 == own3)
      and (count < 4 or id4 == own4) then
      local last = 0
      done = true
      -- CHARGES
      if done then
        local left = last - now + 999
        call('PSETEX', key, string.format('%d', (left - left % 1000) / 1000 + slack), struct.pack(layout, HEAD, id1, used1,
          since1, part1, span1, id2, used2, since2, part2, span2, id3, used3, since3, part3, span3, id4, used4, since4, part4,
          span4))
      end
    end
  end

  if done == nil and (bytes == 0 or sub(value, 1, 2) == '\1\1') then
    -- MERGE
    done = check(key, told, value, now, slack)
  end
  if done == nil then
    value = false
  end
  if replies then
    replies[number] = value
  elseif value and time then
    return time[1] .. ' ' .. time[2] .. ' ' .. value
  else
    return value
  end
end
if time then
  replies[checks + 1] = time[1] .. ' ' .. time[2]
end
return replies
