//! Renders responses about contributor insights.

use keywright_semantics::request::parts::ContributorInsightsMode;
use keywright_semantics::response::{InsightsDescription, InsightsStatus, ListContributorInsightsOutput};

use super::writer::{Render, Writer};

impl Render for InsightsDescription {
    fn render(&self, writer: &mut Writer) {
        let status = match self.status {
            InsightsStatus::Enabling => "ENABLING",
            InsightsStatus::Enabled => "ENABLED",
            InsightsStatus::Disabling => "DISABLING",
            InsightsStatus::Disabled => "DISABLED",
            InsightsStatus::Failed => "FAILED",
        };
        writer.object(|members| {
            members.put("TableName", &self.table_name);
            members.put_if("IndexName", self.index_name.as_ref());
            if let Some(rules) = &self.rules {
                members.put_array("ContributorInsightsRuleList", rules);
            }
            members.put("ContributorInsightsStatus", status);
            members.put_if("LastUpdateDateTime", self.updated);
            if let Some((name, text)) = self.failure {
                members.put_object("FailureException", |members| {
                    members.put("ExceptionName", name);
                    members.put("ExceptionDescription", text);
                });
            }
            members.put_if("ContributorInsightsMode", self.mode.map(ContributorInsightsMode::name));
        });
    }
}

pub(super) fn list(writer: &mut Writer, output: &ListContributorInsightsOutput) {
    writer.object(|members| {
        members.put_array("ContributorInsightsSummaries", &output.summaries);
        members.put_if("NextToken", output.next_token.as_ref());
    });
}
