//! The local store in encrypted folders: the tests of `../it` again, and those of encryption itself.

#![allow(clippy::expect_used, reason = "a test that cannot go on stops")]

#[path = "../it/damage.rs"]
mod damage;
mod form;
#[path = "../keys/mod.rs"]
mod keys;
#[path = "../it/kit.rs"]
mod kit;
#[path = "../it/overwriting.rs"]
mod overwriting;
#[path = "../it/removal.rs"]
mod removal;
#[path = "../it/scrub.rs"]
mod scrub;
mod secrets;
#[path = "../it/verify.rs"]
mod verify;
