-- Slots by their ends, the first to end first, 30 bytes each: end, units, ticket. Numbers are how many there are and how long
-- each lasts. A state is their bytes, and the latest instant that something was booked at.
local concurrency = {}
local SLOT = 30

local function slot(state, index)
  return read('<I7I7', state.slots, index * SLOT + 1)
end

local function ticket_of(state, index)
  return string.sub(state.slots, index * SLOT + 15, (index + 1) * SLOT)
end

local function slots_in(state)
  return #state.slots / SLOT
end

-- How many have ended; all of them if the clock stepped back too far.
local function ended(state, now)
  if state.stamp > now + STANDSTILL then
    return slots_in(state)
  end
  local index = 0
  while index < slots_in(state) and slot(state, index) <= now do
    index = index + 1
  end
  return index
end

local function inside(state, from)
  local held = 0
  for index = from, slots_in(state) - 1 do
    local _, units = slot(state, index)
    held = added(held, units)
  end
  return held
end

-- The slots without those that have ended.
local function remaining_slots(state, now)
  if state then
    local slots = string.sub(state.slots, ended(state, now) * SLOT + 1)
    if #slots > 0 then
      return { form = 5, slots = slots, stamp = state.stamp }
    end
  end
  return { form = 5, slots = '', stamp = 0 }
end

-- Takes the slot of a ticket out; its end and its units, if there is one.
local function taken_out(state, ticket)
  for index = 0, slots_in(state) - 1 do
    if ticket_of(state, index) == ticket then
      local stop, units = slot(state, index)
      state.slots = string.sub(state.slots, 1, index * SLOT) .. string.sub(state.slots, (index + 1) * SLOT + 1)
      return stop, units
    end
  end
end

local function put_in(state, stop, units, ticket)
  local place = slots_in(state)
  while place > 0 and slot(state, place - 1) > stop do
    place = place - 1
  end
  local before, behind = string.sub(state.slots, 1, place * SLOT), string.sub(state.slots, place * SLOT + 1)
  state.slots = before .. pack('<I7I7', stop, units) .. ticket .. behind
end

local function unless_empty(state)
  return #state.slots > 0 and state or nil
end

function concurrency.judge(limit, state, now, cost)
  if cost > limit[1] then
    return false, 4, 0
  end
  local index = state and ended(state, now)
  local excess = (state and inside(state, index) or 0) + cost - limit[1]
  if excess <= 0 then
    return true, 0, 0
  end
  local stop, units, gone = 0, 0, 0
  while gone < excess and index < slots_in(state) do
    stop, units = slot(state, index)
    gone, index = added(gone, units), index + 1
  end
  return false, 3, max(stop - now, 0)
end

function concurrency.charge(limit, state, now, cost, ticket)
  local left = remaining_slots(state, now)
  left.stamp = max(left.stamp, now)
  local stop, units = taken_out(left, ticket)
  put_in(left, max(stop or 0, min(left.stamp + limit[2], LAST)), added(units or 0, cost), ticket)
  return left, left.stamp
end

function concurrency.refund(_, state, now, units)
  local left = remaining_slots(state, now)
  local kept = {}
  for index = 0, slots_in(left) - 1 do
    local stop, held = slot(left, index)
    local given = min(units, held)
    units = units - given
    if held > given then
      kept[#kept + 1] = pack('<I7I7', stop, held - given) .. ticket_of(left, index)
    end
  end
  left.slots = table.concat(kept)
  return unless_empty(left)
end

function concurrency.release(_, state, now, ticket)
  local left = remaining_slots(state, now)
  local _, units = taken_out(left, ticket)
  return unless_empty(left), units or 0
end

function concurrency.renew(limit, state, now, ticket)
  local left = remaining_slots(state, now)
  local stop, units = taken_out(left, ticket)
  if stop then
    left.stamp = max(left.stamp, now)
    stop = max(stop, min(now + limit[2], LAST))
    put_in(left, stop, units, ticket)
  end
  return unless_empty(left), stop
end

function concurrency.standing(_, state, now)
  local first = state and ended(state, now)
  if not state or first == slots_in(state) then
    return 0, 0
  end
  return inside(state, first), (slot(state, slots_in(state) - 1))
end
