//! Waiting with a ceiling: nothing sleeps and hopes.

use std::time::Duration;

const CEILING: Duration = Duration::from_secs(20);
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// What a future gives, unless it was waited for in vain.
pub(crate) async fn in_time<T>(future: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(CEILING, future).await.ok()
}

/// What a future gives, or the end of the test that waited in vain for it.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    in_time(future).await.unwrap_or_else(|| panic!("waited in vain for {what}"))
}

/// Looks again and again until there is something to see.
pub(crate) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(seen) = look().await {
                return seen;
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    };
    within(what, looking).await
}
