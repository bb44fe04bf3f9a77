//! The requests: texts that are there before anything is timed.

use tidegate_engine::{Check, Descriptor};

use super::REQUESTS;
use crate::keys::Key as _;

/// Who asks, one text per request.
pub(super) struct Callers(Vec<String>);

impl Callers {
    pub(super) fn new() -> Self {
        let caller = |index| {
            let mut caller = String::fresh();
            caller.set(index);
            caller
        };
        Self((0..).take(REQUESTS).map(caller).collect())
    }

    pub(super) fn get(&self, request: usize) -> &String {
        &self.0[request % self.0.len()]
    }
}

/// How a caller asks.
pub(super) trait Ask {
    /// Gives the caller's check to `take`.
    fn with<T>(caller: &str, take: impl FnOnce(&Check<'_>) -> T) -> T;
}

/// An order, with all that a gateway knows of it.
pub(super) struct Order;

/// A user and nothing else.
pub(super) struct User;

/// The same as Envoy's descriptor.
pub(super) struct UserDescriptor;

impl Ask for Order {
    #[inline]
    fn with<T>(caller: &str, take: impl FnOnce(&Check<'_>) -> T) -> T {
        let attributes = [
            ("api_key", caller),
            ("method", "POST"),
            ("path", "/api/v1/orders"),
            ("plan", "pro"),
            ("ip", "198.51.100.7"),
            ("country", "DE"),
        ];
        take(&Check { attributes: &attributes, ..Check::new("bench") })
    }
}

impl Ask for User {
    #[inline]
    fn with<T>(caller: &str, take: impl FnOnce(&Check<'_>) -> T) -> T {
        take(&Check { attributes: &[("user", caller)], ..Check::new("bench") })
    }
}

impl Ask for UserDescriptor {
    #[inline]
    fn with<T>(caller: &str, take: impl FnOnce(&Check<'_>) -> T) -> T {
        let entries = [("user", caller)];
        let descriptors = [Descriptor::new(&entries)];
        take(&Check { descriptors: &descriptors, ..Check::new("bench") })
    }
}
