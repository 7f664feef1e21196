//! What the network does to a store: lost answers, moved addresses, dead nodes, TLS.

use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use keywright_store::kit::block_on;
use keywright_store::{CommitError, Store as _, StoreError, Transaction as _};
use keywright_store_tikv::{OpenError, TikvOptions, TikvStore};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use crate::engine::{STORES, TikvEngine, engine, free_ports};
use crate::kit::{RUNTIME, tend};
use crate::wires::Wires;

fn try_open(url: &str) -> Result<TikvStore, OpenError> {
    block_on(TikvStore::open(TikvOptions::parse(url).unwrap(), RUNTIME.handle().clone()))
}

async fn put(store: &TikvStore, key: &str, value: &str) -> Result<(), CommitError> {
    let mut transaction = store.begin().await.map_err(CommitError::Failed)?;
    transaction.put(Bytes::from(key.to_owned()), Bytes::from(value.to_owned()));
    transaction.commit().await.map(|_version| ())
}

/// Puts until it is certain that it was written.
async fn put_at_last(store: &TikvStore, key: &str, value: &str) {
    let began = Instant::now();
    while let Err(error) = put(store, key, value).await {
        assert!(began.elapsed() < Duration::from_mins(1), "{error:?}");
    }
}

async fn get_at_last(store: &TikvStore, key: &str) -> Option<Bytes> {
    let began = Instant::now();
    loop {
        match store.get(key.as_bytes()).await {
            Ok(value) => return value,
            Err(error) => assert!(began.elapsed() < Duration::from_mins(1), "{error:?}"),
        }
    }
}

#[test]
fn the_outcome_of_a_commit_whose_answer_is_lost_is_found() {
    let Ok(engine) = engine() else { return };
    let wires = block_on(RUNTIME.spawn(Wires::to(engine, None))).unwrap();
    let store = try_open(&format!("tikv://{}/answers", wires.pd)).unwrap();
    block_on(async {
        put_at_last(&store, "a", "0").await;
        for round in 1..=5_u32 {
            let mut transaction = store.begin().await.unwrap();
            for key in ["a", "b", "c"] {
                transaction.put(Bytes::from(key), Bytes::from(round.to_string()));
            }
            let committing = std::thread::scope(|scope| {
                let wires = &wires;
                scope.spawn(move || {
                    // At another moment of the commit each time.
                    std::thread::sleep(Duration::from_millis(u64::from(round) * 2));
                    wires.lose_answers();
                    std::thread::sleep(Duration::from_millis(500));
                    wires.restore();
                });
                block_on(transaction.commit())
            });
            let found = get_at_last(&store, "c").await;
            let is_new = found.as_deref() == Some(round.to_string().as_bytes());
            match committing {
                Ok(_) => assert!(is_new, "round {round}: it is said to be there"),
                Err(CommitError::Failed(_)) => assert!(!is_new, "round {round}: it is said not to be there"),
                Err(error) => panic!("round {round}: the outcome is not found: {error:?}"),
            }
        }
    });
}

#[test]
fn a_store_that_is_cut_off_fails_in_time_and_goes_on() {
    let Ok(engine) = engine() else { return };
    let wires = block_on(RUNTIME.spawn(Wires::to(engine, None))).unwrap();
    let store = try_open(&format!("tikv://{}/cut", wires.pd)).unwrap();
    block_on(async {
        put_at_last(&store, "a", "before").await;
        wires.cut();
        let began = Instant::now();
        assert!(matches!(store.get(b"a").await, Err(StoreError::Io(_))));
        assert!(matches!(put(&store, "a", "lost").await, Err(CommitError::Failed(StoreError::Io(_)))));
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
        wires.restore();
        assert_eq!(get_at_last(&store, "a").await, Some(Bytes::from("before")));
        put_at_last(&store, "a", "after").await;
        assert_eq!(get_at_last(&store, "a").await, Some(Bytes::from("after")));
    });
}

