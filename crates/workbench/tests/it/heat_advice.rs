//! Heat computed by hand, and advice that holds when it is followed.

use keywright_workbench::heat::{HotKey, of_model};
use keywright_workbench::lint::Finding;

use crate::support::{model, no_files};

fn heat(text: &str) -> Vec<HotKey> {
    let model = model(text);
    let samples = keywright_workbench::run::run(&model, &no_files, &mut |_| {}).expect("it runs").samples;
    of_model(&model, &keywright_workbench::run::measure(&model, &samples).expect("it is metered").report)
}

/// The findings of the rules on load.
fn found(text: &str) -> Vec<Finding> {
    crate::support::checked(text)
        .findings
        .into_iter()
        .filter(|own| ["L020", "L021", "L022", "L025"].contains(&own.rule))
        .collect()
}

fn rules(text: &str) -> Vec<&'static str> {
    found(text).iter().map(|own| own.rule).collect()
}

fn key<'a>(keys: &'a [HotKey], key: &str) -> &'a HotKey {
    keys.iter().find(|own| own.key == key).expect(key)
}

const DAYS: &str = r#"
format: 1
model: iot
tables:
  Iot:
    key: {pk: S, sk: S}
    indexes: {byDay: {pk: [region, day], sk: [at], project: keys}, onlyDay: {pk: day, sk: at, project: keys}}
entities:
  Reading:
    count: 1000000000
    size: 200
    key: {pk: "d#{device}#{day}", sk: "{at}"}
    byDay: {region: "{region}", day: "{day}", at: "{at}"}
    onlyDay: {day: "{day}", at: "{at}"}
    attrs: {device: {type: S, distinct: 100000}, day: {type: S, format: date, distinct: 365}, at: {type: S, format: iso8601}, region: {type: S, distinct: 4}, value: N}
patterns:
  - {id: W, put: Reading, if: not-exists, rate: {avg: 20000, peak: 40000}}
  - {id: U, update: Reading, set: "value = :v", if: exists, rate: 3650}
  - {id: S, query: Reading, given: {day: eq}, uses: onlyDay, attributes: [device, at], returns: {avg: 50, max: 2000, page: 500}, rate: 365}
  - {id: N, query: Reading, given: {day: eq, at: ge}, uses: onlyDay, attributes: [device, at], returns: {avg: 1, max: 1}, rate: 8}
data: {generate: {seed: 1, sample: 50}}
"#;

/// However many days are kept, all current writes go to one of them.
#[test]
fn all_current_writes_go_to_the_current_day() {
    let keys = heat(DAYS);
    let (day, region) = (key(&keys, "{day}"), key(&keys, "{region} {day}"));
    assert_eq!((day.heat.write_units(), region.heat.write_units()), (40_000, 10_000));
    assert_eq!((day.needed, region.needed), (40, 10));
    assert_eq!(day.of_time, ["day"]);
    // An update of any day's item goes to one of 365 days and 100,000 devices, a new item to one of the
    // devices.
    assert_eq!(key(&keys, "d#{device}#{day}").heat.write_units(), 1);
    // 365 reads of any day are one read of the current day; the eight reads of recent items all read it. Half
    // a unit each.
    assert_eq!(day.heat.read_units(), 5);
    assert_eq!(rules(DAYS), ["L021", "L021"]);
    let said = keywright_workbench::heat::text(&keys);
    assert!(said.contains("the same `day` in `{day}` of Iot.onlyDay"), "{said}");
    // A day that is not the time of writing spreads, if the author declares it with `skew`.
    let other = heat(&DAYS.replace("    attrs:", "    skew: {day: uniform}\n    attrs:"));
    assert_eq!(key(&other, "{day}").heat.write_units(), 110);
}

