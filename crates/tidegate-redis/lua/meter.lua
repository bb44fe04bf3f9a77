-- A level that drains at a steady rate: numbers are the capacity, the rate (units in so many microseconds) and whether it
-- shapes; a state is so many units at an exact mark, and when they are gone under the numbers of the last charge.
local meter = {}

-- The mark at which so many units have drained since another.
local function mark_after(limit, since, part, units)
  local span, rest = divided(units, limit[3], limit[2])
  rest = rest + part
  if rest >= limit[2] then
    span, rest = span + 1, rest - limit[2]
  end
  return min(since + span, LAST), rest
end

local function whole_after(limit, since, part, units)
  local mark, rest = mark_after(limit, since, part, units)
  return rest > 0 and mark + 1 or mark
end

-- Whole units that drain between a mark and an instant.
local function units_since(limit, since, part, now)
  if now <= since then
    return 0
  end
  local units, rest = divided(now - since, limit[2], limit[3])
  local short = part - rest
  if short > 0 then
    units = units - rounded_up(short, 1, limit[3])
  end
  return max(units, 0)
end

-- The units at an instant, their mark, and when they are forgotten.
local function level(limit, state, now)
  if state and state.empty > now and state.since <= now + STANDSTILL then
    local since, part = state.since, state.part
    if part >= limit[2] then
      since, part = since + 1, 0
    end
    local drained = units_since(limit, since, part, now)
    if drained < state.used then
      since, part = mark_after(limit, since, part, drained)
      return state.used - drained, since, part, state.empty
    end
  end
  return 0, now, 0, now
end

local function stored(limit, used, since, part)
  return { form = 1, used = used, since = since, part = part, empty = whole_after(limit, since, part, used) }
end

function meter.judge(limit, state, now, cost)
  if cost > limit[1] then
    return false, 4, 0
  end
  local used, since, part, forgotten = level(limit, state, now)
  if used + cost > limit[1] then
    local at = whole_after(limit, since, part, used + cost - limit[1])
    return false, 2, max(min(at, forgotten) - now, 0)
  end
  if limit[4] > 0 then
    local by = max(min(whole_after(limit, since, part, used), forgotten) - now, 0)
    if by > 0 then
      return true, 1, by
    end
  end
  return true, 0, 0
end

function meter.charge(limit, state, now, cost)
  local used, since, part = level(limit, state, now)
  return stored(limit, added(used, cost), since, part), now
end

function meter.refund(limit, state, now, units)
  local used, since, part = level(limit, state, now)
  if used <= units then
    return nil
  end
  local left = stored(limit, used - units, since, part)
  left.empty = min(left.empty, state.empty)
  return left
end

function meter.standing(limit, state, now)
  local used, since, part, forgotten = level(limit, state, now)
  return used, now + max(min(whole_after(limit, since, part, used), forgotten) - now, 0)
end
