//! Random writes of every kind, each at a known time: a table is restored to any second of them.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::contents::{Contents, Items, Key, key_of, scan};
use crate::db::{BEGUN, BEGUN_MS, Db, advance, factor};
use crate::support::Server;
use crate::support::dice::{Dice, wanted};

const TABLE: &str = "Tab";
const WRITES: u64 = 1_000;
const RESTORES: u64 = 50;
/// Writes between two times at which everything with a time to live expires.
const WRITES_OF_A_ROUND: u64 = 250;
/// Longer than all writes of a round take, in seconds.
const LIFE_S: u64 = 1_000;

/// A change and when it was made, in milliseconds.
type Change = (u64, Key, Option<Value>);

/// A table, and all that was ever done to it.
struct Writer<'s> {
    server: &'s Server,
    /// The folder of buckets.
    buckets: &'s TempDir,
    db: Db,
    dice: Dice,
    now_ms: u64,
    now: Items,
    log: Vec<Change>,
    /// Seconds between which items expired, so that the state is not known.
    unsure: Vec<(u64, u64)>,
}

impl<'s> Writer<'s> {
    fn new(server: &'s Server, buckets: &'s TempDir, seed: u64) -> Self {
        let mut db = Db::of(server);
        db.create(TABLE);
        let ttl = json!({"Enabled": true, "AttributeName": "until"});
        db.call("UpdateTimeToLive", &json!({"TableName": TABLE, "TimeToLiveSpecification": ttl}));
        db.recovery(TABLE, 35);
        let (now, log) = (Items::new(), Vec::new());
        Self { server, buckets, db, dice: Dice::new(seed), now_ms: BEGUN_MS, now, log, unsure: Vec::new() }
    }

    fn pass(&mut self, ms: u64) {
        advance(self.server, ms);
        self.now_ms += ms;
    }

    fn note(&mut self, key: Key, item: Option<Value>) {
        match &item {
            Some(item) => self.now.insert(key.clone(), item.clone()),
            None => self.now.remove(&key),
        };
        self.log.push((self.now_ms, key, item));
    }

    fn key(&mut self) -> Value {
        let (pk, sk) = (self.dice.roll(5), self.dice.roll(12));
        json!({"pk": {"S": format!("p{pk}")}, "sk": {"S": format!("s{sk:02}")}})
    }

    fn item(&mut self) -> Value {
        let mut item = self.key();
        item["x"] = json!({"S": format!("{}", self.log.len())});
        for (attribute, letter) in [("g", 'g'), ("l", 'l')] {
            if self.dice.roll(3) > 0 {
                item[attribute] = json!({"S": format!("{letter}{}", self.dice.roll(4))});
            }
        }
        if self.dice.roll(10) == 0 {
            item["until"] = json!({"N": (self.now_ms / 1000 + LIFE_S).to_string()});
        }
        item
    }

    /// An item of the table, if it has any.
    fn present(&mut self) -> Option<Value> {
        let place = self.dice.roll(u64::try_from(self.now.len()).unwrap().max(1));
        self.now.values().nth(usize::try_from(place).unwrap()).cloned()
    }

    fn write(&mut self) {
        match self.dice.roll(8) {
            _ if self.dice.roll(80) == 0 => self.bulk_put(),
            0 | 1 => {
                let item = self.item();
                self.db.put(TABLE, &item);
                self.note(key_of(&item), Some(item));
            }
            2 => self.update(),
            3 => {
                let key = self.key();
                self.db.call("DeleteItem", &json!({"TableName": TABLE, "Key": key}));
                self.note(key_of(&key), None);
            }
            4 => self.batch(),
            5 | 6 => self.transaction(),
            _ => self.statement(),
        }
    }

