//! Compressed objects, also those that are not what they are said to be, and objects that change.

use serde_json::{Value, json};

use super::{Scene, counts, gzip, line, request, with};

fn lines(from: u64, to: u64) -> String {
    (from..to).map(|number| line(&json!({"pk": {"S": format!("k{number:05}")}}))).collect()
}

fn compressed(table: &str, prefix: &str, kind: &str) -> Value {
    with(request(table, prefix), "InputCompressionType", json!(kind))
}

#[test]
fn each_compression_is_read_also_of_several_members() {
    let mut scene = Scene::new();
    scene.put("gzip/1", [gzip(lines(0, 10).as_bytes()), gzip(lines(10, 20).as_bytes())].concat());
    let zstd = |text: String| zstd::encode_all(text.as_bytes(), 3).unwrap();
    scene.put("zstd/1", [zstd(lines(0, 10)), zstd(lines(10, 20))].concat());
    scene.put("none/1", lines(0, 20));
    for (table, kind) in [("gzip", "GZIP"), ("zstd", "ZSTD"), ("none", "NONE")] {
        let import = scene.imported(&compressed(table, &format!("{table}/"), kind));
        assert_eq!((counts(&import), &import["ImportStatus"]), ([20, 20, 0], &json!("COMPLETED")), "{kind}");
        assert_eq!(
            import["ProcessedSizeBytes"],
            scene.object(&format!("{table}/1")).metadata().unwrap().len()
        );
    }
}

#[test]
fn an_object_that_is_not_of_the_compression_is_an_error_and_the_next_one_is_read() {
    let mut scene = Scene::new();
    scene.put("in/1", lines(0, 10));
    scene.put("in/2", gzip(lines(10, 20).as_bytes()));
    let import = scene.imported(&compressed("Gzip", "in/", "GZIP"));
    assert_eq!(counts(&import), [10, 10, 1]);
    let (_, errors) = scene.errors(&import);
    assert_eq!(errors[0]["itemS3Pointer"], json!({"bucket": "imports", "key": "in/1"}));
    let message = errors[0]["errorMessages"][0].as_str().unwrap();
    assert!(message.starts_with("The object cannot be read as GZIP"), "{message}");
    let import = scene.imported(&compressed("Zstd", "in/", "ZSTD"));
    assert_eq!(counts(&import), [0, 0, 2]);
    // Compressed bytes are no JSON.
    let import = scene.imported(&compressed("None", "in/", "NONE"));
    assert_eq!(counts(&import), [11, 10, 1]);
}

#[test]
fn records_before_a_corrupt_tail_are_imported_and_the_tail_is_an_error() {
    let mut scene = Scene::new();
    let whole = gzip(lines(0, 5_000).as_bytes());
    scene.put("cut/1", &whole[..whole.len() - 20]);
    let mut flipped = whole.clone();
    let end = flipped.len() - 6;
    flipped[end] ^= 1;
    scene.put("sum/1", flipped);
    scene.put("more/1", [&whole[..], b"more"].concat());
    for table in ["cut", "sum", "more"] {
        let import = scene.imported(&compressed(table, &format!("{table}/"), "GZIP"));
        let [processed, imported, errors] = counts(&import);
        assert_eq!((processed, errors), (imported, 1), "{table}: {import}");
        let all = if table == "cut" { 1..5_000 } else { 5_000..5_001 };
        assert!(all.contains(&imported), "{table}: {imported}");
        assert_eq!(scene.items(table).len(), usize::try_from(imported).unwrap());
        let (_, errors) = scene.errors(&import);
        assert_eq!(errors.len(), 1);
    }
}

#[test]
fn an_object_that_changes_or_disappears_after_the_list_is_an_error() {
    // The first object takes a while.
    let mut scene = Scene::with(&["--load-rate", "400"]);
    scene.put("in/0", lines(0, 1_200));
    for number in 1..=30_u64 {
        scene.put(&format!("in/{number}"), lines(number * 10_000, number * 10_000 + 1));
    }
    let begun = scene.import(&request("New", "in/")).unwrap();
    scene.db.wait("it has begun", |db| {
        let body = json!({"ImportArn": begun["ImportArn"]});
        db.call("DescribeImport", &body)["ImportTableDescription"]["ProcessedItemCount"].as_u64().unwrap() > 0
    });
    // The last ones in the order of keys, far from those that are opened ahead.
    scene.put("in/9", lines(1, 2));
    std::fs::remove_file(scene.object("in/8")).unwrap();
    let import = scene.end_of(&begun);
    assert_eq!(counts(&import), [1_228, 1_228, 2], "{import}");
    let (_, errors) = scene.errors(&import);
    let said: Vec<&str> = errors.iter().map(|error| error["errorMessages"][0].as_str().unwrap()).collect();
    assert_eq!(errors[0]["itemS3Pointer"]["key"], "in/8");
    assert!(said[0].contains("there is no such object"), "{said:?}");
    assert!(said[1].contains("it has changed meanwhile"), "{said:?}");
}
