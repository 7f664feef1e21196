//! TLS of the API's and the studio's port: certificates, keys and client authorities from PEM files. They are
//! read again when they change, and at SIGHUP: new handshakes use them, open connections go on.
//!
//! A file may be seen half written, or the certificate before its key. So a change that cannot be used is
//! looked at once more before it is reported, and what was served stays.

mod files;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::connection::certificate::Validity;
use crate::connection::handshake::Handshakes;
use crate::management::exposition::{Exposition, Kind};
use crate::process::failure::Failure;
use crate::process::{environment, timestamp};
use crate::settings::tls::TlsFiles;
use files::{Contents, Identity, exposed_key};

/// How often the files are read. They are small, and the system has them in memory.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A change that cannot be used is reported at this look.
const REPORTED_AT_LOOK: u32 = 2;
const DAY_MS: u64 = 24 * 3600 * 1000;
/// A certificate that ends in less is reported, once a day.
const WARNED_BEFORE_MS: u64 = 14 * DAY_MS;

/// Why the files are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// They may have changed.
    Time,
    /// Somebody wants them to be read.
    Signal,
}

/// What the ports serve.
pub(crate) struct Tls {
    files: TlsFiles,
    handshakes: Handshakes,
    state: Mutex<State>,
}

struct State {
    served: Contents,
    validity: Validity,
    /// Why the files as they are now are not served, and at how many looks that was so.
    failing: Option<(String, u32)>,
    /// When somebody was last told of the dates of the certificate.
    reminded_ms: Option<u64>,
}

impl Tls {
    /// Reads the files, and reports dates of the certificate that are no good.
    pub(crate) fn open(files: TlsFiles) -> Result<Self, Failure> {
        Self::open_at(files, environment::now().0)
    }

    fn open_at(files: TlsFiles, now_ms: u64) -> Result<Self, Failure> {
        let served = Contents::read(&files)?;
        let Identity { acceptor, validity } = Identity::of(&files, &served)?;
        let state = State { served, validity, failing: None, reminded_ms: None };
        let tls = Self { files, handshakes: Handshakes::new(acceptor), state: Mutex::new(state) };
        report(tls.remind(&mut tls.state(), now_ms));
        report(exposed_key(&tls.files));
        Ok(tls)
    }

