//! Figures of this process under the names that Prometheus clients agree on. Without `/proc` only those that
//! are known everywhere.

use std::time::Duration;

use super::exposition::{Exposition, Kind, Millionths};

pub(super) fn describe(exposition: &mut Exposition, started_ms: u64) {
    let milliseconds = |ms: u64| Millionths(ms.saturating_mul(1_000));
    exposition.single(
        Kind::Gauge,
        "process_start_time_seconds",
        "Start of the process, in seconds since 1970.",
        milliseconds(started_ms),
    );
    if let Some(time) = processor_time() {
        let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let help = "Processor time of all threads of the process.";
        exposition.single(Kind::Counter, "process_cpu_seconds_total", help, Millionths(us));
    }
    if let Some(bytes) = resident_bytes() {
        let help = "Physical memory of the process.";
        exposition.single(Kind::Gauge, "process_resident_memory_bytes", help, bytes);
    }
    if let Some(files) = open_files() {
        exposition.single(Kind::Gauge, "process_open_fds", "Open file descriptors.", files);
    }
    if let Some(most) = open_files_max() {
        exposition.single(Kind::Gauge, "process_max_fds", "Limit of open file descriptors.", most);
    }
}

#[cfg(unix)]
fn processor_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

#[cfg(not(unix))]
fn processor_time() -> Option<Duration> {
    None
}

/// Physical memory of the process.
pub(crate) fn resident_bytes() -> Option<u64> {
    const KIB: u64 = 1024;
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(KIB)
}

fn open_files() -> Option<usize> {
    // The folder that is read is open too.
    Some(std::fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1))
}

#[cfg(unix)]
fn open_files_max() -> Option<u64> {
    rlimit::Resource::NOFILE.get_soft().ok()
}

#[cfg(not(unix))]
fn open_files_max() -> Option<u64> {
    None
}
