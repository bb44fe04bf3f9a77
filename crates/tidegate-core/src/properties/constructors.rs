//! What can be built, and what the refusals say.

use std::time::Duration;

use crate::{Bounds, Limit, LimitError, MAX_AMOUNT, MAX_WINDOW, Rate, Timestamp, Window};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);
const MONTH: Duration = Duration::from_secs(31 * 86_400);

#[test]
fn ordinary_limits_never_fail() {
    for (amount, per) in [
        (1, SECOND),
        (7, SECOND),
        (12_345, MINUTE),
        (1_000_000, DAY),
        (1_000_000_000, MONTH),
        (333_333, SECOND),
        (999_999_937, MONTH),
        (1, MONTH),
        (1_000_000, SECOND),
        (10_000_000, SECOND),
        (100, Duration::from_millis(1)),
    ] {
        let rate = Rate::new(amount, per).unwrap();
        for limit in [
            Limit::gcra(rate, amount),
            Limit::gcra(rate, 1),
            Limit::token_bucket(amount, rate),
            Limit::leaky_bucket(amount, rate),
            Limit::leaky_bucket_shaping(amount, rate),
            Limit::fixed_window(amount, Window::Aligned(per)),
            Limit::fixed_window(amount, Window::FirstHit(per)),
            Limit::sliding_window(amount, per),
            Limit::sliding_window_in_parts(amount, per, 10),
            Limit::sliding_log_with_precision(amount, per, 50),
            Limit::concurrency(amount, per),
        ] {
            assert_eq!(
                limit.map(|limit| limit.capacity() == 1 || limit.capacity() == amount),
                Ok(true),
                "{amount} per {per:?}"
            );
        }
    }
}

#[test]
fn the_impossible_is_refused_with_what_to_write_instead() {
    let rate = Rate::new(1, MONTH).unwrap();
    let bounds = |start, end, next_end| {
        let at = Timestamp::from_micros;
        Window::Calendar(Bounds { start: at(start), end: at(end), next_end: at(next_end) })
    };
    let cases: [(Result<Limit, LimitError>, &str); 13] = [
        (Rate::new(0, SECOND).and_then(|rate| Limit::gcra(rate, 1)), "write at least 1"),
        (Limit::gcra(rate, 0), "write at least 1"),
        (Limit::sliding_window(MAX_AMOUNT + 1, DAY), "count in larger units"),
        (Limit::sliding_window(1, Duration::ZERO), "write at least 1 microsecond"),
        (Limit::sliding_window(1, Duration::from_nanos(1_500)), "write 2 us"),
        (Limit::sliding_window(1, MAX_WINDOW + SECOND), "write a smaller burst or a faster rate"),
        (Limit::gcra(rate, 1_000), "write a smaller burst or a faster rate"),
        (Limit::sliding_window_in_parts(1, SECOND, 0), "1 to 60 parts"),
        (Limit::sliding_window_in_parts(1, SECOND, 7), "write 8 parts"),
        (Limit::sliding_log(100_001, DAY), "sliding_log_with_precision"),
        (Limit::sliding_log_with_precision(10, DAY, 0), "from 1 to 100000"),
        (Limit::fixed_window(1, bounds(5, 5, 9)), "start < end < next end"),
        (Limit::concurrency(0, DAY), "write at least 1"),
    ];
    for (result, hint) in cases {
        let message = result.unwrap_err().to_string();
        assert!(message.contains(hint), "{message:?} does not say {hint:?}");
    }
}

#[test]
fn the_window_of_a_bucket_is_the_time_in_which_it_drains() {
    let rate = Rate::new(10, SECOND).unwrap();
    assert_eq!(Limit::gcra(rate, 20).unwrap().window_us(), Some(2_000_000));
    assert_eq!(Limit::concurrency(3, DAY).unwrap().window_us(), None);
}
