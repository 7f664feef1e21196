//! Reading every row of a range, in pieces.

use keywright_store::{Direction, Entry, KeyRange, Scan, Snapshot, StoreError};

use super::{lane, layout};

/// Rows and bytes of one scan of the store.
const SCAN_ROWS_MAX: usize = 1000;
const SCAN_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A scan of a piece of this range.
pub(crate) fn piece(range: KeyRange) -> Scan {
    Scan { range, direction: Direction::Forward, rows_max: SCAN_ROWS_MAX, bytes_max: SCAN_BYTES_MAX }
}

/// Passes every row of a range to `take`, in order. Yields between pieces.
pub(crate) async fn each_row(
    view: &impl Snapshot,
    mut range: KeyRange,
    mut take: impl FnMut(&Entry) + Send,
) -> Result<(), StoreError> {
    loop {
        let page = view.scan(&piece(range.clone())).await?;
        page.entries.iter().for_each(&mut take);
        match page.entries.last() {
            Some(last) if page.more => {
                assert!(last.key >= range.start, "a forward scan advances");
                range.start = layout::after(&last.key);
                lane::yield_now().await;
            }
            _ => return Ok(()),
        }
    }
}
