use super::{Choice, CompactionState, CompactionStrategy, Input};
use crate::{config::Config, version::Version, HashSet, Table, TableId};

/// Writes tables anew: one in its own level, or all of level 0 into the first level below that has tables.
pub struct Strategy(HashSet<TableId>);

/// Bytes of the tables that level 0 becomes
const TARGET_SIZE: u64 = 64 * 1_024 * 1_024;

impl Strategy {
    /// Writes one of these tables anew, or several.
    #[must_use]
    pub fn new(tables: impl IntoIterator<Item = TableId>) -> Self {
        Self(tables.into_iter().collect())
    }
}

impl CompactionStrategy for Strategy {
    fn get_name(&self) -> &'static str {
        "RewriteCompaction"
    }

    #[expect(clippy::cast_possible_truncation, reason = "there are 7 levels")]
    fn choose(&self, version: &Version, _: &Config, _: &CompactionState) -> Choice {
        let last = version.level_count() - 1;
        let first = (1..last)
            .find(|&idx| version.level(idx).is_some_and(|level| !level.is_empty()))
            .unwrap_or(last);

        let l0 = version.l0();
        let l0_ids = l0.list_ids();

        if l0_ids.iter().any(|id| self.0.contains(id)) {
            let key_range = l0.aggregate_key_range();
            let mut table_ids = l0_ids;

            if let Some(level) = version.level(first) {
                let overlapping = level.iter().flat_map(|run| run.get_overlapping(&key_range));
                table_ids.extend(overlapping.map(Table::id));
            }

            return Choice::Merge(Input {
                table_ids,
                dest_level: first as u8,
                canonical_level: 1,
                target_size: TARGET_SIZE,
            });
        }

        for (idx, level) in version.iter_levels().enumerate().skip(1) {
            let mut ids = level.list_ids().into_iter();

            if let Some(id) = ids.find(|id| self.0.contains(id)) {
                return Choice::Merge(Input {
                    table_ids: std::iter::once(id).collect(),
                    dest_level: idx as u8,
                    canonical_level: (idx + 1 - first) as u8,
                    target_size: u64::MAX,
                });
            }
        }

        Choice::DoNothing
    }
}
