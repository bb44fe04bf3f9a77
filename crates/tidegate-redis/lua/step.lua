-- A plan over counters that are held fast: judging it group by group, and making each charge when it is due.
local charges

local function state_of(charge, now)
  return state_at(charge.place, charge.counter.id, now)
end

local function judge(charge, now)
  if charge.total == 0 then
    return true, 0, 0
  end
  local counter = charge.counter
  return algorithms[counter.kind].judge(counter.limit, state_of(charge, now), now, charge.total)
end

local function standing(charge, now)
  local counter = charge.counter
  return algorithms[counter.kind].standing(counter.limit, state_of(charge, now), now)
end

local function make_charge(charge, now, cost, ticket)
  charge.booked = now
  local counter = charge.counter
  if cost > 0 and covers(counter.kind, counter.limit, now) then
    local state, booked = algorithms[counter.kind].charge(counter.limit, state_of(charge, now), now, cost, ticket)
    charge.booked = booked
    put_state(charge.place, counter.id, state)
  end
end

-- Charges for all of its group on its counter, if it is the first of them; paid is 1 on admission, 2 on refusal.
local function pay(charge, now, units, paid, ticket)
  if charge.payer ~= charge then
    charge.paid, charge.booked = charge.payer.paid, charge.payer.booked
  elseif units > 0 or paid == 1 then
    charge.paid = paid
    make_charge(charge, now, units, ticket)
  end
end

local function pay_refused(index, charge, now, ticket, counts)
  if charge.pay == 1 then
    local used = standing(charge, now)
    pay(charge, now, min(charge.total, max(2 * charge.counter.limit[1] - used, 0)), 2, ticket)
  elseif charge.pay == 3 and counts and charge.passes then
    for before = index - charge.of, index - 1 do
      if not charges[before].passes then
        pay(charge, now, charge.total, 2, ticket)
        return
      end
    end
  end
end

-- The first group if it passes, each later one if, in addition, the first did. Whether the first passed.
local function judge_and_pay(now, ticket)
  local from, first_passed = 1, true
  while from <= #charges do
    local group, to, passes = charges[from].group, from, true
    while charges[to] and charges[to].group == group do
      local charge = charges[to]
      charge.passes, charge.code, charge.wait = judge(charge, now)
      passes, to = passes and charge.passes, to + 1
    end
    first_passed = first_passed and (group > 0 or passes)
    for index = from, to - 1 do
      local charge = charges[index]
      if not (passes and first_passed) then
        pay_refused(index, charge, now, ticket, group == 0 or first_passed)
      elseif charge.pay < 2 then
        pay(charge, now, charge.total, 1, ticket)
      end
    end
    from = to
  end
  return first_passed
end

-- The time until one unit more than now is available. An admission has no other wait.
local function next_after(charge, now, used)
  local limit = charge.counter.limit
  local cost = max(limit[1] - used, 0) + 1
  local _, _, wait = algorithms[charge.counter.kind].judge(limit, state_of(charge, now), now, cost)
  return wait
end

-- One verdict per charge on the counters as they now are. What a refusal has charged is asked once more.
local function answer(now, ticket)
  local told, delay = {}, 0
  for index, charge in ipairs(charges) do
    if charge.paid == 2 and (charge.pay == 3 or not charge.passes) then
      local _, code, wait = judge(charge, now)
      charge.code, charge.wait = code, wait
    end
    if charge.group == 0 and charge.code == 1 then
      delay = max(delay, charge.wait)
    end
    local used, reset_at = standing(charge, now)
    if charge.code == 0 then
      charge.wait = next_after(charge, now, used)
    end
    told[index] = pack('<BBddddd', charge.paid, charge.code, charge.wait, charge.counter.limit[1], used,
      max(reset_at - now, 0), charge.booked)
  end
  return pack('<c1dc16d', 'A', now, ticket, delay) .. table.concat(told)
end