#[test]
fn a_time_of_which_many_items_have_the_same_is_the_time_in_which_they_come() {
    let text = |attribute: &str, average: u32| {
        format!(
            r#"
format: 1
model: hours
tables: {{Tab: {{key: {{pk: S, sk: S}}}}}}
entities:
  Hit: {{count: 3600000, size: 100, key: {{pk: "{{at}}", sk: "{{id}}"}}, attrs: {{at: {{type: S, {attribute}}}, id: {{type: S, format: uuid}}}}}}
patterns: [{{id: W, put: Hit, if: not-exists, rate: {{avg: {average}, peak: 1600}}}}]
data: {{generate: {{seed: 1, sample: 20}}}}
"#
        )
    };
    let writes = |attribute: &str, average: u32| {
        let keys = heat(&text(attribute, average));
        let own = keys.first().expect("the key");
        (own.share_ppm.is_some(), own.heat.write_units())
    };
    // 3600 an hour: a thousand hours.
    assert_eq!(writes("format: iso8601, distinct: 1000", 1), (true, 1600));
    assert_eq!(writes("format: epoch-seconds, distinct: 3600000", 1), (true, 1600));
    // One time per item, in milliseconds: a thousandth of a second's writes.
    assert_eq!(writes("format: iso8601", 1), (true, 2));
    // A hundred items per time, which arrive within a tenth of a second.
    assert_eq!(writes("format: iso8601, distinct: 36000", 1000), (true, 160));
}

/// A local index shares its table's partitions.
#[test]
fn a_table_and_its_local_indexes_warm_one_partition() {
    let text = r#"
format: 1
model: chat
tables:
  Chat:
    key: {pk: S, sk: S}
    pitr: true
    deletionProtection: true
    indexes: {byUser: {local: true, pk: pk, sk: usr, project: all}, byKind: {local: true, pk: pk, sk: kind, project: all}}
entities:
  Msg:
    count: 1000000
    size: 800
    key: {pk: "r#{room}", sk: "m#{id}"}
    byUser: {usr: "{usr}"}
    byKind: {kind: "{kind}"}
    attrs: {room: {type: S, distinct: 5000}, id: {type: S, format: ulid}, usr: {type: S, distinct: 10000}, kind: {type: S, distinct: 100}, body: S}
    skew: {room: hottest(0.5)}
patterns:
  - {id: W, put: Msg, if: not-exists, rate: {avg: 50, peak: 900}}
  - {id: Q, query: Msg, given: {room: eq, usr: eq}, uses: byUser, consistency: strong, returns: {avg: 10, max: 100, page: 100}, rate: 1}
data: {generate: {seed: 1, sample: 50}}
"#;
    let keys = heat(text);
    let [own] = keys.as_slice() else { panic!("{keys:?}") };
    // Half of 900, three times: the table and two indexes that project everything.
    assert_eq!((own.heat.write_units(), own.heat.used_ppm()), (1350, 1_350_000));
    assert_eq!(own.local, ["byUser", "byKind"]);
    // Half of ten items of 800 bytes, strongly consistent.
    assert_eq!(own.heat.read_units(), 1);
    assert_eq!(rules(text), ["L021"]);
}

const MATCHES: &str = r#"
format: 1
model: game
tables: {Game: {key: {pk: S, sk: S}, pitr: true, deletionProtection: true}}
entities:
  Match: {count: 1000, size: 300, key: {pk: "m#{match}", sk: "m#"}, attrs: {match: S, title: S}}
  Score: {count: 1000000, size: 300, parent: Match, key: {pk: "m#{game}", sk: "s#{player}"}, attrs: {game: {type: S, copyOf: Match.match}, player: {type: S, format: uuid}, points: N}, skew: {game: hottest(0.5)}}
patterns:
  - {id: A, query: Score, given: {game: eq}, returns: {avg: 20, max: 2000, page: 100}, rate: {avg: 100, peak: 8000}}
data: {generate: {seed: 1, sample: 50}}
"#;

/// A read of several entities reads the busiest key of the most skewed of them.
#[test]
fn a_read_of_several_entities_heats_like_a_read_of_the_busiest() {
    let alike =
        MATCHES.replace("game: {type: S, copyOf: Match.match}", "match: S").replace("{game", "{match");
    let both = alike.replace("query: Score", "query: [Match, Score]");
    for text in [MATCHES, &alike, &both] {
        let keys = heat(text);
        let [own] = keys.as_slice() else { panic!("{keys:?}") };
        assert_eq!(own.entities, ["Match", "Score"]);
        // 20 items of 300 bytes are two pages of 4 KB, eventually consistent: one unit, and half of 8000
        // reads.
        assert_eq!((own.share_ppm, own.heat.read_units()), (Some(500_000), 4000), "{text}");
        assert_eq!(rules(text), ["L021"]);
    }
}

