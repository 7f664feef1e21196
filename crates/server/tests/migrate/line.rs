//! A line to a server on which a test sees each request before the server does.

use std::io::{BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::Builder;

use crate::late_pages::message;
use crate::support::Server;

/// Begins a line, and returns its endpoint. `answer` sees each request; what it returns is the answer, which
/// otherwise comes from the server.
pub(crate) fn line(
    server: &Server,
    answer: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (server, answer) = (server.address().to_owned(), Arc::new(answer));
    let accept = move || {
        for client in listener.incoming().map_while(Result::ok) {
            let (server, answer) = (server.clone(), Arc::clone(&answer));
            Builder::new().spawn(move || pass(&client, &server, &*answer)).unwrap();
        }
    };
    Builder::new().spawn(accept).unwrap();
    format!("http://{address}")
}

fn pass(mut client: &TcpStream, server: &str, answer: impl Fn(&str) -> Option<String>) {
    let mut requests = BufReader::new(client);
    let mut there = TcpStream::connect(server).unwrap();
    while let Some(request) = message(&mut requests) {
        let answered = if let Some(body) = answer(&String::from_utf8_lossy(&request)) {
            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
        } else {
            there.write_all(&request).unwrap();
            message(&mut BufReader::new(&there)).unwrap()
        };
        // A command that was stopped no longer reads.
        if client.write_all(&answered).is_err() {
            return;
        }
    }
}
