//! When a charge is paid: on admission, on refusal, always or never.

/// When a charge is paid. However it pays, it is judged at its cost as a member of its group, which passes if all of
/// its members do.
///
/// ```
/// use std::time::Duration;
/// use tidegate_core::{Key, Limit, Pay, Plan, Window};
/// // Five failed logins an hour, refused ones included; whoever exceeds that is locked out for a day.
/// let failures = Limit::sliding_window(5, Duration::from_secs(3_600))?;
/// let lock = Limit::fixed_window(1, Window::FirstHit(Duration::from_secs(86_400)))?;
/// let mut plan = Plan::new();
/// plan.charge_when(Key { home: &[b"alice"], own: &[b"failures"] }, failures, 1, Pay::Always)?;
/// plan.charge_when(Key { home: &[b"alice"], own: &[b"lock"] }, lock, 1, Pay::IfRefused { of: 1 })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pay {
    /// If its group passes and, for later groups, the first one does too.
    #[default]
    IfAdmitted,
    /// Then, and also when its group or the first one is refused: in that case past the limit as well, as a debt, until
    /// twice the capacity is used. So who keeps trying replaces what drains or fades, and stays refused; who pauses owes
    /// at most one capacity. For limits that count refused requests and, in a group of its own, for requests that are
    /// counted without being held to the limit.
    ///
    /// A meter's level goes up to twice its capacity, and so does what a sliding window or log counts; an exact log keeps
    /// up to two time stamps per unit of its amount, one with a precision twice as many as otherwise. A log forgets a burst
    /// all at once, a window later, and a fixed window all of it at its end: what came while the debt was at its bound was
    /// not booked, so that they admit again. The places that refusals take in a queue that shapes delay those behind
    /// them, never by more than a full queue does.
    Always,
    /// Never. For requests that are held to a limit without counting against it.
    Never,
    /// Only if one of the `of` charges right before it was itself refused by its own limit, and (in a later group) the
    /// first group passed; then whole, if it fits. It makes a gate: a window of amount 1 that begins with the first hit
    /// closes when the limits before it are exceeded, refuses while it is closed, is not extended by what it refuses, and
    /// opens by itself.
    IfRefused {
        /// How many of the charges right before it can close it; they are of the same group.
        of: u8,
    },
}

impl Pay {
    /// Whether a charge of a check that passes is paid: what a reservation holds, and a refund gives back.
    pub const fn on_admission(self) -> bool {
        matches!(self, Self::IfAdmitted | Self::Always)
    }

    /// Whether a charge of a check that is refused can be paid.
    pub const fn on_refusal(self) -> bool {
        matches!(self, Self::Always | Self::IfRefused { .. })
    }
}
