//! Checking a model: its tables on an embedded engine, its data loaded, each pattern executed as one request and metered.
//!
//! It says what happened; `lint` says what that means.
