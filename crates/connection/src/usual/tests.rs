//! Connections by the short way and by hyper alone answer the same bytes with the same bytes.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::Response;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::budget::Budget;
use crate::client::{AddressLimits, Client, Counts};
use crate::connections::{ConnectionFigures, Connections};
use crate::head_meter::HeadMeter;
use crate::idle_timeout::CloseRequest;
use crate::limits::{Limits, PerAddress};
use crate::listener;
use crate::refused::Refused;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Turns that a connection gets for its answers to a piece.
const TURNS: usize = 300;
const HEAD: &str = "POST / HTTP/1.1\r\nhost: here\r\nx-amz-target: A.B\r\ncontent-length: 2\r\n";

/// Answers with what it was sent.
#[derive(Default)]
struct Echo<const HAS_USUAL: bool> {
    /// Requests that came by the short way.
    whole: AtomicUsize,
    refused: Arc<Refused>,
}

impl<const HAS_USUAL: bool> Serving for Echo<HAS_USUAL> {
    type Answer = Response<Full<Bytes>>;
    type Known = ();
    const HAS_USUAL: bool = HAS_USUAL;

    fn connections(&self) -> Connections {
        let limits = Limits {
            connections_max: 1,
            connections_per_address: PerAddress::Unlimited,
            requests_per_address: PerAddress::Unlimited,
            body_budget_bytes: 0,
            decode_budget_bytes: 0,
            answer_budget_bytes: 0,
            check_ms: 1,
            budget_wait_ms: 1,
        };
        let (figures, budget) = (ConnectionFigures::new(&limits), Budget::new(0, Duration::ZERO));
        Connections::new(&limits, false, Arc::new(figures), Arc::clone(&self.refused), budget)
    }

    fn meter<Io: AsyncRead>(&self, stream: Io, client: &Client) -> HeadMeter<Io> {
        let budget = Budget::new(1 << 20, Duration::ZERO);
        HeadMeter::new(stream, Arc::clone(&client.activity), budget, Arc::clone(&self.refused))
    }

    fn refused(&self) -> &Refused {
        &self.refused
    }

    async fn answer(&self, head: &Parts, body: RequestBody, _: &Client, (): &()) -> Response<Full<Bytes>> {
        if matches!(body, RequestBody::Whole(_)) {
            self.whole.fetch_add(1, Ordering::Relaxed);
        }
        let is_large = head.headers.contains_key("x-large");
        for _ in 0..head.headers.get("x-wait").map_or(0, HeaderValue::len) {
            tokio::task::yield_now().await;
        }
        let body = body.collect().await.map(http_body_util::Collected::to_bytes);
        let headers: Vec<String> =
            head.headers.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
        let said = format!("{} {} {headers:?} {body:?}", head.method, head.uri);
        let said = if is_large { said.repeat(500) } else { said };
        let mut response = Response::new(Full::new(Bytes::from(said)));
        response.headers_mut().insert("x-one", HeaderValue::from_static("1"));
        response.headers_mut().insert("x-two", HeaderValue::from_static("2"));
        response
    }
}

/// What the server sends on a connection, without dates.
async fn answers<const HAS_USUAL: bool>(pieces: &[&[u8]]) -> (String, usize) {
    let service = Arc::new(Echo::<HAS_USUAL>::default());
    let (server_side, client_side) = tokio::io::duplex(1 << 16);
    let client = Client::new(HERE, AddressLimits::default(), Counts::default());
    let served = listener::serve_stream(server_side, client, Arc::clone(&service));
    let (mut from_server, mut to_server) = tokio::io::split(client_side);
    let send = async {
        for piece in pieces {
            if to_server.write_all(piece).await.is_err() {
                break;
            }
            for _ in 0..TURNS {
                tokio::task::yield_now().await;
            }
        }
        // The connection may have been closed.
        let _ = to_server.shutdown().await;
    };
    let mut answered = Vec::new();
    let (read, (), ()) = tokio::join!(from_server.read_to_end(&mut answered), send, served);
    read.expect("reading from memory does not fail");
    let text = String::from_utf8(answered).expect("the answers are text");
    let lines = text.split_inclusive('\n').filter(|line| !line.starts_with("date: "));
    (lines.collect(), service.whole.load(Ordering::Relaxed))
}

/// Both ways say the same; how many requests took the short one.
async fn same(pieces: &[&[u8]]) -> usize {
    let (by_hyper, none) = answers::<false>(pieces).await;
    let (answered, whole) = answers::<true>(pieces).await;
    let shown: Vec<_> = pieces.iter().map(|piece| String::from_utf8_lossy(piece)).collect();
    assert_eq!(answered, by_hyper, "{shown:?}");
    assert_eq!(none, 0);
    whole
}

#[tokio::test]
async fn usual_requests_take_the_short_way() {
    let request = format!("{HEAD}\r\n{{}}");
    let request = request.as_bytes();
    assert_eq!(same(&[request]).await, 1);
    assert_eq!(same(&[request, request, request]).await, 3);
    let pipelined = request.repeat(20);
    assert_eq!(same(&[&pipelined, request]).await, 21);
    let (first, second) = request.split_at(40);
    assert_eq!(same(&[first, second, first, second]).await, 2, "a head may come in parts");
    let (head, body) = request.split_at(request.len() - 2);
    assert_eq!(same(&[request, head, body, request]).await, 1, "a body that comes late is hyper's");
    let again = [b"{\"a\":1}".as_slice(), b"{}"].map(|body| {
        let head = HEAD.replace("length: 2", &format!("length: {}", body.len()));
        [head.as_bytes(), b"X-Amz-Date: 2\r\n\r\n", body].concat()
    });
    assert_eq!(same(&[request, &again[0], &again[1], request]).await, 4, "the head may change");
}

