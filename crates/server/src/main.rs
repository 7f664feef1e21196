//! The keywright binary.

fn main() {}
