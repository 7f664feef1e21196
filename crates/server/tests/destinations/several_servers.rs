//! Servers over one store: the owner of a table delivers, and when it is killed another one goes on.

use std::time::Duration;

use crate::arrivals;
use crate::db::{Db, start};
use crate::fake::Fake;
use crate::support::shared_store::url_or_say;

/// So many that each of two servers owns some.
const TABLES: u64 = 6;
const ITEMS: u64 = 4;

#[test]
fn what_a_killed_server_was_to_deliver_is_delivered_by_the_other() {
    let Some(url) = url_or_say("destinations") else { return };
    let streams: Vec<String> = (0..TABLES).map(|table| format!("stream{table}")).collect();
    let fake = Fake::start(&streams.iter().map(String::as_str).collect::<Vec<_>>());
    let begin = || start(&fake.endpoint(), &["--store", &url]);
    let (killed, left) = (begin(), begin());
    let mut db = Db::of(&left);
    let table = |number: u64| format!("Delivered{number}");
    for number in 0..TABLES {
        db.create(&table(number));
        db.activate(&table(number), &format!("stream{number}"));
    }
    let write = |db: &mut Db, changes: std::ops::RangeInclusive<u64>| {
        for changes in changes {
            for number in 0..TABLES {
                (0..ITEMS).for_each(|item| db.put(&table(number), &arrivals::counting(item, changes)));
            }
        }
    };
    write(&mut Db::of(&killed), 1..=5);
    std::thread::sleep(Duration::from_millis(100));
    killed.kill();
    write(&mut db, 6..=10);
    let mut again = 0;
    for stream in &streams {
        let puts = fake.wait(stream, "all changes", |puts| arrivals::are_all(puts, ITEMS, 10));
        again += arrivals::check(&puts, ITEMS, 10);
    }
    println!("{} changes, {again} arrived again", TABLES * ITEMS * 10);
}
