//! Exports as the official Rust SDK sees them.

use aws_sdk_dynamodb::error::ProvideErrorMetadata as _;
use aws_sdk_dynamodb::primitives::DateTime;
use aws_sdk_dynamodb::types::{ExportStatus, ExportType, IncrementalExportSpecification};

use crate::exports::Scene;
use crate::support::client::{Caller, client};
use crate::table::{BUCKET, arn};

#[tokio::test(flavor = "multi_thread")]
async fn the_sdk_begins_describes_and_lists_exports() {
    let mut scene = tokio::task::spawn_blocking(|| Scene::with(20)).await.unwrap();
    let sdk = client(&scene.server.endpoint, Caller::default());
    let begun = sdk.export_table_to_point_in_time().table_arn(arn()).s3_bucket(BUCKET).send().await.unwrap();
    let begun = begun.export_description.unwrap();
    assert_eq!(begun.export_status, Some(ExportStatus::InProgress));
    let export_arn = begun.export_arn.unwrap();
    let begun = serde_json::json!({"ExportArn": export_arn});
    let waiting = tokio::task::spawn_blocking(move || {
        scene.db.end_of(&begun);
        scene
    });
    let _scene = waiting.await.unwrap();
    let ended = sdk.describe_export().export_arn(&export_arn).send().await.unwrap();
    let ended = ended.export_description.unwrap();
    assert_eq!((ended.export_status, ended.item_count), (Some(ExportStatus::Completed), Some(20)));
    let from = ended.export_time.unwrap();
    let window = IncrementalExportSpecification::builder()
        .export_from_time(from)
        .export_to_time(DateTime::from_secs(from.secs() - 10))
        .build();
    let refused = sdk
        .export_table_to_point_in_time()
        .table_arn(arn())
        .s3_bucket(BUCKET)
        .export_type(ExportType::IncrementalExport)
        .incremental_export_specification(window)
        .send()
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Some("InvalidExportTimeException"));
    let listed = sdk.list_exports().table_arn(arn()).send().await.unwrap().export_summaries.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].export_arn.as_deref(), Some(export_arn.as_str()));
}
