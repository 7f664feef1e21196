//! UpdateContributorInsights, DescribeContributorInsights and ListContributorInsights: their typed requests.

use super::parts::{
    ContributorInsightsAction, ContributorInsightsMode, DescribeContributorInsightsParts,
    ListContributorInsightsParts, UpdateContributorInsightsParts,
};
use super::table_ref::TableRef;
use crate::error::Error;
use crate::limits::INSIGHTS_PER_PAGE_MAX;

/// A table, or one of its global indexes.
#[derive(Clone, Debug)]
pub struct InsightsTarget {
    /// The table, by name or ARN.
    pub table: TableRef,
    /// The index.
    pub index: Option<String>,
}

impl InsightsTarget {
    fn parse(table: &str, index: Option<String>) -> Result<Self, Error> {
        Ok(Self { table: TableRef::parse(table)?, index })
    }
}

/// An UpdateContributorInsights.
#[derive(Clone, Debug)]
pub struct UpdateContributorInsights {
    /// What is observed.
    pub target: InsightsTarget,
    /// The mode to observe it in; `None` to stop.
    pub mode: Option<ContributorInsightsMode>,
}

impl UpdateContributorInsights {
    /// Validates the parts. A mode is the client's or the default; with DISABLE it has no effect (inferred).
    pub fn validate(parts: UpdateContributorInsightsParts) -> Result<Self, Error> {
        let mode = match parts.contributor_insights_action {
            ContributorInsightsAction::Enable => Some(
                parts.contributor_insights_mode.unwrap_or(ContributorInsightsMode::AccessedAndThrottledKeys),
            ),
            ContributorInsightsAction::Disable => None,
        };
        Ok(Self { target: InsightsTarget::parse(&parts.table_name, parts.index_name)?, mode })
    }
}

/// A DescribeContributorInsights.
#[derive(Clone, Debug)]
pub struct DescribeContributorInsights {
    /// What is observed.
    pub target: InsightsTarget,
}

impl DescribeContributorInsights {
    /// Validates the parts.
    pub fn validate(parts: DescribeContributorInsightsParts) -> Result<Self, Error> {
        Ok(Self { target: InsightsTarget::parse(&parts.table_name, parts.index_name)? })
    }
}

/// A ListContributorInsights.
#[derive(Clone, Debug)]
pub struct ListContributorInsights {
    /// Only this table and its indexes.
    pub table: Option<TableRef>,
    /// Where the page begins.
    pub next_token: Option<String>,
    /// Entries of a page.
    pub limit: usize,
}

impl ListContributorInsights {
    /// Validates the parts. The shape check has bounded the limit from above.
    pub fn validate(parts: ListContributorInsightsParts) -> Result<Self, Error> {
        let limit = parts.max_results.and_then(|limit| usize::try_from(limit).ok());
        Ok(Self {
            table: parts.table_name.as_deref().map(TableRef::parse).transpose()?,
            next_token: parts.next_token,
            limit: limit.filter(|limit| *limit > 0).unwrap_or(INSIGHTS_PER_PAGE_MAX),
        })
    }
}