    fn update(&mut self) {
        let key = self.key();
        let value = json!({"S": format!("updated {}", self.log.len())});
        let update = json!({"TableName": TABLE, "Key": key, "UpdateExpression": "SET x = :x REMOVE l",
            "ExpressionAttributeValues": {":x": value}});
        self.db.call("UpdateItem", &update);
        let mut item = self.now.get(&key_of(&key)).cloned().unwrap_or(key);
        item["x"] = value;
        item.as_object_mut().unwrap().remove("l");
        self.note(key_of(&item), Some(item));
    }

    /// Puts and deletes of items with different keys.
    fn several(&mut self) -> Vec<(Value, bool)> {
        let mut items = Items::new();
        for _ in 0..=self.dice.roll(4) {
            let item = self.item();
            items.insert(key_of(&item), item);
        }
        items.into_values().map(|item| (item, self.dice.roll(3) > 0)).collect()
    }

    fn batch(&mut self) {
        let several = self.several();
        let request = |(item, is_put): &(Value, bool)| {
            if *is_put {
                json!({"PutRequest": {"Item": item}})
            } else {
                json!({"DeleteRequest": {"Key": only_key(item)}})
            }
        };
        let requests: Vec<Value> = several.iter().map(request).collect();
        self.db.call("BatchWriteItem", &json!({"RequestItems": {TABLE: requests}}));
        self.note_several(several);
    }

    fn transaction(&mut self) {
        let several = self.several();
        let action = |(item, is_put): &(Value, bool)| {
            if *is_put {
                json!({"Put": {"TableName": TABLE, "Item": item}})
            } else {
                json!({"Delete": {"TableName": TABLE, "Key": only_key(item)}})
            }
        };
        let actions: Vec<Value> = several.iter().map(action).collect();
        self.db.call("TransactWriteItems", &json!({"TransactItems": actions}));
        self.note_several(several);
    }

    fn note_several(&mut self, several: Vec<(Value, bool)>) {
        for (item, is_put) in several {
            self.note(key_of(&item), is_put.then_some(item));
        }
    }

    /// Puts of items with different keys, some under a condition that does not hold.
    fn bulk_put(&mut self) {
        let several = self.several();
        let line = |(item, is_put): &(Value, bool)| {
            let mut record = json!({"Item": item});
            if !is_put {
                record["ConditionExpression"] = json!("attribute_exists(absent)");
            }
            format!("{record}\n")
        };
        let lines: String = several.iter().map(line).collect();
        std::fs::write(self.buckets.path().join("bulk").join("in"), lines).unwrap();
        let request = json!({"TableName": TABLE,
            "InputS3Configuration": {"S3Bucket": "bulk", "S3KeyPrefix": "in", "InputFormat": "DYNAMODB_JSON"},
            "OutputS3Configuration": {"S3Bucket": "bulk", "S3KeyPrefix": "out", "OutputType": ["ERROR"]}});
        let begun = self.db.call("StartBulkPutItems", &request)["BulkOperationDescription"].clone();
        let question = json!({"BulkOperationArn": begun["BulkOperationArn"]});
        let mut status = Value::Null;
        self.db.wait("the bulk put ends", |db| {
            let now = db.call("DescribeBulkOperation", &question)["BulkOperationDescription"].clone();
            status = now["BulkOperationStatus"].clone();
            status != "IN_PROGRESS"
        });
        assert_eq!(status, "COMPLETED");
        for (item, _) in several.into_iter().filter(|(_, is_put)| *is_put) {
            self.note(key_of(&item), Some(item));
        }
    }

    fn statement(&mut self) {
        let value = json!({"S": format!("stated {}", self.log.len())});
        let Some(mut item) = self.present() else { return };
        let (pk, sk) = (item["pk"].clone(), item["sk"].clone());
        let mut run = |statement: &str, parameters: Value| {
            self.db.call("ExecuteStatement", &json!({"Statement": statement, "Parameters": parameters}))
        };
        match self.dice.roll(3) {
            0 => {
                run("UPDATE \"Tab\" SET x = ? WHERE pk = ? AND sk = ?", json!([value, pk, sk]));
                item["x"] = value;
                self.note(key_of(&item), Some(item));
            }
            1 => {
                run("DELETE FROM \"Tab\" WHERE pk = ? AND sk = ?", json!([pk, sk]));
                self.note(key_of(&item), None);
            }
            _ => {
                let item = json!({"pk": pk, "sk": {"S": format!("n{}", self.log.len())}, "x": value});
                run("INSERT INTO \"Tab\" VALUE {'pk': ?, 'sk': ?, 'x': ?}", json!([pk, item["sk"], value]));
                self.note(key_of(&item), Some(item));
            }
        }
    }

