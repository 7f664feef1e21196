//! The store that several servers share: PostgreSQL, or TiKV with `KEYWRIGHT_TEST_STORE=tikv:3`.

use super::fleet;
use super::postgres::{self, PostgresServer};
#[cfg(feature = "tikv")]
use super::tikv::{STORES, TikvEngine};

/// The address of a store of this name; if there is none, says so.
pub fn url_or_say(name: &str) -> Option<String> {
    match fleet::kind() {
        fleet::Kind::PostgreSql => postgres::url_or_say(name),
        #[cfg(feature = "tikv")]
        fleet::Kind::Tikv => super::tikv::url_or_say(&tikv_prefix(name)),
        #[cfg(not(feature = "tikv"))]
        fleet::Kind::Tikv => panic!("build the tests with --features keywright-server/tikv"),
    }
}

/// A prefix that lies in the region which all nodes of the test engine have.
pub fn tikv_prefix(name: &str) -> String {
    format!("fleet-{name}")
}

/// A store that no other test uses, because its parts are killed.
pub enum OwnStore {
    PostgreSql(PostgresServer),
    #[cfg(feature = "tikv")]
    Tikv(TikvEngine),
}

impl OwnStore {
    /// PostgreSQL listens at this port, and TiKV where there is room; if there is none, says so.
    pub fn start_or_say(port: u16) -> Option<Self> {
        match fleet::kind() {
            fleet::Kind::PostgreSql => PostgresServer::start(port, &[], "-c listen_addresses=")
                .map(Self::PostgreSql)
                .map_err(|reason| eprintln!("PASSED OVER: {reason}"))
                .ok(),
            #[cfg(feature = "tikv")]
            fleet::Kind::Tikv => TikvEngine::start_or_say().map(Self::Tikv),
            #[cfg(not(feature = "tikv"))]
            fleet::Kind::Tikv => panic!("build the tests with --features keywright-server/tikv"),
        }
    }

    pub fn url(&self, name: &str) -> String {
        match self {
            Self::PostgreSql(server) => server.url(name),
            #[cfg(feature = "tikv")]
            Self::Tikv(engine) => engine.url(&tikv_prefix(name)),
        }
    }

    /// Kills a part of it and starts it again: PostgreSQL, or in turns the node that leads, another node, and
    /// PD.
    pub fn restart(&self, turn: u64) {
        match self {
            Self::PostgreSql(server) => {
                let _ = turn;
                server.restart().unwrap();
            }
            #[cfg(feature = "tikv")]
            Self::Tikv(engine) => {
                let leader = engine.leading_store().unwrap_or_default();
                match turn % 3 {
                    0 => restart_store(engine, leader),
                    1 => restart_store(engine, (leader + 1) % STORES),
                    _ => {
                        engine.kill_pd();
                        engine.start_pd().unwrap();
                    }
                }
            }
        }
    }
}

#[cfg(feature = "tikv")]
fn restart_store(engine: &TikvEngine, store: usize) {
    engine.kill_store(store);
    engine.start_store(store).unwrap();
}
