//! What one client takes leaves the others theirs: memory, and turns.

use std::io::Read as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::{call, last, read_until, send};
use crate::processes::{begin, endless};
use crate::support::Server;

fn start(more: &[&str]) -> Server {
    Server::start(&[&["--in-memory", "--studio-port", "0"], more].concat())
}

#[expect(clippy::disallowed_methods, reason = "how long a call waits")]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn a_short_call_does_not_wait_for_long_ones() {
    let server = start(&[]);
    // Two have processes of their own after a moment; the third waits for one.
    let _long = [begin(&server), begin(&server), send(&server, "model/simulate", &endless())];
    let orders = json!({"text": include_str!("../../../../examples/models/orders.yaml")});
    for name in ["model/check", "model/parse", "model/cost"] {
        let begun = now();
        let answer = call(&server, name, &orders);
        assert_eq!(answer.status, 200, "{name}: {}", answer.body);
        assert!(last(&answer).get("error").is_none(), "{name}: {}", answer.body);
        assert!(begun.elapsed() < Duration::from_secs(20), "{name}: {:?}", begun.elapsed());
    }
}

#[test]
fn a_list_of_models_has_none_of_their_texts() {
    let server = start(&[]);
    // In JSON each of these characters has six bytes.
    let text = "\u{1}".repeat(1 << 20);
    for number in 0..4 {
        let name = format!("m{number}.yaml");
        let saved = call(&server, "models/write", &json!({"name": name, "text": text, "hash": null}));
        assert_eq!(saved.status, 200, "{}", saved.body);
    }
    let list = call(&server, "models/list", &json!({}));
    assert!(list.body.len() < 1_000, "{} bytes", list.body.len());
    let first = &list.json()["models"][0];
    assert_eq!((&first["name"], &first["bytes"]), (&json!("m0.yaml"), &json!(1 << 20)));
    let read = call(&server, "models/read", &json!({"name": "m0.yaml"})).json();
    assert_eq!((&read["hash"], read["text"].as_str().unwrap().len()), (&first["hash"], 1 << 20));
}

#[test]
fn a_call_that_waits_keeps_the_memory_of_its_body() {
    let server = start(&["--budget-wait-ms", "2000"]);
    let _long = [begin(&server), begin(&server)];
    let mut large = endless();
    large["more"] = Value::from("x".repeat(15 << 20));
    // They wait for a place, and together have the memory for bodies.
    let waiting: Vec<TcpStream> = (0..4)
        .map(|_| {
            let mut stream = send(&server, "model/simulate", &large);
            read_until(&mut stream, "200 OK");
            stream
        })
        .collect();
    let refused = call(&server, "model/simulate", &large);
    assert_eq!((refused.status, refused.kind().as_str()), (429, "busy"), "{}", refused.body);
    assert!(refused.body.contains("memory for the body"), "{}", refused.body);
    drop(waiting);
    let taken = || {
        let mut stream = send(&server, "model/simulate", &large);
        let mut first = [0; 15];
        stream.read_exact(&mut first).unwrap();
        first.ends_with(b"200 OK")
    };
    assert!((0..5).any(|_| taken()), "who leaves gives it back");
}
