-- Time stamps with running totals, oldest first, 14 bytes each: numbers are the amount, the window and how many admissions
-- share a stamp. A state is the stamps' bytes, how many there are, and what is known of those that were dropped.
local sliding_log = {}
local STAMP = 14

local function at_of(state, index)
  return (read('<I7', state.stamps, index * STAMP + 1))
end

-- All units up to the stamp before that one.
local function total_before(state, index)
  if index == 0 then
    return state.forgotten
  end
  return (read('<I7', state.stamps, index * STAMP - 6))
end

-- The first stamp from which a condition holds; it never holds before one for which it does not.
local function first_where(state, holds)
  local low, high = 0, state.len
  while low < high do
    local middle = floor((low + high) / 2)
    if holds(middle) then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end

-- The first stamp that counts, and the units from there on.
local function counting(limit, state, now)
  if not state or state.len == 0 then
    return nil, 0
  end
  local last = at_of(state, state.len - 1)
  if last > now + STANDSTILL then
    return nil, 0
  end
  local horizon = max(now, last) - limit[2]
  local first = first_where(state, function(index)
    return at_of(state, index) > horizon
  end)
  return first, total_before(state, state.len) - total_before(state, first)
end

-- The log without what no longer counts.
local function remembered(limit, state, now)
  local first, used = counting(limit, state, now)
  if used == 0 then
    return { form = 4, stamps = '', len = 0, forgotten = 0, forgotten_at = 0, window = limit[2] }
  end
  local left = { form = 4, stamps = state.stamps, len = state.len, forgotten = state.forgotten,
    forgotten_at = state.forgotten_at, window = limit[2] }
  if first > 0 then
    left.forgotten, left.forgotten_at = total_before(state, first), at_of(state, first - 1)
    left.stamps, left.len = string.sub(state.stamps, first * STAMP + 1), state.len - first
  end
  return left
end

-- The stamps from a place on, with their totals changed by so much.
local function shifted(state, from, by)
  local moved = {}
  for index = from, state.len - 1 do
    moved[#moved + 1] = pack('<I7I7', at_of(state, index), total_before(state, index + 1) - by)
  end
  return table.concat(moved)
end

local function rebased(state)
  if state.forgotten > MOST / 2 then
    state.stamps, state.forgotten = shifted(state, 0, state.forgotten), 0
  end
  return state
end

function sliding_log.judge(limit, state, now, cost)
  if cost > limit[1] then
    return false, 4, 0
  end
  local first, used = counting(limit, state, now)
  if not first or used + cost <= limit[1] then
    return true, 0, 0
  end
  local must_leave = total_before(state, first) + (used + cost - limit[1])
  local leaves = first_where(state, function(index)
    return total_before(state, index + 1) >= must_leave
  end)
  return false, 2, max(at_of(state, leaves) + limit[2] - now, 0)
end

function sliding_log.charge(limit, state, now, cost)
  local left = rebased(remembered(limit, state, now))
  local last = left.len > 0 and at_of(left, left.len - 1) or 0
  local at = max(now, last)
  if left.len == 0 then
    left.forgotten_at = max(at - 1, 0)
  end
  local total = total_before(left, left.len)
  if left.len > 0 and (last == at or total - total_before(left, left.len - 1) < limit[3]) then
    left.stamps, left.len = string.sub(left.stamps, 1, (left.len - 1) * STAMP), left.len - 1
  end
  left.stamps, left.len = left.stamps .. pack('<I7I7', at, added(total, cost)), left.len + 1
  return left, at
end

function sliding_log.refund(limit, state, now, units, charged_at)
  local left = remembered(limit, state, now)
  local charged = min(charged_at, left.len > 0 and at_of(left, left.len - 1) or 0)
  if charged <= left.forgotten_at then
    return left.len > 0 and left or nil
  end
  local index = first_where(left, function(place)
    return at_of(left, place) >= charged
  end)
  while units > 0 and index < left.len do
    local there = total_before(left, index + 1) - total_before(left, index)
    local taken = min(units, there)
    units = units - taken
    local from = index
    if taken == there then
      from = index + 1
    end
    local before, behind = string.sub(left.stamps, 1, index * STAMP), shifted(left, from, taken)
    left.stamps, left.len = before .. behind, left.len - (from - index)
    if from == index then
      index = index + 1
    end
  end
  return left.len > 0 and left or nil
end

function sliding_log.standing(limit, state, now)
  local first, used = counting(limit, state, now)
  if not first or used == 0 then
    return 0, 0
  end
  return used, at_of(state, state.len - 1) + limit[2]
end
