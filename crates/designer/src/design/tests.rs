//! The designer against published designs, brute force and its own limits.

mod benchmarks;
mod brute_force;
mod cases;
mod limits;
mod shapes;
