//! Another server takes the primary's place, or a synchronous standby is away: no commit is reported that the
//! next primary may not have, and no server is used that takes no writes.

use std::time::Duration;

use bytes::Bytes;
use keywright_store::kit::block_on;
use keywright_store::{CommitError, CommitVersion, Snapshot as _, Store as _, Transaction as _};
use keywright_store_postgres::{OpenError, Outage, PostgresOptions, PostgresStore, PostgresTransaction};
use tokio::time::Instant;

use crate::kit::RUNTIME;
use crate::server::PostgresServer;

/// Other servers than the tests share, because they stop. Each has a folder of its own.
const PORT: u16 = 5435;
const STANDBY_PORT: u16 = 5436;
/// Longer than a new connection takes on a busy machine.
const FOUND_WITHIN: Duration = Duration::from_mins(1);

fn open(url: &str) -> Result<PostgresStore, OpenError> {
    block_on(PostgresStore::open(PostgresOptions::parse(url).unwrap(), RUNTIME.handle().clone()))
}

fn write(store: &PostgresStore, key: &'static [u8]) -> PostgresTransaction {
    let mut transaction = block_on(store.begin()).unwrap();
    transaction.put(Bytes::from_static(key), Bytes::from_static(b"v"));
    transaction
}

/// The servers of an address, separated by commas.
fn url(servers: &[&PostgresServer], schema: &str) -> String {
    let hosts: Vec<String> = servers.iter().map(|server| server.host()).collect();
    format!("postgres://postgres@{}/postgres?schema={schema}", hosts.join(","))
}

/// Starts a server, or says why there is none.
fn start_or_say() -> Option<PostgresServer> {
    PostgresServer::start(PORT, &[], "-c listen_addresses=")
        .map_err(|reason| eprintln!("PASSED OVER: {reason}"))
        .ok()
}

#[test]
fn a_new_primary_is_found_and_an_id_that_it_gives_again_says_nothing() {
    let Some(primary) = start_or_say() else { return };
    let standby = primary.standby(STANDBY_PORT).unwrap();
    // The standby comes first, and is passed over.
    let store = open(&url(&[&standby, &primary], "moves")).unwrap();
    let before = block_on(write(&store, b"before").commit()).unwrap();
    wait_until_replicated(&primary);
    let lost = write(&store, b"lost");
    assert_eq!(store.outage(), None);
    primary.crash().unwrap();
    let outage = wait_until_lost(&store);
    assert!(outage.may_pass && outage.reason.contains("is a standby"), "{outage:?}");
    standby.promote().unwrap();
    let began = Instant::now();
    let other = loop {
        // Errors are those of connections to the old primary.
        if let Ok(mut transaction) = block_on(store.begin()) {
            transaction.put(Bytes::from_static(b"other"), Bytes::from_static(b"v"));
            if let Ok(version) = block_on(transaction.commit()) {
                break version;
            }
        }
        assert!(began.elapsed() < FOUND_WITHIN, "the new primary was not found");
    };
    assert!(other > before, "{other:?}");
    assert_eq!(store.outage(), None, "it is found");
    assert_eq!(store.primary(), standby.host().replace("%2F", "/"));
    assert!(block_on(lost.commit()).is_err(), "another transaction has its id, up to {other:?}");
    let view = block_on(store.snapshot()).unwrap();
    assert_eq!(block_on(view.get(b"lost")).unwrap(), None);
    assert!(block_on(view.get(b"before")).unwrap().is_some());
}

fn wait_until_lost(store: &PostgresStore) -> Outage {
    let began = Instant::now();
    loop {
        assert!(block_on(store.get(b"before")).is_err(), "no server takes writes");
        if let Some(outage) = store.outage() {
            return outage;
        }
        assert!(began.elapsed() < FOUND_WITHIN, "the store is not lost");
    }
}

