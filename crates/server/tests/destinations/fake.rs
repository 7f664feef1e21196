//! A Kinesis whose failures a test chooses. It keeps what it was sent, in the order of arrival.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::Builder;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_mins(1);

/// How it behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Normal,
    /// Connections are closed at once.
    Down,
    /// Calls about this stream are never answered.
    Hangs(String),
    /// Every third record of a call fails.
    FailsSome,
    /// Every call is answered with this error.
    Answers(u16, &'static str),
}

/// A record that was put.
#[derive(Clone, Debug)]
pub(crate) struct Put {
    pub(crate) stream: String,
    pub(crate) partition_key: String,
    pub(crate) data: Vec<u8>,
}

impl Put {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.data).unwrap()
    }
}

struct State {
    mode: Mode,
    streams: BTreeMap<String, &'static str>,
    puts: Vec<Put>,
    connections: u64,
    records: u64,
    failed: u64,
}

#[derive(Clone)]
pub(crate) struct Fake {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Fake {
    /// Starts one that has these streams.
    pub(crate) fn start(streams: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let streams = streams.iter().map(|stream| ((*stream).to_owned(), "ACTIVE")).collect();
        let state =
            State { mode: Mode::Normal, streams, puts: Vec::new(), connections: 0, records: 0, failed: 0 };
        let fake = Self { address, state: Arc::new(Mutex::new(state)) };
        let accepting = fake.clone();
        let accept_all = move || {
            for connection in listener.incoming().map_while(Result::ok) {
                accepting.state().connections += 1;
                let serving = accepting.clone();
                Builder::new().spawn(move || serving.serve(connection)).unwrap();
            }
        };
        Builder::new().spawn(accept_all).unwrap();
        fake
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn set(&self, mode: Mode) {
        self.state().mode = mode;
    }

    pub(crate) fn set_status(&self, stream: &str, status: &'static str) {
        self.state().streams.insert(stream.to_owned(), status);
    }

    pub(crate) fn connections(&self) -> u64 {
        self.state().connections
    }

    /// How many records it has refused.
    pub(crate) fn failed(&self) -> u64 {
        self.state().failed
    }

    /// What arrived at a stream.
    pub(crate) fn puts(&self, stream: &str) -> Vec<Put> {
        self.state().puts.iter().filter(|put| put.stream == stream).cloned().collect()
    }

    /// Waits until what arrived at a stream is as wanted, and returns it.
    pub(crate) fn wait(&self, stream: &str, what: &str, is_so: impl Fn(&[Put]) -> bool) -> Vec<Put> {
        let begun = Instant::now();
        loop {
            let puts = self.puts(stream);
            if is_so(&puts) {
                return puts;
            }
            assert!(begun.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}, {} arrived", puts.len());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn serve(&self, connection: TcpStream) {
        let mut stream = BufReader::new(connection);
        while let Some((target, body)) = read(&mut stream) {
            if self.state().mode == Mode::Down {
                return;
            }
            let body: Value = serde_json::from_slice(&body).unwrap();
            let name = body["StreamName"].as_str().unwrap().to_owned();
            while self.state().mode == Mode::Hangs(name.clone()) {
                std::thread::sleep(Duration::from_millis(50));
            }
            let (status, answer) = self.answer(&target, &name, &body);
            let text = answer.to_string();
            let head = format!("HTTP/1.1 {status} Some\r\nContent-Length: {}\r\n\r\n", text.len());
            if stream.get_mut().write_all(format!("{head}{text}").as_bytes()).is_err() {
                return;
            }
        }
    }

    fn answer(&self, target: &str, name: &str, body: &Value) -> (u16, Value) {
        let mut state = self.state();
        if let Mode::Answers(status, error) = state.mode {
            return (status, json!({"__type": error, "message": "as the test wants"}));
        }
        let Some(status) = state.streams.get(name).copied() else {
            return (400, json!({"__type": "ResourceNotFoundException"}));
        };
        if target.ends_with(".DescribeStreamSummary") {
            return (200, json!({"StreamDescriptionSummary": {"StreamName": name, "StreamStatus": status}}));
        }
        assert!(target.ends_with(".PutRecords"), "{target}");
        let records = body["Records"].as_array().unwrap();
        assert!((1..=500).contains(&records.len()));
        let (mut answers, mut failed) = (Vec::new(), 0);
        for record in records {
            state.records += 1;
            if state.mode == Mode::FailsSome && state.records.is_multiple_of(3) {
                failed += 1;
                answers.push(
                    json!({"ErrorCode": "ProvisionedThroughputExceededException", "ErrorMessage": "m"}),
                );
                continue;
            }
            let partition_key = record["PartitionKey"].as_str().unwrap().to_owned();
            let data = base64(record["Data"].as_str().unwrap());
            state.puts.push(Put { stream: name.to_owned(), partition_key, data });
            answers.push(
                json!({"SequenceNumber": state.records.to_string(), "ShardId": "shardId-000000000000"}),
            );
        }
        state.failed += failed;
        (200, json!({"FailedRecordCount": failed, "Records": answers}))
    }
}

/// The target and the body of a request; `None` at the end of the connection.
fn read(stream: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let (mut target, mut length, mut line) = (String::new(), 0, String::new());
    loop {
        line.clear();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            if line.trim_end().is_empty() {
                break;
            }
            continue;
        };
        match name.to_ascii_lowercase().as_str() {
            "x-amz-target" => value.clone_into(&mut target),
            "content-length" => length = value.parse().unwrap(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((target, body))
}

pub(crate) fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut held, mut bits) = (Vec::new(), 0_u32, 0);
    for digit in text.bytes().filter(|digit| *digit != b'=') {
        let value = DIGITS.iter().position(|known| *known == digit).unwrap();
        held = held << 6 | u32::try_from(value).unwrap();
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xff).unwrap());
        }
    }
    bytes
}
