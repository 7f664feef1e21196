//! Exports into stores that speak S3 and check signatures, and imports from there. `cargo xtask test`
//! installs rclone's, and with `--long` also `SeaweedFS`.

mod rclone;
mod seaweedfs;

use serde_json::json;

use crate::db::Db;
use crate::support::stores::{BUCKET, Store};
use crate::table::{TABLE, create, increment, row};

/// An export into a bucket, and an import of it that is equal. An increment has what changed.
fn an_export_is_imported(store: &Store) {
    let server = store.server(&["--in-memory", "--export-min-window-ms", "1"]);
    let mut db = Db::of(&server);
    create(&mut db);
    db.put_all(TABLE, &(0..300).map(|number| row(number, 0)).collect::<Vec<_>>());
    let expected = db.items();
    let to = json!({"S3Bucket": BUCKET, "S3Prefix": "some/where"});
    let begun = db.begin_export(&to);
    let export = db.end_of(&begun);
    assert_eq!(
        (&export["ExportStatus"], &export["ItemCount"]),
        (&json!("COMPLETED"), &json!(300)),
        "{export}"
    );
    let import = db.import(&export, "Imported");
    assert_eq!(
        (&import["ImportStatus"], &import["ErrorCount"]),
        (&json!("COMPLETED"), &json!(0)),
        "{import}"
    );
    assert!(db.items_of("Imported") == expected, "the items differ");
    db.put(TABLE, &row(7, 1));
    db.delete(8);
    let begun = db.begin_export(&increment(export["ExportTime"].as_f64().unwrap(), None));
    let change = db.end_of(&begun);
    assert_eq!((&change["ExportStatus"], &change["ItemCount"]), (&json!("COMPLETED"), &json!(2)), "{change}");
    let objects = store.objects();
    for export in [&export, &change] {
        let summary = export["ExportManifest"].as_str().unwrap();
        for name in [summary.to_owned(), summary.replace(".json", ".md5")] {
            assert!(objects.contains(&name), "{name} of {objects:?}");
        }
    }
}
