//! Jobs that need an object store, with a caller that keeps the rows in memory.

use std::collections::BTreeMap;
use std::task::{Context, Waker};

use bytes::Bytes;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_store::Store;
use keywright_store::faulty::{Faults, FaultyStore};
use keywright_store::memory::MemoryStore;

use super::backups::{START_MS, bed_with, full_row, reopen};
use super::harness::*;
use super::tables::{Bed, creation, kind};
use crate::support::layout::Space;
use crate::{EngineConfig, JobKind, JobState, JobView, ObjectJob, ObjectWork, Row, Sealed};

const ITEMS: i64 = 700;

fn sealing() -> EngineConfig {
    EngineConfig { seals: true, ..EngineConfig::default() }
}

/// Objects by place: rows in pages.
#[derive(Default)]
struct Objects(BTreeMap<String, Vec<Vec<Row>>>);

fn one_job<S: Store>(bed: &Bed<S>) -> ObjectJob {
    let mut jobs = block_on(bed.engine.object_jobs()).expect("they are listed");
    assert_eq!(jobs.len(), 1, "{jobs:?}");
    jobs.remove(0)
}

impl Objects {
    /// Does a piece of a seal; true after the last.
    fn seal_some(&mut self, bed: &Bed<MemoryStore>) -> bool {
        let job = one_job(bed);
        let ObjectWork::Seal { backup, from, is_at_end, .. } = &job.work else { panic!("{job:?}") };
        let pages = self.0.entry(backup.clone()).or_default();
        let noted = block_on(bed.engine.sealed_objects(&job)).expect("they are read");
        if *is_at_end {
            assert_eq!(noted.len() + 1, pages.len(), "the last one needs no note");
            let place = Bytes::from(backup.clone());
            return block_on(bed.engine.end_seal(&job, &place)).expect("it is noted");
        }
        let name = |number: usize| Bytes::from(format!("object {number}"));
        assert_eq!(noted, (0..pages.len()).map(name).collect::<Vec<_>>(), "they are what was noted");
        let page = block_on(bed.engine.rows_of_backup(&job, from.as_ref(), 20_000)).expect("it is read");
        let page = page.expect("the history is held");
        let count = u64::try_from(page.rows.len()).expect("few");
        let last = page.rows.last().filter(|_| page.next.is_some()).map(|row| row.key.clone());
        let object = name(pages.len());
        pages.push(page.rows);
        let sealed = last.as_ref().map_or(Sealed::All, |last| Sealed::UpTo { last, object: &object });
        let noted = block_on(bed.engine.note_sealed(&job, sealed, (count, 1)));
        assert!(noted.expect("it is noted").is_some());
        let again = block_on(bed.engine.note_sealed(&job, sealed, (count, 2)));
        assert_eq!(again.expect("it is refused"), None, "the job is not as it was");
        false
    }

    /// Does a piece of a restore; true after the last.
    fn load_some(&self, bed: &Bed<MemoryStore>) -> bool {
        let job = one_job(bed);
        let ObjectWork::Restore { place, from } = &job.work else { panic!("{job:?}") };
        let pages = &self.0[std::str::from_utf8(place).expect("a name")];
        // Two pages at a time are more than one commit takes.
        let at: usize = from.first().copied().unwrap_or(0).into();
        if at >= pages.len() {
            return block_on(bed.engine.end_loading(&job)).expect("it is noted");
        }
        let rows: Vec<Row> = pages.iter().skip(at).take(2).flatten().cloned().collect();
        let next = Bytes::from(vec![u8::try_from(at + 2).expect("few pages")]);
        let loaded = block_on(bed.engine.load_rows(&job, rows.clone(), &next)).expect("it is written");
        assert!(loaded.is_some());
        assert_eq!(block_on(bed.engine.load_rows(&job, rows, &next)).expect("it is refused"), None);
        false
    }
}

/// A store with a table and its sealed backup, each piece done by a new process.
fn sealed() -> (MemoryStore, Objects, String) {
    let store = MemoryStore::new();
    let bed = reopen(store.clone(), sealing(), START_MS);
    bed.create(creation("Shop", schema())).expect("it is new");
    (0..ITEMS).for_each(|number| bed.put("Shop", full_row(number)));
    let arn = bed.back_up("Shop").backup_arn;
    (0..ITEMS).for_each(|number| bed.put("Shop", item([("pk", s("later")), ("sk", s(&number.to_string()))])));
    drop(bed);
    let mut objects = Objects::default();
    while !objects.seal_some(&reopen(store.clone(), sealing(), START_MS + 1_000)) {}
    (store, objects, arn)
}

