//! Settings of backups, points in time and jobs: where sealed backups go, when tables are backed up, how much
//! the jobs may take.

use keywright_archive::Address;
use keywright_objects::S3Settings;
use keywright_semantics::limits::EXPORT_WINDOW_MS_MIN;
use keywright_semantics::place::{ACCOUNT_DIGITS, RegionName};
use serde::Deserialize;

use super::arguments::BackupArguments;
use super::buckets::ObjectStores;
use super::storage::Storage;
use crate::process::failure::Failure;
use crate::storage::encryption::backup_keys::BackupForm;
use crate::storage::scrub;

/// The folder of sealed backups in the data folder.
const BACKUPS_FOLDER: &str = "backups";
/// No backup store.
const OFF: &str = "off";
const JOB_THREADS: usize = 2;
const JOB_MEMORY_MIB: u64 = 64;
/// A job holds a chunk that is being read, and a page of rows.
const JOB_MEMORY_MIB_MIN: u64 = 32;
const MIB: u64 = 1024 * 1024;
/// Backups of one table that are closer together would only cost.
const EVERY_MS_MIN: u64 = 60_000;
const DAY_MS: u64 = 86_400_000;

/// What one server does with backups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Backups {
    /// The backup store; `None` leaves the items of backups in the database.
    pub(crate) to: Option<Address>,
    /// How the backup store is reached, if it is a bucket.
    pub(crate) s3: Option<S3Settings>,
    /// Whether new copies are encrypted.
    pub(crate) form: BackupForm,
    /// Whether tables may be exported: files of exports are never encrypted.
    pub(crate) may_export: bool,
    pub(crate) pitr_default: bool,
    pub(crate) pitr_lag_ms: u64,
    pub(crate) export_min_window_ms: u64,
    pub(crate) job_threads: usize,
    pub(crate) job_memory_bytes: u64,
    /// Rows that all restores together write in a second; `None` for no limit.
    pub(crate) load_rate: Option<u64>,
    pub(crate) schedules: Vec<Schedule>,
}

/// When a table is backed up by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Schedule {
    /// Account and region; `None` for all that have such a table.
    pub(crate) place: Option<(String, String)>,
    pub(crate) table: String,
    every_ms: u64,
    /// The time of day of a first backup, in UTC.
    at_ms: u64,
    /// How long a backup is kept; `None` for good.
    pub(crate) keep_ms: Option<u64>,
}

impl Schedule {
    /// The last time at or before this one at which a backup was due.
    pub(crate) fn due_at(&self, now_ms: u64) -> Option<u64> {
        let since = now_ms.checked_sub(self.at_ms)?;
        Some(self.at_ms + since - since % self.every_ms)
    }
}

/// A section `[[backup-schedule]]` of the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScheduleInFile {
    table: String,
    every: String,
    at: Option<String>,
    keep: Option<String>,
}

/// What the file says.
#[derive(Clone, Debug, Default)]
pub(crate) struct InFile {
    pub(crate) to: Option<String>,
    pub(crate) plain_backups: Option<bool>,
    pub(crate) plain_exports: Option<bool>,
    pub(crate) pitr_default: Option<bool>,
    pub(crate) pitr_lag_ms: Option<u64>,
    pub(crate) export_min_window_ms: Option<u64>,
    pub(crate) job_threads: Option<usize>,
    pub(crate) job_memory_mib: Option<u64>,
    pub(crate) load_rate: Option<u64>,
    pub(crate) schedules: Vec<ScheduleInFile>,
}

