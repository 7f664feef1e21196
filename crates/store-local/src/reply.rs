//! Delivers the outcomes of commits from the commit thread to the tasks that wait for them.
//!
//! Waking a task from a thread outside its runtime is expensive: it goes through a queue that all threads
//! share, and often through a system call. So the commit thread wakes only a few tasks of a group, and each
//! of these wakes its share of the others from within the runtime.

use std::sync::LazyLock;

use keywright_store::{CommitError, CommitVersion};
use tokio::sync::oneshot;

pub(crate) type Outcome = Result<CommitVersion, CommitError>;

/// The commit thread wakes one waiter per `GROUP_PART` waiters, at most one per CPU; each wakes its own
/// share.
const GROUP_PART: usize = 8;

/// The sending end of one outcome.
pub(crate) struct Reply(oneshot::Sender<Answer>);

/// The receiving end of one outcome.
pub(crate) struct Awaited(oneshot::Receiver<Answer>);

struct Answer {
    outcome: Outcome,
    others: Others,
}

/// Outcomes for other waiters. Dropping this sends them, so that none is lost even if its holder is
/// cancelled.
#[derive(Default)]
struct Others(Vec<(Reply, Outcome)>);

impl Drop for Others {
    fn drop(&mut self) {
        for (reply, outcome) in std::mem::take(&mut self.0) {
            reply.send(outcome);
        }
    }
}

pub(crate) fn reply_channel() -> (Reply, Awaited) {
    let (sender, receiver) = oneshot::channel();
    (Reply(sender), Awaited(receiver))
}

impl Reply {
    pub(crate) fn send(self, outcome: Outcome) {
        self.send_with(outcome, Others::default());
    }

    fn send_with(self, outcome: Outcome, others: Others) {
        // If the waiter is gone, the answer is dropped here, which sends the others' outcomes.
        let _ = self.0.send(Answer { outcome, others });
    }
}

impl Awaited {
    /// Waits for the outcome. It is unknown if the commit thread ended without an answer.
    pub(crate) async fn outcome(self) -> Outcome {
        match self.0.await {
            Ok(Answer { outcome, others }) => {
                drop(others);
                outcome
            }
            Err(_) => Err(CommitError::Unknown),
        }
    }
}

/// Sends all outcomes, most of them through the first waiters woken.
pub(crate) fn send_all(mut outcomes: Vec<(Reply, Outcome)>) {
    static PROCESSORS: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
    let parts = (outcomes.len() / GROUP_PART).clamp(1, *PROCESSORS);
    let part_len = outcomes.len().div_ceil(parts);
    assert!(part_len > 0 || outcomes.is_empty(), "every outcome belongs to a share");
    while let Some((reply, outcome)) = outcomes.pop() {
        let others = outcomes.split_off((outcomes.len() + 1).saturating_sub(part_len));
        reply.send_with(outcome, Others(others));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` outcomes with versions from 0, and their receivers.
    fn group(count: u64) -> (Vec<(Reply, Outcome)>, Vec<Awaited>) {
        (0..count)
            .map(|number| {
                let (reply, awaited) = reply_channel();
                ((reply, Ok(CommitVersion(number))), awaited)
            })
            .unzip()
    }

    #[test]
    fn every_waiter_gets_its_own_outcome_in_groups_of_any_size() {
        for count in [0, 1, 2, 7, 8, 9, 64, 65] {
            let (outcomes, awaited) = group(count);
            send_all(outcomes);
            // Each round takes the outcomes that have arrived, which sends further ones.
            let mut waiting: Vec<_> =
                (0..).zip(awaited).map(|(number, awaited)| (number, Some(awaited))).collect();
            let mut left = waiting.len();
            while left > 0 {
                let before = left;
                for (number, slot) in &mut waiting {
                    let has_arrived = slot.as_mut().is_some_and(|awaited| !awaited.0.is_empty());
                    if has_arrived && let Some(awaited) = slot.take() {
                        assert_eq!(pollster::block_on(awaited.outcome()), Ok(CommitVersion(*number)));
                        left -= 1;
                    }
                }
                assert!(left < before, "{left} of {count} outcomes never arrive");
            }
        }
    }

    #[test]
    fn a_waiter_that_is_gone_does_not_hold_up_the_others() {
        let (outcomes, awaited) = group(64);
        send_all(outcomes);
        for (number, awaited) in awaited.into_iter().enumerate().rev() {
            if number % 2 == 1 {
                drop(awaited);
            } else {
                assert!(pollster::block_on(awaited.outcome()).is_ok());
            }
        }
    }
}
