//! Runs the program that prints a master key. Time and output are bounded.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

use crate::process::failure::Failure;
use crate::process::foreign::inline;
use crate::process::io_fault::Explained;

const TIME_MAX: Duration = Duration::from_secs(30);
/// Bytes of each of its outputs.
const BYTES_MAX: u64 = 4096;

/// What a command of the shell prints. What it says on standard error is part of the failure, and the command
/// itself, which may hold a secret, is not.
pub(super) async fn output(flag: &str, command: &str) -> Result<String, Failure> {
    output_within(flag, command, TIME_MAX).await
}

async fn output_within(flag: &str, command: &str, time_max: Duration) -> Result<String, Failure> {
    let failed = |why: String| Failure::new(format!("{flag}: {why}"));
    let io_failed = |error: io::Error| failed(Explained(&error).to_string());
    let mut child = shell(command)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(io_failed)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let ended = async { tokio::join!(read(stdout), read(stderr), child.wait()) };
    let Ok((printed, said, status)) = tokio::time::timeout(time_max, ended).await else {
        return Err(failed(format!("it has not ended within {} seconds", time_max.as_secs())));
    };
    let (printed, said) = (printed.map_err(io_failed)?, said.unwrap_or_default());
    let status = status.map_err(io_failed)?;
    if !status.success() {
        let said = String::from_utf8_lossy(&said);
        let said = inline(said.trim()).into_owned();
        return Err(failed(format!("it failed ({status}): {said}")));
    }
    if u64::try_from(printed.len()).unwrap_or(u64::MAX) > BYTES_MAX {
        return Err(failed(format!("it prints more than {BYTES_MAX} bytes")));
    }
    String::from_utf8(printed).map_err(|_| failed("it prints something else than text".to_owned()))
}

/// One byte more than the bound shows that there is more.
async fn read(from: Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        from.take(BYTES_MAX + 1).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}

#[cfg(not(windows))]
fn shell(command: &str) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]);
    shell
}

#[cfg(windows)]
fn shell(command: &str) -> Command {
    let mut shell = Command::new("cmd");
    shell.args(["/C", command]);
    shell
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    async fn said(command: &str) -> Result<String, String> {
        output_within("--flag", command, Duration::from_secs(2)).await.map_err(String::from)
    }

    #[tokio::test]
    async fn output_time_and_status_of_a_command_are_looked_at() {
        assert_eq!(said("printf key").await.as_deref(), Ok("key"));
        let failed = said("echo vault is closed >&2; exit 3").await.unwrap_err();
        assert!(!failed.contains("echo"), "the command may hold a secret: {failed}");
        assert!(failed.contains("exit status: 3") && failed.ends_with("vault is closed"), "{failed}");
        assert!(said("head -c 5000 /dev/zero").await.unwrap_err().contains("more than 4096 bytes"));
        assert!(said("printf '\\377'").await.unwrap_err().contains("something else than text"));
        assert!(said("sleep 60").await.unwrap_err().contains("not ended within 2 seconds"));
    }
}
