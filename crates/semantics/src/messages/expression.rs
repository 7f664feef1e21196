//! Texts about expressions.
