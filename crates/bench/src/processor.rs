//! The server's CPU time: of all figures the least disturbed by other programs on the machine.
//!
//! It reads Linux's `/proc` and finds only servers on this machine. Elsewhere there is no figure.

use std::path::Path;
use std::time::Duration;

/// `/proc` gives times in hundredths of a second, with any kernel clock.
const TICK_MS: u64 = 10;
/// The state of a listening socket in `/proc/net/tcp`.
const LISTENING: &str = "0A";

/// A process whose CPU time is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process(u32);

impl Process {
    pub(super) fn this() -> Self {
        Self(std::process::id())
    }

    /// The process that listens on the port of `host:port`, if it is on this machine and readable.
    pub(super) fn listening_on(authority: &str) -> Option<Self> {
        let (host, port) = authority.rsplit_once(':')?;
        let local = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
        let port: u16 = port.parse().ok()?;
        let inode = local.then(|| listening_inode(port)).flatten()?;
        let wanted = format!("socket:[{inode}]");
        std::fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
            let id: u32 = entry.file_name().to_str()?.parse().ok()?;
            holds(&entry.path().join("fd"), &wanted).then_some(Self(id))
        })
    }

    /// CPU time of all threads so far.
    pub(super) fn spent(self) -> Option<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0)).ok()?;
        // The program's name is the second field, in parentheses, and can contain anything.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = |place: usize| fields.get(place)?.parse::<u64>().ok();
        Some(Duration::from_millis((ticks(11)? + ticks(12)?) * TICK_MS))
    }
}

fn holds(descriptors: &Path, wanted: &str) -> bool {
    let Ok(entries) = std::fs::read_dir(descriptors) else { return false };
    entries
        .flatten()
        .any(|entry| std::fs::read_link(entry.path()).is_ok_and(|link| link.to_str() == Some(wanted)))
}

fn listening_inode(port: u16) -> Option<String> {
    ["/proc/net/tcp", "/proc/net/tcp6"].iter().find_map(|table| {
        let text = std::fs::read_to_string(table).ok()?;
        text.lines().find_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (_, local_port) = fields.get(1)?.rsplit_once(':')?;
            let matches =
                u16::from_str_radix(local_port, 16) == Ok(port) && fields.get(3) == Some(&LISTENING);
            matches.then(|| fields.get(9).map(|inode| (*inode).to_owned())).flatten()
        })
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_process_behind_a_local_port_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let authority = listener.local_addr().unwrap().to_string();
        assert_eq!(Process::listening_on(&authority), Some(Process::this()));
        assert!(Process::this().spent().is_some());
        assert_eq!(Process::listening_on("db.example:80"), None);
    }
}