#[tokio::test]
async fn unusual_requests_are_hypers_with_the_rest_of_their_connection() {
    let usual = format!("{HEAD}\r\n{{}}");
    let with = |line: &str| format!("{HEAD}{line}\r\n\r\n{{}}");
    let unusual = [
        usual.replace("POST", "PUT"),
        usual.replace("POST / ", "POST /?a=b "),
        usual.replace("POST / ", "POST http://here/ "),
        usual.replace("/1.1", "/1.0"),
        usual.replace("POST", "\r\nPOST"),
        usual.replace("POST", "P\u{d6}ST"),
        usual.replace("\r\n", "\n"),
        usual.replacen("\r\nhost", "\nhost", 1),
        usual.replace("length: 2", "length: +2"),
        usual.replace("length: 2", "length: 2, 2"),
        usual.replace("length: 2", "length: "),
        usual.replace("content-length: 2\r\n", ""),
        with("content-length: 2"),
        with("content-length: 3"),
        with("transfer-encoding: chunked"),
        with("Transfer-Encoding: identity"),
        with("expect: 100-continue"),
        with("upgrade: h2c"),
        with("connection: close"),
        with("connection: keep-alive, close"),
        with("x-a: 1\r\nx-a: 2"),
        with("x-a : 1"),
        with(": 1"),
        with("x-a"),
        with(" folded"),
        with("x-a: 1\r\n folded"),
        with("x-a:  1"),
        with("x-a: 1 "),
        with("x-a: \u{1}"),
        with("x-a: 1\rx-b: 2"),
        with("x-a: 1\nx-b: 2"),
        with("x\u{e4}: 1"),
        with(&["x: 1"; 40].join("\r\n")),
        with(&(0..40).map(|number| format!("x-{number}: 1")).collect::<Vec<_>>().join("\r\n")),
        with(&format!("x-a: {}", "a".repeat(9_000))),
        format!("{HEAD}\r\n{{}}GET / HTTP/1.1\r\nhost: here\r\n\r\n"),
    ];
    for unusual in &unusual {
        let (usual, unusual) = (usual.as_bytes(), unusual.as_bytes());
        let first = usize::from(unusual.starts_with(usual));
        assert_eq!(same(&[unusual, usual]).await, first);
        assert_eq!(same(&[usual, unusual, usual]).await, 1 + first);
        assert_eq!(same(&[&[usual, unusual, usual].concat()]).await, 1 + first);
        for cut in [1, unusual.len() / 2, unusual.len() - 1] {
            let (start, rest) = unusual.split_at(cut);
            assert_eq!(same(&[usual, start, rest, usual]).await, 1 + first);
        }
    }
}

#[tokio::test]
async fn answers_may_take_time_and_room() {
    let with = |line: &str| format!("{HEAD}{line}\r\n\r\n{{}}").into_bytes();
    let (waits, large) = (with("x-wait: 123"), with("x-wait: 1\r\nx-large: 1"));
    assert_eq!(same(&[&waits, &waits, &large, &waits]).await, 4);
    assert_eq!(same(&[&[waits.as_slice(), &large, &large, &waits].concat()]).await, 4);
}

#[tokio::test]
async fn a_client_that_leaves_is_answered_no_more() {
    let waits = format!("{HEAD}x-wait: {}\r\n\r\n{{}}", "1".repeat(10 * TURNS));
    let (text, whole) = answers::<true>(&[waits.as_bytes()]).await;
    assert_eq!((text.as_str(), whole), ("", 1));
}

/// What the server sends on a connection that it asks to close between two pieces.
async fn around_close<const HAS_USUAL: bool>(pieces: [&[u8]; 2], request: CloseRequest) -> String {
    let service = Arc::new(Echo::<HAS_USUAL>::default());
    let (server_side, mut client_side) = tokio::io::duplex(1 << 16);
    let client = Client::new(HERE, AddressLimits::default(), Counts::default());
    let activity = Arc::clone(&client.activity);
    let served = tokio::spawn(listener::serve_stream(server_side, client, service));
    client_side.write_all(pieces[0]).await.expect("the server reads");
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    activity.request_close(request);
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    // It may be closed already.
    let _ = client_side.write_all(pieces[1]).await;
    let mut answered = Vec::new();
    client_side.read_to_end(&mut answered).await.expect("reading from memory does not fail");
    served.await.expect("the connection ends");
    let text = String::from_utf8(answered).expect("the answers are text");
    text.split_inclusive('\n').filter(|line| !line.starts_with("date: ")).collect()
}

#[tokio::test]
async fn a_connection_closes_when_the_server_asks() {
    let usual = format!("{HEAD}\r\n{{}}").into_bytes();
    let waits = format!("{HEAD}x-wait: {}\r\n\r\n{{}}", "1".repeat(200)).into_bytes();
    let (start, rest) = usual.split_at(40);
    let both = [waits.as_slice(), &usual].concat();
    let cases: [[&[u8]; 2]; 6] =
        [[b"", b""], [start, rest], [&usual, b""], [&usual, &usual], [&waits, &usual], [&both, b""]];
    for pieces in cases {
        for request in [CloseRequest::AfterRequest, CloseRequest::UnlessExecuting, CloseRequest::Immediately]
        {
            if request == CloseRequest::UnlessExecuting && pieces[0].starts_with(&waits) {
                continue;
            }
            let by_hyper = around_close::<false>(pieces, request).await;
            assert_eq!(around_close::<true>(pieces, request).await, by_hyper, "{request:?} {pieces:?}");
        }
    }
    let last = around_close::<true>([&waits, b""], CloseRequest::AfterRequest).await;
    assert!(last.contains("x-two: 2\r\nconnection: close\r\ncontent-length: "), "{last}");
}
