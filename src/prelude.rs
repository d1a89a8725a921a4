//! Replaces `std`'s prelude: the pure rooms are `no_std` + `alloc`, so each of their files starts from here.
//!
//! Of ours there is only what every room needs to speak: a reader should see in the imports where a name comes from.

pub(crate) use alloc::{
    borrow::{Cow, ToOwned},
    boxed::Box,
    format,
    string::{String, ToString},
    sync::Arc,
    vec,
    vec::Vec,
};

/// A count with its noun: `1 exchange`, `2 exchanges`.
pub(crate) fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
