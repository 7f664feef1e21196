//! The rules L001 to L060: findings about a model and what its run measured.
//!
//! It executes nothing; it knows no rule that the service does not have.