#[test]
fn a_sealed_backup_holds_no_history_and_restores_to_the_same_items_and_indexes() {
    let (store, objects, arn) = sealed();
    let bed = reopen(store.clone(), sealing(), START_MS + 2_000);
    bed.settle();
    assert_eq!(bed.job_states(), [(JobKind::Seal, JobState::Completed)]);
    assert_eq!(bed.rows_in(Space::History), 0, "it is held no longer");
    assert_eq!(bed.rows_in(Space::Jobs), 1, "what was noted of its objects is gone");
    let (items, rows) = (objects.0.values().flatten().map(Vec::len).sum::<usize>(), ITEMS);
    assert_eq!(i64::try_from(items).ok(), Some(rows));
    bed.delete("Shop").expect("it is there");
    bed.settle();
    bed.try_restore(&arn, "Copy").expect("it is in the backup store");
    drop(bed);
    let reopened = || reopen(store.clone(), sealing(), START_MS + 3_000);
    while !objects.load_some(&reopened()) {}
    let bed = reopened();
    bed.settle();
    let reference = bed_with(EngineConfig::default());
    reference.create(creation("Copy", schema())).expect("it is new");
    (0..ITEMS).for_each(|number| reference.put("Copy", full_row(number)));
    bed.contents("Copy").assert_eq(&reference.contents("Copy"), "");
    let restore = block_on(bed.engine.jobs(None, 10)).expect("they are listed").remove(0);
    assert_eq!((restore.kind, restore.state), (JobKind::Restore, JobState::Completed));
    assert_eq!(i64::try_from(restore.items).ok(), Some(ITEMS));
}

#[test]
fn a_copy_goes_on_after_the_last_row_that_stands_also_if_its_item_has_changed_since() {
    let bed = reopen(MemoryStore::new(), sealing(), START_MS);
    bed.create(creation("Shop", schema())).expect("it is new");
    (0..ITEMS).for_each(|number| bed.put("Shop", full_row(number)));
    bed.back_up("Shop");
    for number in 0..ITEMS {
        let mut row = full_row(number);
        row.insert("g".to_owned(), s("changed"));
        bed.put("Shop", row);
    }
    let mut objects = Objects::default();
    while !objects.seal_some(&bed) {}
    let rows: Vec<&Row> = objects.0.values().flatten().flatten().collect();
    assert!(objects.0.values().all(|pages| pages.len() > 1), "it takes several pages");
    assert!(rows.is_sorted_by(|one, next| one.key < next.key), "each row once");
    assert_eq!(i64::try_from(rows.len()).ok(), Some(ITEMS));
}

#[test]
fn a_deleted_backup_leaves_a_job_for_its_objects() {
    let (store, _, arn) = sealed();
    let bed = reopen(store, sealing(), START_MS + 2_000);
    let of_half = bed.back_up("Shop").backup_arn;
    bed.delete_backup(&arn).expect("nothing is restored from it");
    bed.delete_backup(&of_half).expect("nothing is restored from it");
    let jobs = block_on(bed.engine.object_jobs()).expect("they are listed");
    let places: Vec<bool> = jobs
        .iter()
        .map(|job| matches!(&job.work, ObjectWork::Delete { place, .. } if place.is_some()))
        .collect();
    assert_eq!(places.len(), 2, "{jobs:?}");
    assert!(places.contains(&true) && places.contains(&false), "{jobs:?}");
    for job in &jobs {
        let begun = block_on(bed.engine.begin_deletion(job)).expect("it is noted").expect("it is open");
        assert!(bed.job_states().contains(&(JobKind::DeleteObjects, JobState::Running)));
        assert!(block_on(bed.engine.note_waiting(&begun, "the store is away")).expect("it is noted"));
        let waiting = block_on(bed.engine.object_job(&job.id)).expect("it is read").expect("it is open");
        let again = block_on(bed.engine.begin_deletion(&waiting)).expect("it is read").expect("it is open");
        assert_eq!(again, waiting, "another attempt changes nothing");
        assert!(block_on(bed.engine.end_deletion(&again)).expect("it is noted"));
        assert!(!block_on(bed.engine.end_deletion(&again)).expect("it is noted"), "once");
        assert_eq!(block_on(bed.engine.object_job(&job.id)).expect("it is read"), None);
    }
    let failed = JobState::Failed {
        code: "BackupDeleted".to_owned(),
        message: "the backup was deleted while it was sealed".to_owned(),
    };
    assert!(bed.job_states().contains(&(JobKind::Seal, failed)), "{:?}", bed.job_states());
    bed.settle();
    assert_eq!(bed.rows_in(Space::History), 0);
    assert_eq!(bed.rows_in(Space::Backups), 0);
}

