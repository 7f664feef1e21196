//! Sends what clients say to PostgreSQL two milliseconds later, and its answers at once: `delay SOCKET PORT…`. For
//! `cluster.sh`: threads that sleep take less of the processors than what is measured.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

const DELAY: Duration = Duration::from_millis(2);

fn forward(mut from: impl Read, mut to: impl Write, delay: Option<Duration>) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let due = delay.map(|delay| Instant::now() + delay);
        // A client of PostgreSQL waits for its answer, so nothing else arrives meanwhile.
        if let Some(due) = due {
            thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
}

fn serve(client: TcpStream, socket: &str) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    let server = UnixStream::connect(socket)?;
    let (to_client, to_server) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || {
        forward(&server, &to_client, None);
        let _closed = to_client.shutdown(Shutdown::Both);
    });
    forward(&client, &to_server, Some(DELAY));
    to_server.shutdown(Shutdown::Both)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let socket = arguments.next().expect("the path of PostgreSQL's socket");
    let listening: Vec<_> = arguments
        .map(|port| {
            let listener =
                TcpListener::bind(("127.0.0.1", port.parse().expect("a port"))).expect("a free port");
            let socket = socket.clone();
            thread::spawn(move || {
                for client in listener.incoming().flatten() {
                    let socket = socket.clone();
                    thread::spawn(move || serve(client, &socket));
                }
            })
        })
        .collect();
    for one in listening {
        let _ended = one.join();
    }
}
