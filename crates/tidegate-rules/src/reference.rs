//! Every key of a rule file, in tables: what may be written, and what it says.

use crate::shape::Shape::{Anything, Either, List, Map, OneOrMore, Text, Truth, Whole, Word};
use crate::shape::{Object, Shape, field};

const COUNT: Shape = Whole { least: 1, most: i64::MAX };
const DURATION: Shape = Text;

const CLASS_SHAPE: Shape = Either(&[Word(CLASSES), Map(&Word(CLASSES))]);

/// The names of classes.
pub const CLASSES: &[&str] = &["comfort", "security", "cost", "strict"];
/// The names of modes.
pub const MODES: &[&str] = &["enforce", "shadow", "off"];
/// The names of actions.
pub const ACTIONS: &[&str] = &["reject", "delay", "degrade", "log", "block", "bypass", "unlimited"];
/// The names of algorithms.
pub const ALGORITHMS: &[&str] =
    &["gcra", "token_bucket", "leaky_bucket", "fixed_window", "sliding_window", "sliding_log", "concurrency"];

/// A whole file.
pub static FILE: Object = Object {
    name: "a rule file",
    doc: "Rules of one domain: our own `rules:`, envoyproxy/ratelimit's `descriptors:`, or both.",
    keys: &[
        field("domain", Text, "The domain that checks name. Required."),
        field("tenant", Text, "The attribute whose value owns the counters of this domain, such as org."),
        field(
            "identities",
            Map(&Shape::Object(&IDENTITY)),
            "Attributes that are derived from another, such as the org of an api_key.",
        ),
        field(
            "attributes",
            OneOrMore(&Text),
            "Attributes that callers send beside those that listeners fill, such as [device, region]: rules of this domain may ask about them without a warning.",
        ),
        field("ip", Shape::Object(&IP), "How addresses are counted."),
        field(
            "defaults",
            Shape::Object(&DEFAULTS),
            "What rules of this file have unless they say otherwise.",
        ),
        field(
            "atomic",
            Word(&["required"]),
            "required: every rule of this domain, whichever file it is in, is `atomic: required`.",
        ),
        field(
            "allow",
            OneOrMore(&Text),
            "Codes of warnings that this file does not give, such as [shared-address].",
        ),
        field("rules", List(&Shape::Object(&RULE)), "The rules."),
        field(
            "descriptors",
            List(&Shape::Object(&DESCRIPTOR)),
            "A tree of descriptors as envoyproxy/ratelimit has it.",
        ),
    ],
};

/// How an attribute is derived.
pub static IDENTITY: Object = Object {
    name: "an identity",
    doc: "Attributes that follow from the value of this one. What is derived wins over what a caller claims; a contradiction is a malformed check.",
    keys: &[
        field("derive", OneOrMore(&Text), "The attribute or attributes that are derived."),
        field(
            "map",
            Map(&Either(&[Text, Map(&Text)])),
            "For each value of this attribute, the derived one; or a map of them if there are several.",
        ),
        field(
            "pattern",
            Text,
            "A regular expression with a named group for each derived attribute, for values that the map does not have.",
        ),
    ],
};

/// How addresses are counted.
pub static IP: Object = Object {
    name: "ip",
    doc: "Addresses of one network count as one client.",
    keys: &[
        field(
            "v4_prefix",
            Whole { least: 8, most: 32 },
            "The bits of an IPv4 address that count; 32 by default.",
        ),
        field(
            "v6_prefix",
            Whole { least: 16, most: 128 },
            "The bits of an IPv6 address that count; 64 by default.",
        ),
    ],
};

/// What rules have unless they say otherwise.
pub static DEFAULTS: Object = Object {
    name: "defaults",
    doc: "What rules of this file have unless they say otherwise.",
    keys: &[
        field("class", CLASS_SHAPE, "See the rule's key."),
        field("mode", Word(MODES), "See the rule's key."),
        field("action", Word(ACTIONS), "See the rule's key."),
        field("status", Whole { least: 400, most: 599 }, "See the rule's key."),
        field("title", Text, "See the rule's key."),
        field("message", Text, "See the rule's key."),
        field("scope", Word(&["tenant", "global"]), "See the rule's key."),
        field("tier_by", Text, "See the rule's key."),
    ],
};