    pub(crate) fn handshakes(&self) -> Handshakes {
        self.handshakes.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the files. Returns what is to be reported.
    fn look(&self, why: Why, now_ms: u64) -> [Option<String>; 2] {
        let mut state = self.state();
        let failure = match Contents::read(&self.files) {
            Ok(found) if found == state.served && why == Why::Time => {
                state.failing = None;
                None
            }
            Ok(found) => self.take(&mut state, found, now_ms).err(),
            Err(failure) => Some(failure),
        };
        let failed = failure.and_then(|failure| note(&mut state, failure.to_string(), why));
        [failed, self.remind(&mut state, now_ms)]
    }

    /// Serves these contents, if they can be used.
    fn take(&self, state: &mut State, found: Contents, now_ms: u64) -> Result<(), Failure> {
        let Identity { acceptor, validity } = Identity::of(&self.files, &found)?;
        let is_valid = |validity: Validity| (validity.from_ms..=validity.until_ms).contains(&now_ms);
        if is_valid(state.validity) && !is_valid(validity) {
            let problem = dates(validity, now_ms).unwrap_or_default();
            let name = self.files.certificate.display();
            return Err(Failure::new(format!("the certificate in {name} {problem}")));
        }
        self.handshakes.replace(acceptor);
        report(exposed_key(&self.files));
        tracing::info!("the certificate in {} is served from now on", self.files.certificate.display());
        state.reminded_ms = state.reminded_ms.filter(|_| state.validity == validity);
        (state.served, state.validity, state.failing) = (found, validity, None);
        Ok(())
    }

    /// What is to be said of the certificate's dates; once a day.
    fn remind(&self, state: &mut State, now_ms: u64) -> Option<String> {
        let problem = dates(state.validity, now_ms)?;
        if state.reminded_ms.is_some_and(|last_ms| now_ms < last_ms.saturating_add(DAY_MS)) {
            return None;
        }
        state.reminded_ms = Some(now_ms);
        let name = self.files.certificate.display();
        Some(format!(
            "the certificate in {name} {problem}: put a new one there, which is served without a restart"
        ))
    }

    /// Adds the certificate's figures to the metrics.
    pub(crate) fn describe(&self, exposition: &mut Exposition) {
        let state = self.state();
        exposition.single(
            Kind::Gauge,
            "keywright_tls_certificate_expiry_timestamp_seconds",
            "When the first certificate of the chain that is served ends.",
            state.validity.until_ms / 1000,
        );
        let is_failing = state.failing.as_ref().is_some_and(|(_, looks)| *looks >= REPORTED_AT_LOOK);
        exposition.single(
            Kind::Gauge,
            "keywright_tls_reload_failing",
            "1 while the TLS files have changed and cannot be used.",
            u8::from(is_failing),
        );
    }
}

fn report(all: impl IntoIterator<Item = String>) {
    for said in all {
        tracing::warn!("{said}");
    }
}

/// Notes why files cannot be used. Returns what is to be reported: it may be that they are being written.
fn note(state: &mut State, failure: String, why: Why) -> Option<String> {
    let looks = match &state.failing {
        Some((known, looks)) if *known == failure => looks.saturating_add(1),
        Some(_) | None => 1,
    };
    let is_reported = looks == REPORTED_AT_LOOK || why == Why::Signal;
    let said = is_reported
        .then(|| format!("the TLS files have changed and cannot be used, so the old ones stay: {failure}"));
    let looks = if why == Why::Signal { looks.max(REPORTED_AT_LOOK) } else { looks };
    state.failing = Some((failure, looks));
    said
}

/// What is wrong with a certificate's dates, as the end of a sentence about it.
fn dates(validity: Validity, now_ms: u64) -> Option<String> {
    let Validity { from_ms, until_ms } = validity;
    if now_ms < from_ms {
        return Some(format!("is not valid before {}", timestamp::of(from_ms)));
    }
    if now_ms > until_ms {
        return Some(format!("has expired at {}, so clients refuse it", timestamp::of(until_ms)));
    }
    let left_ms = until_ms.saturating_sub(now_ms);
    (left_ms <= WARNED_BEFORE_MS)
        .then(|| format!("expires in {} days, at {}", left_ms / DAY_MS, timestamp::of(until_ms)))
}

/// Looks at the files until the server stops.
pub(crate) async fn run(tls: Arc<Tls>, mut hangups: Hangups, mut stopping: watch::Receiver<bool>) {
    while !*stopping.borrow() {
        let why = tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => Why::Time,
            () = hangups.next() => Why::Signal,
            _ = stopping.changed() => break,
        };
        let looked = Arc::clone(&tls);
        let said = tokio::task::spawn_blocking(move || looked.look(why, environment::now().0)).await;
        report(said.unwrap_or_default().into_iter().flatten());
    }
}

/// SIGHUP, where there is one.
pub(crate) struct Hangups {
    #[cfg(unix)]
    signal: tokio::signal::unix::Signal,
}

impl Hangups {
    /// From now on a SIGHUP ends nothing. Must be called within the runtime.
    #[cfg(unix)]
    pub(crate) fn hear() -> Result<Self, Failure> {
        use tokio::signal::unix::{SignalKind, signal};
        let signal = signal(SignalKind::hangup())
            .map_err(|error| Failure::new(format!("cannot wait for SIGHUP: {error}")))?;
        Ok(Self { signal })
    }

    #[cfg(not(unix))]
    pub(crate) fn hear() -> Result<Self, Failure> {
        Ok(Self {})
    }

    /// Resolves at the next one.
    #[cfg(unix)]
    async fn next(&mut self) {
        if self.signal.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }

    #[cfg(not(unix))]
    async fn next(&mut self) {
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    /// The first of January of 2030.
    const NOW_MS: u64 = 1_893_456_000_000;

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        /// A certificate that is valid from and until the first of January of these years.
        fn write(&self, from: i32, until: i32) {
            let (certificate, key) = made(from, until);
            std::fs::write(self.path("c.pem"), certificate).unwrap();
            std::fs::write(self.path("k.pem"), key).unwrap();
        }

        fn open(&self) -> Tls {
            let files = TlsFiles { certificate: self.path("c.pem"), key: self.path("k.pem"), clients: None };
            Tls::open_at(files, NOW_MS).unwrap()
        }
    }

