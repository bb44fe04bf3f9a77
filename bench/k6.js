// 100 callers ask a server's HTTP door for half a minute: are answers quick, right and complete? Written for the rules of
// examples/rules, which `make run` serves: 5 a minute for each key. A caller takes a new key after ten questions, so that of
// each key five are admitted and five refused. See README.md, "With k6".
import http from 'k6/http';
import { check, sleep } from 'k6';
import { Counter, Rate } from 'k6/metrics';

const url = __ENV.TIDEGATE_URL || 'http://127.0.0.1:8080';
const domain = __ENV.DOMAIN || 'api';
const limit = Number(__ENV.LIMIT || 5);
const pause = Number(__ENV.PAUSE_MS || 50) / 1000;
const slowest = Number(__ENV.P95_MS || 25);

const admitted = new Counter('admitted');
const refused = new Counter('refused');
const right = new Rate('as_the_limit_says');

export const options = {
  vus: 100,
  duration: '30s',
  summaryTrendStats: ['med', 'p(95)', 'p(99)', 'max'],
  thresholds: {
    // No answer at all, or neither 200 nor 429.
    http_req_failed: ['rate==0'],
    http_req_duration: [`p(95)<${slowest}`],
    // Every header of every answer.
    checks: ['rate==1'],
    // A sliding window lets few questions through a little before or after its time (docs/concepts/accuracy.md).
    as_the_limit_says: ['rate>0.99'],
    admitted: ['count>0'],
    refused: ['count>0'],
  },
};

http.setResponseCallback(http.expectedStatuses(200, 429));

// Keys of one run are not those of the one before, whose counters are still there.
export function setup() {
  return { run: Date.now().toString(36) };
}

export default function ({ run }) {
  const turn = __ITER % (2 * limit);
  const answer = ask(`${run}-${__VU}-${(__ITER - turn) / (2 * limit)}`);
  const expected = turn < limit ? 200 : 429;

  right.add(answer.status === expected);
  check(answer, always);
  if (answer.status === 200) {
    admitted.add(1);
    check(answer, whenAdmitted);
  } else {
    refused.add(1);
    check(answer, whenRefused);
  }
  sleep(pause);
}

function ask(key) {
  const body = { domain, attributes: { api_key: key, method: 'GET', path: '/v1/orders' } };
  return http.post(`${url}/v1/check`, JSON.stringify(body), { headers: { 'Content-Type': 'application/json' } });
}

// k6 writes names of headers with a capital after each dash and nowhere else.
const always = {
  'status is 200 or 429': ({ status }) => status === 200 || status === 429,
  'RateLimit-Policy tells quota and window': ({ headers }) => /^"[^"]+";q=\d+;w=\d+/.test(headers['Ratelimit-Policy']),
  'RateLimit tells what is left and until when': ({ headers }) => /^"[^"]+";r=\d+;t=\d+/.test(headers['Ratelimit']),
};

const whenAdmitted = {
  'an admission has no Retry-After': ({ headers }) => headers['Retry-After'] === undefined,
  'an admission says allow': (answer) => answer.json('decision') === 'allow',
};

const whenRefused = {
  'a refusal has a Retry-After': ({ headers }) => /^[1-9]\d*$/.test(headers['Retry-After']),
  'a refusal has nothing left': ({ headers }) => /;r=0;/.test(headers['Ratelimit']),
  'a refusal is a problem': ({ headers }) => headers['Content-Type'] === 'application/problem+json',
};
