//! Lines of the log about clocks of regions that are ahead of each other.

use keywright_engine::ClockNotice;

/// Logs which regions' clocks are ahead of others', or are so no longer.
pub(super) fn log(notices: &[ClockNotice]) {
    for ClockNotice { region, ahead_of, table, ahead_ms } in notices {
        if let Some(ahead_ms) = ahead_ms {
            tracing::warn!(
                region,
                ahead_of,
                table,
                ahead_ms,
                "the region's clock is ahead of another region's: its writes win over later ones"
            );
        } else {
            tracing::info!(region, ahead_of, "the region's clock is not ahead any more");
        }
    }
}
