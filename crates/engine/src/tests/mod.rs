//! The data plane on the memory store: errors, capacity, pages, transactions, and random operations against
//! an oracle.

mod batches;
mod branches;
mod capacity;
mod client_bounds;
mod conflicts;
mod errors;
mod flaky;
mod flaky_store;
mod flaky_tables;
mod guard;
pub(crate) mod harness;
mod history;
mod history_of_several;
mod insights;
mod item_history;
mod lane;
mod live_index;
mod metrics;
mod oracle;
mod pages;
mod partiql;
mod partiql_reads;
mod partiql_transactions;
mod records;
mod restart;
mod scaling;
mod shared;
mod soak;
mod spaces;
mod stamps;
mod streams;
mod tables;
mod throttling;
mod transactions;
mod ttl;
mod writes;
