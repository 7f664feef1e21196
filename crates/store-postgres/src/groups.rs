//! Reads that share a statement.
//!
//! Most of what a statement for one row costs, a statement for ten rows costs once: system calls, switches
//! between processes, PostgreSQL's start of a statement. So few statements of a kind are under way at a time.
//! A read that finds none under way sends its statement at once. Reads that come meanwhile wait, and the next
//! statement is for all of them. No read waits for one that is not there yet. A statement is sent after its
//! reads were asked, so each sees every commit that was acknowledged before. Statements that are slow hold
//! nobody up for long: a further one may be sent while they are under way.
//!
//! It does not know what is read.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use keywright_store::StoreError;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::connection::{Pool, Session, Unanswered};
use crate::fault;

/// While a statement is under way, the next one is sent this long after it at the soonest. So reads wait for
/// no longer where PostgreSQL is far away, reads its disk, or no longer answers.
const APART: Duration = Duration::from_micros(500);
/// One more statement is under way for each such part of the time that a statement takes: where PostgreSQL is
/// near one is, and where it is far away no read waits for long.
const STATEMENT_PART: Duration = Duration::from_micros(250);
/// The part of itself by which the shortest time grows with each statement that took longer.
const QUICKEST_GROWS_BY: u32 = 64;
/// The first read that waits sends the next statement after this time, if no other read did. Timers have no
/// finer steps.
const WAIT_MAX: Duration = Duration::from_millis(1);

/// A read of which one statement can do several.
pub(crate) trait SharedRead: Clone + Send + Sync {
    type Answer: Send;

    /// Reads that one statement does at most.
    const TOGETHER_MAX: usize;

    /// One answer for each read, in their order.
    fn read(
        session: &Session,
        reads: &[Self],
    ) -> impl Future<Output = Result<Vec<Self::Answer>, Unanswered>> + Send;
}

/// What happens to a read next.
enum Turn<R: SharedRead> {
    Answered(Result<R::Answer, StoreError>),
    /// The statement failed, maybe because of another read.
    Alone,
    /// It sends the next statement.
    Leads(Lead<R>),
}

struct Waiting<R: SharedRead> {
    number: u64,
    read: R,
    /// Dropped without a turn if the future of the read that led was dropped.
    turn: oneshot::Sender<Turn<R>>,
}

/// The reads of one kind.
pub(crate) struct Group<R: SharedRead> {
    state: Mutex<State<R>>,
}

/// Invariant: reads wait only while a statement is under way.
struct State<R: SharedRead> {
    waiting: VecDeque<Waiting<R>>,
    /// The number of the next read that waits.
    number: u64,
    under_way: usize,
    sent: Instant,
    /// The shortest time that a statement took of late; zero before the first one.
    quickest: Duration,
}

impl<R: SharedRead> Default for Group<R> {
    fn default() -> Self {
        let state = State {
            waiting: VecDeque::new(),
            number: 0,
            under_way: 0,
            sent: Instant::now(),
            quickest: Duration::ZERO,
        };
        Self { state: Mutex::new(state) }
    }
}

impl<R: SharedRead> State<R> {
    /// Counts a statement, if one may be sent now.
    fn send(&mut self) -> bool {
        let now = Instant::now();
        let may = self.has_room() || now.duration_since(self.sent) >= APART;
        if may {
            self.count(now);
        }
        may
    }

    fn has_room(&self) -> bool {
        let parts = self.quickest.as_micros() / STATEMENT_PART.as_micros();
        u128::try_from(self.under_way).is_ok_and(|under_way| under_way <= parts)
    }

    fn note(&mut self, took: Duration) {
        let grown = self.quickest.saturating_add(self.quickest / QUICKEST_GROWS_BY);
        self.quickest = if self.quickest.is_zero() { took } else { took.min(grown) };
    }

    fn count(&mut self, now: Instant) {
        self.under_way += 1;
        self.sent = now;
    }

    fn wait(&mut self, read: R) -> Place<R> {
        let (sender, receiver) = oneshot::channel();
        let place = Place { number: self.number, is_first: self.waiting.is_empty(), turn: receiver };
        self.waiting.push_back(Waiting { number: self.number, read, turn: sender });
        self.number = self.number.wrapping_add(1);
        place
    }
}

/// Where a read waits.
struct Place<R: SharedRead> {
    number: u64,
    is_first: bool,
    turn: oneshot::Receiver<Turn<R>>,
}

impl<R: SharedRead> Group<R> {
    fn state(&self) -> MutexGuard<'_, State<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leads at once, or waits for a turn.
    async fn join(self: &Arc<Self>, read: &R, runtime: &Handle) -> Turn<R> {
        loop {
            let mut place = {
                let mut state = self.state();
                if state.send() {
                    return Turn::Leads(Lead { group: Arc::clone(self) });
                }
                state.wait(read.clone())
            };
            let turn = if place.is_first {
                let timed = {
                    // A timer belongs to the runtime in which it is made.
                    let _entered = runtime.enter();
                    tokio::time::timeout(WAIT_MAX, &mut place.turn)
                };
                match timed.await {
                    Ok(turn) => turn,
                    Err(_late) => match self.leave(place.number) {
                        Some(lead) => return Turn::Leads(lead),
                        None => place.turn.await,
                    },
                }
            } else {
                place.turn.await
            };
            if let Ok(turn) = turn {
                return turn;
            }
        }
    }

