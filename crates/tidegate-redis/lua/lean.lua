-- The common check: limits of one entity, small numbers, one group that pays if it is admitted. Key and argument number i are
-- one check; it is answered by the instant and the value as it was, and whoever asked does the same sums again. What is not
-- common is answered by nothing, with nothing written, and the general script is asked.
local pack, read, byte, sub = struct.pack, struct.unpack, string.byte, string.sub
local EXACT, STANDSTILL, ENTRY, ASKED = 9007199254740992, 1000000, 22, 18

-- Each takes an entry's place in the value, 0 if it has none, and a charge's place in what is asked. It gives the new entry and
-- when it expires; false if the charge is refused, nothing if it is not common.
local function meter(value, entry, told, at, now)
  local id, _, cost, capacity, units, per = read('<I4BI3I3I2I5', told, at)
  local used, since, part = 0, now, 0
  if entry > 0 then
    local old_used, old_since, old_part, span = read('<I3I7I2I5', value, entry + 5)
    if old_since + span > now and old_since <= now + STANDSTILL then
      if old_part >= units then
        old_since, old_part = old_since + 1, 0
      end
      local drained = 0
      if now > old_since then
        local parts = (now - old_since) * units - old_part
        if parts >= EXACT then
          return nil
        elseif parts >= per then
          drained = (parts - parts % per) / per
        end
      end
      if drained < old_used then
        used, since, part = old_used - drained, old_since, old_part
        if drained > 0 then
          local parts = drained * per + part
          part = parts % units
          since = since + (parts - part) / units
        end
      end
    end
  end
  used = used + cost
  if used > capacity then
    return false
  end
  local parts = used * per + part
  local rest = parts % units
  local span = (parts - rest) / units
  if rest > 0 then
    span = span + 1
  end
  return pack('<I4BI3I7I2I5', id, 1, used, since, part, span), since + span
end

local function fixed_window(value, entry, told, at, now)
  local id, form, cost, amount, length = read('<I4BI4I4I5', told, at)
  local used, start, time = 0, nil, now
  if entry > 0 then
    local old_used, old_start = read('<I4I7', value, entry + 5)
    if old_start <= now + STANDSTILL then
      if time < old_start then
        time = old_start
      end
      if form == 4 then
        start = time < old_start + length and old_start or time
      else
        start = time - time % length
      end
      used = old_start >= start and old_used or 0
    end
  end
  start = start or (form == 4 and time or time - time % length)
  used = used + cost
  if used > amount then
    return false
  end
  return pack('<I4BI4I7I6', id, 3, used, start, length), start + length
end

local function sliding_window(value, entry, told, at, now)
  local id, _, cost, amount, length = read('<I4BI3I3I7', told, at)
  local newest, oldest, start, time = 0, 0, nil, now
  if entry > 0 then
    local old_newest, old_start, old_oldest = read('<I3I7I3', value, entry + 5)
    if old_start <= now + STANDSTILL then
      if time < old_start then
        time = old_start
      end
      start = time - time % length
      if start == old_start then
        newest, oldest = old_newest, old_oldest
      elseif start == old_start + length then
        oldest = old_newest
      end
    end
  end
  start = start or time - time % length
  local used = newest
  if oldest > 0 then
    local parts = oldest * (length - (time - start))
    if parts >= EXACT then
      return nil
    end
    local rest = parts % length
    used = used + (parts - rest) / length
    if rest > 0 then
      used = used + 1
    end
  end
  if used + cost > amount then
    return false
  end
  return pack('<I4BI3I7I3I4', id, 5, newest + cost, start, oldest, length), start + 2 * length
end

-- When an entry that nobody asks about expires.
local function expiry(value, entry)
  local kind = byte(value, entry + 4)
  if kind == 1 then
    local _, since, _, span = read('<I3I7I2I5', value, entry + 5)
    return since + span
  elseif kind == 3 then
    local _, start, span = read('<I4I7I6', value, entry + 5)
    return start + span
  end
  local newest, start, oldest, length = read('<I3I7I3I4', value, entry + 5)
  return newest > 0 and start + 2 * length or oldest > 0 and start + length or 0
end

-- One check. Entries and charges are both in the order of their ids.
local function check(key, told, value, now, slack)
  local entry, entries, count, last = 3, {}, 0, 0
  local stop, next_id = value and #value or 0, nil
  if stop >= entry then
    next_id = read('<I4', value, entry)
  end
  for at = 13, #told, ASKED do
    local id, kind = read('<I4B', told, at)
    while next_id and next_id < id do
      local expires = expiry(value, entry)
      if expires > now then
        count = count + 1
        entries[count], last = sub(value, entry, entry + ENTRY - 1), expires > last and expires or last
      end
      entry = entry + ENTRY
      next_id = entry < stop and read('<I4', value, entry) or nil
    end
    local own = 0
    if next_id == id then
      own, entry = entry, entry + ENTRY
      next_id = entry < stop and read('<I4', value, entry) or nil
    end
    local changed, expires
    if kind == 1 then
      changed, expires = meter(value, own, told, at, now)
    elseif kind == 5 then
      changed, expires = sliding_window(value, own, told, at, now)
    else
      changed, expires = fixed_window(value, own, told, at, now)
    end
    if not changed then
      return changed
    end
    count = count + 1
    entries[count], last = changed, expires > last and expires or last
  end
  while next_id do
    local expires = expiry(value, entry)
    if expires > now then
      count = count + 1
      entries[count], last = sub(value, entry, entry + ENTRY - 1), expires > last and expires or last
    end
    entry = entry + ENTRY
    next_id = entry < stop and read('<I4', value, entry) or nil
  end
  if count > 16 then
    return nil
  end
  local left = last - now + 999
  left = (left - left % 1000) / 1000 + slack
  redis.call('SET', key, '\1\1' .. table.concat(entries), 'PX', string.format('%.0f', left))
  return true
end

local replies, server = {}, nil
for number = 1, #KEYS do
  local told, value = ARGV[number], redis.call('GET', KEYS[number])
  local now, slack = read('<dI4', told)
  if now == 0 then
    if not server then
      local time = redis.call('TIME')
      server = time[1] * 1000000 + time[2]
    end
    now = server
  end
  local answer = ''
  if not value or (byte(value, 1) == 1 and byte(value, 2) == 1) then
    if check(KEYS[number], told, value, now, slack) ~= nil then
      answer = pack('<d', now) .. (value or '')
    end
  end
  replies[number] = answer
end
return replies
