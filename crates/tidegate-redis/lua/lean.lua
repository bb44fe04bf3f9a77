-- The common check: small numbers, one group that pays if it is admitted, limits in few values. Key and argument number i are one
-- value and the charges in it, which are those of the one before if the argument is empty; a check is one of them, or several one
-- after another. It is answered by the server's time and the
-- values as they were, and whoever asked does the same sums again. What is not common is answered by nothing, with nothing written,
-- and the general script is asked.
--
-- Every call of a function counts here, every number that goes in or out of bytes, and every table, most of all in the answer: one
-- value is answered by one string, and several by one table of values with the time behind them.

-- So many counters, all read at once and written at once. A name is an entry's id with its kind above it: 1 a meter, 3 a fixed
-- window, 5 a sliding one, which has the count of the window before it in the lower 24 bits of the last two fields.
local STATES = '<I2I5I3I7I2I5I5I3I7I2I5I5I3I7I2I5I5I3I7I2I5'
local SECOND_KIND, FIFTH_KIND = 8589934592, 21474836480
-- The version of values, and that all entries are small. Above that stands the grain that the value's end was rounded up to, if it was:
-- the key then lasts at least until the first whole grain after all that is in it has expired, and a new value that expires
-- before that is written in the old one's place, with its end as it is. Grains are powers of two, from a second on.
local HEAD, GRAIN, MOST_GRAINS, SECOND = 257, 512, 16384, 1048576
-- How much longer a key lasts, because its end is counted from when the call began.
local MARGIN = 8000

local told_by, read, pack, call = cmsgpack.unpack, struct.unpack, struct.pack, redis.call
local keys, arguments = KEYS, ARGV
local places, replies, time, server = #keys, nil, nil, nil
if places > 1 then
  replies = {}
end
-- Of a check of several values: the first of them, whether it is admitted so far, and what is to be written.
local first, so_far, texts, terms = 1, true, nil, nil
local number = 1
while number <= places do
  local told = arguments[number]
  local given, slack, more, count, own1, cost1, most1, units1, per1, own2, cost2, most2, units2, per2, own3, cost3, most3, units3,
    per3, own4, cost4, most4, units4, per4 = told_by(told)
  -- And the next ones, of which nothing is told: they are charged like this one.
  repeat
    local key = keys[number]
    local value = call('GET', key) or ''
    local now = given
    if now == 0 then
      if not time then
        time = call('TIME')
        server = time[1] * 1000000 + time[2]
      end
      now = server
    end
    -- True if it is admitted, false if it is refused, nothing if it is not common; and the new value and when all of it expires.
    local done, text, last, bytes = nil, nil, 0, #value
    -- When all of the old value expires, and whether the key lasts long enough for the new one.
    local before, lasts = 0, false

    -- Up to four charges, and the value has their entries and no others, or none.
    if count < 5 and (bytes == 0 or bytes == 2 + count * 22) then
      local layout = count == 4 and STATES or string.sub(STATES, 1, 3 + count * 10)
      local head, id1, id2, id3, id4 = HEAD, own1, own2, own3, own4
      local used1, since1, part1, span1, used2, since2, part2, span2, used3, since3, part3, span3, used4, since4, part4, span4
      if bytes > 0 then
        head, id1, used1, since1, part1, span1, id2, used2, since2, part2, span2, id3, used3, since3, part3, span3,
          id4, used4, since4, part4, span4 = read(layout, value)
      else
        used1, since1, part1, span1, used2, since2, part2, span2 = 0, 0, 0, 0, 0, 0, 0, 0
        used3, since3, part3, span3, used4, since4, part4, span4 = 0, 0, 0, 0, 0, 0, 0, 0
      end
      local grains = head - HEAD
      if grains % GRAIN == 0 and grains < MOST_GRAINS and id1 == own1 and (count < 2 or id2 == own2) and (count < 3 or id3 == own3)
        and (count < 4 or id4 == own4) then
        done = true
        -- CHARGES
        if done then
          if grains > 0 then
            local grain = 2 ^ (19 + grains / GRAIN)
            lasts = last < before + grain - before % grain
          end
          if not lasts then
            local grain = SECOND
            grains = GRAIN
            while grain * 8 <= last - now do
              grain, grains = grain * 2, grains + GRAIN
            end
            last = last + grain - last % grain + MARGIN
          end
          text = pack(layout, HEAD + grains, id1, used1, since1, part1, span1, id2, used2, since2, part2, span2, id3, used3, since3,
            part3, span3, id4, used4, since4, part4, span4)
        end
      end
    end

    local version, flags = 1, 1
    if done == nil and bytes > 0 then
      version, flags = read('<BB', value)
    end
    if done == nil and version == 1 and flags % 2 == 1 and flags < 64 then
      -- MERGE
      done, text, last = merged(told, value, now)
    end
    local term
    if done and not lasts then
      term = last - now + 999
      term = string.format('%d', (term - term % 1000) / 1000 + slack)
    end
    if more == 0 and number == first then
      if lasts then
        -- Servers that keep short values beside their keys would no longer do so.
        if bytes > 64 then
          call('SETRANGE', key, '0', text)
        else
          call('SET', key, text, 'KEEPTTL')
        end
      elseif done then
        call('PSETEX', key, term, text)
      elseif done == nil then
        value = false
      end
      first = number + 1
    else
      if number == first then
        so_far, texts, terms = true, {}, {}
      end
      texts[number], terms[number] = text, term
      if so_far or done == nil then
        so_far = done
      end
      if more == 0 then
        for place = first, number do
          if so_far and terms[place] then
            call('PSETEX', keys[place], terms[place], texts[place])
          elseif so_far then
            call('SET', keys[place], texts[place], 'KEEPTTL')
          elseif so_far == nil then
            replies[place], value = false, false
          end
        end
        first = number + 1
      end
    end
    if replies then
      replies[number] = value
    elseif value and time then
      return time[1] .. ' ' .. time[2] .. ' ' .. value
    else
      return value
    end
    number = number + 1
  until arguments[number] ~= ''
end
if time then
  replies[places + 1] = server
end
return replies
