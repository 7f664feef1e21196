//! Runs test programs side by side, the longest first, and those that must run alone one after the other at
//! the end.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::outcome::Report;
use super::programs::Job;
use crate::budgets::Budgets;
use crate::clock::{Stopwatch, pause};

/// More programs at once than this gain nothing: each runs its tests on all cores, and a few are long.
const JOBS_MAX: usize = 4;
/// Programs without a budget of their own that take the most time, for a run that finds no times of an
/// earlier one. The longest is first.
const LONGEST: &[&str] =
    &["designer", "designer::it", "server::isolation", "server::models", "workbench::it"];
/// A program without a time counts as longer than this, because a long program that starts last is what costs
/// most.
const UNKNOWN_MS: u64 = 600_000;

/// How often it is looked whether a program has ended.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How long the last output of a program that has ended may take to arrive.
const OUTPUT_WITHIN: Duration = Duration::from_secs(2);

/// How a program ended.
pub(super) struct Ended {
    pub(super) name: String,
    pub(super) ms: u64,
    pub(super) succeeded: bool,
    pub(super) report: Report,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// Milliseconds of each program in the last run on this machine, and budgets of those that have no time, as
/// in a clean checkout.
#[derive(Clone, Debug)]
pub(super) struct LastTimes {
    known: BTreeMap<String, u64>,
    budgets: Budgets,
}

impl LastTimes {
    /// No file, or a broken one, means that no times are known.
    pub(super) fn read(path: &Path, budgets: &Budgets) -> Self {
        Self::parse(&std::fs::read_to_string(path).unwrap_or_default(), budgets)
    }

    fn parse(text: &str, budgets: &Budgets) -> Self {
        let pairs = text.lines().filter_map(|line| line.rsplit_once(' '));
        let known = pairs.filter_map(|(name, ms)| Some((name.to_owned(), ms.parse().ok()?))).collect();
        Self { known, budgets: budgets.clone() }
    }

    pub(super) fn take(&mut self, ended: &Ended) {
        self.known.insert(ended.name.clone(), ended.ms);
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), String> {
        let lines: Vec<String> = self.known.iter().map(|(name, ms)| format!("{name} {ms}")).collect();
        std::fs::write(path, lines.join("\n"))
            .map_err(|error| format!("cannot write {}: {error}", path.display()))
    }

    /// A program without a time is expected to take its budget.
    fn expected_ms(&self, name: &str) -> u64 {
        self.known.get(name).copied().unwrap_or_else(|| {
            let behind = LONGEST.iter().rev().position(|long| *long == name).map_or(0, |place| place + 1);
            UNKNOWN_MS + self.budgets.of(name) * 1000 + u64::try_from(behind).unwrap_or(0)
        })
    }
}

/// Runs every job with these arguments and environment; hands each to `report` when it ends. A program that
/// has not ended within the time is killed and counts as failed.
pub(super) fn run_all(
    mut jobs: Vec<Job>,
    last: &LastTimes,
    within: Duration,
    command: &(dyn Fn(&Job) -> Command + Sync),
    mut report: impl FnMut(Ended),
) {
    jobs.sort_by_key(|job| last.expected_ms(&job.name));
    let (alone, together): (Vec<Job>, Vec<Job>) = jobs.into_iter().partition(|job| job.is_alone);
    let workers = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, JOBS_MAX);
    for (jobs, workers) in [(together, workers), (alone, 1)] {
        let queue = Mutex::new(jobs);
        let (sender, ended) = channel();
        std::thread::scope(|scope| {
            for _ in 0..workers {
                let (sender, queue) = (sender.clone(), &queue);
                scope.spawn(move || work(queue, within, command, &sender));
            }
            drop(sender);
            ended.iter().for_each(&mut report);
        });
    }
}

fn work(
    queue: &Mutex<Vec<Job>>,
    within: Duration,
    command: &(dyn Fn(&Job) -> Command + Sync),
    ended: &Sender<Ended>,
) {
    loop {
        let Some(job) = queue.lock().ok().and_then(|mut jobs| jobs.pop()) else { return };
        if ended.send(run(&job, within, command(&job))).is_err() {
            return;
        }
    }
}

fn run(job: &Job, within: Duration, mut command: Command) -> Ended {
    let begun = Stopwatch::start();
    let (status, stdout, stderr) = captured(&mut command, within).unwrap_or_else(|error| {
        (None, String::new(), format!("cannot run {}: {error}\n", job.program.display()))
    });
    let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let succeeded = status.is_some_and(|status| status.success());
    Ended { name: job.name.clone(), ms, succeeded, report: Report::read(&stdout), stdout, stderr }
}