/// A conflict would be tried again at once, and each try takes as long.
#[test]
fn a_commit_that_met_silence_and_wrote_nothing_is_no_conflict() {
    let Ok(engine) = engine() else { return };
    let wires = block_on(RUNTIME.spawn(Wires::to(engine, None))).unwrap();
    let store = try_open(&format!("tikv://{}/silence", wires.pd)).unwrap();
    block_on(async {
        put_at_last(&store, "a", "before").await;
        let mut transaction = store.begin().await.unwrap();
        transaction.put(Bytes::from("a"), Bytes::from("lost"));
        wires.cut();
        let ended = std::thread::scope(|scope| {
            scope.spawn(|| {
                // The commit is given up, and its outcome is not.
                std::thread::sleep(Duration::from_secs(12));
                wires.restore();
            });
            block_on(transaction.commit())
        });
        assert!(matches!(ended, Err(CommitError::Failed(StoreError::Io(_)))), "{ended:?}");
        assert_eq!(get_at_last(&store, "a").await, Some(Bytes::from("before")));
    });
}

/// Kills of nodes and of PD, and a node that comes back at another address: on a cluster of their own.
#[test]
fn a_store_goes_on_when_nodes_and_pd_die_and_move() {
    let Some(engine) = TikvEngine::start_or_say() else { return };
    let store = try_open(&engine.url("deaths")).unwrap();
    block_on(async {
        put_at_last(&store, "a", "0").await;
        let leader = engine.leading_store().unwrap();
        engine.kill_store(leader);
        put_at_last(&store, "a", "without the leader").await;
        assert_eq!(get_at_last(&store, "a").await, Some(Bytes::from("without the leader")));
        let ports = free_ports(2).unwrap();
        let [address, status] = [ports[0], ports[1]].map(|port| format!("127.0.0.1:{port}"));
        engine.start_store_at(leader, &address, &status).unwrap();
        put_at_last(&store, "a", "moved").await;
        engine.kill_pd();
        assert!(matches!(store.get(b"a").await, Err(StoreError::Io(_))), "without PD there is no timestamp");
        engine.start_pd().unwrap();
        assert_eq!(get_at_last(&store, "a").await, Some(Bytes::from("moved")));
        // The node at its new address takes part: with another one dead, there is no majority without it.
        let other = (0..3).find(|store| *store != leader).unwrap();
        engine.kill_store(other);
        put_at_last(&store, "a", "by two").await;
        assert_eq!(get_at_last(&store, "a").await, Some(Bytes::from("by two")));
    });
}

/// On a cluster of its own.
#[test]
fn a_region_without_a_leader_may_pass_and_silence_of_all_pds_may_not() {
    let Some(engine) = TikvEngine::start_or_say() else { return };
    let url = engine.url("leaders");
    block_on(async { put_at_last(&try_open(&url).unwrap(), "a", "1").await });
    let leader = engine.leading_store().unwrap();
    let killed = [leader, (leader + 1) % STORES];
    for store in killed {
        engine.kill_store(store);
    }
    let Err(refused) = try_open(&url) else { panic!("two of three nodes are dead") };
    assert!(refused.passing().is_some(), "{refused:?}");
    assert!(refused.to_string().starts_with("PD answers, and not all of the cluster does: "), "{refused}");
    for store in killed {
        engine.start_store(store).unwrap();
    }
    let began = Instant::now();
    while let Err(refused) = try_open(&url) {
        assert!(refused.passing().is_some(), "{refused:?}");
        assert!(began.elapsed() < Duration::from_mins(1), "{refused:?}");
    }
    engine.kill_pd();
    let Err(refused) = try_open(&url) else { panic!("PD is dead") };
    assert_eq!(refused.passing(), None, "{refused:?}");
    assert!(refused.to_string().contains("check the addresses of PD"), "{refused}");
}