/// What ends a restore without its table.
type Failure = fn(&Bed<MemoryStore>, &ObjectJob, Vec<Row>);

#[test]
fn a_restore_that_fails_takes_its_table_with_it_and_frees_the_backup() {
    let (store, objects, arn) = sealed();
    let bed = reopen(store, sealing(), START_MS + 2_000);
    let failures: [Failure; 2] = [
        |bed, job, _| {
            let failed = bed.engine.fail_job(job, "DamagedObject", "chunk-1.kwb: the sum is wrong");
            block_on(failed).expect("it is noted");
        },
        |bed, job, mut rows| {
            rows.swap(0, 1);
            let swapped = Row { key: rows[0].key.clone(), value: rows[1].value.clone() };
            let loaded = block_on(bed.engine.load_rows(job, vec![swapped], &Bytes::from_static(&[1])));
            assert_eq!(loaded.expect("it is answered"), None);
        },
    ];
    let messages = ["chunk-1.kwb: the sum is wrong", "has another key in itself"];
    for (fail, message) in failures.into_iter().zip(messages) {
        bed.try_restore(&arn, "Copy").expect("it is free");
        let job = one_job(&bed);
        let rows = objects.0.values().flatten().next().expect("a page").clone();
        fail(&bed, &job, rows);
        assert_eq!(kind(bed.describe("Copy")).0, ErrorKind::ResourceNotFound);
        let last = block_on(bed.engine.jobs(None, 1)).expect("they are listed").remove(0);
        assert!(
            matches!(&last.state, JobState::Failed { message: text, .. } if text.contains(message)),
            "{last:?}"
        );
        bed.pass(1);
        bed.settle();
    }
    bed.delete_backup(&arn).expect("nothing is restored from it");
}

/// All rows of the backup that a job seals, or those that changed since a stamp.
fn all_rows(bed: &Bed<MemoryStore>, job: &ObjectJob, since: Option<u64>) -> Option<Vec<Row>> {
    let mut rows = Vec::new();
    let mut from: Option<Bytes> = None;
    loop {
        let page = match since {
            None => block_on(bed.engine.rows_of_backup(job, from.as_ref(), 5_000)),
            Some(since) => block_on(bed.engine.changes_of_backup(job, since, from.as_ref(), 5_000)),
        };
        let page = page.expect("it is read")?;
        rows.extend(page.rows);
        from = page.next;
        if from.is_none() {
            return Some(rows);
        }
    }
}

