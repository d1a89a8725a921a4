//! Calls driven by hand.
