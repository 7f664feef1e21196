//! Time of decisions. `cargo bench -p keywright-access`.

fn main() {
    divan::main();
}
