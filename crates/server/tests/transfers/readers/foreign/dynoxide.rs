//! dynoxide: it wants the folder of each table's export under the table's name, and makes a file of all.

use std::process::Command;

use serde_json::json;

use super::super::{Exported, ITEMS, clients};
use crate::table::{TABLE, id_of};

#[test]
#[ignore = "needs dynoxide: run `cargo xtask test -- foreign::dynoxide`"]
fn dynoxide_imports_every_item_of_a_full_export() {
    let mut exported = Exported::make();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("exports")).unwrap();
    let root = exported.scene.bucket().join("some/where/AWSDynamoDB");
    std::fs::rename(root.join(id_of(&exported.full)), at("exports").join(TABLE)).unwrap();
    let schema = json!({"Table": exported.scene.db.describe(TABLE)});
    std::fs::write(at("schema.json"), schema.to_string()).unwrap();
    let mut import = Command::new(clients().join("dynoxide/bin/dynoxide"));
    import.arg("import").arg("--source").arg(at("exports")).arg("--schema").arg(at("schema.json"));
    let ended = import.arg("--output").arg(at("tables.db")).output().unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(ended.status.success(), "{}{}", said(&ended.stdout), said(&ended.stderr));
    // Our own reader of its files, whose tests compare it with the server, counts what it has made.
    let server = crate::support::Server::in_memory();
    let mut migrate = Command::new(env!("CARGO_BIN_EXE_keywright"));
    crate::support::without_aws_settings(&mut migrate);
    migrate.current_dir(folder.path()).args(["migrate", "--from", "tables.db", "--endpoint"]);
    let ended = migrate.arg(&server.endpoint).output().unwrap();
    assert!(ended.status.success(), "{}{}", said(&ended.stdout), said(&ended.stderr));
    let items = crate::db::Db::of(&server).items();
    assert_eq!(items.len(), usize::try_from(ITEMS).unwrap());
    assert_eq!(items[&crate::table::key_of(&crate::table::row(7, 1))]["n"]["N"], "7");
}
