//! A clock that is set back: what was acknowledged is in every later restore.

use serde_json::json;

use crate::contents::{Contents, Items, key_of};
use crate::db::Db;
use crate::support::Server;

const TABLE: &str = "Tab";

#[test]
fn a_restore_has_every_acknowledged_write_though_the_clock_went_back_an_hour_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut expected = Items::new();
    for (round, hour) in [16, 15, 14].into_iter().enumerate() {
        let clock = format!("manual@2026-11-27T{hour}:00:00Z");
        let server = Server::start(&["--data", folder.path().to_str().unwrap(), "--clock", &clock]);
        let mut db = Db::of(&server);
        if round == 0 {
            db.create(TABLE);
            db.recovery(TABLE, 35);
        }
        for number in 0..60 {
            let item = json!({"pk": {"S": format!("p{}", number % 3)}, "sk": {"S": format!("s{number:02}")},
                "g": {"S": format!("g{round}")}, "round": {"N": round.to_string()}});
            // Every round changes what the one before wrote.
            if (number + round) % 4 > 0 {
                db.put(TABLE, &item);
                expected.insert(key_of(&item), item);
            } else {
                let key = json!({"pk": item["pk"], "sk": item["sk"]});
                db.call("DeleteItem", &json!({"TableName": TABLE, "Key": key}));
                expected.remove(&key_of(&item));
            }
        }
        let target = format!("Latest{round}");
        db.restore_to(TABLE, &target, None);
        let arn = db.back_up(TABLE);
        let changed = json!({"pk": {"S": "after"}, "sk": {"S": round.to_string()}});
        db.put(TABLE, &changed);
        db.wait_until_active(&target);
        Contents::of(&mut db, &target).check(&expected, &target);
        let target = format!("Backup{round}");
        db.restore_backup(&arn, &target);
        db.wait_until_active(&target);
        Contents::of(&mut db, &target).check(&expected, &target);
        expected.insert(key_of(&changed), changed);
        server.kill();
    }
}
