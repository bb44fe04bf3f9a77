//! Protocols: how a verdict is told to the outside, and what of the outside is to be trusted.
