//! What it costs to find the rules that match a request, with few rules and with many.
//!
//! All cases are loaded at once and asked in turn, round by round; ratios are taken within a round.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::Result;
use smallvec::SmallVec;
use tidegate_rules::condition::Facts;
use tidegate_rules::corpus::{self, Request};
use tidegate_rules::matcher::Matcher;

use crate::allocations;
use crate::callgrind;
use crate::report::{Figures, Table, counted, timing};
use crate::words::words;

/// How many different requests are asked in turn.
const REQUESTS: usize = 64;

/// How long to measure.
pub(crate) struct Plan {
    pub(crate) rounds: u32,
    /// What one case takes of one round, about.
    pub(crate) milliseconds: u64,
    pub(crate) counts_instructions: bool,
}

words! {
    /// Which rules are loaded.
    Case {
        /// Only the facts of a request are made: a part of all other figures.
        Nothing = "none",
        Ten = "10",
        Hundred = "100",
        Thousand = "1000",
        TenThousand = "10000",
        /// Requests that match the same rules, however many there are.
        StrangersTen = "strangers-10",
        StrangersHundred = "strangers-100",
        StrangersThousand = "strangers-1000",
        StrangersTenThousand = "strangers-10000",
        /// Without a pivot, and all hold.
        Negations = "negations",
        /// Without a pivot, and none holds.
        VainNegations = "vain-negations",
        /// With the same pivot, and all hold.
        Prefixes = "prefixes",
        /// Without literal text.
        Expressions = "expressions",
    }
}

impl Case {
    fn matcher(self) -> Matcher {
        Matcher::new(match self {
            Self::Nothing => Vec::new(),
            Self::Ten | Self::StrangersTen => corpus::rules(10),
            Self::Hundred | Self::StrangersHundred => corpus::rules(100),
            Self::Thousand | Self::StrangersThousand => corpus::rules(1_000),
            Self::TenThousand | Self::StrangersTenThousand => corpus::rules(10_000),
            Self::Negations => corpus::negations(10_000),
            Self::VainNegations => corpus::vain_negations(10_000),
            Self::Prefixes => corpus::prefixes(10_000),
            Self::Expressions => corpus::expressions(200),
        })
    }

    const fn asks_strangers(self) -> bool {
        matches!(
            self,
            Self::StrangersTen
                | Self::StrangersHundred
                | Self::StrangersThousand
                | Self::StrangersTenThousand
        )
    }

    fn requests(self) -> Vec<Request> {
        if self.asks_strangers() { corpus::strangers(REQUESTS) } else { corpus::requests(REQUESTS) }
    }

    /// The case that this one is compared with.
    const fn base(self) -> Self {
        if self.asks_strangers() { Self::StrangersTen } else { Self::Ten }
    }

    const fn about(self) -> &'static str {
        match self {
            Self::Nothing => "no rules",
            Self::Ten => "10 rules",
            Self::Hundred => "100 rules",
            Self::Thousand => "1 000 rules",
            Self::TenThousand => "10 000 rules",
            Self::StrangersTen => "10 rules, strangers",
            Self::StrangersHundred => "100 rules, strangers",
            Self::StrangersThousand => "1 000 rules, strangers",
            Self::StrangersTenThousand => "10 000 rules, strangers",
            Self::Negations => "10 000 bare `not`, nearly all hold",
            Self::VainNegations => "10 000 bare `not`, none holds",
            Self::Prefixes => "10 000 under one pivot, all hold",
            Self::Expressions => "200 regular expressions without literal text",
        }
    }
}

/// A case at work.
struct Loaded {
    case: Case,
    matcher: Matcher,
    requests: Vec<Request>,
    /// How often all requests are asked in a round.
    repeats: u32,
    /// Nanoseconds per request, by round.
    taken: Vec<f64>,
}

/// What a child does whose instructions are counted.
pub(crate) fn serve(case: Case, repeats: u32) {
    let (matcher, requests) = (case.matcher(), case.requests());
    // What is made when first used is not counted: the first round is under another name.
    black_box(warm_up(&matcher, &requests));
    black_box(matching_loop(&matcher, &requests, repeats));
}

