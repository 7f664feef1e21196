//! What a rollback would do, without any write: in pages, each of bounded work.

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_store::{Snapshot, Store};

use super::plan::{Planned, Planner, RollbackCounts, Verdict, write_units};
use super::request::{Checked, RollbackRequest, check};
use crate::history::window::Window;
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::rows::Budget;
use crate::support::stamp::Stamp;
use crate::write::change::evaluate;

/// Changed items of one page.
const PAGE: Budget = Budget { rows_max: 1_000, bytes_max: 1024 * 1024 };
/// Items that a page shows.
const EXAMPLES_MAX: usize = 10;

/// An item that a rollback would change.
#[derive(Clone, Debug)]
pub struct RollbackExample {
    /// The item as it is; `None` if there is none.
    pub before: Option<EncodedItem>,
    /// The item as it would be.
    pub after: Option<EncodedItem>,
}

/// A page of what a rollback would do.
#[derive(Clone, Debug, Default)]
pub struct RollbackPreview {
    /// Of this page alone.
    pub counts: RollbackCounts,
    /// The first few that would change.
    pub examples: Vec<RollbackExample>,
    /// The first few that would stay away because their time to live has passed.
    pub expired: Vec<EncodedItem>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<Bytes>,
}

impl<S: Store> Engine<S> {
    /// A page of what a rollback would do if it began when the first page was asked for. `from` is the place
    /// that the page before has answered.
    pub async fn preview_rollback(
        &self,
        namespace: &Namespace,
        request: &RollbackRequest,
        from: Option<&Bytes>,
    ) -> Result<RollbackPreview, Error> {
        let Checked { table, to, scope } = check(self, namespace, request).await?;
        let now_ms = self.env().now_ms();
        let unread = || Error::validation("The place of the page is not one that an answer has named");
        let (until, start) = match from {
            None => (self.settled_before(now_ms), &[][..]),
            Some(from) => {
                let (until, start) = from.split_first_chunk::<8>().ok_or_else(unread)?;
                (Stamp::of_bytes(*until), start)
            }
        };
        let window = Window::of(&table, to, until).ok_or_else(fault::internal)?;
        let plan = Planner::of(&table, &scope, now_ms)?;
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let page = window.page(&view, &scope.part_from(start), PAGE).await;
        let page = page.map_err(|error| fault::storage(&error))?;
        let mut preview = RollbackPreview::default();
        let mut planned = Vec::new();
        for changed in &page.items {
            match plan.verdict(changed)? {
                Verdict::Outside => {}
                Verdict::Unchanged => preview.counts.unchanged += 1,
                Verdict::Expired(item) => {
                    preview.counts.expired += 1;
                    if preview.expired.len() < EXAMPLES_MAX {
                        preview.expired.push(item);
                    }
                }
                Verdict::Revert(one) => planned.push(one),
            }
        }
        let actions = planned.iter().map(|one| one.action(&table)).collect::<Result<Vec<_>, Error>>()?;
        let rows: Vec<Bytes> = actions.iter().map(|action| action.key.row.clone()).collect();
        let present = view.get_many(&rows).await.map_err(|error| fault::storage(&error))?;
        for ((one, action), present) in planned.iter().zip(&actions).zip(present) {
            let present = present.map(EncodedItem::from_stored).transpose().map_err(fault::corrupt)?;
            if present != one.revert.expected {
                preview.counts.changed_meanwhile += 1;
                continue;
            }
            if let Ok(change) = evaluate(action, present, None) {
                preview.counts.write_units += write_units(&change, &table);
            }
            preview.note(one);
        }
        let place = |next: Bytes| Bytes::from([&until.to_bytes()[..], &next].concat());
        preview.next = page.next.map(place);
        Ok(preview)
    }
}

impl RollbackPreview {
    fn note(&mut self, planned: &Planned) {
        planned.kind.count(&mut self.counts);
        if self.examples.len() < EXAMPLES_MAX {
            let revert = planned.revert.clone();
            self.examples.push(RollbackExample { before: revert.expected, after: revert.back });
        }
    }
}
