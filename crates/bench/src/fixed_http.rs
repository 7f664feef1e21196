//! The bare HTTP server: the same stack as Keywright's listener, one fixed response, nothing behind it. Its
//! settings are the listener's, except that hyper's own timer times heads, as in a server without special
//! care.
//!
//! It runs in a process of its own, like the measured server; `start` is the parent's side, `serve` the
//! child's.

use std::io::{BufRead as _, BufReader};
use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use keywright_process::failure::Failure;
use keywright_process::io_fault::Explained;
use keywright_process::output;
use tokio::net::{TcpListener, TcpStream};

use super::client::Endpoint;

/// The listener's time limit of heads.
const HEAD_SECONDS_MAX: u64 = 30;

/// A running bare server; dropping it ends the process.
pub(super) struct FixedHttp {
    process: Child,
    pub(super) endpoint: Endpoint,
}

impl FixedHttp {
    /// Starts a server that responds with bodies of this size.
    pub(super) fn start(answer_bytes: u64) -> Result<Self, Failure> {
        let program = std::env::current_exe()
            .map_err(|error| Failure::new(format!("cannot find this program's file: {error}")))?;
        let mut process = Command::new(program)
            .args(["bench-fixed-http", "--answer-bytes", &answer_bytes.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| Failure::new(format!("cannot start the bare HTTP server: {error}")))?;
        let mut authority = String::new();
        if let Some(output) = process.stdout.take() {
            BufReader::new(output).read_line(&mut authority).map_err(|error| {
                Failure::new(format!("cannot read the port of the bare HTTP server: {error}"))
            })?;
        }
        let endpoint = Endpoint {
            name: "bare HTTP".to_owned(),
            authority: authority.trim().to_owned(),
            fixed: true,
            signer: None,
        };
        Ok(Self { process, endpoint })
    }
}

impl Drop for FixedHttp {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Serves until killed.
pub(super) fn serve(answer_bytes: usize) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start the runtime: {error}")))?;
    let body = Bytes::from(vec![b'x'; answer_bytes]);
    runtime.block_on(async move {
        let explain = |error: std::io::Error| format!("cannot listen: {}", Explained(&error));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(explain)?;
        output::say(&listener.local_addr().map_err(explain)?.to_string());
        loop {
            let (stream, _peer) = listener.accept().await.map_err(explain)?;
            stream.set_nodelay(true).map_err(explain)?;
            tokio::spawn(converse(stream, body.clone()));
        }
    })
}

async fn converse(stream: TcpStream, body: Bytes) {
    let answer = service_fn(move |request: Request<Incoming>| {
        let body = body.clone();
        async move {
            let _sent = request.into_body().collect().await?;
            let mut response = Response::new(Full::new(body));
            let json = HeaderValue::from_static("application/x-amz-json-1.0");
            response.headers_mut().insert(CONTENT_TYPE, json);
            Ok::<_, hyper::Error>(response)
        }
    });
    let conversation = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(HEAD_SECONDS_MAX))
        .pipeline_flush(true)
        .serve_connection(TokioIo::new(stream), answer);
    if let Err(error) = conversation.await {
        tracing::debug!(%error, "connection ended early");
    }
}