    /// Leads instead of waiting, unless another read has taken this one along.
    fn leave(self: &Arc<Self>, number: u64) -> Option<Lead<R>> {
        let mut state = self.state();
        let at = state.waiting.iter().position(|waiting| waiting.number == number)?;
        state.waiting.remove(at);
        state.count(Instant::now());
        Some(Lead { group: Arc::clone(self) })
    }
}

/// The right to send one statement. When it is dropped, a read that waits may send the next one.
struct Lead<R: SharedRead> {
    group: Arc<Group<R>>,
}

impl<R: SharedRead> Lead<R> {
    /// Takes the reads that wait, as many as go into the statement next to the one that leads.
    fn followers(&self) -> (Vec<R>, Turns<R>) {
        let mut state = self.group.state();
        let count = state.waiting.len().min(R::TOGETHER_MAX.saturating_sub(1));
        let (reads, turns) = state.waiting.drain(..count).map(|waiting| (waiting.read, waiting.turn)).unzip();
        (reads, Turns(turns))
    }
}

impl<R: SharedRead> Drop for Lead<R> {
    fn drop(&mut self) {
        let next = {
            let mut state = self.group.state();
            state.under_way -= 1;
            while state.waiting.front().is_some_and(|first| first.turn.is_closed()) {
                state.waiting.pop_front();
            }
            if state.waiting.is_empty() || !state.send() {
                return;
            }
            state.waiting.pop_front()
        };
        if let Some(next) = next {
            // If the future of that read is just dropped, so is the lead that it is sent, and another has it.
            let _gone = next.turn.send(Turn::Leads(Self { group: Arc::clone(&self.group) }));
        }
    }
}

/// The reads that wait for the answer to a statement. Their futures may have been dropped meanwhile.
struct Turns<R: SharedRead>(Vec<oneshot::Sender<Turn<R>>>);

impl<R: SharedRead> Turns<R> {
    fn answer(self, answers: impl Iterator<Item = R::Answer>) {
        for (turn, answer) in self.0.into_iter().zip(answers) {
            let _gone = turn.send(Turn::Answered(Ok(answer)));
        }
    }

    fn fail(self, error: &StoreError) {
        for turn in self.0 {
            let _gone = turn.send(Turn::Answered(Err(error.clone())));
        }
    }

    fn leave_alone(self) {
        for turn in self.0 {
            let _gone = turn.send(Turn::Alone);
        }
    }
}

/// Reads with a statement that this read may share with others.
pub(crate) async fn read<R: SharedRead>(
    pool: &Arc<Pool>,
    group: &Arc<Group<R>>,
    read: R,
) -> Result<R::Answer, StoreError> {
    match group.join(&read, &pool.runtime).await {
        Turn::Answered(answer) => answer,
        Turn::Alone => read_alone(&pool.take().await?, read).await,
        Turn::Leads(lead) => lead_others(pool, read, lead).await,
    }
}

async fn read_alone<R: SharedRead>(session: &Session, read: R) -> Result<R::Answer, StoreError> {
    let answers = R::read(session, &[read]).await.map_err(|fault| fault.of_read())?;
    Ok(answers.into_iter().next().expect("each read has an answer"))
}