#[test]
fn a_server_to_which_a_fail_over_would_not_be_followed_is_named() {
    let Some(primary) = start_or_say() else { return };
    let standby = primary.standby(STANDBY_PORT).unwrap();
    let both = url(&[&primary, &standby], "named");
    assert_eq!(block_on(open(&both).unwrap().unusable_servers()), Vec::<String>::new());
    let misspelt = both.replace("/postgres?", ",%2Fnowhere:5437/postgres?");
    let unusable = block_on(open(&misspelt).unwrap().unusable_servers());
    let [reason] = &*unusable else { panic!("{unusable:?}") };
    assert!(reason.starts_with("PostgreSQL at /nowhere:5437: "), "{reason}");
    primary.crash().unwrap();
    let refused = open(&both).err().expect("none takes writes");
    assert!(refused.passing().is_some(), "{refused:?}");
    assert!(refused.to_string().contains("a fail-over may be under way"), "{refused}");
}

fn wait_until_replicated(primary: &PostgresServer) {
    let began = Instant::now();
    let all = "SELECT count(*) FROM pg_stat_replication WHERE replay_lsn = pg_current_wal_lsn()";
    while primary.query(all) != "1" {
        assert!(began.elapsed() < FOUND_WITHIN, "the standby does not follow");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_standby_alone_is_refused_and_another_system_is_never_taken() {
    let Some(primary) = start_or_say() else { return };
    let standby = primary.standby(STANDBY_PORT).unwrap();
    for alone in [
        url(&[&standby], "alone"),
        format!("{}&target_session_attrs=any", url(&[&standby, &primary], "alone")),
    ] {
        let refused = open(&alone).err().expect("it takes no writes");
        // A proxy or a name may lead to the primary soon.
        assert!(
            refused.passing().is_some_and(|reason| reason.contains("is a standby, which takes no writes"))
        );
        assert!(refused.to_string().contains("HOST1,HOST2"), "{refused}");
    }
    let stranger = start_or_say().unwrap();
    let store = open(&url(&[&primary, &stranger], "strange")).unwrap();
    block_on(write(&store, b"here").commit()).unwrap();
    primary.crash().unwrap();
    let began = Instant::now();
    loop {
        let refused = block_on(store.get(b"here")).expect_err("no server has it").to_string();
        if refused.contains("holds another database") {
            break;
        }
        assert!(began.elapsed() < FOUND_WITHIN, "{refused}");
    }
    assert_eq!(stranger.query("SELECT count(*) FROM pg_namespace WHERE nspname = 'strange'"), "0");
}

#[test]
fn a_store_behind_one_address_that_leads_to_a_standby_may_be_failing_over() {
    let Some(primary) = start_or_say() else { return };
    let standby = primary.standby(STANDBY_PORT).unwrap();
    // A name whose server changes is a link here.
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join(format!(".s.PGSQL.{PORT}"));
    let lead_to = |server: &PostgresServer| {
        let _absent = std::fs::remove_file(&name);
        std::os::unix::fs::symlink(server.socket(), &name).unwrap();
    };
    lead_to(&primary);
    let host = folder.path().display().to_string().replace('/', "%2F");
    let store = open(&format!("postgres://postgres@{host}:{PORT}/postgres?schema=moved")).unwrap();
    block_on(write(&store, b"a").commit()).unwrap();
    wait_until_replicated(&primary);
    lead_to(&standby);
    primary.crash().unwrap();
    let began = Instant::now();
    loop {
        assert!(block_on(store.get(b"a")).is_err());
        let Outage { reason, may_pass, .. } = store.outage().expect("no server takes writes");
        if reason.contains("is a standby, which takes no writes") {
            assert!(may_pass);
            break;
        }
        assert!(began.elapsed() < FOUND_WITHIN, "{reason}");
    }
    standby.promote().unwrap();
    while block_on(store.get(b"a")).is_err() {
        assert!(began.elapsed() < FOUND_WITHIN);
    }
}

#[test]
fn a_proxy_without_a_server_behind_it_may_be_failing_over() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::Builder::new().spawn(move || listener.incoming().for_each(drop)).unwrap();
    let refused = open(&format!("postgres://me@{address}/shop?sslmode=disable"));
    let refused = refused.err().expect("nobody is there");
    let passing = refused.passing().unwrap_or_else(|| panic!("{refused}"));
    assert!(passing.contains("accepts connections and closes them"), "{passing}");
}

/// How the wait of a commit for the synchronous standby is cut off.
const CANCEL: &str = "pg_cancel_backend";
const TERMINATE: &str = "pg_terminate_backend";

/// Commits while the synchronous standby is away, and has an operator cut the wait off by this function; with
/// `and_back`, commits then need no standby any more.
fn cut_off(
    server: &PostgresServer,
    store: &PostgresStore,
    how: &str,
    and_back: bool,
) -> Result<CommitVersion, CommitError> {
    // Connections from before the transaction can say how it ended.
    drop([block_on(store.snapshot()).unwrap(), block_on(store.snapshot()).unwrap()]);
    std::thread::sleep(Duration::from_millis(300));
    let transaction = write(store, b"cut");
    server.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    server.execute("SELECT pg_reload_conf()");
    std::thread::sleep(Duration::from_millis(300));
    let committing = std::thread::Builder::new().spawn(move || block_on(transaction.commit())).unwrap();
    let began = Instant::now();
    let cut = format!("SELECT count({how}(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
    while server.query(&cut) != "1" {
        assert!(began.elapsed() < FOUND_WITHIN, "the commit does not wait");
        std::thread::sleep(Duration::from_millis(20));
    }
    if and_back {
        std::thread::sleep(Duration::from_millis(500));
        restore(server);
    }
    let ended = committing.join().unwrap();
    restore(server);
    ended
}

fn restore(server: &PostgresServer) {
    server.execute("ALTER SYSTEM RESET synchronous_standby_names");
    server.execute("SELECT pg_reload_conf()");
}

#[test]
fn a_commit_that_did_not_wait_for_the_standby_is_reported_only_once_it_is_safe() {
    let Some(server) = start_or_say() else { return };
    let store = open(&url(&[&server], "cut_off")).unwrap();
    block_on(write(&store, b"before").commit()).unwrap();
    for how in [CANCEL, TERMINATE] {
        assert_eq!(cut_off(&server, &store, how, false), Err(CommitError::Unknown), "{how}");
        assert!(cut_off(&server, &store, how, true).is_ok(), "{how}");
        assert!(block_on(store.get(b"cut")).unwrap().is_some());
    }
}

#[test]
fn a_primary_whose_standby_has_taken_its_place_is_left_though_it_runs() {
    let Some(primary) = start_or_say() else { return };
    let standby = primary.standby(STANDBY_PORT).unwrap();
    let both = url(&[&primary, &standby], "left");
    let store = open(&both).unwrap();
    block_on(write(&store, b"before").commit()).unwrap();
    wait_until_replicated(&primary);
    primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'");
    primary.execute("SELECT pg_reload_conf()");
    block_on(write(&store, b"with a standby").commit()).unwrap();
    standby.promote().unwrap();
    let (began, mut was_noticed) = (Instant::now(), false);
    let writing = std::thread::Builder::new();
    let writer = store.clone();
    let writing =
        writing.spawn(move || while block_on(write(&writer, b"after").commit()).is_err() {}).unwrap();
    while !writing.is_finished() {
        was_noticed |= store.outage().is_some_and(|outage| outage.has_reads);
        assert!(began.elapsed() < FOUND_WITHIN, "the new primary was not found");
        std::thread::sleep(Duration::from_millis(20));
    }
    writing.join().unwrap();
    assert!(was_noticed, "no commit was confirmed for a while");
    assert_eq!((store.outage(), store.primary()), (None, standby.host().replace("%2F", "/")));
    // A start passes over the first server of the address, which takes writes and confirms none.
    let another = open(&both).unwrap();
    assert_eq!(another.primary(), standby.host().replace("%2F", "/"));
    assert!(block_on(another.get(b"after")).unwrap().is_some());
    restore(&primary);
}
