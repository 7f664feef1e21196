//! Typed answers and errors to bytes.

mod error;

use keywright_semantics::response::Response;

pub use error::{RenderedError, render_error, unknown_operation};

/// The body of an answer: one JSON document without a line end.
pub fn render(response: &Response) -> Vec<u8> {
    let _ = response;
    b"{}".to_vec()
}