#[test]
fn the_changes_between_two_backups_make_the_second_of_the_first() {
    let bed = bed_with(EngineConfig { job_threads: 2, ..sealing() });
    bed.create(creation("Shop", schema())).expect("it is new");
    bed.turn_on_recovery("Shop");
    (0..ITEMS).for_each(|number| bed.put("Shop", full_row(number)));
    bed.back_up("Shop");
    bed.pass(1_000);
    for number in (0..ITEMS).step_by(9) {
        bed.put("Shop", item([("pk", s("new")), ("sk", s(&number.to_string()))]));
        bed.run(super::backups::delete_of("Shop", number + 1)).expect("it is deleted");
        // Nothing is left of this one.
        bed.put("Shop", item([("pk", s("p1")), ("sk", s("passing"))]));
    }
    bed.run(super::backups::delete_of("Shop", 0)).expect("it is deleted");
    bed.put("Shop", full_row(0));
    bed.back_up("Shop");
    bed.put("Shop", item([("pk", s("later")), ("sk", s("later"))]));
    let jobs = block_on(bed.engine.object_jobs()).expect("they are listed");
    let [first, second] = jobs.as_slice() else { panic!("{jobs:?}") };
    let ObjectWork::Seal { stamp, .. } = first.work else { panic!("{first:?}") };
    let map = |rows: Vec<Row>| rows.into_iter().map(|row| (row.key, row.value)).collect::<BTreeMap<_, _>>();
    let mut state = map(all_rows(&bed, first, None).expect("it is held"));
    let changes = all_rows(&bed, second, Some(stamp)).expect("it is in the history");
    assert!(changes.len() < 2 * state.len() / 9 + 10, "{}", changes.len());
    for Row { key, value } in changes {
        if value.is_empty() {
            state.remove(&key).expect("what was deleted was there");
        } else {
            state.insert(key, value);
        }
    }
    assert_eq!(state, map(all_rows(&bed, second, None).expect("it is held")));
    assert_eq!(all_rows(&bed, second, Some(1)), None, "the history does not reach back so far");
}

#[test]
fn a_restore_of_a_backup_that_is_being_sealed_goes_on_after_the_seal() {
    let store = MemoryStore::new();
    let bed = reopen(store, sealing(), START_MS);
    bed.create(creation("Shop", schema())).expect("it is new");
    (0..ITEMS).for_each(|number| bed.put("Shop", full_row(number)));
    let before = bed.contents("Shop");
    let arn = bed.back_up("Shop").backup_arn;
    bed.try_restore(&arn, "Copy").expect("it is available");
    let mut objects = Objects::default();
    while !objects.seal_some(&bed) {}
    (0..ITEMS).for_each(|number| bed.put("Shop", item([("pk", s("p1")), ("sk", s(&number.to_string()))])));
    bed.settle();
    bed.contents("Copy").assert_eq(&before, "");
    assert_eq!(bed.rows_in(Space::History), 0);
}

#[test]
fn a_seal_that_fails_leaves_the_backup_in_its_table() {
    let bed = bed_with(sealing());
    bed.create(creation("Shop", schema())).expect("it is new");
    bed.put("Shop", full_row(1));
    let arn = bed.back_up("Shop").backup_arn;
    let job = one_job(&bed);
    block_on(bed.engine.fail_job(&job, "Full", "the store has no room")).expect("it is noted");
    assert!(block_on(bed.engine.object_jobs()).expect("they are listed").is_empty());
    bed.try_restore(&arn, "Copy").expect("it is available");
    bed.settle();
    bed.contents("Copy").assert_eq(&bed.contents("Shop"), "");
    bed.delete_backup(&arn).expect("nothing is restored from it");
    assert!(block_on(bed.engine.object_jobs()).expect("they are listed").is_empty(), "there are no objects");
}

#[test]
fn a_job_that_waits_says_why_until_it_goes_on() {
    let bed = bed_with(sealing());
    bed.create(creation("Shop", schema())).expect("it is new");
    (0..ITEMS).for_each(|number| bed.put("Shop", full_row(number)));
    bed.back_up("Shop");
    let waits = || block_on(bed.engine.jobs(None, 1)).expect("they are listed").remove(0).waits_for;
    assert_eq!(waits(), None);
    let job = one_job(&bed);
    assert!(block_on(bed.engine.note_waiting(&job, "the disk is full")).expect("it is noted"));
    assert!(
        !block_on(bed.engine.note_waiting(&job, "again")).expect("it is refused"),
        "the job has moved on"
    );
    assert_eq!(waits().as_deref(), Some("the disk is full"));
    assert!(!Objects::default().seal_some(&bed));
    assert_eq!(waits(), None);
}

