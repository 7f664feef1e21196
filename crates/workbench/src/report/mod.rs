//! A checked model as text, JSON, JUnit XML or Markdown.
//!
//! It formats; it decides nothing.