fn votes(key: &str, count: u64, skew: &str, peak: u64) -> String {
    format!(
        r#"
format: 1
model: votes
tables: {{Votes: {{key: {{pk: S, sk: S}}, pitr: true, deletionProtection: true}}}}
entities:
  Vote: {{count: {count}, size: 200, key: {{pk: "{key}", sk: "{{voter}}"}}, attrs: {{voter: {{type: S, format: uuid}}, poll: {{type: S, distinct: 7}}}}{skew}}}
patterns:
  - {{id: W, put: Vote, if: not-exists, rate: {{avg: 1, peak: {peak}}}}}
data: {{generate: {{seed: 1, sample: 5}}}}
"#
    )
}

/// R77: 20,000 writes a second need 20 shards, whatever the number of votes; with twice as many, each uses
/// half of its limit.
#[test]
fn as_many_shards_as_are_needed_are_enough_and_twice_as_many_are_cool() {
    for count in [1_000_000, 1_234_567, 999_999_937] {
        let of = |shards: u32| votes(&format!("v#{{voter|shard({shards})}}"), count, "", 20_000);
        let keys = heat(&of(20));
        let own = key(&keys, "v#{voter|shard(20)}");
        assert_eq!((own.heat.write_units(), own.needed, own.needed_to_cool), (1000, 20, Some(40)));
        assert_eq!(
            [19, 20, 39, 40, 80, 81].map(|shards| rules(&of(shards)).join(" ")),
            ["L021 L025", "L022", "L022", "", "", "L025"]
        );
    }
}

/// The number of shards that a fix advises.
fn advised(finding: &Finding) -> Option<u64> {
    let (_, rest) = finding.fix.split_once("shard(")?;
    rest.split_once(')')?.0.parse().ok()
}

/// No rule objects to the number of shards that a rule advises.
#[test]
fn the_shards_that_a_fix_advises_are_neither_too_few_nor_too_many_for_any_rule() {
    let mut followed = 0;
    let keys = ["v#{poll}", "v#{poll}#{voter|shard(3)}", "v#{poll}#{voter|shard(90)}", "v#{voter|shard(50)}"];
    for (place, (count, peak)) in [
        (1_000_000, 1),
        (1_234_567, 499),
        (54_321, 3501),
        (98_765_431, 7001),
        (1_000_003, 20_000),
        (7_654_321, 33_333),
        (5_000_000, 99_991),
    ]
    .into_iter()
    .enumerate()
    {
        let skew = if place % 2 == 0 { "" } else { ", skew: {poll: hottest(0.7)}" };
        for written in keys {
            for finding in found(&votes(written, count, skew, peak)) {
                let bare = written.split("#{voter").next().unwrap_or(written);
                let then = match advised(&finding) {
                    Some(shards) => format!("{bare}#{{voter|shard({shards})}}"),
                    None if finding.fix == "leave the shard out" => bare.to_owned(),
                    None => panic!("{finding:?}"),
                };
                let left = found(&votes(&then, count, skew, peak));
                assert!(left.is_empty(), "{written}, {count}, {peak}: {finding:?}\nthen {then}: {left:?}");
                followed += 1;
            }
        }
    }
    assert!(followed > 20, "{followed}");
}

/// Ten items cannot be spread over forty shards.
#[test]
fn more_shards_are_not_advised_for_a_key_of_few_items() {
    let text = r#"
format: 1
model: counters
tables: {Tab: {key: {pk: S, sk: S}, pitr: true, deletionProtection: true}}
entities:
  Room: {count: 10, size: 300, key: {pk: "r#{id}", sk: "r#"}, attrs: {id: S, n: N}}
patterns:
  - {id: U, update: Room, set: "n = n + :one", if: exists, rate: {avg: 100, peak: 20000}}
data: {generate: {seed: 3, sample: 10}}
"#;
    let found = found(text);
    let [own] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((own.rule, advised(own)), ("L021", None));
    assert!(own.fix.contains("several items"), "{own:?}");
}
