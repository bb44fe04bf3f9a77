//! The store beside the reference store: the same random history, verdict by verdict and state by state.