#[test]
fn jobs_are_asked_for_when_one_was_made_or_has_ended() {
    let bed = bed_with(sealing());
    bed.create(creation("Shop", schema())).expect("it is new");
    bed.put("Shop", full_row(1));
    assert!(block_on(bed.engine.object_jobs()).expect("they are listed").is_empty());
    assert!(!bed.engine.object_jobs_are_due());
    let arn = bed.back_up("Shop").backup_arn;
    assert!(bed.engine.object_jobs_are_due(), "a backup is to be sealed");
    let mut objects = Objects::default();
    while !objects.seal_some(&bed) {}
    assert!(bed.engine.object_jobs_are_due(), "a seal has ended");
    block_on(bed.engine.object_jobs()).expect("they are listed");
    verify(&bed, &arn).expect("it is sealed");
    assert!(bed.engine.object_jobs_are_due(), "a copy is to be verified");
    let job = one_job(&bed);
    let place = place_of_backup(&bed).expect("it is sealed");
    assert!(block_on(bed.engine.end_verification(&job, &place, None)).expect("it is noted"));
    block_on(bed.engine.object_jobs()).expect("they are listed");
    bed.try_restore(&arn, "Copy").expect("it is sealed");
    assert!(bed.engine.object_jobs_are_due(), "a table is to be filled");
    while !objects.load_some(&bed) {}
    bed.settle();
    block_on(bed.engine.object_jobs()).expect("they are listed");
    assert!(!bed.engine.object_jobs_are_due());
    bed.delete_backup(&arn).expect("nothing is restored from it");
    assert!(bed.engine.object_jobs_are_due(), "objects are to be removed");
    let jobs = block_on(bed.engine.jobs(None, usize::MAX)).expect("they are listed");
    let removal = jobs.iter().find(|job| job.kind == JobKind::DeleteObjects).expect("it is open");
    assert!(block_on(bed.engine.object_job(&removal.id)).expect("it is read").is_some());
    assert!(bed.engine.object_jobs_are_due(), "one job was read, and the others are due still");
    block_on(bed.engine.object_jobs()).expect("they are listed");
    assert!(!bed.engine.object_jobs_are_due());
    bed.pass(5_000);
    assert!(bed.engine.object_jobs_are_due(), "within seconds also if nobody reports a job");
}

/// The place of the only backup.
fn place_of_backup(bed: &Bed<MemoryStore>) -> Option<Bytes> {
    let backups = block_on(bed.engine.backups(&namespace())).expect("they are listed");
    assert_eq!(backups.len(), 1, "{backups:?}");
    backups[0].sealed_at.clone()
}

fn verify(bed: &Bed<MemoryStore>, arn: &str) -> Result<JobView, Error> {
    let id = arn.rsplit('/').next().expect("an ARN has parts");
    block_on(bed.engine.verify_backup(&namespace(), "Shop", id))
}

#[test]
fn a_verification_goes_on_where_it_stopped_and_its_finding_stays_with_the_backup() {
    let (store, _, arn) = sealed();
    let bed = reopen(store.clone(), sealing(), START_MS + 2_000);
    let begun = verify(&bed, &arn).expect("it is sealed");
    assert_eq!((begun.kind, begun.state.clone()), (JobKind::Verify, JobState::Waiting));
    assert_eq!(verify(&bed, &arn).expect("it is sealed").id, begun.id, "it is going on already");
    let job = one_job(&bed);
    assert!(matches!(&job.work, ObjectWork::Verify { from, .. } if from.is_empty()), "{job:?}");
    let next = Bytes::from_static(b"1");
    assert!(block_on(bed.engine.note_verified(&job, &next, (3, 30))).expect("it is noted").is_some());
    let stale = block_on(bed.engine.note_verified(&job, &next, (4, 40))).expect("it is refused");
    assert_eq!(stale, None, "the job is not as it was");
    drop(bed);

    let bed = reopen(store, sealing(), START_MS + 3_000);
    let job = one_job(&bed);
    assert!(matches!(&job.work, ObjectWork::Verify { from, .. } if *from == next), "{job:?}");
    let whole = Bytes::from_static(b"whole");
    assert!(block_on(bed.engine.end_verification(&job, &whole, None)).expect("it is noted"));
    assert!(!block_on(bed.engine.end_verification(&job, &whole, None)).expect("it is noted"), "once");
    assert_eq!(place_of_backup(&bed), Some(whole));
    let ended = block_on(bed.engine.job(&begun.id)).expect("it is read").expect("it is listed");
    assert_eq!((ended.state, ended.items, ended.bytes), (JobState::Completed, 3, 30));

    assert_ne!(verify(&bed, &arn).expect("it is sealed").id, begun.id);
    let damaged = Bytes::from_static(b"damaged");
    let fault = Some(("DamagedBackup", "chunk-0 is missing"));
    let job = one_job(&bed);
    assert!(block_on(bed.engine.end_verification(&job, &damaged, fault)).expect("it is noted"));
    assert_eq!(place_of_backup(&bed), Some(damaged));
    let (code, message) = ("DamagedBackup".to_owned(), "chunk-0 is missing".to_owned());
    let failed = (JobKind::Verify, JobState::Failed { code, message });
    assert!(bed.job_states().contains(&failed), "{:?}", bed.job_states());
}

