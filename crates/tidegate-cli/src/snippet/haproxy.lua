-- Asks Tidegate about a request: http-request lua.tidegate leaves what came back in variables txn.tidegate_….

local ASK = "http://tidegate/v1/authorize?domain=«domain»&deny_status=429&timeout_ms=100&header.x-api-key=api_key"
local DOOR = "abns@tidegate-«listen.port»"

-- Headers of the request that Tidegate should know: those that ASK maps, and those that rules speak of.
local SENT = { "x-api-key" }

-- Headers of the answer that clients should know.
local TOLD = { "retry-after", "ratelimit", "ratelimit-policy", "x-ratelimit-denied-by" }

-- HAProxy counts the values of a header from 0, and its client from 1.
local function values(list)
  local copy, at = {}, 0
  while list and list[at] do
    copy[at + 1] = list[at]
    at = at + 1
  end
  return copy
end

local function ask(headers)
  return core.httpclient():get({ url = ASK, dst = DOOR, headers = headers, timeout = 1000 })
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

  local asked, answer = pcall(ask, headers)
  if not asked or not answer or not answer.headers then return end
  -- Anything but a word of Tidegate's lets the request pass.
  local kind = values(answer.headers["content-type"])[1]
  if answer.status ~= 200 and kind ~= "application/problem+json" then return end

  txn:set_var("txn.tidegate_status", answer.status)
  txn:set_var("txn.tidegate_body", answer.body)
  for _, name in ipairs(TOLD) do
    local value = values(answer.headers[name])[1]
    if value then
      txn:set_var("txn.tidegate_" .. name:gsub("-", "_"), value)
    end
  end
end)
