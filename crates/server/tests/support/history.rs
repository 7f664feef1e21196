//! Requests and acknowledgements, from a recording of the server's sockets.
//!
//! A write counts as acknowledged from the line at which the server began to send its response. Only requests
//! of the workload in `ledger` are known.

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde_json::Value;

use crate::support::ledger::{Place, generation_of, place_of};
use crate::support::strace::{Call, End, Trace};

/// The content of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    Table,
    Stream,
    Rows(Vec<(Place, u64)>),
    Other,
}

impl Request {
    fn read(head: &str, body: &Value) -> Self {
        let target = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("x-amz-target").then(|| value.trim())
        });
        let operation = target.and_then(|target| target.rsplit('.').next()).unwrap_or_default();
        let row = |item: &Value| (place_of(item), generation_of(item));
        match operation {
            "CreateTable" => Self::Table,
            "UpdateTable" => Self::Stream,
            "PutItem" => Self::Rows(vec![row(&body["Item"])]),
            "TransactWriteItems" => {
                let puts = body["TransactItems"].as_array().unwrap().iter();
                Self::Rows(puts.map(|put| row(&put["Put"]["Item"])).collect())
            }
            _ => Self::Other,
        }
    }
}

/// The state of a connection.
#[derive(Default)]
struct Connection {
    unread: Vec<u8>,
    unanswered: VecDeque<Request>,
}

impl Connection {
    /// Removes complete requests from the received bytes.
    fn take_requests(&mut self) -> Vec<Request> {
        let mut taken = Vec::new();
        while let Some(end) = self.unread.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8(self.unread[..end].to_vec()).unwrap();
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                if name.eq_ignore_ascii_case("content-length") { value.trim().parse().ok() } else { None }
            });
            let whole = end + 4 + length.unwrap_or(0);
            if self.unread.len() < whole {
                break;
            }
            let body = serde_json::from_slice(&self.unread[end + 4..whole]).unwrap_or_default();
            let request = Request::read(&head, &body);
            self.unanswered.push_back(request.clone());
            taken.push(request);
            self.unread.drain(..whole);
        }
        taken
    }
}

/// Acknowledged requests, by the line at which their response was sent.
#[derive(Clone, Debug, Default)]
pub struct History {
    acknowledged: Vec<(usize, Request)>,
    /// All requests.
    requests: Vec<Request>,
}

impl History {
    pub fn read(trace: &Trace) -> Self {
        let mut history = Self::default();
        let mut connections: HashMap<i64, Connection> = HashMap::new();
        for (end, place) in &trace.ends {
            let call = &trace.calls[*place];
            let connection = connections.get_mut(&call.number(0).unwrap_or(-1));
            match (end, call.name.as_str(), connection) {
                (End::Ended, "accept4", _) if call.succeeded() => {
                    connections.insert(call.result.unwrap(), Connection::default());
                }
                (End::Begun, "close", Some(_)) => {
                    connections.remove(&call.number(0).unwrap());
                }
                (End::Ended, "recvfrom", Some(connection)) if call.succeeded() => {
                    connection.unread.extend_from_slice(call.arguments[1].bytes());
                    history.requests.extend(connection.take_requests());
                }
                (End::Begun, "sendto" | "write" | "writev" | "sendmsg", Some(connection)) => {
                    history.answer(connection, call);
                }
                _ => {}
            }
        }
        history
    }

    fn answer(&mut self, connection: &mut Connection, call: &Call) {
        let answer = call.arguments[1].bytes();
        if !answer.starts_with(b"HTTP/1.1 ") {
            return;
        }
        let request = connection.unanswered.pop_front().expect("an answer follows its request");
        if answer.starts_with(b"HTTP/1.1 200") {
            self.acknowledged.push((call.begun, request));
        }
    }

    fn before(&self, line: usize) -> impl Iterator<Item = &Request> {
        self.acknowledged.iter().filter(move |(answered, _)| *answered < line).map(|(_, request)| request)
    }

    /// Whether a request of this kind was acknowledged before this line.
    pub fn was_acknowledged(&self, wanted: &Request, line: usize) -> bool {
        self.before(line).any(|request| request == wanted)
    }

    /// The greatest generation of each key acknowledged before this line.
    pub fn acknowledged_before(&self, line: usize) -> BTreeMap<Place, u64> {
        let mut greatest = BTreeMap::new();
        for request in self.before(line) {
            let Request::Rows(rows) = request else { continue };
            for (place, generation) in rows {
                let known = greatest.entry(place.clone()).or_insert(0);
                *known = (*known).max(*generation);
            }
        }
        greatest
    }

    /// Whether a request ever wrote this generation.
    pub fn was_requested(&self, place: &Place, generation: u64) -> bool {
        let row = (place.clone(), generation);
        self.requests.iter().any(|request| matches!(request, Request::Rows(rows) if rows.contains(&row)))
    }

    /// Number of acknowledged writes.
    pub fn writes(&self) -> usize {
        self.acknowledged.iter().filter(|(_, request)| matches!(request, Request::Rows(_))).count()
    }
}
