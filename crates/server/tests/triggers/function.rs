//! A small endpoint of functions: it notes every invocation and answers what a test wants.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

/// What a function is called with.
#[derive(Clone, Debug)]
pub(crate) struct Invocation {
    pub(crate) path: String,
    pub(crate) headers: Vec<String>,
    pub(crate) event: Value,
}

impl Invocation {
    pub(crate) fn records(&self) -> &[Value] {
        self.event["Records"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// The text of an attribute of each record's key.
    pub(crate) fn keys(&self, name: &str) -> Vec<String> {
        self.records().iter().map(|record| key(record, name)).collect()
    }
}

/// The text of an attribute of a record's key.
pub(crate) fn key(record: &Value, name: &str) -> String {
    record["dynamodb"]["Keys"][name]["S"].as_str().unwrap().to_owned()
}

/// What a function answers.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Body(String),
    /// An error of the function.
    Error,
    Status(u16),
    /// Nothing, for as long as the test lasts.
    Hang,
}

impl Answer {
    pub(crate) fn done() -> Self {
        Self::Body("null".to_owned())
    }
}

pub(crate) struct Function {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Invocation>>>,
}

impl Function {
    /// Starts an endpoint; `answer` gets each invocation.
    pub(crate) fn answering(answer: impl Fn(&Invocation) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<Invocation>>> = Arc::default();
        let (noted, answer) = (Arc::clone(&seen), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (noted, answer) = (Arc::clone(&noted), Arc::clone(&answer));
                std::thread::spawn(move || serve(&stream, &noted, &*answer));
            }
        });
        Self { url, seen }
    }

    pub(crate) fn taking_all() -> Self {
        Self::answering(|_| Answer::done())
    }

    pub(crate) fn invocations(&self) -> Vec<Invocation> {
        self.seen.lock().unwrap().clone()
    }

    /// All records, in the order of invocations.
    pub(crate) fn records(&self) -> Vec<Value> {
        self.invocations().iter().flat_map(|invocation| invocation.records().to_vec()).collect()
    }
}

fn serve(stream: &TcpStream, noted: &Mutex<Vec<Invocation>>, answer: &dyn Fn(&Invocation) -> Answer) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut headers = Vec::new();
        loop {
            let mut header = String::new();
            if reader.read_line(&mut header).unwrap_or(0) == 0 {
                return;
            }
            if header.trim().is_empty() {
                break;
            }
            headers.push(header.trim().to_ascii_lowercase());
        }
        let length = headers.iter().find_map(|header| header.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let invocation =
            Invocation { path, headers, event: serde_json::from_slice(&body).unwrap_or_default() };
        noted.lock().unwrap().push(invocation.clone());
        let (status, error, body) = match answer(&invocation) {
            Answer::Body(body) => (200, "", body),
            Answer::Error => {
                (200, "X-Amz-Function-Error: Unhandled\r\n", "{\"errorMessage\":\"no\"}".to_owned())
            }
            Answer::Status(status) => (status, "", String::new()),
            Answer::Hang => loop {
                std::thread::sleep(Duration::from_hours(1));
            },
        };
        let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n{error}\r\n", body.len());
        let mut stream = stream;
        if stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).is_err() {
            return;
        }
    }
}

/// Waits until something is there.
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "{what} has not happened");
        std::thread::sleep(Duration::from_millis(20));
    }
}
