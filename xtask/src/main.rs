//! What people do by hand, as one command each: `cargo xtask ci`, `tidy`, `bench`.

fn main() {}
