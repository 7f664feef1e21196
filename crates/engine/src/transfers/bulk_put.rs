//! What a bulk put's request asked for, as it is stored, and what it has done.

use std::collections::BTreeMap;

use keywright_semantics::request::parts::{
    BulkOperationInputFormat, BulkOperationPerformanceTier, InputCompressionType, OutputTypeEnum,
    S3SseAlgorithm,
};
use keywright_semantics::request::{BulkInput, BulkOutput, StartBulkPutItems};
use keywright_semantics::response::BulkUsage;
use serde::{Deserialize, Serialize};

/// What was asked for. Its fields are stored; values of enumerations are stored by their names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BulkPut {
    input: Input,
    output: Output,
    pub units_per_second: Option<u64>,
    tier: String,
    /// Bytes of all objects; absent until the end, and if they were not listed.
    pub total_bytes: Option<u64>,
    /// What was written; nothing until the end.
    pub usage: Usage,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Input {
    bucket: String,
    bucket_owner: Option<String>,
    prefix: Option<String>,
    format: String,
    compression: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Output {
    bucket: String,
    bucket_owner: Option<String>,
    prefix: Option<String>,
    algorithm: Option<String>,
    kms_key: Option<String>,
    reports: Vec<String>,
}

/// Bytes that were written, of items and of entries by index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Usage {
    pub table: u64,
    pub local_indexes: BTreeMap<String, u64>,
    pub global_indexes: BTreeMap<String, u64>,
}

impl Usage {
    pub(crate) fn add(&mut self, other: &Self) {
        self.table += other.table;
        for (all, some) in [
            (&mut self.local_indexes, &other.local_indexes),
            (&mut self.global_indexes, &other.global_indexes),
        ] {
            for (name, bytes) in some {
                *all.entry(name.clone()).or_default() += bytes;
            }
        }
    }
}

impl From<&Usage> for BulkUsage {
    fn from(usage: &Usage) -> Self {
        Self {
            table: usage.table,
            local_indexes: usage.local_indexes.clone(),
            global_indexes: usage.global_indexes.clone(),
        }
    }
}

impl From<&StartBulkPutItems> for BulkPut {
    fn from(request: &StartBulkPutItems) -> Self {
        let StartBulkPutItems { input, output, .. } = request;
        Self {
            input: Input {
                bucket: input.bucket.clone(),
                bucket_owner: input.bucket_owner.clone(),
                prefix: input.prefix.clone(),
                format: input.format.name().to_owned(),
                compression: input.compression.name().to_owned(),
            },
            output: Output {
                bucket: output.bucket.clone(),
                bucket_owner: output.bucket_owner.clone(),
                prefix: output.prefix.clone(),
                algorithm: output.algorithm.map(|algorithm| algorithm.name().to_owned()),
                kms_key: output.kms_key.clone(),
                reports: output.reports.iter().map(|report| report.name().to_owned()).collect(),
            },
            units_per_second: request.units_per_second,
            tier: request.tier.name().to_owned(),
            total_bytes: None,
            usage: Usage::default(),
        }
    }
}

impl BulkPut {
    /// Where the records are; `None` if the request has a value that this release does not know.
    pub(crate) fn input(&self) -> Option<BulkInput> {
        let Input { bucket, bucket_owner, prefix, format, compression } = self.input.clone();
        Some(BulkInput {
            bucket,
            bucket_owner,
            prefix,
            format: BulkOperationInputFormat::from_name(&format)?,
            compression: InputCompressionType::from_name(&compression)?,
        })
    }

    /// Where the reports go; `None` in the same case.
    pub(crate) fn output(&self) -> Option<BulkOutput> {
        let Output { bucket, bucket_owner, prefix, algorithm, kms_key, .. } = self.output.clone();
        let algorithm = match algorithm {
            None => None,
            Some(name) => Some(S3SseAlgorithm::from_name(&name)?),
        };
        let reports = self.output.reports.iter().map(|name| OutputTypeEnum::from_name(name));
        Some(BulkOutput {
            bucket,
            bucket_owner,
            prefix,
            algorithm,
            kms_key,
            reports: reports.collect::<Option<_>>()?,
        })
    }

    /// The tier; `None` in the same case.
    pub(crate) fn tier(&self) -> Option<BulkOperationPerformanceTier> {
        BulkOperationPerformanceTier::from_name(&self.tier)
    }
}

#[cfg(test)]
mod tests {
    use keywright_semantics::request::{Fingerprint, TableRef};

    use super::*;

    #[test]
    fn a_request_is_read_back_as_it_was_sent() {
        let input = BulkInput {
            bucket: "in".to_owned(),
            bucket_owner: Some("123456789012".to_owned()),
            prefix: Some("a/".to_owned()),
            format: BulkOperationInputFormat::Ion,
            compression: InputCompressionType::Zstd,
        };
        let output = BulkOutput {
            bucket: "out".to_owned(),
            bucket_owner: None,
            prefix: None,
            algorithm: Some(S3SseAlgorithm::Kms),
            kms_key: Some("key".to_owned()),
            reports: OutputTypeEnum::ALL.to_vec(),
        };
        let stored = BulkPut::from(&StartBulkPutItems {
            table: TableRef::parse("Shop").expect("it is a name"),
            token: None,
            fingerprint: Fingerprint([0; 32]),
            input: input.clone(),
            output: output.clone(),
            units_per_second: Some(1024),
            tier: BulkOperationPerformanceTier::Accelerated,
        });
        assert_eq!((stored.input(), stored.output()), (Some(input), Some(output)));
        assert_eq!(stored.tier(), Some(BulkOperationPerformanceTier::Accelerated));
        let mut later = stored;
        later.output.reports.push("SUCCESS".to_owned());
        assert_eq!(later.output(), None);
    }

    #[test]
    fn usage_is_added_by_index() {
        let usage = |table, index: &str| Usage {
            table,
            local_indexes: [("l".to_owned(), 1)].into(),
            global_indexes: [(index.to_owned(), 2)].into(),
        };
        let mut all = usage(5, "a");
        all.add(&usage(7, "b"));
        all.add(&usage(1, "a"));
        assert_eq!(all.table, 13);
        assert_eq!(all.local_indexes, [("l".to_owned(), 3)].into());
        assert_eq!(all.global_indexes, [("a".to_owned(), 4), ("b".to_owned(), 2)].into());
    }
}
