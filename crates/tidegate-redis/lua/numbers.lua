-- Whole numbers in doubles: exact below 2^53, and products beyond that by long division.
local pack, read = struct.pack, struct.unpack
local floor, min, max = math.floor, math.min, math.max
local EXACT = 9007199254740992
-- Instants and counts stop here; no counter of an ordinary limit comes near.
local LAST, MOST = EXACT - 1, 2251799813685248
-- How far a clock may step back before a state counts as written by a wrong one.
local STANDSTILL = 1000000

-- The quotient and the rest of a * b / c, one bit of a after the other.
local function divided_long(a, b, c)
  local part = b % c
  local whole = (b - part) / c
  local quotient, rest, bit = 0, 0, EXACT / 2
  while bit >= 1 do
    quotient, rest = quotient * 2, rest * 2
    if a >= bit then
      a, quotient, rest = a - bit, quotient + whole, rest + part
    end
    while rest >= c do
      quotient, rest = quotient + 1, rest - c
    end
    bit = bit / 2
  end
  return min(quotient, LAST), rest
end

local function divided(a, b, c)
  local product = a * b
  if product < EXACT then
    local rest = product % c
    return (product - rest) / c, rest
  end
  return divided_long(a, b, c)
end

local function rounded_up(a, b, c)
  local quotient, rest = divided(a, b, c)
  return rest > 0 and quotient + 1 or quotient
end

local function added(used, cost)
  return min(used + cost, MOST)
end