/// A rule.
pub static RULE: Object = Object {
    name: "a rule",
    doc: "When it matches, what it counts by, and its limits.",
    keys: &[
        field("name", Text, "Its name: 1 to 64 of A-Z a-z 0-9 _ . : / -. Counters belong to it. Required."),
        field("was", Text, "The name it had before: a renamed rule keeps its counters."),
        field("description", Text, "What it is for, in the operator's words."),
        field("match", CONDITION, "What is held to it; without it, every request."),
        field("count", CONDITION, "What is counted, if that is not the same as what is held to it."),
        field(
            "by",
            OneOrMore(&Text),
            "The attributes that it counts by: one counter for each combination of their values. Without it, one counter.",
        ),
        field(
            "scope",
            Word(&["tenant", "global"]),
            "tenant: within the tenant of the request (the default in a domain with a tenant). global: one counter for all tenants.",
        ),
        field(
            "limit",
            LIMIT_SHAPE,
            "Its limit, such as 100/min or 10/s burst 20 or 5 concurrent; or the long form.",
        ),
        field("limits", List(&LIMIT_SHAPE), "Several limits on the same counters' owner."),
        field(
            "tiers",
            Map(&OneOrMore(&LIMIT_SHAPE)),
            "Limits in place of the rule's own for requests of that plan.",
        ),
        field("tier_by", Text, "The attribute that names the tier; plan by default."),
        field(
            "cost",
            Either(&[Whole { least: 0, most: 1_000_000_000 }, Text, Shape::Object(&COST)]),
            "Units that a request takes: a number, the name of an attribute that holds one, or points by method. 1 by default.",
        ),
        field(
            "class",
            CLASS_SHAPE,
            "What matters when the store cannot answer: comfort (allow), cost (allow those who pay), security or strict (deny). comfort by default. Or one for each tier: { default: cost, free: security }.",
        ),
        field(
            "mode",
            Word(MODES),
            "enforce (the default), shadow (judged, counted and reported, never refused) or off.",
        ),
        field(
            "action",
            Word(ACTIONS),
            "What happens past the limit: reject (the default), delay, degrade or log. Or what happens on a match: block, bypass (skip all other rules) or unlimited.",
        ),
        field(
            "status",
            Whole { least: 400, most: 599 },
            "The status of a refusal: 429 by default, 403 for block.",
        ),
        field("title", Text, "The title of a refusal."),
        field("message", Text, "The words of a refusal."),
        field(
            "group",
            Text,
            "Of the rules of one group only the first that matches applies: by priority, then by how specific it is, then in order.",
        ),
        field(
            "priority",
            Whole { least: -1_000_000, most: 1_000_000 },
            "The highest goes first; 0 by default.",
        ),
        field("when", Shape::Object(&WHEN), "When it applies; without it, always."),
        field(
            "expires_at",
            Text,
            "The instant after which it no longer applies, such as 2027-01-31T00:00:00Z.",
        ),
        field(
            "block_for",
            DURATION,
            "Once the limit is exceeded, everything is refused for that long, such as 10m.",
        ),
        field(
            "count_refused",
            Truth,
            "Refused requests count as well, up to twice the limit's capacity in all, so that a caller who keeps trying stays refused.",
        ),
        field(
            "allow",
            OneOrMore(&Text),
            "Codes of warnings that this rule does not give, such as [shared-address].",
        ),
        field(
            "atomic",
            Word(&["required"]),
            "required: an error unless every rule that can match the same request has the same home on a Cluster, so that they are charged in one step.",
        ),
    ],
};

/// A limit in the long form.
pub static LIMIT: Object = Object {
    name: "a limit",
    doc: "A limit in the long form.",
    keys: &[
        field(
            "name",
            Text,
            "A name of its own, which its counters carry. Clients see it as the policy's name; of several limits, behind the rule's name. Needed for two limits of one kind and window.",
        ),
        field("algorithm", Word(ALGORITHMS), "sliding_window by default; gcra if there is a burst."),
        field("amount", COUNT, "How many units per window."),
        field("per", DURATION, "The window: 1s, 10m, 1h, day, week, month or year."),
        field("burst", COUNT, "How many at once (gcra, token_bucket, leaky_bucket)."),
        field("capacity", COUNT, "How many units the bucket holds (token_bucket, leaky_bucket)."),
        field("refill", Text, "The rate at which a bucket refills or leaks, such as 10/s."),
        field(
            "queue",
            COUNT,
            "How many may be in the queue, the one that leaves at once included (leaky_bucket with shape).",
        ),
        field("shape", Truth, "A leaky bucket that delays instead of refusing."),
        field(
            "window",
            Word(&["aligned", "first_hit", "calendar"]),
            "Where a fixed window begins: on multiples of its length, at the first request, or with the calendar.",
        ),
        field("parts", Whole { least: 1, most: 60 }, "Parts of a sliding window: more are more exact."),
        field(
            "precision",
            Whole { least: 1, most: 100_000 },
            "Time stamps that a sliding log keeps at most.",
        ),
        field("slots", COUNT, "How many at once (concurrency)."),
        field(
            "term",
            DURATION,
            "How long a slot lasts that is neither given back nor renewed; 1m by default.",
        ),
        field("tz", Text, "The time zone of a calendar window; UTC by default."),
        field("from", Whole { least: 1, most: 31 }, "The day on which a month or week begins."),
        field("unit", Word(&["requests", "bytes", "tokens"]), "What is counted; requests by default."),
    ],
};

