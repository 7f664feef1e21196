//! The cost of verifying a request's signature, with and without a cached signing key.
//! `cargo bench -p keywright-wire`.

use divan::{Bencher, black_box};
use keywright_wire::sigv4::{
    Keyring, SignedRequest, Signer, SigningKeys, TimeCheck, TimeMs, read_claim, verify,
};

const NOW: TimeMs = TimeMs(1_795_000_000_000);

fn main() {
    divan::main();
}

struct OneKey;

impl Keyring for OneKey {
    fn secret(&self, _access_key_id: &str) -> Option<&str> {
        Some("secret")
    }
}

#[divan::bench(args = [(100, true), (100, false), (10_000, true)])]
fn verify_body(bencher: Bencher<'_, '_>, (body_bytes, key_is_known): (usize, bool)) {
    let (body, date) = ("x".repeat(body_bytes), NOW.to_basic());
    let unsigned = [
        ("content-type", "application/x-amz-json-1.0"),
        ("host", "localhost:8000"),
        ("x-amz-date", date.as_str()),
        ("x-amz-target", "DynamoDB_20120810.GetItem"),
    ];
    let names = unsigned.map(|(name, _)| name);
    let request =
        SignedRequest { method: "POST", path: "/", query: "", headers: &unsigned, body: body.as_bytes() };
    let authorization = Signer::new("key", "secret", "us-east-1").authorization(&request, &names, NOW);
    let mut headers = unsigned.to_vec();
    headers.push(("authorization", &authorization));
    let signed = SignedRequest { headers: &headers, ..request };
    let known = SigningKeys::default();
    bencher.bench(|| {
        let claim =
            read_claim(black_box(&signed), "dynamodb", TimeCheck::Now(NOW)).expect("the claim is whole");
        let fresh = SigningKeys::default();
        let keys = if key_is_known { &known } else { &fresh };
        verify(&signed, &claim, &OneKey, keys).expect("the signature holds");
    });
}
