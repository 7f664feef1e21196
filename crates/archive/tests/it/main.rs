//! Backups as a whole, over stores in memory that fail, and over folders.

mod chains;
mod damage;
mod encrypted;
mod faulty_store;
mod folders;
mod listing;
mod pruning;
mod support;
mod writing;
