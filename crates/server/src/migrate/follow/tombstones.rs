//! Which items were deleted while pages of the Scan that may hold them are being written. Onto a target with
//! items the pages write without a condition, so there every change of an item counts, also a put.
//!
//! A put of the Scan and the note of a delete exclude each other: the note waits until puts under way have
//! ended, and a put looks for a tombstone after the note.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};

use tokio::sync::{RwLock, RwLockReadGuard};

/// When something happened, counted in notes of deletes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Tick(u64);

#[derive(Default)]
pub(super) struct Tombstones {
    /// Read by puts of the Scan, written by notes of deletes.
    order: RwLock<()>,
    now: Cell<u64>,
    /// By the item's key: when it was deleted.
    deleted: RefCell<HashMap<String, Tick>>,
    /// How many pages under way were begun at each moment.
    pages: RefCell<BTreeMap<Tick, u32>>,
}

impl Tombstones {
    /// A page is about to be read.
    pub(super) fn begin_page(&self) -> Tick {
        let begun = Tick(self.now.get());
        *self.pages.borrow_mut().entry(begun).or_default() += 1;
        begun
    }

    /// All items of the page are written. Tombstones from before every page under way are forgotten.
    pub(super) fn end_page(&self, begun: Tick) {
        let mut pages = self.pages.borrow_mut();
        if let Some(count) = pages.get_mut(&begun) {
            *count -= 1;
            if *count == 0 {
                pages.remove(&begun);
            }
        }
        let oldest = pages.keys().next().copied();
        self.deleted.borrow_mut().retain(|_, deleted| oldest.is_some_and(|oldest| *deleted > oldest));
    }

    /// While the guard lives no delete is noted.
    pub(super) async fn put_under_way(&self) -> RwLockReadGuard<'_, ()> {
        self.order.read().await
    }

    pub(super) fn stands(&self, key: &str) -> bool {
        self.deleted.borrow().contains_key(key)
    }

    /// Notes deletes before they are sent. Afterwards every put of the Scan that was under way has ended.
    pub(super) async fn note(&self, keys: impl IntoIterator<Item = String>) {
        let _alone = self.order.write().await;
        if self.pages.borrow().is_empty() {
            return;
        }
        self.now.set(self.now.get() + 1);
        let now = Tick(self.now.get());
        self.deleted.borrow_mut().extend(keys.into_iter().map(|key| (key, now)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::runtime::block_on;

    #[test]
    fn a_tombstone_stands_until_pages_from_before_it_are_written() {
        let done = block_on(async {
            let own = Tombstones::default();
            own.note(["early".to_owned()]).await;
            assert!(!own.stands("early"), "no page can hold it");
            let first = own.begin_page();
            own.note(["a".to_owned()]).await;
            let second = own.begin_page();
            own.note(["b".to_owned()]).await;
            assert!(own.stands("a") && own.stands("b"));
            own.end_page(first);
            assert!(!own.stands("a"), "the second page was read after the delete");
            assert!(own.stands("b"));
            own.end_page(second);
            assert!(!own.stands("b"));
            Ok(())
        });
        assert_eq!(done, Ok(()));
    }

    #[test]
    fn a_delete_waits_for_puts_under_way() {
        let done = block_on(async {
            let own = Tombstones::default();
            let page = own.begin_page();
            let put = own.put_under_way().await;
            let note = own.note(["a".to_owned()]);
            tokio::pin!(note);
            let waits = tokio::time::timeout(std::time::Duration::from_millis(20), &mut note).await;
            assert!(waits.is_err() && !own.stands("a"));
            drop(put);
            note.await;
            assert!(own.stands("a"));
            own.end_page(page);
            Ok(())
        });
        assert_eq!(done, Ok(()));
    }
}
