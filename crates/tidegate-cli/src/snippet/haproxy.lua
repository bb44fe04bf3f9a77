-- Asks Tidegate about a request: http-request lua.tidegate leaves what came back in variables txn.tidegate_….

local ASK = "http://tidegate/v1/authorize?domain=«domain»&deny_status=429&timeout_ms=100&header.x-api-key=api_key"
local DOOR = "abns@tidegate-«listen.port»"

-- Headers of the request that Tidegate should know: those that ASK maps, and those that rules speak of.
local SENT = { "x-api-key" }

-- Headers of the answer that clients should know.
local TOLD = { "retry-after", "ratelimit", "ratelimit-policy", "x-ratelimit-denied-by" }

-- The most that is asked with: of values of one header, of values in all, and of bytes. HAProxy's own client fails beyond a hundred
-- fields and what fits into a buffer of 16 KiB, and a request that cannot be asked about must not pass for that.
local MOST_OF_ONE, MOST_VALUES, MOST_BYTES = 8, 64, 12288

-- HAProxy counts the values of a header from 0, and its client from 1.
local function values(list)
  local copy, at = {}, 0
  while list and list[at] do
    copy[at + 1] = list[at]
    at = at + 1
  end
  return copy
end

-- Whether it can be asked with these: nobody understands control characters.
local function askable(headers)
  local count, bytes = 0, 0
  for _, list in pairs(headers) do
    for _, value in ipairs(list) do
      if value:gsub("\t", " "):find("%c") then return false end
      bytes = bytes + #value
    end
    if #list > MOST_OF_ONE then return false end
    count = count + #list
  end
  return count <= MOST_VALUES and bytes <= MOST_BYTES
end

local function ask(headers)
  return core.httpclient():get({ url = ASK, dst = DOOR, headers = headers, timeout = 1000 })
end

local function refuse(txn)
  txn:set_var("txn.tidegate_status", 429)
  txn:set_var("txn.tidegate_body", '{"type":"about:blank","title":"Too Many Requests","status":429,"detail":"the request cannot be asked about"}')
end

core.register_action("tidegate", { "http-req" }, function(txn)
  local sent = txn.http:req_get_headers()
  local headers = {
    ["x-forwarded-for"] = { txn.f:src() },
    ["x-forwarded-method"] = { txn.f:method() },
    ["x-forwarded-uri"] = { txn.f:pathq() },
    ["x-forwarded-host"] = values(sent["host"]),
  }
  for _, name in ipairs(SENT) do
    headers[name] = values(sent[name])
  end

  if not askable(headers) then return refuse(txn) end
  local asked, answer = pcall(ask, headers)
  if not asked or not answer or not answer.headers then return end
  -- What is wrong with a request is its client's doing. Any other failure that is not in Tidegate's words lets it pass.
  local kind = values(answer.headers["content-type"])[1]
  if answer.status ~= 200 and kind ~= "application/problem+json" then
    if answer.status >= 400 and answer.status < 500 then refuse(txn) end
    return
  end

  txn:set_var("txn.tidegate_status", answer.status)
  -- One that tells of many limits does not fit into a buffer with the headers that do.
  local body = answer.body
  if #body > 8192 then body = '{"type":"about:blank","status":' .. answer.status .. '}' end
  txn:set_var("txn.tidegate_body", body)
  for _, name in ipairs(TOLD) do
    local value = values(answer.headers[name])[1]
    if value then
      txn:set_var("txn.tidegate_" .. name:gsub("-", "_"), value)
    end
  end
end)