/// A flag or variable comes before the file.
pub(crate) fn merge(
    arguments: &BackupArguments,
    file: InFile,
    (storage, is_encrypted): (&Storage, bool),
    stores: &ObjectStores,
) -> Result<Backups, Failure> {
    let is_plain = arguments.plain_backups.or(file.plain_backups).unwrap_or(false);
    let form = if is_encrypted && !is_plain { BackupForm::Encrypted } else { BackupForm::Plain };
    let allows_exports = arguments.plain_exports.or(file.plain_exports).unwrap_or(false);
    let is_encrypted_folder = is_encrypted && matches!(storage, Storage::Folder { .. });
    let to = match (arguments.backup_to.clone().or(file.to).as_deref(), storage) {
        (None, Storage::Folder { path, .. }) => Some(Address::Folder(path.join(BACKUPS_FOLDER))),
        (Some(OFF), _) | (None, Storage::Memory | Storage::Postgres { .. } | Storage::Tikv { .. }) => None,
        (Some(place), _) => {
            Some(Address::parse(place).map_err(|fault| Failure::new(format!("backup-to: {fault}")))?)
        }
    };
    // A store that is named for other uses needs no key here.
    let s3 = match to {
        Some(Address::S3 { .. }) => Some(stores.s3()?),
        Some(Address::Folder(_)) | None => None,
    };
    let job_memory_mib = arguments.job_memory_mib.or(file.job_memory_mib).unwrap_or(JOB_MEMORY_MIB);
    if job_memory_mib < JOB_MEMORY_MIB_MIN {
        return Err(Failure::new(format!(
            "--job-memory-mib {job_memory_mib} is too small for a chunk of a backup: write at least \
             {JOB_MEMORY_MIB_MIN}"
        )));
    }
    let job_threads = arguments.job_threads.or(file.job_threads).unwrap_or(JOB_THREADS);
    let load_rate = arguments.load_rate.or(file.load_rate);
    if job_threads == 0 || load_rate == Some(0) {
        return Err(Failure::new("job-threads and load-rate: with 0 no job would end, write at least 1"));
    }
    Ok(Backups {
        to,
        s3,
        form,
        may_export: allows_exports || !is_encrypted_folder,
        pitr_default: arguments.pitr_default.or(file.pitr_default).unwrap_or(false),
        pitr_lag_ms: arguments.pitr_lag_ms.or(file.pitr_lag_ms).unwrap_or(0),
        export_min_window_ms: arguments
            .export_min_window_ms
            .or(file.export_min_window_ms)
            .unwrap_or(EXPORT_WINDOW_MS_MIN),
        job_threads,
        job_memory_bytes: job_memory_mib.saturating_mul(MIB),
        load_rate,
        schedules: file.schedules.iter().map(schedule).collect::<Result<_, Failure>>()?,
    })
}

fn schedule(given: &ScheduleInFile) -> Result<Schedule, Failure> {
    let ScheduleInFile { table, every, at, keep } = given;
    let wrong = |setting: &str, value: &str, form: &str| {
        Failure::new(format!(
            "backup-schedule of table {table}: {setting} = \"{value}\" is not known: {form}"
        ))
    };
    let parts: Vec<&str> = table.split('/').collect();
    let (place, name) = match parts[..] {
        [name] => (None, name),
        [account, region, name]
            if account.len() == ACCOUNT_DIGITS
                && account.bytes().all(|digit| digit.is_ascii_digit())
                && RegionName::parse(region).is_some() =>
        {
            (Some((account.to_owned(), region.to_owned())), name)
        }
        _ => return Err(wrong("table", table, "write NAME, or ACCOUNT/REGION/NAME")),
    };
    let every_ms = period(every).map_err(|form| wrong("every", every, &form))?;
    if every_ms < EVERY_MS_MIN {
        return Err(wrong("every", every, "write a minute, 1m, or more"));
    }
    let keep_ms = keep.as_ref().map(|keep| period(keep).map_err(|form| wrong("keep", keep, &form)));
    let keep_ms = keep_ms.transpose()?;
    // The newest one tells that none is due.
    if let (Some(keep), Some(_)) = (keep, keep_ms.filter(|keep_ms| *keep_ms < every_ms)) {
        return Err(wrong("keep", keep, "write at least the period of every"));
    }
    let at_ms = match at {
        None => 0,
        Some(at) => {
            time_of_day(at).ok_or_else(|| wrong("at", at, "write a time of day in UTC, such as 03:30"))?
        }
    };
    Ok(Schedule { place, table: name.to_owned(), every_ms, at_ms: at_ms % every_ms.max(DAY_MS), keep_ms })
}