    fn made(from: i32, until: i32) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.not_before = date_time_ymd(from, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
    }

    fn until_year(tls: &Tls) -> String {
        timestamp::of(tls.state().validity.until_ms)[..4].to_owned()
    }

    #[test]
    fn a_pair_is_served_once_both_files_are_there_and_a_bad_one_is_reported_once() {
        let folder = Folder(tempfile::tempdir().unwrap());
        folder.write(2020, 2040);
        let tls = folder.open();
        assert_eq!(tls.look(Why::Time, NOW_MS), [None, None]);

        let (certificate, key) = made(2020, 2050);
        std::fs::write(folder.path("c.pem"), &certificate).unwrap();
        assert_eq!(tls.look(Why::Time, NOW_MS), [None, None], "the key may follow");
        std::fs::write(folder.path("k.pem"), &key).unwrap();
        assert_eq!(tls.look(Why::Time, NOW_MS), [None, None]);
        assert_eq!((until_year(&tls).as_str(), tls.state().failing.clone()), ("2050", None));

        let (_, other_key) = made(2020, 2050);
        for (name, bad, part) in [
            ("k.pem", other_key.as_str(), "do not belong together"),
            ("k.pem", "", "cannot read a private key from"),
            ("c.pem", "", "holds no certificate in PEM form"),
            ("c.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "cannot be read"),
            ("c.pem", made(2020, 2029).0.as_str(), "has expired at 2029-01-01"),
            ("c.pem", made(2031, 2050).0.as_str(), "is not valid before 2031-01-01"),
        ] {
            // A certificate with dates that are no good comes with its own key.
            let dated = part.contains("20").then(|| {
                let years = if part.contains("2029") { (2020, 2029) } else { (2031, 2050) };
                folder.write(years.0, years.1);
            });
            if dated.is_none() {
                std::fs::write(folder.path(name), bad).unwrap();
            }
            assert_eq!(tls.look(Why::Time, NOW_MS), [None, None], "{part}: it may be half written");
            let [said, _] = tls.look(Why::Time, NOW_MS);
            let said = said.unwrap();
            assert!(said.contains(part) && said.contains(name), "{said}");
            assert_eq!(tls.look(Why::Time, NOW_MS), [None, None], "{part}: reported once");
            assert!(tls.look(Why::Signal, NOW_MS)[0].is_some(), "{part}: and to the caller of a signal");
            assert_eq!(until_year(&tls), "2050");
            std::fs::write(folder.path("c.pem"), &certificate).unwrap();
            std::fs::write(folder.path("k.pem"), &key).unwrap();
            assert_eq!(tls.look(Why::Time, NOW_MS), [None, None]);
            assert_eq!(tls.state().failing, None, "what is served is there again");
        }
        std::fs::remove_file(folder.path("k.pem")).unwrap();
        tls.look(Why::Time, NOW_MS);
        assert!(tls.look(Why::Time, NOW_MS)[0].as_ref().unwrap().contains("cannot read a private key from"));
    }

    #[test]
    fn a_certificate_that_ends_soon_is_reported_once_a_day_until_there_is_a_new_one() {
        let folder = Folder(tempfile::tempdir().unwrap());
        folder.write(2020, 2031);
        let tls = folder.open();
        let end_ms = tls.state().validity.until_ms;
        let said = |now_ms| tls.look(Why::Time, now_ms)[1].clone();
        assert_eq!(said(end_ms - 14 * DAY_MS - 1), None);
        assert!(said(end_ms - 13 * DAY_MS - 1).unwrap().contains("c.pem expires in 13 days, at 2031-01-01"));
        assert_eq!(said(end_ms - 12 * DAY_MS - 2), None, "once a day");
        assert!(said(end_ms - 12 * DAY_MS).is_some());
        assert!(said(end_ms + DAY_MS).unwrap().contains("has expired at 2031-01-01"));
        folder.write(2020, 2040);
        assert_eq!(tls.look(Why::Time, end_ms + DAY_MS), [None, None]);
        assert_eq!(said(end_ms + 3 * DAY_MS), None);
    }
}