#[test]
fn a_store_finds_pd_at_the_addresses_of_its_url_when_all_others_are_gone() {
    let Ok(engine) = engine() else { return };
    let first = block_on(RUNTIME.spawn(Wires::to(engine, None))).unwrap();
    let second = block_on(RUNTIME.spawn(Wires::to(engine, None))).unwrap();
    let store = try_open(&format!("tikv://{},{}/addresses", first.pd, second.pd)).unwrap();
    block_on(async {
        put_at_last(&store, "a", "1").await;
        first.cut();
        put_at_last(&store, "a", "2").await;
        assert_eq!(get_at_last(&store, "a").await, Some(Bytes::from("2")));
    });
}

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut wanted = CertificateParams::default();
    wanted.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(wanted, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate and its key, for this name or address.
fn signed(authority: &Authority, name: &str) -> (String, String) {
    let mut wanted = CertificateParams::new(vec![name.to_owned()]).unwrap();
    wanted.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate().unwrap();
    (wanted.signed_by(&key, authority).unwrap().pem(), key.serialize_pem())
}

/// TLS as TiKV has it: clients must have a certificate of the same authority.
fn settings(authority: &Authority, name: &str) -> ServerConfig {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap()).unwrap();
    let verifier = WebPkiClientVerifier::builder(roots.into()).build().unwrap();
    let (certificate, key) = signed(authority, name);
    let mut settings = ServerConfig::builder()
        .with_client_cert_verifier(verifier)
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()],
            PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
        )
        .unwrap();
    settings.alpn_protocols = vec![b"h2".to_vec()];
    settings
}

/// The URL of a store over TLS, with the files of a client.
fn secured(pd: &str, folder: &Path, trusted: &Authority, issuer: &Authority) -> String {
    let (certificate, key) = signed(issuer, "client");
    // Each URL has files of its own.
    let folder = tempfile::tempdir_in(folder).unwrap().keep();
    let write = |name: &str, text: &str| {
        let file = folder.join(name);
        std::fs::write(&file, text).unwrap();
        file.display().to_string()
    };
    let (ca, cert, key) = (write("ca", &trusted.pem()), write("cert", &certificate), write("key", &key));
    format!("tikv://{pd}/encrypted?ca={ca}&cert={cert}&key={key}")
}

#[test]
fn every_connection_has_tls_and_what_is_not_trusted_is_refused() {
    let Ok(engine) = engine() else { return };
    let (own, other) = (authority(), authority());
    let to = |name| block_on(RUNTIME.spawn(Wires::to(engine, Some(settings(&own, name))))).unwrap();
    let (wires, misnamed) = (to("127.0.0.1"), to("elsewhere.example"));
    let folder = tempfile::tempdir().unwrap();
    let store = try_open(&secured(&wires.pd, folder.path(), &own, &own)).unwrap();
    block_on(async {
        put_at_last(&store, "a", "1").await;
        assert_eq!(store.get(b"a").await.unwrap(), Some(Bytes::from("1")));
        // Upkeep has connections of its own.
        tend(&store).await;
    });
    for (what, url) in [
        ("no TLS", format!("tikv://{}/encrypted", wires.pd)),
        ("an authority that is not trusted", secured(&wires.pd, folder.path(), &other, &own)),
        ("a client of another authority", secured(&wires.pd, folder.path(), &own, &other)),
        ("a certificate of another host", secured(&misnamed.pd, folder.path(), &own, &own)),
    ] {
        let opened = try_open(&url).map(|_store| ());
        assert!(matches!(opened, Err(OpenError::Unreachable(_))), "{what}: {opened:?}");
    }
    let missing = format!("tikv://{}/encrypted?ca=/no/ca&cert=/no/cert&key=/no/key", wires.pd);
    let Err(error) = try_open(&missing) else { panic!("files that are missing are refused") };
    assert!(error.to_string().contains("/no/"), "{error}");
}
