//! Exports into a store that speaks S3 and checks signatures. `cargo xtask test` installs it.

mod rclone;
