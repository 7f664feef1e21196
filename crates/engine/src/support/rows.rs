//! Reading the rows of a range, in pieces.

use std::ops::ControlFlow;

use bytes::Bytes;
use keywright_store::{Direction, Entry, KeyRange, Scan, Snapshot, Store, StoreError};

use super::{lane, layout};

/// Rows and bytes of one page of a scan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub rows_max: usize,
    pub bytes_max: usize,
}

/// Of a scan whose rows are looked at and let go.
pub(crate) const READ: Budget = Budget { rows_max: 1000, bytes_max: 4 * 1024 * 1024 };

/// The pages of a range, each within a budget, and how far they have come.
///
/// All that goes through a range in pieces reads it this way. There is no shared loop that also writes the
/// pages, as their commits have nothing in common: a branch writes rows that nobody else writes and begins
/// anew after a crash, a copy between stores notes its progress in the other store and must not append twice,
/// and a backfill protects the items that it read and halves its page after a conflict.
pub(crate) struct Pages {
    /// What is left to read; `None` at the end.
    rest: Option<KeyRange>,
    direction: Direction,
    budget: Budget,
}

impl Pages {
    /// From the smallest key to the greatest.
    pub(crate) fn of(range: KeyRange, budget: Budget) -> Self {
        Self::in_direction((range, Direction::Forward), budget)
    }

    pub(crate) fn in_direction((range, direction): (KeyRange, Direction), budget: Budget) -> Self {
        Self { rest: Some(range), direction, budget }
    }

    /// The next page, which has a row at least; `None` at the end.
    pub(crate) async fn next(&mut self, view: &impl Snapshot) -> Result<Option<Vec<Entry>>, StoreError> {
        let Some(rest) = &mut self.rest else { return Ok(None) };
        let Budget { rows_max, bytes_max } = self.budget;
        let scan = Scan { range: rest.clone(), direction: self.direction, rows_max, bytes_max };
        let page = view.scan(&scan).await?;
        match (page.entries.last().filter(|_| page.more), self.direction) {
            (None, _) => self.rest = None,
            (Some(last), Direction::Forward) => {
                assert!(last.key >= rest.start, "a forward scan advances");
                rest.start = layout::after(&last.key);
            }
            (Some(last), Direction::Backward) => rest.end = Some(last.key.clone()),
        }
        Ok(Some(page.entries).filter(|entries| !entries.is_empty()))
    }

    /// The first key that is not read; `None` at the end.
    pub(crate) fn next_key(&self) -> Option<&Bytes> {
        self.rest.as_ref().map(|rest| &rest.start)
    }
}

/// Whether a range has no row now: one question, and no view. Work that looks for itself asks it first.
pub(crate) async fn is_empty<S: Store>(store: &S, range: KeyRange) -> Result<bool, StoreError> {
    let scan = Scan { range, direction: Direction::Forward, rows_max: 1, bytes_max: 1 };
    Ok(store.scan(&scan).await?.page.entries.is_empty())
}

/// Passes every row of a range to `take`, in order. Yields between pieces.
pub(crate) async fn each_row(
    view: &impl Snapshot,
    range: KeyRange,
    mut take: impl FnMut(&Entry) + Send,
) -> Result<(), StoreError> {
    let go_on = |entry: &Entry| {
        take(entry);
        ControlFlow::Continue(())
    };
    each_row_until(view, (range, Direction::Forward), go_on).await
}

/// Passes the rows of a range to `take`, in this direction, until it breaks. Yields between pieces.
pub(crate) async fn each_row_until(
    view: &impl Snapshot,
    (range, direction): (KeyRange, Direction),
    mut take: impl FnMut(&Entry) -> ControlFlow<()> + Send,
) -> Result<(), StoreError> {
    let mut pages = Pages::in_direction((range, direction), READ);
    while let Some(page) = pages.next(view).await? {
        if page.iter().try_for_each(&mut take).is_break() {
            return Ok(());
        }
        if pages.next_key().is_some() {
            lane::yield_now().await;
        }
    }
    Ok(())
}

/// Keeps an element, and breaks once there are so many.
pub(crate) fn keep<T>(kept: &mut Vec<T>, one: T, most: usize) -> ControlFlow<()> {
    kept.push(one);
    if kept.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

/// One page of a list that is read in order: only its elements are kept.
#[derive(Debug)]
pub(crate) struct Pager<T> {
    skip: usize,
    limit: usize,
    passed: usize,
    found: Vec<T>,
    has_more: bool,
}

impl<T> Pager<T> {
    /// The page that begins after as many elements as the token says; `None` if it is no token of ours.
    pub(crate) fn new(token: Option<&str>, limit: usize) -> Option<Self> {
        let skip = token.map_or(Some(0), |token| token.parse().ok())?;
        Some(Self { skip, limit, passed: 0, found: Vec::new(), has_more: false })
    }

    /// Takes the next element of the list. Breaks when the page is full and has a next one.
    pub(crate) fn offer(&mut self, make: impl FnOnce() -> T) -> ControlFlow<()> {
        if self.passed < self.skip {
            self.passed += 1;
        } else if self.found.len() < self.limit {
            self.found.push(make());
        } else {
            self.has_more = true;
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// The elements, and the token of the next page.
    pub(crate) fn finish(self) -> (Vec<T>, Option<String>) {
        let next = self.has_more.then(|| self.skip.saturating_add(self.found.len()).to_string());
        (self.found, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(token: Option<&str>, limit: usize) -> (Vec<usize>, Option<String>, usize) {
        let mut pager = Pager::new(token, limit).expect("a token");
        let looked_at = (0..5).position(|number| pager.offer(|| number).is_break()).unwrap_or(5);
        let (found, next) = pager.finish();
        (found, next, looked_at)
    }

    #[test]
    fn pages_follow_each_other_and_stop_when_they_are_full() {
        assert_eq!(page(None, 2), (vec![0, 1], Some("2".to_owned()), 2));
        assert_eq!(page(Some("2"), 2), (vec![2, 3], Some("4".to_owned()), 4));
        assert_eq!(page(Some("4"), 2), (vec![4], None, 5));
        assert_eq!(page(None, 5), (vec![0, 1, 2, 3, 4], None, 5));
        assert_eq!(page(Some("9"), 2), (vec![], None, 5));
        assert!(Pager::<()>::new(Some("x"), 1).is_none());
    }
}
