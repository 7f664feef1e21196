//! What each account that signed in may take of the studio at a time: half, so that others find room.
//!
//! Where nobody signs in, nobody can be told from another, and only what all take together is bounded.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use keywright_connection::budget::{Budget, Share, guarded};
use keywright_connection::limits::ANSWER_FREE_BYTES;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::refusal::{Kind, Refusal};
use crate::limits::{STUDIO_ANSWERS_BYTES, STUDIO_BODIES_BYTES, STUDIO_CALLS_EACH_MAX};

/// An account's part.
#[derive(Debug)]
pub(super) struct Portion {
    pub(super) bodies: Arc<Budget>,
    answers: Arc<Budget>,
    calls: Arc<Semaphore>,
}

/// The parts of all accounts that have signed in since the start: no more than the credentials name.
#[derive(Debug)]
pub(super) struct Portions {
    of: Mutex<HashMap<String, Arc<Portion>>>,
    wait: Duration,
}

impl Portions {
    pub(super) fn new(wait: Duration) -> Self {
        Self { of: Mutex::default(), wait }
    }

    pub(super) fn of(&self, account: &str) -> Arc<Portion> {
        let mut all = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        let own = all.entry(account.to_owned()).or_insert_with(|| {
            Arc::new(Portion {
                bodies: Budget::new(STUDIO_BODIES_BYTES / 2, self.wait),
                answers: Budget::new(STUDIO_ANSWERS_BYTES / 2, self.wait),
                calls: Arc::new(Semaphore::new(STUDIO_CALLS_EACH_MAX)),
            })
        });
        Arc::clone(own)
    }
}

impl Portion {
    /// Counts a call until this is dropped.
    pub(super) fn begin(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        Arc::clone(&self.calls).try_acquire_owned().map_err(|_none_left| {
            let text = format!("this account has {STUDIO_CALLS_EACH_MAX} calls under way: try again later");
            Refusal::new(Kind::Busy, text)
        })
    }
}

/// The memory for answers as one caller may use it.
#[derive(Clone, Debug)]
pub struct Answers {
    all: Arc<Budget>,
    part: Option<Arc<Budget>>,
}

impl Answers {
    /// Of one who shares the budget with nobody in particular.
    pub fn new(all: &Arc<Budget>) -> Self {
        Self { all: Arc::clone(all), part: None }
    }

    pub(super) fn within(all: &Arc<Budget>, portion: Option<&Portion>) -> Self {
        Self { all: Arc::clone(all), part: portion.map(|own| Arc::clone(&own.answers)) }
    }

    /// Waits for the memory of an answer, before the answer takes it; a small one takes none.
    pub(super) async fn wait(&self, bytes: usize) -> Result<Shares, Refusal> {
        if bytes <= ANSWER_FREE_BYTES {
            return Ok(Shares(None));
        }
        let part = match &self.part {
            Some(part) => Some(part.acquire(bytes).await.map_err(|_exhausted| exhausted())?),
            None => None,
        };
        let all = self.all.acquire(bytes).await.map_err(|_exhausted| exhausted())?;
        Ok(Shares(Some((all, part))))
    }

    /// An answer that is there already with its memory, or without it a refusal: it must not wait with its
    /// bytes.
    pub(super) fn keep(&self, answer: String) -> Result<Bytes, Refusal> {
        let bytes = answer.capacity();
        if answer.len() <= ANSWER_FREE_BYTES {
            return Ok(Bytes::from(answer));
        }
        let part = self.part.as_ref().map(|part| part.try_acquire(bytes).ok_or_else(exhausted));
        let all = self.all.try_acquire(bytes).ok_or_else(exhausted)?;
        Ok(Shares(Some((all, part.transpose()?))).over(Bytes::from(answer)))
    }
}

/// Shares of the memory for answers.
pub(super) struct Shares(Option<(Share, Option<Share>)>);

impl Shares {
    /// An answer that holds its memory until the client has read it.
    pub(super) fn over(self, answer: impl Into<Bytes>) -> Bytes {
        match self.0 {
            None => answer.into(),
            Some(shares) => guarded(answer.into(), shares),
        }
    }
}

fn exhausted() -> Refusal {
    Refusal::new(Kind::Busy, "there is no memory for the answer: try again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_account_has_half_of_the_answers_and_of_the_connections_and_leaves_the_rest_to_others() {
        let wait = Duration::from_millis(10);
        let (all, portions) = (Budget::new(STUDIO_ANSWERS_BYTES, wait), Portions::new(wait));
        let (own, other) = (portions.of("a"), portions.of("b"));
        let half = STUDIO_ANSWERS_BYTES / 2;
        let (mine, theirs) = (Answers::within(&all, Some(&own)), Answers::within(&all, Some(&other)));
        let shares = mine.wait(half).await.unwrap();
        assert!(mine.wait(half).await.is_err());
        assert!(mine.keep("x".repeat(ANSWER_FREE_BYTES + 1)).is_err());
        assert!(mine.keep("x".repeat(ANSWER_FREE_BYTES)).is_ok(), "a small one");
        let kept = theirs.keep("x".repeat(half)).unwrap();
        let answer = shares.over("x");
        assert!(theirs.wait(half).await.is_err());
        drop((answer, kept));
        assert!(mine.wait(half).await.is_ok());

        let calls: Vec<_> = (0..STUDIO_CALLS_EACH_MAX).map(|_| own.begin().unwrap()).collect();
        assert_eq!(own.begin().unwrap_err().kind, Kind::Busy);
        assert!(other.begin().is_ok());
        drop(calls);
        assert!(portions.of("a").begin().is_ok());
    }
}
