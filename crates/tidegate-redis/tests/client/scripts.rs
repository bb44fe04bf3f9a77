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

/// Counts one key per check, for as many checks as there are arguments.
pub(crate) static EACH: Script = Script {
    text: "local counts = {} for check = 1, #ARGV do counts[check] = redis.call('INCR', KEYS[check]) end return counts",
    sha: "a978194aa5d7e434c43c516718828427532a8dc5",
    joins: true,
};

pub(crate) static ALL: [&Script; 3] = [&ONE, &TWO, &EACH];
