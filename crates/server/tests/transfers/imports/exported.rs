//! Imports of this server's own exports: the new table is equal, and so are its indexes.

use serde_json::{Value, json};

use super::{ACCOUNT, BUCKET, Scene, counts, request, with};

fn row(number: u64) -> Value {
    let mut row = json!({
        "pk": {"S": format!("p{}", number % 17)}, "sk": {"S": format!("s{number:05}")},
        "n": {"N": "6E+2"}, "blob": {"B": "AAEC/w=="}, "tags": {"SS": ["a", "b"]}, "nums": {"NS": ["1", "600"]},
        "deep": {"M": {"list": {"L": [{"N": "1.5"}, {"NULL": true}, {"BOOL": false}]}, "empty": {"S": ""}}},
        "text": {"S": "\u{fc}\"\\\n".repeat(usize::try_from(number * 7 % 40).unwrap())},
    });
    if !number.is_multiple_of(3) {
        row["g"] = json!({"S": format!("g{}", number % 5)});
    }
    row
}

#[test]
fn an_export_in_each_format_imports_to_an_equal_table_with_its_index() {
    let mut scene = Scene::new();
    scene.db.create("Shop");
    scene.db.recovery("Shop", 35);
    let rows: Vec<Value> = (0..1_500).map(row).collect();
    scene.db.put_all("Shop", &rows);
    let expected = scene.items("Shop");
    let described = scene.db.describe("Shop");
    for (format, table) in [("DYNAMODB_JSON", "FromJson"), ("ION", "FromIon")] {
        let export = scene.db.call(
            "ExportTableToPointInTime",
            &json!({"TableArn": format!("arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/Shop"), "S3Bucket": BUCKET,
                "S3Prefix": "of", "ExportFormat": format}),
        )["ExportDescription"]
            .clone();
        let body = json!({"ExportArn": export["ExportArn"]});
        scene.db.wait("the export ends", |db| {
            db.call("DescribeExport", &body)["ExportDescription"]["ExportStatus"] != "IN_PROGRESS"
        });
        let export = scene.db.call("DescribeExport", &body)["ExportDescription"].clone();
        assert_eq!(export["ExportStatus"], "COMPLETED", "{export}");
        let manifest = export["ExportManifest"].as_str().unwrap();
        let data = manifest.replace("manifest-summary.json", "data/");
        let mut wish = with(request(table, &data), "InputFormat", json!(format));
        wish["InputCompressionType"] = json!("GZIP");
        let index = &described["GlobalSecondaryIndexes"][0];
        let definitions = ["pk", "sk", "g"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
        wish["TableCreationParameters"] = json!({
            "TableName": table, "BillingMode": "PAY_PER_REQUEST", "KeySchema": described["KeySchema"],
            "AttributeDefinitions": definitions,
            "GlobalSecondaryIndexes": [{"IndexName": "gsi", "KeySchema": index["KeySchema"],
                "Projection": index["Projection"]}],
        });
        let import = scene.imported(&wish);
        assert_eq!(
            (counts(&import), &import["ImportStatus"]),
            ([1_500, 1_500, 0], &json!("COMPLETED")),
            "{format}"
        );
        assert!(scene.items(table) == expected, "{format}: the items differ");
        let entries = scene.db.describe(table)["GlobalSecondaryIndexes"][0]["ItemCount"].clone();
        assert_eq!(entries, described["GlobalSecondaryIndexes"][0]["ItemCount"], "{format}");
    }
}
