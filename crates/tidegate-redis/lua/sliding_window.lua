-- Counts per part of the window, the newest first, the oldest weighted: numbers are the amount, the length of a part, and how
-- many there are.
local sliding_window = {}

-- The part that holds an instant, and by how many parts the counts are behind; no counts if they are not of this window.
local function seen(limit, state, now)
  local part = limit[2]
  if state and not (#state.counts == limit[3] + 1 and state.start % part == 0 and state.start <= now + STANDSTILL) then
    state = nil
  end
  if state then
    now = max(now, state.start)
  end
  local start = now - now % part
  return state and state.counts or {}, state and (start - state.start) / part or 0, start, now
end

local function count(counts, shift, age)
  return age >= shift and counts[age - shift + 1] or 0
end

local function sum(counts, shift, ages)
  local total = 0
  for age = 0, ages - 1 do
    total = total + count(counts, shift, age)
  end
  return total
end

local function used_of(limit, counts, shift, start, now)
  local part, parts = limit[2], limit[3]
  local oldest = count(counts, shift, parts)
  return sum(counts, shift, parts) + rounded_up(oldest, part - (now - start), part)
end

local function emptied(limit, counts, shift, start, now)
  for age = 0, limit[3] do
    if count(counts, shift, age) > 0 then
      return min(start + (limit[3] + 1 - age) * limit[2], LAST)
    end
  end
  return now
end

-- The first instant at which a cost fits: with each step ahead one more part has left, and the next one fades.
local function passes_at(limit, counts, shift, start, now, cost)
  local part, parts = limit[2], limit[3]
  for gone = 0, parts do
    local room = limit[1] - sum(counts, shift, parts - gone) - cost
    if room >= 0 then
      local fading = max(count(counts, shift, parts - gone), 1)
      return start + gone * part + max(part - divided(room, part, fading), 0)
    end
  end
  return emptied(limit, counts, shift, start, now)
end

-- The counts, moved to the part that holds an instant.
local function brought_up(limit, state, now)
  local counts, shift, start = seen(limit, state, now)
  local moved = {}
  for age = 0, limit[3] do
    moved[age + 1] = count(counts, shift, age)
  end
  return { form = 3, start = start, part = limit[2], counts = moved }
end

function sliding_window.judge(limit, state, now, cost)
  if cost > limit[1] then
    return false, 4, 0
  end
  local counts, shift, start, at = seen(limit, state, now)
  if used_of(limit, counts, shift, start, at) + cost > limit[1] then
    return false, 2, max(passes_at(limit, counts, shift, start, at, cost) - now, 0)
  end
  return true, 0, 0
end

function sliding_window.charge(limit, state, now, cost)
  local moved = brought_up(limit, state, now)
  moved.counts[1] = added(moved.counts[1], cost)
  return moved, max(now, moved.start)
end

function sliding_window.refund(limit, state, now, units, charged_at)
  local moved = brought_up(limit, state, now)
  local age = rounded_up(moved.start - min(charged_at, moved.start), 1, limit[2])
  local there = moved.counts[age + 1]
  if there then
    moved.counts[age + 1] = max(there - units, 0)
  end
  return moved
end

function sliding_window.standing(limit, state, now)
  local counts, shift, start, at = seen(limit, state, now)
  local used = used_of(limit, counts, shift, start, at)
  if used == 0 then
    return 0, 0
  end
  return used, emptied(limit, counts, shift, start, at)
end
