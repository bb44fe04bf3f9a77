-- Where counters are: packed values of many small ones, logs and slots in values of their own, and loans beside them.
local algorithms = { meter, fixed_window, sliding_window, sliding_log, concurrency }
local VERSION, MOST_ENTRIES, LOAN = 1, 16, 98
local OVERFLOWS, LENDS = 128, 64
-- So many loans of one value at once, and no more.
local MOST_LOANS = 1024
-- What must be asked again with more keys, if anything: said instead of an answer, with nothing written.
local ask

-- Whether a value's version is one that can be read. Every value begins with it; whoever meets another does without.
local function is_known(version)
  if version == VERSION then
    return true
  end
  ask = 'V'
end

-- When nothing of a state counts any more.
local function expiry(state)
  if state.form == 1 then
    return state.empty
  elseif state.form == 2 then
    return state.stop
  elseif state.form == 3 then
    return emptied({ 0, state.part, #state.counts - 1 }, state.counts, 0, state.start, state.start)
  elseif state.form == 4 then
    return state.len > 0 and at_of(state, state.len - 1) + state.window or 0
  end
  local slots = slots_in(state)
  return slots > 0 and (slot(state, slots - 1)) or 0
end

-- One entry of a packed value; the state, its id, its kind and where the next one begins.
local function entry_at(value, at)
  local id, kind, a, b, c, d, behind = read('<I4B', value, at)
  if kind == 1 or kind == 2 then
    a, b, c, d, behind = read(kind == 1 and '<I3I7I2I5' or '<I7I7I7I7', value, at + 5)
    return { form = 1, used = a, since = b, part = c, empty = b + d }, id, behind
  elseif kind == 3 or kind == 4 then
    a, b, c, behind = read(kind == 3 and '<I3I7I7' or '<I7I7I7', value, at + 5)
    return { form = 2, used = a, start = b, stop = b + c }, id, behind
  elseif kind == 5 then
    a, b, c, d, behind = read('<I3I7I3I4', value, at + 5)
    return { form = 3, start = b, part = d, counts = { a, c } }, id, behind
  end
  a, b, c, behind = read('<I7I7B', value, at + 5)
  local counts = {}
  for age = 1, c do
    counts[age], behind = read('<I7', value, behind)
  end
  return { form = 3, start = a, part = b, counts = counts }, id, behind
end

-- The bytes of an entry, in the smallest kind that holds it, and that kind.
local function entry_of(id, state)
  if state.form == 1 then
    local span = state.empty - state.since
    if state.used < 16777216 and state.part < 65536 and span < 1099511627776 then
      return pack('<I4BI3I7I2I5', id, 1, state.used, state.since, state.part, span), 1
    end
    return pack('<I4BI7I7I7I7', id, 2, state.used, state.since, state.part, span), 2
  elseif state.form == 2 then
    local span = state.stop - state.start
    if state.used < 16777216 then
      return pack('<I4BI3I7I7', id, 3, state.used, state.start, span), 3
    end
    return pack('<I4BI7I7I7', id, 4, state.used, state.start, span), 4
  end
  local counts = state.counts
  if #counts == 2 and max(counts[1], counts[2]) < 16777216 and state.part < 4294967296 then
    return pack('<I4BI3I7I3I4', id, 5, counts[1], state.start, counts[2], state.part), 5
  end
  local bytes = { pack('<I4BI7I7B', id, 6, state.start, state.part, #counts) }
  for age = 1, #counts do
    bytes[age + 1] = pack('<I7', counts[age])
  end
  return table.concat(bytes), 6
end

-- What every value begins with: how long others follow it, when a loan is due, and where the rest is.
local function head_at(value)
  local version, flags, at = read('<BB', value)
  local overflow_until, due, lent_until = 0, 0, 0
  if not is_known(version) then
    return
  end
  if flags >= OVERFLOWS then
    overflow_until, at = read('<I7', value, at)
    flags = flags - OVERFLOWS
  end
  if flags >= LENDS then
    due, lent_until, at = read('<I7I7', value, at)
  end
  return overflow_until, due, lent_until, at
end

local function head_of(small, overflow_until, due, lent_until)
  local flags, more = small, ''
  if overflow_until > 0 then
    flags, more = flags + OVERFLOWS, pack('<I7', overflow_until)
  end
  if due > 0 then
    flags, more = flags + LENDS, more .. pack('<I7I7', due, lent_until)
  end
  return pack('<BB', VERSION, flags) .. more
end

local function load_level(place, level)
  local value = redis.call('GET', place.keys[level])
  place.there[level] = value and true or false
  place.overflow_until[level] = 0
  if not value then
    return
  end
  local overflow_until, due, lent_until, at = head_at(value)
  if ask then
    return
  end
  place.overflow_until[level] = overflow_until
  if level == 1 then
    place.due, place.lent_until = due, lent_until
  end
  if place.type == 2 then
    local forgotten, forgotten_at, window, from = read('<I7I7I7', value, at)
    local stamps = string.sub(value, from)
    place.states[0] = { form = 4, stamps = stamps, len = #stamps / STAMP, forgotten = forgotten,
      forgotten_at = forgotten_at, window = window }
  elseif place.type == 3 then
    local stamp, from = read('<I7', value, at)
    place.states[0] = { form = 5, slots = string.sub(value, from), stamp = stamp }
  else
    while at <= #value do
      local state, id
      state, id, at = entry_at(value, at)
      place.states[id], place.level_of[id] = state, level
    end
  end
end

-- The counter's state, if it has one; if it may be further down than was looked, that must be asked.
local function state_at(place, id, now)
  local state = place.states[id]
  if not state and place.overflow_until[#place.keys] > now then
    ask = pack('<c1BB', 'O', place.number, #place.keys)
  end
  return state
end

local function put_state(place, id, state)
  place.states[id], place.dirty = state, true
end

local function covers(kind, limit, now)
  return kind ~= 2 or limit[2] ~= 2 or (limit[3] <= now and now < limit[5])
end

-- Gives units back that were booked at an instant; a slot is given back whole.
local function give_back(place, counter, ticket, units, booked, now)
  local state = state_at(place, counter.id, now)
  if not state then
    return
  end
  if counter.kind == 5 then
    put_state(place, counter.id, (concurrency.release(counter.limit, state, now, ticket)))
  elseif covers(counter.kind, counter.limit, now) then
    put_state(place, counter.id, algorithms[counter.kind].refund(counter.limit, state, now, units, booked))
  end
end

-- A loan: units that come back by themselves, under the name of who holds them; slots are held under a ticket.
local function loan_of(stop, hold, ticket, counter, units, booked)
  return pack('<I7c16c16I4BI7I7ddddd', stop, hold, ticket, counter.id, counter.kind, units, booked,
    counter.limit[1], counter.limit[2], counter.limit[3], counter.limit[4], counter.limit[5])
end

local function loan_at(loan)
  local stop, _, ticket, id, kind, units, booked, a, b, c, d, e = read('<I7c16c16I4BI7I7ddddd', loan)
  return stop, ticket, { id = id, kind = kind, limit = { a, b, c, d, e } }, units, booked
end

-- How long the counter of a loan can count on after it, so that the loan is there when it is next asked.
local function lasting(kind, limit)
  if kind == 1 then
    return rounded_up(limit[1], limit[3], limit[2])
  elseif kind == 2 then
    return limit[2] == 2 and limit[5] - limit[3] or limit[3]
  elseif kind == 3 then
    return limit[2] * limit[3]
  end
  return limit[2]
end

local function lend(place, loan)
  local loans = place.loans
  if #loans >= MOST_LOANS then
    ask = 'F'
    return
  end
  local at = #loans
  while at > 0 and (read('<I7', loans[at])) > (read('<I7', loan)) do
    at = at - 1
  end
  table.insert(loans, at + 1, loan)
  place.dirty, place.lends = true, true
end

-- Takes the loans of a holder off the list.
local function unlend(place, hold)
  local kept = {}
  for _, loan in ipairs(place.loans or {}) do
    if string.sub(loan, 8, 23) == hold then
      place.dirty, place.lends = true, true
    else
      kept[#kept + 1] = loan
    end
  end
  place.loans = place.loans and kept
end

local function load_loans(place, now)
  place.loans = {}
  local value = redis.call('GET', place.loans_key)
  if value and not is_known((read('<B', value))) then
    return
  end
  for at = 2, value and #value or 0, LOAN do
    place.loans[#place.loans + 1] = string.sub(value, at, at + LOAN - 1)
  end
  while place.loans[1] and (read('<I7', place.loans[1])) <= now do
    local _, ticket, counter, units, booked = loan_at(place.loans[1])
    give_back(place, counter, ticket, units, booked, now)
    table.remove(place.loans, 1)
    place.lends = true
  end
  place.dirty = place.dirty or place.lends or place.due > 0
end

-- Reads all that a place holds, and what has come back by now.
local function load_place(place, now)
  place.states, place.level_of, place.there, place.overflow_until = {}, {}, {}, {}
  place.due, place.lent_until = 0, 0
  for level = 1, #place.keys do
    load_level(place, level)
    if ask then
      return
    end
  end
  if place.loans_key then
    load_loans(place, now)
  elseif place.due > 0 and place.due <= now then
    ask = pack('<c1B', 'D', place.number)
  end
end

-- What is to be written at a place: for each of its keys the value and until when it counts.
local function write_loans(place, writes)
  if not place.loans then
    return
  end
  local last = place.loans[#place.loans]
  place.due, place.lent_until = last and (read('<I7', place.loans[1])) or 0, last and (read('<I7', last)) or 0
  if place.lends then
    local until_at = 0
    for _, loan in ipairs(place.loans) do
      local stop, _, counter = loan_at(loan)
      until_at = max(until_at, min(stop + 2 * lasting(counter.kind, counter.limit), LAST))
    end
    writes[#writes + 1] = { place.loans_key, pack('<B', VERSION) .. table.concat(place.loans), until_at, true }
  end
end

local function write_single(place, now, writes)
  local state = place.states[0]
  local until_at = state and expiry(state) or 0
  local body = ''
  if until_at <= now then
    body = place.type == 2 and pack('<I7I7I7', 0, 0, 0) or pack('<I7', 0)
  elseif place.type == 2 then
    body = pack('<I7I7I7', state.forgotten, state.forgotten_at, state.window) .. state.stamps
  else
    body = pack('<I7', state.stamp) .. state.slots
  end
  local value = head_of(0, 0, place.due, place.lent_until) .. body
  writes[#writes + 1] = { place.keys[1], value, max(until_at, place.lent_until), place.there[1] }
end

-- The ids of what still counts, in order, by level; new ones where there is room.
local function seated(place, now)
  local levels, new = {}, {}
  for level = 1, #place.keys do
    levels[level] = {}
  end
  for id, state in pairs(place.states) do
    if expiry(state) > now then
      local seats = levels[place.level_of[id]] or new
      seats[#seats + 1] = id
    end
  end
  table.sort(new)
  for _, id in ipairs(new) do
    local level = 1
    while levels[level] and #levels[level] >= MOST_ENTRIES do
      level = level + 1
    end
    if not levels[level] then
      ask = pack('<c1BB', 'O', place.number, #place.keys)
      return levels
    end
    table.insert(levels[level], id)
  end
  return levels
end

local function write_packed(place, now, writes)
  local levels = seated(place, now)
  if ask then
    return
  end
  local behind = place.overflow_until[#place.keys]
  for level = #place.keys, 1, -1 do
    local ids, until_at, small, entries = levels[level], 0, true, {}
    table.sort(ids)
    for index, id in ipairs(ids) do
      local bytes, its_kind = entry_of(id, place.states[id])
      entries[index], until_at = bytes, max(until_at, expiry(place.states[id]))
      small = small and its_kind % 2 == 1
    end
    behind = behind > now and behind or 0
    local due, lent_until = 0, 0
    if level == 1 then
      due, lent_until = place.due, place.lent_until
    end
    local value = head_of(small and 1 or 0, behind, due, lent_until) .. table.concat(entries)
    behind = max(behind, until_at)
    writes[#writes + 1] = { place.keys[level], value, max(behind, lent_until), place.there[level] }
  end
end

local function write_place(place, now, writes)
  if not place.dirty then
    return
  end
  write_loans(place, writes)
  if place.type == 1 then
    write_packed(place, now, writes)
  else
    write_single(place, now, writes)
  end
end

-- Keeps a value until then, or drops it if nothing of it counts.
local function write(key, value, until_at, there, now, slack)
  if until_at > now then
    local last = max(floor((until_at - now + 999) / 1000), 1) + slack
    redis.call('SET', key, value, 'PX', string.format('%.0f', last))
  elseif there then
    redis.call('DEL', key)
  end
end