    /// Lets everything expire that has a time to live.
    fn expire(&mut self) -> usize {
        // Nothing has expired before this second.
        let still = self.now_ms / 1000 + LIFE_S / 2;
        self.pass(2 * LIFE_S * 1000);
        let gone = self.now.iter().filter(|(_, item)| !item["until"].is_null()).map(|(key, _)| key.clone());
        let gone: Vec<Key> = gone.collect();
        for key in &gone {
            self.note(key.clone(), None);
        }
        let left = self.now.len();
        self.db.wait("expired items go", |db| scan(db, TABLE, None).len() == left);
        self.unsure.push((still, self.now_ms / 1000));
        self.pass(1_000);
        gone.len()
    }

    /// The items as of the beginning of a second.
    fn as_of(&self, second: u64) -> Items {
        let mut items = Items::new();
        for (_, key, item) in self.log.iter().filter(|(ms, ..)| *ms < second * 1000) {
            match item {
                Some(item) => items.insert(key.clone(), item.clone()),
                None => items.remove(key),
            };
        }
        items
    }
}

fn only_key(item: &Value) -> Value {
    json!({"pk": item["pk"], "sk": item["sk"]})
}

#[test]
fn a_table_is_restored_to_any_second_of_a_thousand_writes_of_every_kind() {
    let seed = wanted("KEYWRIGHT_SEED", 1);
    let buckets = tempfile::tempdir().unwrap();
    std::fs::create_dir(buckets.path().join("bulk")).unwrap();
    let folder = ["--s3-folder", buckets.path().to_str().unwrap()];
    let server =
        Server::start(&[&["--in-memory", "--clock", BEGUN, "--ttl-delay-ms", "0"], &folder[..]].concat());
    let mut writer = Writer::new(&server, &buckets, seed);
    let mut expired = 0;
    for number in 0..WRITES * factor().min(5) {
        writer.write();
        let ms = writer.dice.roll(1_500);
        if writer.dice.roll(2) == 0 {
            writer.pass(ms);
        }
        if number % WRITES_OF_A_ROUND == WRITES_OF_A_ROUND - 1 {
            expired += writer.expire();
        }
    }
    assert!(expired > 0, "nothing expired: the test shows less than it says");
    let (first, last) = (BEGUN_MS / 1000, writer.now_ms / 1000);
    let mut restored = 0;
    while restored < RESTORES * factor().min(5) {
        // Half of them within the writes, where a second matters most.
        let at = usize::try_from(writer.dice.roll(u64::try_from(writer.log.len()).unwrap())).unwrap();
        let second = match writer.dice.roll(2) {
            0 => first + writer.dice.roll(last - first + 1),
            _ => writer.log[at].0 / 1000 + writer.dice.roll(2),
        };
        if writer.unsure.iter().any(|(from, to)| (*from..=*to).contains(&second)) {
            continue;
        }
        let target = format!("At{restored}");
        writer.db.restore_to(TABLE, &target, Some(second));
        writer.db.wait_until_active(&target);
        let expected = writer.as_of(second);
        Contents::of(&mut writer.db, &target).check(&expected, &format!("seed {seed}, as of {second}"));
        writer.db.delete_table(&target);
        restored += 1;
    }
    writer.db.restore_to(TABLE, "Last", None);
    writer.db.wait_until_active("Last");
    Contents::of(&mut writer.db, "Last").check(&writer.now, "the latest state");
    println!("seed {seed}: {} changes, {expired} of them expiries; {restored} restores", writer.log.len());
}
