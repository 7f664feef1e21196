//! Another server's import of export folders.

mod dynoxide;
