-- Every way of a plan in one call: what it is told is one argument, and all keys that it names are declared.
local told = ARGV[1]
local op, now, slack, ticket, hold, at = read('<Bddc16c16', told)
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end

local places, counters, many = {}, {}, 0
local record_key, index_key, name_key, keep, print_of, has_asked, asked, whole_print, key

many, at = read('<B', told, at)
for number = 1, many do
  local place = { number = number, keys = {} }
  local levels, loans
  place.type, key, levels, loans, at = read('<BBBB', told, at)
  for level = 0, levels do
    place.keys[level + 1] = KEYS[key + level]
  end
  place.loans_key = loans > 0 and KEYS[loans] or nil
  places[number] = place
end
many, at = read('<B', told, at)
for number = 1, many do
  local counter, a, b, c, d, e = {}, 0, 0, 0, 0, 0
  counter.place, counter.id, counter.kind, a, b, c, d, e, at = read('<BI4Bddddd', told, at)
  counter.limit = { a, b, c, d, e }
  counters[number] = counter
end
many, at = read('<B', told, at)
charges = {}
for number = 1, many do
  local charge, payer = { paid = 0, code = 0, wait = 0, booked = now, passes = true }, 0
  charge.counter, charge.group, charge.pay, charge.of, charge.cost, charge.total, payer, at = read('<BBBBddB', told, at)
  charge.counter = counters[charge.counter]
  charge.place = places[charge.counter.place]
  charges[number] = charge
  charge.payer = charges[payer]
end
name_key, keep, print_of, has_asked, asked, record_key, index_key, whole_print, at = read('<Bdc8Bc8BBc8', told, at)
name_key, record_key, index_key = KEYS[name_key], KEYS[record_key], KEYS[index_key]

-- Whether all calendars hold this instant, for the ways that need it.
if op <= 3 or op == 7 or op == 9 then
  for _, charge in ipairs(charges) do
    if not covers(charge.counter.kind, charge.counter.limit, now) then
      return 'R'
    end
  end
end

-- An admission that is remembered under the plan's name, or why it cannot be given again.
if name_key and (op == 1 or op == 3) then
  local known = redis.call('GET', name_key)
  if known then
    local version, until_at, its_print, its_has_asked, its_asked, from = read('<Bdc8Bc8', known)
    if not is_known(version) then
      return ask
    elseif until_at > now then
      if its_print == print_of then
        return 'P' .. string.sub(known, from)
      elseif has_asked == 1 and its_has_asked == 1 and asked == its_asked then
        return 'Q' .. string.sub(known, from)
      end
      return 'C'
    end
  end
end

-- Reservations, as they stand.
local function lasting_note(note_key)
  local note = note_key and redis.call('GET', note_key)
  if note then
    local version, stop = read('<Bd', note)
    return is_known(version) and stop > now and note
  end
end
-- Whether what a ticket holds is what it is thought to hold. A record without a fingerprint is of a node that writes none.
local function is_meant(note)
  local behind = 10 + 9 * #charges
  return #note == behind or #note == behind + 8 and string.sub(note, behind + 1) == whole_print
end
local record = lasting_note(record_key)
local taken = op == 3 and (record or lasting_note(index_key))
if ask then
  return ask
elseif taken then
  return 'T'
elseif op == 4 and not (record and is_meant(record)) then
  return 'G'
end

for _, place in ipairs(places) do
  load_place(place, now)
end
for _, charge in ipairs(charges) do
  state_of(charge, now)
end
if ask then
  return ask
end

local writes, reply = {}, nil