pub(crate) fn report(plan: &Plan) -> Result<()> {
    println!("## Finding the rules that match\n");
    println!(
        "{REQUESTS} requests with 8 attributes each, in turn, one thread. Nanoseconds per request, with the making of its \
         facts: median (quartiles), and the median of the ratios to 10 rules in the same round; {}.\n",
        counted(plan.rounds, "round")
    );
    println!(
        "Many requests have rules of their own among the further ones; those of strangers match the same rules of 10 as of \
         10 000.\n"
    );
    let mut cases: Vec<Loaded> = Case::ALL.iter().map(|case| Loaded::new(*case, plan)).collect();
    for round in 0..plan.rounds {
        eprintln!("matching, round {}", round + 1);
        for case in &mut cases {
            case.round();
        }
    }
    let columns = ["time", "instructions", "rules found", "always asked", "allocations"];
    let mut table = Table::new("rules", columns);
    for case in &cases {
        let base = cases.iter().find(|other| other.case == case.case.base()).unwrap_or(case);
        table.row(&case.case.about(), case.cells(base, plan)?);
    }
    println!("{table}");
    Ok(())
}

impl Loaded {
    fn new(case: Case, plan: &Plan) -> Self {
        eprintln!("loading {}", case.about());
        let (matcher, requests) = (case.matcher(), case.requests());
        warm_up(&matcher, &requests);
        let began = Instant::now();
        black_box(matching_loop(&matcher, &requests, 1));
        let wanted = Duration::from_millis(plan.milliseconds).as_nanos() / began.elapsed().as_nanos().max(1);
        let repeats = u32::try_from(wanted).unwrap_or(u32::MAX).max(1);
        Self { case, matcher, requests, repeats, taken: Vec::new() }
    }

    fn round(&mut self) {
        let began = Instant::now();
        black_box(matching_loop(&self.matcher, &self.requests, self.repeats));
        let asked = f64::from(self.repeats) * REQUESTS as f64;
        self.taken.push(began.elapsed().as_nanos() as f64 / asked);
    }

    fn cells(&self, base: &Self, plan: &Plan) -> Result<[String; 5]> {
        let before = allocations::count();
        let found = matching_loop(&self.matcher, &self.requests, 1);
        let allocated = allocations::count() - before;
        let counts = plan.counts_instructions && callgrind::is_installed();
        let instructions = if counts { format!("{:.0}", instructions(self.case)?) } else { "-".to_owned() };
        let each = |sum: u64| format!("{:.1}", sum as f64 / REQUESTS as f64);
        Ok([
            timing(&Figures::new(&self.taken), &Figures::ratios(&self.taken, &base.taken)),
            instructions,
            each(found),
            self.matcher.always_asked().to_string(),
            each(allocated),
        ])
    }
}

/// Per request: two runs that differ in their repeats, subtracted.
fn instructions(case: Case) -> Result<f64> {
    eprintln!("callgrind on {}", case.about());
    let run = |repeats: u64| {
        let words = ["match".to_owned(), case.to_string(), repeats.to_string()];
        callgrind::instructions_within("matching_loop", &words)
    };
    Ok((run(3)? - run(1)?) as f64 / (2 * REQUESTS) as f64)
}

#[inline(never)]
fn warm_up(matcher: &Matcher, requests: &[Request]) -> usize {
    let mut found = SmallVec::new();
    let count = |request: &Request| {
        matcher.matches(&request.facts(), &mut found);
        found.len()
    };
    requests.iter().map(count).sum()
}

/// What is measured. Never inlined, so that callgrind can find it by its name. How many rules were found.
#[inline(never)]
fn matching_loop(matcher: &Matcher, requests: &[Request], repeats: u32) -> u64 {
    let (mut facts, mut found, mut sum) = (Facts::new(), SmallVec::new(), 0);
    for _ in 0..repeats {
        for request in requests {
            request.tell(&mut facts);
            matcher.matches(black_box(&facts), &mut found);
            sum += found.len() as u64;
        }
    }
    sum
}
