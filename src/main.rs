//! The `reenact` program: everything it does is in the library's `cli` room.

fn main() {}
