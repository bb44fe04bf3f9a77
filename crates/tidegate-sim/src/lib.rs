//! Studies in virtual time: production code, made-up traffic, fixed seeds.

pub mod random;
pub mod traffic;
pub mod accuracy;