/// What a request costs.
pub static COST: Object = Object {
    name: "a cost",
    doc: "Units that a request takes.",
    keys: &[
        field("attribute", Text, "The attribute that holds the number of units."),
        field(
            "default",
            Whole { least: 0, most: 1_000_000_000 },
            "If the attribute is absent or no number, or the method is not listed; 1 by default.",
        ),
        field("most", COUNT, "An attribute's number is held to this; 1 000 000 by default."),
        field(
            "methods",
            Map(&Whole { least: 0, most: 1_000_000_000 }),
            "Points by method, such as { GET: 1, \"POST, PUT\": 5, \"*\": 2 }; * is every other method.",
        ),
    ],
};

/// When a rule applies.
pub static WHEN: Object = Object {
    name: "when",
    doc: "When a rule applies: all that is given must hold.",
    keys: &[
        field(
            "hours",
            OneOrMore(&Text),
            "Hours of the day, such as 09:00-17:30; 22:00-06:00 goes past midnight.",
        ),
        field("days", OneOrMore(&Text), "Days of the week, such as mon-fri or sat."),
        field("dates", OneOrMore(&Text), "Dates, such as 2026-12-24 or 2026-12-24..2027-01-02."),
        field("tz", Text, "The time zone; UTC by default."),
    ],
};

/// A test of an attribute in the long form.
pub static TEST: Object = Object {
    name: "a test",
    doc: "How an attribute is tested; all that is given must hold.",
    keys: &[
        field("exact", Text, "It is exactly this."),
        field("in", List(&Text), "It is one of these."),
        field(
            "glob",
            Text,
            "It has this form: * within a segment, ** any segments, {name} one captured segment.",
        ),
        field("prefix", Text, "It begins with this."),
        field("regex", Text, "The whole of it has the form of this regular expression."),
        field("cidr", OneOrMore(&Text), "It is an address of this network."),
        field("number", Text, "It is a number such as < 30, >= 0.5 or 10..20."),
        field("present", Truth, "true: the request has it; false: it does not."),
        field("absent", Truth, "true: the request does not have it."),
        field("not", Anything, "It is not this."),
    ],
};

/// A node of envoyproxy/ratelimit's tree.
pub static DESCRIPTOR: Object = Object {
    name: "a descriptor",
    doc: "A node of envoyproxy/ratelimit's tree.",
    keys: &[
        field("key", Text, "The key of the entry. Required."),
        field("value", Text, "The value of the entry; none matches any, * any run of characters."),
        field(
            "rate_limit",
            Shape::Object(&RATE_LIMIT),
            "The limit of descriptors that end here; none lets them pass.",
        ),
        field("descriptors", List(&Shape::Object(&DESCRIPTOR)), "What may follow."),
        field("shadow_mode", Truth, "Judged and counted, never refused."),
        field(
            "quota_mode",
            Truth,
            "Reported as over its limit; refuses only if every quota of the request is over.",
        ),
        field(
            "detailed_metric",
            Truth,
            "Accepted; metrics are per rule, so that their number stays bounded.",
        ),
        field(
            "value_to_metric",
            Truth,
            "Accepted; metrics are per rule, so that their number stays bounded.",
        ),
        field("share_threshold", Truth, "All values that a wildcard takes share one counter."),
        field(
            "count_refused",
            Truth,
            "Ours: refused requests count as well, up to twice the limit in all. For costs that are charged after the response.",
        ),
        field("metadata", Anything, "Given back as dynamic metadata with what passes."),
        field("domain", Text, "Accepted; all descriptors of a file belong to the domain at its top."),
    ],
};

/// The numbers of envoyproxy/ratelimit's tree.
pub static RATE_LIMIT: Object = Object {
    name: "rate_limit",
    doc: "The numbers of a descriptor.",
    keys: &[
        field(
            "unit",
            Text,
            "second, minute, hour, day, week, month or year: windows aligned to the epoch, a month being 30 days and a year 365.",
        ),
        field(
            "requests_per_unit",
            Whole { least: 0, most: u32::MAX as i64 },
            "How many; 0 refuses everything.",
        ),
        field("unlimited", Truth, "No limit at all."),
        field("name", Text, "The name of the limit in answers."),
        field(
            "replaces",
            List(&Shape::Object(&REPLACES)),
            "Limits of the same request that this one stands in for.",
        ),
    ],
};

/// What a limit stands in for.
pub static REPLACES: Object = Object {
    name: "replaces",
    doc: "A limit that this one stands in for.",
    keys: &[field("name", Text, "Its name.")],
};

const LIMIT_SHAPE: Shape = Either(&[Text, Shape::Object(&LIMIT)]);
/// Conditions nest and have the names of attributes as keys, so their reader checks them.
const CONDITION: Shape = Map(&Anything);

/// All tables, in the order in which the reference shows them.
pub static ALL: [&Object; 12] = [
    &FILE,
    &IDENTITY,
    &IP,
    &DEFAULTS,
    &RULE,
    &TEST,
    &LIMIT,
    &COST,
    &WHEN,
    &DESCRIPTOR,
    &RATE_LIMIT,
    &REPLACES,
];
