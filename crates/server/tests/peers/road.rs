//! The way to a server: a port that stays while the server is started again, and that can be cut.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

#[derive(Default)]
struct State {
    /// Where the server is; `None` while the way is cut.
    target: Option<String>,
    open: Vec<TcpStream>,
}

/// The way to a server.
pub(crate) struct Road {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Road {
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::<Mutex<State>>::default();
        let shared = Arc::clone(&state);
        std::thread::Builder::new()
            .spawn(move || {
                while let Ok((client, _)) = listener.accept() {
                    let mut state = shared.lock().unwrap();
                    // A client whose connection is dropped at once has lost its message.
                    let Some(target) = &state.target else { continue };
                    let Ok(server) = TcpStream::connect(target) else { continue };
                    for (mut from, mut to) in [
                        (client.try_clone().unwrap(), server.try_clone().unwrap()),
                        (server.try_clone().unwrap(), client.try_clone().unwrap()),
                    ] {
                        std::thread::Builder::new().spawn(move || forward(&mut from, &mut to)).unwrap();
                    }
                    state.open.push(client);
                    state.open.push(server);
                }
            })
            .unwrap();
        Self { address, state }
    }

    /// Leads to this address from now on.
    pub(crate) fn lead_to(&self, address: &str) {
        self.state.lock().unwrap().target = Some(address.to_owned());
    }

    /// Cuts the way, and everything that is on it.
    pub(crate) fn cut(&self) {
        let mut state = self.state.lock().unwrap();
        state.target = None;
        for stream in state.open.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn forward(from: &mut TcpStream, to: &mut TcpStream) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