/// The exit status, standard output and standard error; no status if the program had to be killed.
fn captured(
    command: &mut Command,
    within: Duration,
) -> std::io::Result<(Option<ExitStatus>, String, String)> {
    let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let stdout = Output::read(process.stdout.take())?;
    let stderr = Output::read(process.stderr.take())?;
    let begun = Stopwatch::start();
    loop {
        if let Some(status) = process.try_wait()? {
            return Ok((Some(status), stdout.text(), stderr.text()));
        }
        if begun.elapsed() > within {
            break;
        }
        pause(LOOK_EVERY);
    }
    process.kill()?;
    process.wait()?;
    let told = format!("killed, because it had not ended after {} s\n", within.as_secs());
    Ok((None, stdout.text(), stderr.text() + &told))
}

/// What a program writes, read by a thread of its own: a program that fills one pipe while the other is read
/// would wait forever.
struct Output {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: std::thread::JoinHandle<()>,
}

impl Output {
    fn read(from: Option<impl Read + Send + 'static>) -> std::io::Result<Self> {
        let bytes = Arc::<Mutex<Vec<u8>>>::default();
        let to = Arc::clone(&bytes);
        let reader = std::thread::Builder::new().spawn(move || {
            let Some(mut from) = from else { return };
            let mut part = vec![0; 64 * 1024];
            while let Ok(read @ 1..) = from.read(&mut part) {
                let said = part.get(..read).unwrap_or_default();
                to.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(said);
            }
        })?;
        Ok(Self { bytes, reader })
    }

    /// Does not wait long for the end of the pipe: a program that was killed may leave processes behind that
    /// hold it open.
    fn text(self) -> String {
        let begun = Stopwatch::start();
        while !self.reader.is_finished() && begun.elapsed() < OUTPUT_WITHIN {
            pause(LOOK_EVERY);
        }
        String::from_utf8_lossy(&self.bytes.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times of an earlier run, and the budget of one program.
    fn times(known: &str) -> LastTimes {
        let budgets = Budgets::parse("default = 60\n[programs]\n\"server::long\" = 90\n").unwrap();
        LastTimes::parse(known, &budgets)
    }

    fn shell(job: &Job) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", &job.chosen.join(" ")]);
        command
    }

    fn job(name: &str, script: &str, is_alone: bool) -> Job {
        Job {
            name: name.to_owned(),
            program: "sh".into(),
            folder: ".".into(),
            chosen: vec![script.to_owned()],
            environment: Vec::new(),
            is_alone,
        }
    }

    #[test]
    fn every_job_runs_and_those_that_run_alone_come_last() {
        let jobs = vec![
            job("alone", "echo 'test a ... ok <0.002s>'", true),
            job("bad", "echo broken >&2; exit 3", false),
            job("good", "echo 'test result: ok. 2 passed; 0 failed; 0 ignored'", false),
        ];
        let mut ended = Vec::new();
        run_all(jobs, &times(""), Duration::from_secs(60), &shell, |one| ended.push(one));
        assert_eq!(ended.len(), 3);
        let last = ended.last().unwrap();
        assert_eq!((last.name.as_str(), last.report.tests.get("a")), ("alone", Some(&2)));
        let of = |name: &str| ended.iter().find(|one| one.name == name).unwrap();
        assert!(!of("bad").succeeded && of("bad").stderr == "broken\n");
        assert!(of("good").succeeded && of("good").report.totals.passed == 2);
    }

    #[test]
    fn a_program_that_does_not_end_is_killed_and_what_it_said_is_kept() {
        let mut ended = Vec::new();
        let hanging = vec![job("hanging", "echo said; sleep 5 & wait", false)];
        run_all(hanging, &times(""), Duration::from_millis(300), &shell, |one| ended.push(one));
        let one = &ended[0];
        assert!(!one.succeeded && one.stdout == "said\n" && one.stderr.contains("killed"), "{}", one.stderr);
    }

    #[test]
    fn programs_without_a_time_come_first_and_those_with_the_greatest_budget_first_of_all() {
        let last = times("known 70000\n");
        assert!(last.expected_ms("new") > last.expected_ms("known"));
        assert!(last.expected_ms("server::long") > last.expected_ms("designer"));
        assert!(last.expected_ms("designer") > last.expected_ms("workbench::it"));
        assert!(last.expected_ms("workbench::it") > last.expected_ms("new"));
    }
}
