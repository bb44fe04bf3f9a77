//! Scripts that count how often they ran.

use tidegate_redis::Script;

/// Counts one key.
pub(crate) static ONE: Script = Script {
    text: "return redis.call('INCR', KEYS[1])",
    sha: "61636018f4e6b5817b89791bbed242f93fa089e3",
    joins: false,
};

/// Counts two keys of one slot.
pub(crate) static TWO: Script = Script {
    text: "redis.call('INCR', KEYS[1]) return redis.call('INCR', KEYS[2])",
    sha: "f79137a16926d4366df11f85035da63cf9b5b599",
    joins: false,
};

/// Adds to one key per check what its argument says, or the last one that says something.
pub(crate) static EACH: Script = Script {
    text: "local counts, more = {}, nil for check = 1, #ARGV do if ARGV[check] ~= '' then more = tonumber(ARGV[check]) end \
           counts[check] = redis.call('INCRBY', KEYS[check], more) end return counts",
    sha: "04d2cf17ef6433318afd1261c84a5af94d6ef60d",
    joins: true,
};

pub(crate) static ALL: [&Script; 3] = [&ONE, &TWO, &EACH];
