-- One value of the common check, entry by entry: it may have others than those that are asked about.
local pack, read, byte, sub = struct.pack, struct.unpack, string.byte, string.sub
local EXACT, STANDSTILL, ENTRY, KINDS = 9007199254740992, 1000000, 22, 4294967296

-- Windows take a charge's numbers, the value, and an entry's place in it, 0 if it has none. They give the new entry and when it
-- expires; false if the charge is refused, nothing if it is not common. A window begins with its first hit, or is aligned.
local function fixed_window(name, cost, amount, begins, length, value, entry, now)
  local used, start, time = 0, nil, now
  if entry > 0 then
    local old_used, old_start = read('<I3I7', value, entry + 5)
    if old_start <= now + STANDSTILL then
      if time < old_start then
        time = old_start
      end
      if begins == 1 then
        start = time < old_start + length and old_start or time
      else
        start = time - time % length
      end
      used = old_start >= start and old_used or 0
    end
  end
  start = start or (begins == 1 and time or time - time % length)
  used = used + cost
  if used > amount then
    return false
  end
  return pack('<I5I3I7I7', name, used, start, length), start + length
end

local function sliding_window(name, cost, amount, length, value, entry, now)
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
  return pack('<I5I3I7I3I4', name, newest + cost, start, oldest, length), start + 2 * length
end

-- When an entry that nobody asks about expires.
local function expiry(value, entry)
  local kind = byte(value, entry + 4)
  if kind == 1 then
    local _, since, _, span = read('<I3I7I2I5', value, entry + 5)
    return since + span
  elseif kind == 3 then
    local _, start, span = read('<I3I7I7', value, entry + 5)
    return start + span
  end
  local newest, start, oldest, length = read('<I3I7I3I4', value, entry + 5)
  return newest > 0 and start + 2 * length or oldest > 0 and start + length or 0
end

-- A meter's new entry from its old one: so many units at a mark, and the time in which they drain. False if refused, nothing if
-- its sums are too large.
local function meter(name, cost, capacity, units, per, used, since, part, span, now)
  if since + span <= now or since > now + STANDSTILL then
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
  used = used + cost
  if used > capacity then
    return false
  end
  local parts = used * per + part
  local rest = parts % units
  span = (parts - rest) / units
  if rest > 0 then
    span = span + 1
  end
  return pack('<I5I3I7I2I5', name, used, since, part, span), since + span
end

-- Entries and charges are both in the order of their ids; entries that nobody asks about stay if they count. Whether it is admitted,
-- and if so the new value and when all of it expires.
local function merged(told, value, now)
  local numbers = { cmsgpack.unpack(told) }
  local text, count, last, entry, stop = '\1\1', 0, 0, 3, #value
  local name, id, cost, most, units, per, its_id, used, since, part, span, changed, expires, _
  for at = 5, #numbers + 1, 5 do
    name = numbers[at]
    id = name and name % KINDS or EXACT
    while entry < stop do
      its_id, _, used, since, part, span = read('<I4BI3I7I2I5', value, entry)
      if its_id >= id then
        break
      end
      expires = expiry(value, entry)
      if expires > now then
        text, count = text .. sub(value, entry, entry + ENTRY - 1), count + 1
        last = expires > last and expires or last
      end
      entry = entry + ENTRY
    end
    if not name then
      break
    end
    cost, most, units, per = numbers[at + 1], numbers[at + 2], numbers[at + 3], numbers[at + 4]
    local own, kind = 0, (name - id) / KINDS
    if entry < stop and its_id == id then
      own, entry = entry, entry + ENTRY
    else
      used, since, part, span = 0, now, 0, 0
    end
    if kind == 1 then
      changed, expires = meter(name, cost, most, units, per, used, since, part, span, now)
    elseif kind == 5 then
      changed, expires = sliding_window(name, cost, most, per, value, own, now)
    else
      changed, expires = fixed_window(name, cost, most, units, per, value, own, now)
    end
    if not changed then
      return changed
    end
    text, count = text .. changed, count + 1
    last = expires > last and expires or last
  end
  if count > 16 then
    return nil
  end
  return true, text, last
end
