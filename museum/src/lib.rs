//! An honest agent loop on the public contract, and the museum: variants of it, each with one bug of a real agent.
//!
//! Read [`mini_loop`] first: it is a whole engine, small enough to be read at once, and a model for an engine of your own. The [`exhibits`] show what goes wrong
//! when one of its habits is another one, and which order, fault or interrupt shows it.
//!
//! This crate uses `reenact` as a crate of yours would: by its public contract alone. `museum/README.md` lists the exhibits and says how to run one.

pub mod exhibits;
pub mod mini_loop;