async fn lead_others<R: SharedRead>(
    pool: &Arc<Pool>,
    read: R,
    lead: Lead<R>,
) -> Result<R::Answer, StoreError> {
    // Tasks that are ready to run join first.
    tokio::task::yield_now().await;
    // They join before the server is asked to confirm what it shows, if it is in doubt.
    let (others, turns) = lead.followers();
    let session = match pool.take().await {
        Ok(session) => session,
        Err(error) => {
            turns.fail(&error);
            return Err(error);
        }
    };
    let mut reads = Vec::with_capacity(others.len().saturating_add(1));
    reads.push(read);
    reads.extend(others);
    let began = Instant::now();
    let answered = R::read(&session, &reads).await;
    match answered {
        Ok(answers) => {
            lead.group.state().note(began.elapsed());
            assert_eq!(answers.len(), reads.len(), "each read has an answer");
            let mut answers = answers.into_iter();
            let own = answers.next().expect("the read that leads is one of them");
            turns.answer(answers);
            Ok(own)
        }
        Err(Unanswered::Error(error)) if reads.len() > 1 && !fault::is_of_server(&error) => {
            turns.leave_alone();
            drop(lead);
            read_alone(&session, reads.swap_remove(0)).await
        }
        Err(fault) => {
            let error = fault.of_read();
            turns.fail(&error);
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use futures_util::FutureExt;
    use tokio::runtime::Runtime;

    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Number(u32);

    impl SharedRead for Number {
        type Answer = u32;

        const TOGETHER_MAX: usize = 3;

        async fn read(_session: &Session, _reads: &[Self]) -> Result<Vec<u32>, Unanswered> {
            unreachable!("nothing is sent")
        }
    }

    type Joining = Pin<Box<dyn Future<Output = Turn<Number>>>>;

    struct Reads {
        group: Arc<Group<Number>>,
        runtime: Runtime,
    }

    impl Reads {
        fn new() -> Self {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
            Self { group: Arc::default(), runtime: runtime.expect("a runtime starts") }
        }

        fn joining(&self, number: u32) -> Joining {
            let (group, runtime) = (Arc::clone(&self.group), self.runtime.handle().clone());
            Box::pin(async move { group.join(&Number(number), &runtime).await })
        }

        /// A read that has joined and waits.
        fn waiting(&self, number: u32) -> Joining {
            // As if the statement that is under way were sent just now, however slow this test is.
            self.group.state().sent = Instant::now() + APART;
            let mut joining = self.joining(number);
            assert!((&mut joining).now_or_never().is_none(), "{number} waits");
            joining
        }

        fn first(&self) -> Lead<Number> {
            lead(self.joining(0).now_or_never())
        }

        fn under_way(&self) -> usize {
            self.group.state().under_way
        }
    }

    fn lead(turn: Option<Turn<Number>>) -> Lead<Number> {
        match turn {
            Some(Turn::Leads(lead)) => lead,
            Some(_) => panic!("it has another turn"),
            None => panic!("it waits"),
        }
    }

    #[test]
    fn reads_that_come_while_a_statement_is_under_way_share_the_next_one() {
        let reads = Reads::new();
        let alone = reads.first();
        assert!(alone.followers().0.is_empty());
        let mut several = (1..=5).map(|number| reads.waiting(number)).collect::<Vec<_>>().into_iter();
        let mut turn_of_next = || several.next().and_then(FutureExt::now_or_never);
        drop(alone);
        let second = lead(turn_of_next());
        let (others, turns) = second.followers();
        assert_eq!(others, [Number(2), Number(3)], "as many as a statement does");
        turns.answer([20, 30].into_iter());
        for expected in [20, 30] {
            assert!(matches!(turn_of_next(), Some(Turn::Answered(Ok(answer))) if answer == expected));
        }
        drop(second);
        let third = lead(turn_of_next());
        assert_eq!(third.followers().0, [Number(5)]);
        drop(third);
        assert_eq!(reads.under_way(), 0);
        drop(reads.first());
    }

    #[test]
    fn a_read_whose_future_is_dropped_holds_nobody_up() {
        let reads = Reads::new();
        let first = reads.first();
        let mut several: Vec<Joining> = (1..=3).map(|number| reads.waiting(number)).collect();
        several.drain(..2);
        drop(first);
        let third = lead(several.remove(0).now_or_never());
        let mut fourth = reads.waiting(4);
        // The future of the read that leads is dropped while its statement is under way.
        drop(third.followers());
        reads.group.state().sent = Instant::now() + APART;
        assert!((&mut fourth).now_or_never().is_none(), "it waits again");
        drop(third);
        drop(lead(fourth.now_or_never()));
        assert_eq!(reads.under_way(), 0);
    }

    #[test]
    fn where_postgresql_is_far_away_several_statements_are_under_way() {
        let reads = Reads::new();
        let first = reads.first();
        reads.group.state().note(Duration::from_micros(100));
        drop(reads.waiting(1));
        for _ in 0..1_000 {
            reads.group.state().note(Duration::from_millis(2));
        }
        let others: Vec<_> = (1..=8).map(|number| lead(reads.joining(number).now_or_never())).collect();
        assert_eq!(reads.under_way(), 9);
        drop(reads.waiting(9));
        drop((first, others));
        reads.group.state().note(Duration::from_micros(100));
        let _near = reads.first();
        drop(reads.waiting(1));
    }

    #[test]
    fn a_slow_statement_holds_up_no_read() {
        let reads = Reads::new();
        let slow = reads.first();
        let waits = reads.waiting(1);
        // The first that waits goes on by itself.
        let began = Instant::now();
        let second = lead(Some(reads.runtime.block_on(waits)));
        assert!(began.elapsed() >= WAIT_MAX, "not at once");
        let other = reads.waiting(2);
        reads.group.state().sent = Instant::now() - APART;
        // One that comes later takes those along that wait.
        let third = lead(reads.joining(3).now_or_never());
        assert_eq!(third.followers().0, [Number(2)]);
        assert_eq!(reads.under_way(), 3);
        drop((slow, second, third, other));
        assert_eq!(reads.under_way(), 0);
    }
}
