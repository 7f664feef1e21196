//! A bucket that an export fills.

use serde_json::{Value, json};

use crate::db::Db;
use crate::exports::and;
use crate::folder::{self, files_below};
use crate::support::Server;
use crate::support::dice::Dice;
use crate::support::small_disk::SmallDisk;
use crate::table::{BUCKET, TABLE, create, id_of, row};

const ITEMS: u64 = 800;

/// An item of about 8 KiB, which no compression makes much smaller.
fn large_row(number: u64) -> Value {
    let mut dice = Dice::new(number);
    let noise: String = (0..8_000).map(|_| char::from(b'#' + u8::try_from(dice.roll(57)).unwrap())).collect();
    and(row(number, 0), &json!({"noise": {"S": noise}}))
}

#[test]
fn a_full_bucket_fails_the_export_without_a_manifest_and_the_next_one_has_the_room() {
    let Some(disk) = SmallDisk::mount(4) else { return };
    let bucket = disk.path().join(BUCKET);
    std::fs::create_dir(&bucket).unwrap();
    let data = tempfile::tempdir().unwrap();
    let arguments = ["--data", data.path().to_str().unwrap(), "--s3-folder", disk.path().to_str().unwrap()];
    let server = Server::start(&arguments);
    let mut db = Db::of(&server);
    create(&mut db);
    db.put_all(TABLE, &(0..ITEMS).map(large_row).collect::<Vec<_>>());
    let begun = db.begin_export(&json!({}));
    let ended = db.end_of(&begun);
    assert_eq!(ended["ExportStatus"], "FAILED", "{ended}");
    assert_eq!(ended["FailureCode"], "S3StorageFull", "{ended}");
    assert_eq!(files_below(&bucket).len(), 0, "it leaves nothing");
    // What fits is exported with the room that the failed one has released.
    let few = json!({"FilterSpecification": {"FilterExpression": "n < :n",
        "ExpressionAttributeValues": {":n": {"N": "300"}}}});
    let (export, folder) = db.export(&bucket, &few);
    assert_eq!(folder.items().len(), 300);
    assert_eq!(folder::read(&bucket, "", id_of(&export)).files.len(), 4);
}

#[test]
fn an_export_to_the_disk_of_the_database_fails_rather_than_take_the_room_that_the_database_needs() {
    let Some(disk) = SmallDisk::mount(96) else { return };
    let (data, buckets) = (disk.path().join("data"), disk.path().join("buckets"));
    let (bucket, filler) = (buckets.join(BUCKET), disk.path().join("filler"));
    std::fs::create_dir_all(&bucket).unwrap();
    let [data, buckets] = [&data, &buckets].map(|folder| folder.to_str().unwrap());
    let server = Server::start(&["--data", data, "--s3-folder", buckets, "--write-buffer-kib", "512"]);
    let mut db = Db::of(&server);
    create(&mut db);
    db.put_all(TABLE, &(0..40).map(large_row).collect::<Vec<_>>());
    std::fs::write(&filler, vec![0; 82 << 20]).unwrap();
    let begun = db.begin_export(&json!({}));
    let ended = db.end_of(&begun);
    assert_eq!(ended["FailureCode"], "S3StorageFull", "{ended}");
    assert!(ended["FailureMessage"].as_str().unwrap().contains("which the database needs too"), "{ended}");
    assert_eq!(files_below(&bucket).len(), 0, "it leaves nothing");
    std::fs::remove_file(&filler).unwrap();
    let (_, folder) = db.export(&bucket, &json!({}));
    assert_eq!(folder.items().len(), 40);
}
