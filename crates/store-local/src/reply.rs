//! How the outcome of a commit gets from the writing thread to whoever waits for it.
//!
//! Waking a task from a thread that does not belong to its runtime is dear: a queue that all threads share, and often a
//! system call. So the writing thread wakes a few of a group only, and each of those wakes its part of the others from
//! within the runtime.

use std::sync::LazyLock;

use keywright_store::{CommitError, CommitVersion};
use tokio::sync::oneshot;

pub(crate) type Outcome = Result<CommitVersion, CommitError>;

/// Of so many that wait, one is woken by the writing thread, but not more than there are processors.
const GROUP_PART: usize = 8;

/// Where an outcome goes.
pub(crate) struct Reply(oneshot::Sender<Answer>);

/// Where it comes from.
pub(crate) struct Awaited(oneshot::Receiver<Answer>);

struct Answer {
    outcome: Outcome,
    others: Others,
}

/// Outcomes that whoever holds this has to hand on; they are handed on when it is dropped, and so in any case.
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
        // Whoever waited may be gone; then the others are told here.
        let _ = self.0.send(Answer { outcome, others });
    }
}

impl Awaited {
    /// Unknown if the writing thread ended without a word.
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

/// Sends all outcomes, most of them by way of others.
pub(crate) fn send_all(mut outcomes: Vec<(Reply, Outcome)>) {
    static PROCESSORS: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
    let parts = (outcomes.len() / GROUP_PART).clamp(1, *PROCESSORS);
    let part_len = outcomes.len().div_ceil(parts);
    while let Some((reply, outcome)) = outcomes.pop() {
        let others = outcomes.split_off((outcomes.len() + 1).saturating_sub(part_len));
        reply.send_with(outcome, Others(others));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Outcomes 0 to `count` on their way.
    fn group(count: u64) -> (Vec<(Reply, Outcome)>, Vec<Awaited>) {
        (0..count)
            .map(|number| {
                let (reply, awaited) = reply_channel();
                ((reply, Ok(CommitVersion(number))), awaited)
            })
            .unzip()
    }

    #[test]
    fn everyone_gets_their_own_outcome_whatever_the_size_of_the_group() {
        for count in [0, 1, 2, 7, 8, 9, 64, 65] {
            let (outcomes, awaited) = group(count);
            send_all(outcomes);
            // Those woken by the writing thread are among them, so that in any order all are told in the end.
            let mut waiting: Vec<_> =
                (0..).zip(awaited).map(|(number, awaited)| (number, Some(awaited))).collect();
            let mut left = waiting.len();
            while left > 0 {
                let before = left;
                for (number, slot) in &mut waiting {
                    let told = slot.as_mut().is_some_and(|awaited| !awaited.0.is_empty());
                    if told && let Some(awaited) = slot.take() {
                        assert_eq!(pollster::block_on(awaited.outcome()), Ok(CommitVersion(*number)));
                        left -= 1;
                    }
                }
                assert!(left < before, "{left} of {count} are told nothing");
            }
        }
    }

    #[test]
    fn one_that_is_gone_keeps_nothing_from_the_others() {
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