if op == 1 or op == 3 then
  local passed = judge_and_pay(now, ticket)
  reply = answer(now, ticket)
  if passed and name_key then
    local known = pack('<Bdc8Bc8', VERSION, now + keep, print_of, has_asked, asked) .. reply
    writes[#writes + 1] = { name_key, known, now + keep }
  end
  if passed and op == 3 then
    local term, gives_back
    term, gives_back, at = read('<dB', told, at)
    local stop = min(now + term, LAST)
    local held = { pack('<BdB', VERSION, stop, gives_back) }
    for index, charge in ipairs(charges) do
      held[index + 1] = pack('<Bd', charge.paid, charge.booked)
      if gives_back == 1 and charge.paid == 1 and (charge.cost > 0 or charge.counter.kind == 5) then
        lend(charge.place, loan_of(stop, hold, ticket, charge.counter, charge.cost, charge.booked))
      end
    end
    held[#held + 1] = whole_print
    writes[#writes + 1] = { record_key, table.concat(held), stop }
    if index_key then
      writes[#writes + 1] = { index_key, pack('<Bd', VERSION, stop) .. string.sub(told, at), stop }
    end
  end
elseif op == 2 then
  for _, charge in ipairs(charges) do
    charge.passes, charge.code, charge.wait = judge(charge, now)
  end
  reply = answer(now, ticket)
elseif op == 4 then
  -- 0 settles at nothing, 1 at costs, 2 at what was paid.
  local truth, costs
  truth, costs, at = read('<BB', told, at)
  if truth == 1 and costs ~= #charges then
    return pack('<c1BB', 'N', #charges, costs)
  end
  for _, place in ipairs(places) do
    unlend(place, hold)
  end
  local from = 11
  for _, charge in ipairs(charges) do
    local cost, paid, booked = 0, 0, 0
    paid, booked, from = read('<Bd', record, from)
    if truth == 1 then
      cost, at = read('<d', told, at)
    end
    if paid == 1 and truth < 2 then
      if charge.counter.kind == 5 or cost < charge.cost then
        give_back(charge.place, charge.counter, ticket, charge.cost - cost, booked, now)
      else
        make_charge(charge, now, cost - charge.cost, ticket)
      end
    end
  end
  reply = answer(now, ticket)
  writes[#writes + 1] = { record_key, '', 0, true }
  if index_key then
    writes[#writes + 1] = { index_key, '', 0, true }
  end
  if truth == 0 and name_key then
    writes[#writes + 1] = { name_key, '', 0, true }
  end
elseif op == 5 then
  local released = 0
  for _, charge in ipairs(charges) do
    local state, units = state_of(charge, now), 0
    if charge.counter.kind == 5 and state then
      state, units = concurrency.release(charge.counter.limit, state, now, ticket)
      put_state(charge.place, charge.counter.id, state)
      released = released + units
    end
  end
  reply = pack('<c1d', 'A', released)
elseif op == 6 then
  local first, all = LAST, true
  for _, charge in ipairs(charges) do
    if charge.counter.kind == 5 and charge.pay < 2 then
      local state, stop = state_of(charge, now), nil
      if state then
        state, stop = concurrency.renew(charge.counter.limit, state, now, ticket)
        put_state(charge.place, charge.counter.id, state)
      end
      all, first = all and stop, min(first, stop or LAST)
    end
  end
  reply = pack('<c1d', 'A', all and first < LAST and first or 0)
elseif op == 7 then
  local charged_at
  charged_at, at = read('<d', told, at)
  for _, charge in ipairs(charges) do
    local counter, state = charge.counter, state_of(charge, now)
    if charge.pay < 2 and state then
      put_state(charge.place, counter.id, algorithms[counter.kind].refund(counter.limit, state, now, charge.cost, charged_at))
    end
  end
  reply = 'A'
elseif op == 9 then
  -- To at least so much: what counts more already stays, so that it does not matter how often it is said.
  for _, charge in ipairs(charges) do
    if charge.counter.kind ~= 5 then
      local units = min(charge.cost, 2 * charge.counter.limit[1])
      make_charge(charge, now, max(units - standing(charge, now), 0), ticket)
    end
  end
  reply = answer(now, ticket)
else
  local forgotten = 0
  for _, charge in ipairs(charges) do
    local state = state_of(charge, now)
    if state then
      forgotten = forgotten + (expiry(state) > now and 1 or 0)
      put_state(charge.place, charge.counter.id, nil)
    end
  end
  reply = pack('<c1d', 'A', forgotten)
end

for _, place in ipairs(places) do
  write_place(place, now, writes)
end
if ask then
  return ask
end
for _, one in ipairs(writes) do
  write(one[1], one[2], one[3], one[4], now, slack)
end
return reply
