//! What the operating system's errors mean to the person at the terminal: what is wrong, and what to do.
//!
//! It knows the kinds of errors, not what the program was doing: the caller names the action and the file.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::Path;

use super::failure::Failure;

/// A sentence for an error at a file or folder: `cannot read shop.yaml: …`.
pub fn cannot(action: &str, path: &Path, error: &io::Error) -> String {
    format!("cannot {action} {}: {}", path.display(), Explained(error))
}

/// For `map_err`: the failure with the sentence of `cannot`.
pub fn failed<'a>(action: &'a str, path: &'a Path) -> impl Fn(io::Error) -> Failure + Copy + 'a {
    move |error| Failure::new(cannot(action, path, &error))
}

/// An error in words.
pub struct Explained<'a>(pub &'a io::Error);

impl fmt::Display for Explained<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An error that the program or a library made says more than its kind.
        if let Some(meaning) = meaning(self.0.kind()).filter(|_| self.0.get_ref().is_none()) {
            return formatter.write_str(meaning);
        }
        let text = self.0.to_string();
        let code = self.0.raw_os_error().map(|code| format!(" (os error {code})"));
        let plain = code.and_then(|code| text.strip_suffix(&code));
        formatter.write_str(plain.unwrap_or(&text))
    }
}

/// What an error of this kind means; `None` for a rare one, whose own text is shown.
const fn meaning(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::NotFound => "there is no such file or folder: correct the path, or create it",
        ErrorKind::PermissionDenied => {
            "this user has no permission: change the owner or mode of the file and of its folder, or name \
             another place"
        }
        ErrorKind::AlreadyExists => "a file of this name is in the way: move it, or choose another name",
        ErrorKind::NotADirectory => {
            "a part of this path is a file and not a folder: move that file, or correct the path"
        }
        ErrorKind::IsADirectory => "this is a folder: name a file",
        ErrorKind::DirectoryNotEmpty => "the folder is not empty: choose another one",
        ErrorKind::InvalidData => "this is no text in UTF-8: name a text file, or convert it to UTF-8",
        ErrorKind::ReadOnlyFilesystem => {
            "its file system is mounted read-only: choose a place on another one, or mount it for writing"
        }
        ErrorKind::StorageFull => "the disk is full: free space, or choose a place on another disk",
        ErrorKind::QuotaExceeded => {
            "the user's quota on this disk is used up: free space, or choose a place on another disk"
        }
        ErrorKind::FileTooLarge => "the file would be larger than its file system allows: choose another one",
        ErrorKind::InvalidFilename => {
            "its file system does not take this name: choose a shorter one of letters and digits"
        }
        ErrorKind::CrossesDevices => "the two places are on different disks: choose a place on the same disk",
        ErrorKind::ConnectionRefused => "nothing listens there: start the server, or correct host and port",
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => {
            "the other side closed the connection: check its log, then try again"
        }
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::NetworkDown => {
            "no network leads there: check the host's name and this machine's network"
        }
        ErrorKind::TimedOut => "there was no answer in time: check host, port and firewall",
        ErrorKind::AddrInUse => "another program uses this port: stop it, or choose another port",
        ErrorKind::AddrNotAvailable => {
            "this machine has no such address: choose one of its own, such as 127.0.0.1"
        }
        ErrorKind::OutOfMemory => "this machine has too little memory free: end other programs",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_system_are_said_in_words_with_what_to_do() {
        // Codes of Linux: EPERM, ENOENT, EACCES, EEXIST, ENOTDIR, EISDIR, ENOSPC, EROFS, ECONNREFUSED.
        for (code, part) in [
            (1, "no permission"),
            (2, "no such file"),
            (13, "no permission"),
            (17, "in the way"),
            (20, "not a folder"),
            (21, "is a folder"),
            (28, "disk is full"),
            (30, "read-only"),
            (111, "nothing listens"),
        ] {
            let said = cannot("read", Path::new("x/shop.yaml"), &io::Error::from_raw_os_error(code));
            let (start, advice) = said.rsplit_once(": ").expect("reason and advice");
            assert!(start.starts_with("cannot read x/shop.yaml: ") && start.contains(part), "{said}");
            assert!(!advice.is_empty() && !said.contains("os error"), "{said}");
        }
    }

    #[test]
    fn rare_errors_keep_their_text_without_a_code() {
        // ELOOP has no stable kind.
        let said = Explained(&io::Error::from_raw_os_error(40)).to_string();
        assert!(!said.is_empty() && !said.contains("os error"), "{said}");
        let own = io::Error::new(ErrorKind::InvalidData, "the certificate is not trusted");
        assert_eq!(Explained(&own).to_string(), "the certificate is not trusted");
    }
}
