//! The `stowage` command.

fn main() {}
