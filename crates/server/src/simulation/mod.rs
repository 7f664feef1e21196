//! Faults of replication between regions, set from outside while the server runs: what the engine's links
//! simulate, a file that is read again when it changes, and the endpoint `/_keywright/simulation`.
//!
//! It does not know what a rule does to a change (`keywright_engine`).

mod elsewhere;
pub(crate) mod endpoint;
mod form;
pub(crate) mod known;

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use keywright_engine::{Env as _, Links, Simulation};
use tokio::sync::watch;

use crate::clock::Clock;
use crate::connection::client::Address;
use crate::process::failure::Failure;
use crate::process::io_fault::cannot;

/// How often the file is read. It is small, and the system has it in memory.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A change that cannot be used is reported at this look: it may be that the file is being written.
const REPORTED_AT_LOOK: u32 = 2;

/// Whether replication can be simulated, and what is at the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum SimulationSetting {
    #[default]
    Off,
    /// Nothing, until a request says what.
    Zero,
    /// What this file says.
    File(PathBuf),
}

impl FromStr for SimulationSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "true" => Self::Zero,
            "false" => Self::Off,
            "" => return Err("write a file, or nothing".to_owned()),
            path => Self::File(path.into()),
        })
    }
}

/// From where requests may change the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    Machine,
    Network,
}

/// What requests know of the simulation.
#[derive(Debug)]
pub(crate) struct Desk {
    links: Arc<Links>,
    clock: Arc<Clock>,
    reach: Reach,
    /// The regions of other servers.
    elsewhere: Vec<String>,
    file: Option<Seen>,
}

/// A file, and what it had when its simulation began.
#[derive(Debug)]
struct Seen {
    path: PathBuf,
    text: Vec<u8>,
}

impl Desk {
    /// `None` if the setting is off. A file is read at once.
    pub(crate) fn open(
        (setting, reach): &(SimulationSetting, Reach),
        (links, elsewhere): (&Arc<Links>, Vec<String>),
        clock: &Arc<Clock>,
    ) -> Result<Option<Self>, Failure> {
        let file = match setting {
            SimulationSetting::Off => return Ok(None),
            SimulationSetting::Zero => None,
            SimulationSetting::File(path) => {
                let text = read(path).map_err(Failure::new)?;
                Some(Seen { path: path.clone(), text })
            }
        };
        let (links, clock) = (Arc::clone(links), Arc::clone(clock));
        let desk = Self { links, clock, reach: *reach, elsewhere, file };
        if let Some(Seen { path, text }) = &desk.file {
            desk.take(path, text).map_err(Failure::new)?;
        }
        Ok(Some(desk))
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// Whether a client at this address may use the endpoint.
    pub(crate) fn admits(&self, address: Address) -> bool {
        self.reach == Reach::Network || address.is_loopback()
    }

    /// Whether anything is simulated now.
    pub(crate) fn is_acting(&self) -> bool {
        !self.links.is_zero(self.now_ms())
    }

    /// Simulates this, and nothing else.
    pub(crate) fn set(&self, simulation: Simulation) {
        let was_acting = self.is_acting();
        self.links.set(simulation);
        match (was_acting, self.is_acting()) {
            (_, true) => tracing::warn!("{ACTING}"),
            (true, false) => tracing::info!("replication between regions is no longer simulated"),
            (false, false) => {}
        }
    }

    /// What is simulated, as JSON.
    pub(crate) fn shown(&self) -> Vec<u8> {
        let now_ms = self.now_ms();
        form::shown(&self.links.simulation(now_ms), now_ms).to_string().into_bytes()
    }

    /// Reads a simulation that begins now.
    fn read(&self, text: &[u8]) -> Result<Simulation, String> {
        let simulation = form::read(text, self.now_ms())?;
        known::check_regions(&simulation)?;
        elsewhere::check(&simulation, &self.elsewhere)?;
        Ok(simulation)
    }

    /// Simulates what a file says.
    fn take(&self, path: &Path, text: &[u8]) -> Result<(), String> {
        let simulation = self.read(text);
        let simulation = simulation.map_err(|fault| format!("{}: {fault}", path.display()))?;
        self.set(simulation);
        Ok(())
    }
}

/// Said while anything is simulated.
pub(crate) const ACTING: &str = "replication between regions is simulated: changes may arrive late, twice, or not \
    until the simulation ends, and regions may have wrong clocks (see GET /_keywright/simulation)";

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|fault| cannot("read", path, &fault))
}

/// Reads the file again when it changes, until the server stops.
pub(crate) async fn run(desk: Option<Arc<Desk>>, mut stopping: watch::Receiver<bool>) {
    let with_file = desk.as_deref().and_then(|desk| Some((desk, desk.file.as_ref()?)));
    let Some((desk, Seen { path, text })) = with_file else {
        // The sender is dropped only when the server stops.
        let _ = stopping.wait_for(|stops| *stops).await;
        return;
    };
    let mut taken = Ok(text.clone());
    let mut failing = 0;
    while !*stopping.borrow() {
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            _ = stopping.changed() => {}
        }
        let found = read(path);
        if found == taken && failing == 0 {
            continue;
        }
        let outcome = found.as_ref().map_err(Clone::clone).and_then(|text| desk.take(path, text));
        match outcome {
            Ok(()) => failing = 0,
            Err(_) if failing >= REPORTED_AT_LOOK && found == taken => {}
            Err(fault) => {
                failing = if found == taken { failing + 1 } else { 1 };
                if failing == REPORTED_AT_LOOK {
                    tracing::warn!("the simulation stays as it was: {fault}");
                }
            }
        }
        taken = found;
    }
}
