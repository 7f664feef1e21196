//! Development tasks of this workspace.

fn main() {}
