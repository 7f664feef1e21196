//! Who may do what: policy documents, the conditions that requests meet, and the decision on one request.
//!
//! Sources: IAM user guide; service authorization reference for DynamoDB. It does not know I/O, clocks, keys
//! or signatures, where policies are kept, or how a server learns what a request brings.

pub mod action;
pub mod arn;
mod arn_pattern;
pub mod check;
mod condition;
pub mod context;
pub mod decide;
pub mod document;
pub mod explain;
pub mod file;
pub mod lint;
pub mod needs;
pub mod network;
mod pattern;
pub mod policies;
pub mod principal;
pub mod simulate;
mod template;
pub mod truth;
