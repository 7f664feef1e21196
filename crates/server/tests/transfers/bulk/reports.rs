//! A reader of reports that knows only their layout: it shares no code with the server.

use std::collections::BTreeMap;
use std::io::Read as _;

use flate2::read::GzDecoder;
use serde_json::Value;

use super::REPORTS;
use crate::imports::Scene;

/// The reports of a bulk put whose sums, counts and names are right.
pub(super) struct Reports {
    pub(super) summary: Value,
    /// The lines by kind, in the order of the files.
    lines: BTreeMap<String, Vec<Value>>,
}

impl Reports {
    /// Reads those of this operation.
    pub(super) fn of(scene: &Scene, operation: &Value) -> Self {
        let id = operation["BulkOperationArn"].as_str().unwrap().rsplit('/').next().unwrap();
        let folder = format!("{REPORTS}/AWSDynamoDB/{id}");
        let bytes =
            |key: &str| std::fs::read(scene.object(key)).unwrap_or_else(|error| panic!("{key}: {error}"));
        assert_eq!(bytes(&format!("{folder}/_started")), b"");
        let text = |name: &str| String::from_utf8(bytes(&format!("{folder}/{name}"))).unwrap();
        let summary: Value = serde_json::from_str(&text("manifest-summary.json")).unwrap();
        assert_eq!(summary["bulkOperationArn"], operation["BulkOperationArn"]);
        assert_eq!(summary["manifestFilesS3Key"], format!("{folder}/manifest-files.json"));
        assert_eq!(summary["processedItemCount"], operation["ProcessedItemCount"]);
        assert_eq!(summary["failedItemCount"], operation["FailedItemCount"]);
        let mut lines: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for line in text("manifest-files.json").lines() {
            let file: Value = serde_json::from_str(line).unwrap();
            let (kind, key) = (file["outputType"].as_str().unwrap(), file["dataFileS3Key"].as_str().unwrap());
            let own = kind.to_lowercase().replace('_', "-");
            let name = key.strip_prefix(&format!("{folder}/data/{own}/")).unwrap();
            assert_eq!(name.strip_suffix(".json.gz").map(str::len), Some(26), "{name}");
            let content = bytes(key);
            assert_eq!(file["md5Checksum"], crate::folder::md5_base64(&content));
            let mut text = String::new();
            GzDecoder::new(&content[..]).read_to_string(&mut text).unwrap();
            assert_eq!(file["itemCount"], text.lines().count());
            let parsed = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            lines.entry(kind.to_owned()).or_default().extend(parsed);
        }
        Self { summary, lines }
    }

    fn of_kind(&self, kind: &str) -> &[Value] {
        self.lines.get(kind).map_or(&[], Vec::as_slice)
    }

    /// The report of errors, in the order of its lines.
    pub(super) fn errors(&self) -> &[Value] {
        self.of_kind("ERROR")
    }

    /// The report of conditions that did not hold.
    pub(super) fn conditions(&self) -> &[Value] {
        self.of_kind("CONDITION_CHECK_FAILURE")
    }
}