#[test]
fn only_a_copy_that_is_there_is_verified() {
    let bed = bed_with(sealing());
    bed.create(creation("Shop", schema())).expect("it is new");
    bed.put("Shop", full_row(1));
    let arn = bed.back_up("Shop").backup_arn;
    let held = verify(&bed, &arn).expect_err("it is in the table's history");
    assert!(held.message.contains("has no copy") && held.message.contains(&arn), "{held:?}");
    let mut objects = Objects::default();
    while !objects.seal_some(&bed) {}
    verify(&bed, &arn).expect("it is sealed");
    let job = one_job(&bed);
    bed.delete_backup(&arn).expect("nothing is restored from it");
    assert_eq!(verify(&bed, &arn).map(|job| job.kind).ok(), Some(JobKind::Verify), "it has not ended");
    assert!(block_on(bed.engine.end_verification(&job, &Bytes::new(), None)).expect("it is noted"));
    assert_eq!(bed.rows_in(Space::Backups), 0, "its end brings no backup back");
    let (code, message) = ("BackupDeleted", "the backup was deleted while its copy was verified");
    let deleted = JobState::Failed { code: code.to_owned(), message: message.to_owned() };
    assert!(bed.job_states().contains(&(JobKind::Verify, deleted)), "{:?}", bed.job_states());
    assert_eq!(verify(&bed, &arn).expect_err("it is gone").kind, ErrorKind::BackupNotFound);
}

#[test]
fn rows_of_a_long_piece_that_was_cut_short_are_not_counted_again_by_shorter_pieces() {
    let store = FaultyStore::new(1, Faults::NONE);
    let bed = reopen(store.clone(), sealing(), START_MS);
    bed.create(creation("Shop", schema())).expect("it is new");
    (0..ITEMS).for_each(|number| bed.put("Shop", full_row(number)));
    let (arn, expected) = (bed.back_up("Shop").backup_arn, bed.contents("Shop"));
    let seal = one_job(&bed);
    let page = block_on(bed.engine.rows_of_backup(&seal, None, usize::MAX)).expect("it is read");
    let rows = page.expect("the history is held").rows;
    let noted = block_on(bed.engine.note_sealed(&seal, Sealed::All, (1, 1))).expect("it is noted");
    let place = Bytes::from_static(b"there");
    assert!(block_on(bed.engine.end_seal(&noted.expect("it was as read"), &place)).expect("it is noted"));
    bed.try_restore(&arn, "Copy").expect("it is sealed");
    let job = one_job(&bed);
    store.set_faults(Faults { yield_per_mille: 1_000, ..Faults::NONE });
    let mut loading = Box::pin(bed.engine.load_rows(&job, rows.clone(), &rows[rows.len() - 1].key));
    let written = || block_on(bed.engine.job(&job.id)).expect("it is read").expect("it is there").items;
    while written() == 0 {
        let polled = loading.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending(), "one commit does not take all rows");
    }
    drop(loading);
    store.set_faults(Faults::NONE);
    drop(bed);
    let bed = reopen(store, sealing(), START_MS + 1_000);
    let mut job = one_job(&bed);
    for some in rows.chunks(100) {
        let next = &some[some.len() - 1].key;
        let loaded = block_on(bed.engine.load_rows(&job, some.to_vec(), next)).expect("it is written");
        job = loaded.expect("it was as read");
    }
    assert!(block_on(bed.engine.end_loading(&job)).expect("it is noted"));
    bed.settle();
    bed.contents("Copy").assert_eq(&expected, "after shorter pieces");
    let ended = block_on(bed.engine.job(&job.id)).expect("it is read").expect("it is listed");
    assert_eq!(i64::try_from(ended.items), Ok(ITEMS));
}
