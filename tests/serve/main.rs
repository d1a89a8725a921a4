//! Serving scenarios over real connections, and driving clients against them (K-6 to K-10).

mod access;
#[cfg(unix)]
mod agent;
mod bounds;
mod client;
mod command;
mod delays;
mod drive;
mod endpoint;
mod faults;
mod gates;
mod judge;
mod letter;
mod load;
mod moments;
mod planted;
mod profiles;
mod questions;
mod several;
mod tape;
mod threads;
mod wire;
