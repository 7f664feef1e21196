//! Two servers that own a region each and know each other.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::db::Db;
use crate::road::Road;
use crate::support::Server;

pub(crate) const HERE: &str = "us-east-1";
pub(crate) const THERE: &str = "eu-west-1";
pub(crate) const REGIONS: [&str; 2] = [HERE, THERE];
pub(crate) const TABLE: &str = "shop-carts";
/// The key of clients, and the one of the servers.
pub(crate) const CLIENT: (&str, &str) = ("AKIACLIENTCLIENTCLIE", "client-secret");
pub(crate) const PEER: (&str, &str) = ("AKIAPEERPEERPEERPEER", "peer-secret");
pub(crate) const ACCOUNT: &str = "123456789012";

/// Two servers. Each is reached by the other over a road that stays.
pub(crate) struct Pair {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) roads: [Road; 2],
    servers: [Option<Server>; 2],
    /// Further arguments of each server.
    arguments: [Vec<String>; 2],
    /// The names of the servers' own folders.
    data: [String; 2],
}

/// What is unlike in the files of one server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Files<'f> {
    pub(crate) scheme: &'f str,
    pub(crate) peer_secret: &'f str,
    pub(crate) tables: &'f str,
    /// The account of all keys.
    pub(crate) account: &'f str,
    /// Further lines of the section.
    pub(crate) more: &'f str,
}

pub(crate) const PLAIN: Files<'static> =
    Files { scheme: "http", peer_secret: PEER.1, tables: "[\"shop-*\"]", account: ACCOUNT, more: "" };

impl Pair {
    /// Files of both servers, which are not started.
    pub(crate) fn prepare(files: [Files<'_>; 2]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let roads = [Road::new(), Road::new()];
        for (own, files) in files.iter().enumerate() {
            let other = 1 - own;
            let section = format!(
                "[[peer]]\nregion = \"{}\"\nendpoint = \"{}://localhost:{}\"\nkey-id = \"{}\"\ntables = {}\n{}\n",
                REGIONS[other],
                files.scheme,
                roads[other].address.port(),
                PEER.0,
                files.tables,
                files.more
            );
            std::fs::write(folder.path().join(format!("server-{own}.toml")), section).unwrap();
            let keys = credential(CLIENT, files.account, "")
                + &credential((PEER.0, files.peer_secret), files.account, "for = \"replication\"");
            write_private(&folder.path().join(format!("keys-{own}.toml")), &keys);
        }
        let data = [0, 1].map(|own| format!("data-{own}"));
        Self { folder, roads, servers: [None, None], arguments: [Vec::new(), Vec::new()], data }
    }

    pub(crate) fn start() -> Self {
        Self::start_with([PLAIN, PLAIN])
    }

    pub(crate) fn start_with(files: [Files<'_>; 2]) -> Self {
        let mut pair = Self::prepare(files);
        pair.start_server(0);
        pair.start_server(1);
        pair
    }

    /// The arguments that a server is started with besides those of every one.
    pub(crate) fn set_arguments(&mut self, server: usize, arguments: &[&str]) {
        self.arguments[server] = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// The name of the folder that a server is started on.
    pub(crate) fn set_data(&mut self, server: usize, name: &str) {
        name.clone_into(&mut self.data[server]);
    }

    pub(crate) fn start_server(&mut self, own: usize) {
        self.start_by(own, Server::start);
    }

    /// Starts a server by another program.
    pub(crate) fn start_server_under(&mut self, own: usize, runner: Command) {
        self.start_by(own, |arguments| Server::under(runner, arguments).unwrap());
    }

    fn start_by(&mut self, own: usize, start: impl FnOnce(&[&str]) -> Server) {
        let (config, keys) =
            (self.file(&format!("server-{own}.toml")), self.file(&format!("keys-{own}.toml")));
        let data = self.file(&self.data[own]);
        let mut arguments = vec!["--config", &config, "--credentials", &keys, "--data", &data];
        arguments.extend(["--write-buffer-kib", "256", "--source-region-hours", "0"]);
        arguments.extend(self.arguments[own].iter().map(String::as_str));
        let server = start(&arguments);
        self.roads[own].lead_to(server.address());
        self.servers[own] = Some(server);
    }

    pub(crate) fn server(&self, own: usize) -> &Server {
        self.servers[own].as_ref().unwrap()
    }

    pub(crate) fn kill(&mut self, own: usize) {
        self.servers[own].take().unwrap().kill();
    }

    /// Kills a server that another program has started.
    #[cfg(unix)]
    pub(crate) fn kill_under(&mut self, own: usize) {
        self.servers[own].take().unwrap().end_under("KILL");
    }

    /// Stops a server; what it has written to standard error.
    pub(crate) fn stop(&mut self, own: usize) -> String {
        self.servers[own].take().unwrap().stop_and_read_log()
    }

    pub(crate) fn db(&self, own: usize) -> Db {
        Db::to(self.server(own).address(), CLIENT, REGIONS[own]).unwrap()
    }

    /// Waits until each server has what was written to the other.
    pub(crate) fn wait_quiet(&self, table: &str) {
        for own in 0..2 {
            self.db(own).wait("everything is sent", |db| {
                let replica = db.replica(table);
                replica["backlog"] == 0 && replica["filling"] == false
            });
        }
    }
}

/// A key as a credentials file has it.
pub(crate) fn credential((id, secret): (&str, &str), account: &str, more: &str) -> String {
    format!(
        "[[credential]]\naccess_key_id = \"{id}\"\nsecret_access_key = \"{secret}\"\naccount = \
         \"{account}\"\n{more}\n"
    )
}

pub(crate) fn write_private(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
}
