-- A count that starts anew with each window: numbers are the amount, where windows begin (0 at multiples of their length, 1
-- with the first hit, 2 where a calendar says) and the length or the calendar's three bounds.
local fixed_window = {}

local function bounds(limit, now)
  if limit[2] == 0 then
    local start = now - now % limit[3]
    return start, min(start + limit[3], LAST)
  elseif limit[2] == 1 then
    return now, min(now + limit[3], LAST)
  elseif now < limit[4] then
    return limit[3], limit[4]
  end
  return limit[4], limit[5]
end

-- The window that counts: what is used of it, its start and its end.
local function current(limit, state, now)
  if state and state.start > now + STANDSTILL then
    state = nil
  end
  if state then
    now = max(now, state.start)
    if limit[2] == 1 and now < state.start + limit[3] then
      return state.used, state.start, state.stop
    end
  end
  local start, stop = bounds(limit, now)
  local counts = state and state.start >= start and now < stop
  return counts and state.used or 0, start, stop
end

function fixed_window.judge(limit, state, now, cost)
  if cost > limit[1] then
    return false, 4, 0
  end
  local used, _, stop = current(limit, state, now)
  if used + cost > limit[1] then
    return false, 2, max(stop - now, 0)
  end
  return true, 0, 0
end

function fixed_window.charge(limit, state, now, cost)
  local used, start, stop = current(limit, state, now)
  return { form = 2, used = added(used, cost), start = start, stop = stop }, max(now, start)
end

function fixed_window.refund(limit, state, now, units, charged_at)
  local used, start, stop = current(limit, state, now)
  if charged_at >= start then
    used = max(used - units, 0)
  end
  if used == 0 then
    return nil
  end
  return { form = 2, used = used, start = start, stop = stop }
end

function fixed_window.standing(limit, state, now)
  local used, _, stop = current(limit, state, now)
  if used == 0 then
    return 0, 0
  end
  return used, stop
end
