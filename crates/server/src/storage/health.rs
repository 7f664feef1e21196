//! The states of a server, and what each means to an operator.
//!
//! It does not know how a state is found out.

use serde_json::json;

use super::backend::Outage;

/// The state of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    /// The data folder is being opened.
    Starting,
    Serving,
    /// Files of the data folder are damaged: requests that need them fail, all others are served.
    Degraded {
        places: usize,
        /// The first place, for the operator.
        first: String,
        folder: String,
    },
    /// Tables could not be merged because one is damaged: reads go on, writes wait for a restored folder.
    MergeFailed {
        reason: String,
        folder: String,
    },
    /// The disk is full. Reads go on. The server opens the store again once so many bytes are free.
    DiskFull {
        reason: String,
        folder: String,
        room_bytes: u64,
    },
    /// A sync or write failed: reads go on, writes wait for a restart.
    WritesFailed {
        reason: String,
    },
    /// A store that other servers may use does not answer, or confirms no commit.
    StoreSilent {
        place: String,
        /// What the store's servers say, if it is known.
        outage: Option<Outage>,
    },
    /// The store is being opened again.
    Reopening,
    /// The store could not be opened again.
    Down {
        reason: String,
    },
    Stopping,
}

impl Health {
    /// Whether clients should be sent to this server.
    pub(crate) const fn is_ready(&self) -> bool {
        matches!(self, Self::Serving | Self::Degraded { .. })
    }

    /// Its name in health reports and metrics.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Serving => "serving",
            Self::Degraded { .. } => "degraded",
            Self::MergeFailed { .. } => "merge_failed",
            Self::DiskFull { .. } => "disk_full",
            Self::WritesFailed { .. } => "writes_failed",
            Self::StoreSilent { .. } => "store_silent",
            Self::Reopening => "reopening",
            Self::Down { .. } => "down",
            Self::Stopping => "stopping",
        }
    }

    /// What is wrong, and what to do; `None` if nothing is.
    pub(crate) fn explain(&self) -> Option<(String, String)> {
        let (reason, advice) = match self {
            Self::Serving => return None,
            Self::Degraded { places, first, folder } => {
                let others = match places.saturating_sub(1) {
                    0 => String::new(),
                    1 => "; the log names one more place".to_owned(),
                    more => format!("; the log names {more} more places"),
                };
                (format!("files are damaged: {first}{others}"), damage_advice(folder))
            }
            Self::MergeFailed { reason, folder } => (
                format!("a damaged table stops all writes: {reason}"),
                format!("reads go on; the log names the file; {}", damage_advice(folder)),
            ),
            Self::Starting => ("the data folder is being opened".to_owned(), "wait".to_owned()),
            Self::DiskFull { reason, folder, room_bytes } => (
                format!("the disk is full: {reason}"),
                format!(
                    "free at least {} MiB on the disk of {folder}: the server then takes writes again by itself, \
                     and no acknowledged write is lost; reads go on meanwhile",
                    room_bytes.div_ceil(MIB)
                ),
            ),
            Self::WritesFailed { reason } => (
                format!("the disk failed: {reason}"),
                "check the disk and the system's log, then restart the server: it must not trust what the system \
                 shows of a file whose sync failed; reads go on meanwhile"
                    .to_owned(),
            ),
            Self::StoreSilent { place, outage } => explain_silence(place, outage.as_ref()),
            Self::Reopening => ("the store is being opened again".to_owned(), "wait".to_owned()),
            Self::Down { reason } => (
                format!("the store could not be opened again: {reason}"),
                "check the disk and the system's log, then restart the server".to_owned(),
            ),
            Self::Stopping => ("the server has received a stop signal".to_owned(), "wait".to_owned()),
        };
        Some((reason, advice))
    }

    /// The report as a line of JSON.
    pub(crate) fn json(&self) -> String {
        let report = match self.explain() {
            None => json!({"state": self.name()}),
            Some((reason, advice)) => json!({"state": self.name(), "reason": reason, "advice": advice}),
        };
        format!("{report}\n")
    }
}

/// Why a shared store gives no session, and what to do.
pub(super) fn explain_silence(place: &str, outage: Option<&Outage>) -> (String, String) {
    let reason = match outage {
        None => format!("the store {place} does not answer"),
        Some(outage) => format!("the store {place} takes no {}: {}", outage.failing(), outage.reason),
    };
    let advice = match outage {
        Some(outage) if outage.may_pass => {
            "a fail-over may be under way: the server goes on by itself once one of the store's servers takes \
             writes and has its synchronous standby; look at them if that takes more than a minute"
        }
        _ => {
            "check that it runs and can be reached from this machine: the server goes on by itself once it answers"
        }
    };
    (reason, advice.to_owned())
}

/// What to do about damaged files of a folder.
pub(crate) fn damage_advice(folder: &str) -> String {
    format!(
        "requests that need the damaged places fail with HTTP 500, all others are served: dump what can be read, stop the server, run `keywright verify --data {folder}`, and restore the folder from a copy; check the disk"
    )
}

const MIB: u64 = 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_serving_server_is_ready_and_every_other_state_gives_reason_and_advice() {
        assert_eq!(Health::Serving.json(), "{\"state\":\"serving\"}\n");
        let degraded = |places| Health::Degraded {
            places,
            first: "tables/7, block of rows at byte 9".to_owned(),
            folder: "/data".to_owned(),
        };
        assert!(degraded(1).is_ready(), "it serves all other rows");
        let json: serde_json::Value = serde_json::from_str(&degraded(3).json()).unwrap();
        assert_eq!(json["state"], "degraded");
        let reason = json["reason"].as_str().unwrap();
        assert!(reason.contains("tables/7") && reason.contains("2 more places"), "{json}");
        assert!(json["advice"].as_str().unwrap().contains("keywright verify --data /data"), "{json}");
        let full = Health::DiskFull {
            reason: "no space".to_owned(),
            folder: "/data".to_owned(),
            room_bytes: MIB + 1,
        };
        let json: serde_json::Value = serde_json::from_str(&full.json()).unwrap();
        assert!(json["advice"].as_str().unwrap().contains("2 MiB on the disk of /data"), "{json}");
        let reason = "PostgreSQL at db1:5432, db2:5432 are standbys".to_owned();
        let outage =
            Outage { reason, may_pass: true, has_reads: false, lasted: std::time::Duration::from_secs(4) };
        let silent =
            Health::StoreSilent { place: "postgres://db1,db2/shop".to_owned(), outage: Some(outage) };
        assert!(silent.json().contains("are standbys") && silent.json().contains("fail-over"), "{silent:?}");
        for state in [
            Health::Starting,
            silent,
            full,
            Health::WritesFailed { reason: "x".to_owned() },
            Health::MergeFailed { reason: "x".to_owned(), folder: "/data".to_owned() },
            Health::StoreSilent { place: "postgres://db/shop".to_owned(), outage: None },
            Health::Reopening,
            Health::Down { reason: "x".to_owned() },
            Health::Stopping,
        ] {
            assert!(!state.is_ready() && state.explain().is_some(), "{}", state.name());
        }
    }
}
