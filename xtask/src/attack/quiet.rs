//! The quiet clients, whose waits an attack must not lengthen, and the prober, which connects again and
//! again.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::clock::Timer;
use super::http::Connection;

pub(crate) const CLIENTS: usize = 4;
const PAUSE: Duration = Duration::from_millis(10);
const PROBE_EVERY: Duration = Duration::from_millis(250);
/// A client that gets no answer for so long gives up, which counts as an error.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// When a request began; in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Before,
    During,
    After,
    /// The server is being stopped: nothing counts any more.
    End,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    client: usize,
    begun: Phase,
    ended: Phase,
    ended_at: Duration,
    took: Duration,
    served: bool,
}

/// Latencies of one phase.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Latency {
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    pub(crate) longest: Duration,
    pub(crate) errors: usize,
    pub(crate) requests: usize,
}

pub(crate) struct Quiet {
    timer: Timer,
    phase: AtomicU8,
    samples: Mutex<Vec<Sample>>,
    probes: Mutex<Vec<(Duration, bool)>>,
}

impl Quiet {
    pub(crate) fn new() -> Self {
        Self {
            timer: Timer::start(),
            phase: AtomicU8::new(0),
            samples: Mutex::default(),
            probes: Mutex::default(),
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Relaxed) {
            0 => Phase::Before,
            1 => Phase::During,
            2 => Phase::After,
            _ => Phase::End,
        }
    }

    /// Goes on to the next phase.
    pub(crate) fn advance(&self) {
        self.phase.fetch_add(1, Ordering::Relaxed);
    }

    /// One quiet client: the same request again and again on one connection, until the server is stopped.
    pub(crate) fn client(&self, client: usize, address: SocketAddr, request: &[u8]) {
        let mut open = None;
        while self.phase() < Phase::End {
            let (begun, timer) = (self.phase(), Timer::start());
            let connected = open.take().map_or_else(|| Connection::open(address, WAIT_MAX), Ok);
            let outcome = connected.and_then(|mut connection| Ok((connection.call(request)?, connection)));
            let (took, served) =
                (timer.elapsed(), matches!(&outcome, Ok((answer, _)) if answer.status == 200));
            let sample =
                Sample { client, begun, ended: self.phase(), ended_at: self.timer.elapsed(), took, served };
            self.samples.lock().unwrap_or_else(PoisonError::into_inner).push(sample);
            open = outcome.ok().map(|(_, connection)| connection);
            thread::sleep(PAUSE);
        }
    }

    /// Connects anew every quarter of a second while the attack lasts.
    pub(crate) fn prober(&self, address: SocketAddr, request: &[u8]) {
        while self.phase() < Phase::After {
            if self.phase() == Phase::During {
                let timer = Timer::start();
                let answer = Connection::open(address, WAIT_MAX).and_then(|mut open| open.call(request));
                let served = answer.is_ok_and(|answer| answer.status == 200);
                let probe = (timer.elapsed(), served);
                self.probes.lock().unwrap_or_else(PoisonError::into_inner).push(probe);
            }
            thread::sleep(PROBE_EVERY);
        }
    }

    /// What overlaps the phase; a request that began before the end of the attack belongs to the attack.
    pub(crate) fn latency(&self, phase: Phase) -> Latency {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let belongs = |sample: &&Sample| match phase {
            Phase::During => sample.begun <= Phase::During && sample.ended >= Phase::During,
            _ => sample.begun == phase && sample.ended == phase,
        };
        summary(samples.iter().filter(belongs))
    }

    /// Whether in the last half second every client was served, and none slowly.
    pub(crate) fn is_calm(&self, p99_max: Duration) -> bool {
        let since = self.timer.elapsed().saturating_sub(Duration::from_millis(500));
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let recent: Vec<&Sample> = samples.iter().filter(|sample| sample.ended_at >= since).collect();
        let all_there = (0..CLIENTS).all(|client| recent.iter().any(|sample| sample.client == client));
        let latency = summary(recent.into_iter());
        all_there && latency.errors == 0 && latency.p99 < p99_max
    }

    /// The longest time in which a new client was served, and how many were not.
    pub(crate) fn probed(&self) -> (Duration, usize) {
        let probes = self.probes.lock().unwrap_or_else(PoisonError::into_inner);
        let longest = probes.iter().map(|(took, _)| *took).max().unwrap_or_default();
        (longest, probes.iter().filter(|(_, served)| !served).count())
    }
}

fn summary<'a>(samples: impl Iterator<Item = &'a Sample>) -> Latency {
    let (mut times, mut errors) = (Vec::new(), 0);
    for sample in samples {
        times.push(sample.took);
        errors += usize::from(!sample.served);
    }
    times.sort_unstable();
    let at = |percent: usize| {
        let index = (times.len() * percent).div_ceil(100).saturating_sub(1);
        times.get(index).copied().unwrap_or_default()
    };
    Latency { p50: at(50), p99: at(99), longest: at(100), errors, requests: times.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_samples() {
        let sample = |number: u64| Sample {
            client: 0,
            begun: Phase::During,
            ended: Phase::During,
            ended_at: Duration::ZERO,
            took: Duration::from_millis(number),
            served: number != 7,
        };
        let samples: Vec<Sample> = (1..=200).map(sample).collect();
        let latency = summary(samples.iter());
        assert_eq!(latency.p50, Duration::from_millis(100));
        assert_eq!(latency.p99, Duration::from_millis(198));
        assert_eq!(latency.longest, Duration::from_millis(200));
        assert_eq!((latency.errors, latency.requests), (1, 200));
    }
}
