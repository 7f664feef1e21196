//! Three servers that own a region each, with a way of its own from each to each other.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::db::Db;
use crate::pair::{ACCOUNT, CLIENT, HERE, PEER, THERE, credential, write_private};
use crate::road::Road;
use crate::support::Server;

pub(crate) const REGIONS: [&str; 3] = [HERE, THERE, "us-west-2"];

pub(crate) struct Trio {
    folder: tempfile::TempDir,
    /// From each server to each.
    roads: Vec<Vec<Road>>,
    servers: [Option<Server>; 3],
}

impl Trio {
    pub(crate) fn start() -> Self {
        let roads = (0..3).map(|_| (0..3).map(|_| Road::new()).collect()).collect();
        let mut trio = Self { folder: tempfile::tempdir().unwrap(), roads, servers: [None, None, None] };
        let keys = credential(CLIENT, ACCOUNT, "") + &credential(PEER, ACCOUNT, "for = \"replication\"");
        write_private(&trio.folder.path().join("keys.toml"), &keys);
        for own in 0..3 {
            trio.start_server(own, &[0, 1, 2]);
        }
        trio
    }

    /// Starts a server that knows those of these.
    pub(crate) fn start_server(&mut self, own: usize, known: &[usize]) {
        let mut sections = String::new();
        for other in known.iter().filter(|other| **other != own) {
            let (region, port) = (REGIONS[*other], self.roads[own][*other].address.port());
            let key = PEER.0;
            write!(
                sections,
                "[[peer]]\nregion = \"{region}\"\nendpoint = \"http://localhost:{port}\"\nkey-id = \"{key}\"\ntables = \
                 [\"*\"]\n"
            )
            .unwrap();
        }
        let file = |name: String| self.folder.path().join(name).to_str().unwrap().to_owned();
        let (config, data) = (file(format!("server-{own}.toml")), file(format!("data-{own}")));
        std::fs::write(&config, sections).unwrap();
        let keys = file("keys.toml".to_owned());
        let arguments = ["--config", &config, "--credentials", &keys, "--data", &data];
        let server = Server::start(&[arguments.as_slice(), &["--source-region-hours", "0"]].concat());
        for roads in &self.roads {
            roads[own].lead_to(server.address());
        }
        self.servers[own] = Some(server);
    }

    /// Adds a replica on this server by the first one, and waits until all that have one know it as active.
    pub(crate) fn add(&self, table: &str, owner: usize) {
        self.db(0).change_replica(table, "Create", REGIONS[owner]);
        for own in 0..3 {
            let mut db = self.db(own);
            if own != owner && db.status(table).is_empty() {
                continue;
            }
            db.wait("all replicas are active", |db| {
                let replicas = if db.status(table) == "ACTIVE" { db.replicas(table) } else { Vec::new() };
                let is_known = own == owner || replicas.iter().any(|(region, _)| region == REGIONS[owner]);
                is_known && !replicas.is_empty() && replicas.iter().all(|(_, status)| status == "ACTIVE")
            });
        }
    }

    /// The folder of a server.
    pub(crate) fn data(&self, own: usize) -> PathBuf {
        self.folder.path().join(format!("data-{own}"))
    }

    pub(crate) fn cut(&self, from: usize, to: usize) {
        self.roads[from][to].cut();
    }

    pub(crate) fn stop(&mut self, own: usize) {
        assert!(self.servers[own].take().unwrap().stop());
    }

    pub(crate) fn kill(&mut self, own: usize) {
        self.servers[own].take().unwrap().kill();
    }

    pub(crate) fn server(&self, own: usize) -> &Server {
        self.servers[own].as_ref().unwrap()
    }

    pub(crate) fn db(&self, own: usize) -> Db {
        Db::to(self.server(own).address(), CLIENT, REGIONS[own]).unwrap()
    }
}
