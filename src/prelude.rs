//! What `std`'s prelude would give: the pure rooms are `no_std` + `alloc`, so each of their files starts from here.
//!
//! Nothing of ours is re-exported: a reader should see in the imports where a name comes from.

pub(crate) use alloc::{
    borrow::{Cow, ToOwned},
    boxed::Box,
    format,
    string::{String, ToString},
    sync::Arc,
    vec,
    vec::Vec,
};