fn period(text: &str) -> Result<u64, String> {
    let period = scrub::period(text).ok_or("write a period such as 7d, 12h, 30m or 60s")?;
    Ok(u64::try_from(period.as_millis()).unwrap_or(u64::MAX))
}

/// Reads `03:30` as milliseconds.
fn time_of_day(text: &str) -> Option<u64> {
    let (hours, minutes) = text.split_once(':')?;
    let part = |text: &str, below: u64| {
        let number: u64 = text.parse().ok()?;
        (text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit()) && number < below)
            .then_some(number)
    };
    Some((part(hours, 24)? * 60 + part(minutes, 60)?) * 60_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::arguments::DurabilityArgument;
    use crate::settings::buckets::{self, StoreArguments};
    use crate::settings::s3::S3Arguments;

    const HOUR_MS: u64 = 3_600_000;

    fn folder() -> Storage {
        Storage::Folder {
            path: "d".into(),
            durability: DurabilityArgument::Synced,
            cache_bytes: 0,
            write_buffer_bytes: None,
        }
    }

    fn in_file(schedule: (&str, &str, Option<&str>, Option<&str>)) -> InFile {
        let (table, every, at, keep) = schedule;
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let schedule = ScheduleInFile {
            table: table.to_owned(),
            every: every.to_owned(),
            at: owned(at),
            keep: owned(keep),
        };
        InFile { schedules: vec![schedule], ..InFile::default() }
    }

    fn merged(arguments: &BackupArguments, file: InFile) -> Result<Backups, String> {
        merge(arguments, file, (&folder(), false), &none()).map_err(String::from)
    }

    fn none() -> ObjectStores {
        ObjectStores::merge(StoreArguments::default(), buckets::InFile::default())
    }

    #[test]
    fn backups_go_into_the_data_folder_unless_a_place_is_named_or_they_are_off() {
        let to = |flag: Option<&str>, file: Option<&str>| {
            let arguments =
                BackupArguments { backup_to: flag.map(str::to_owned), ..BackupArguments::default() };
            let file = InFile { to: file.map(str::to_owned), ..InFile::default() };
            merged(&arguments, file).map(|backups| backups.to.map(|to| to.to_string()))
        };
        assert_eq!(to(None, None), Ok(Some("d/backups".to_owned())));
        assert_eq!(to(None, Some("b")), Ok(Some("b".to_owned())));
        assert_eq!(to(Some("off"), Some("b")), Ok(None));
        assert!(to(Some("ftp://x"), None).unwrap_err().starts_with("backup-to: "));
        assert!(to(Some("s3://bucket/p"), None).unwrap_err().contains("--s3-endpoint"));
        let s3_endpoint = Some("https://s3.example".to_owned());
        let s3 = S3Arguments { s3_endpoint, ..S3Arguments::default() };
        let named = StoreArguments { s3, ..StoreArguments::default() };
        let unused = ObjectStores::merge(named, buckets::InFile::default());
        let backups = merge(&BackupArguments::default(), InFile::default(), (&folder(), false), &unused);
        assert_eq!(backups.map(|backups| backups.s3), Ok(None));
        let memory = (&Storage::Memory, false);
        let memory = merge(&BackupArguments::default(), InFile::default(), memory, &none());
        assert_eq!(memory.map(|backups| backups.to), Ok(None));
    }

    #[test]
    fn copies_of_an_encrypted_folder_are_encrypted_unless_plain_ones_are_wanted() {
        let of = |flag: Option<&str>, plain_backups: Option<bool>| {
            let arguments =
                BackupArguments { backup_to: flag.map(str::to_owned), ..BackupArguments::default() };
            let file = InFile { plain_backups, ..InFile::default() };
            let merged = merge(&arguments, file, (&folder(), true), &none()).unwrap();
            (merged.to.map(|to| to.to_string()), merged.form)
        };
        let (inside, outside) = (Some("d/backups".to_owned()), Some("b".to_owned()));
        assert_eq!(of(None, None), (inside.clone(), BackupForm::Encrypted));
        assert_eq!(of(Some("b"), None), (outside, BackupForm::Encrypted));
        assert_eq!(of(None, Some(true)), (inside, BackupForm::Plain));
        assert_eq!(of(Some("off"), None).0, None);
        let may_export = |plain_exports, is_encrypted, storage: &Storage| {
            let file = InFile { plain_exports, ..InFile::default() };
            merge(&BackupArguments::default(), file, (storage, is_encrypted), &none()).unwrap().may_export
        };
        assert!(!may_export(None, true, &folder()) && may_export(Some(true), true, &folder()));
        assert!(may_export(None, false, &folder()), "nothing is encrypted");
        let shared = Storage::Tikv { url: "tikv://a/b".to_owned() };
        assert!(may_export(None, true, &shared), "its tables are not encrypted");
    }

    #[test]
    fn bounds_that_let_no_job_end_are_refused() {
        let none = BackupArguments::default;
        for (arguments, part) in [
            (BackupArguments { job_memory_mib: Some(31), ..none() }, "32"),
            (BackupArguments { job_threads: Some(0), ..none() }, "at least 1"),
            (BackupArguments { load_rate: Some(0), ..none() }, "at least 1"),
        ] {
            assert!(merged(&arguments, InFile::default()).unwrap_err().contains(part), "{part}");
        }
        let file = InFile { pitr_default: Some(true), load_rate: Some(7), ..InFile::default() };
        let arguments = BackupArguments { load_rate: Some(9), pitr_lag_ms: Some(5), ..none() };
        let backups = merged(&arguments, file).unwrap();
        assert_eq!((backups.pitr_default, backups.pitr_lag_ms, backups.load_rate), (true, 5, Some(9)));
    }

    #[test]
    fn a_schedule_is_due_at_its_time_of_day_and_every_period_after_it() {
        let parsed = |schedule| {
            merged(&BackupArguments::default(), in_file(schedule))
                .map(|mut backups| backups.schedules.remove(0))
        };
        let daily = parsed(("Orders", "1d", Some("03:30"), Some("7d"))).unwrap();
        assert_eq!(
            (daily.table.as_str(), daily.place.clone(), daily.keep_ms),
            ("Orders", None, Some(7 * DAY_MS))
        );
        let at = 3 * HOUR_MS + HOUR_MS / 2;
        assert_eq!(daily.due_at(20 * DAY_MS + at - 1), Some(19 * DAY_MS + at));
        assert_eq!(daily.due_at(20 * DAY_MS + at), Some(20 * DAY_MS + at));
        let often = parsed(("000000000001/eu-west-1/Orders", "6h", Some("01:00"), None)).unwrap();
        assert_eq!(often.place, Some(("000000000001".to_owned(), "eu-west-1".to_owned())));
        assert_eq!(often.due_at(DAY_MS), Some(DAY_MS - 5 * HOUR_MS));
        for (schedule, part) in [
            (("a/b", "1d", None, None), "ACCOUNT/REGION/NAME"),
            (("1/eu-west-1/Orders", "1d", None, None), "ACCOUNT/REGION/NAME"),
            (("Orders", "daily", None, None), "every"),
            (("Orders", "59s", None, None), "a minute"),
            (("Orders", "1d", Some("24:00"), None), "03:30"),
            (("Orders", "1d", Some("3:30"), None), "03:30"),
            (("Orders", "1d", None, Some("x")), "keep"),
            (("Orders", "1d", None, Some("23h")), "at least the period"),
        ] {
            let fault = parsed(schedule).unwrap_err();
            assert!(fault.contains(part) && fault.starts_with("backup-schedule of table "), "{fault}");
        }
    }
}
