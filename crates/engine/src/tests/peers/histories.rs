//! Random histories of a group over two servers, whose clocks differ, over a bad network: in the end all
//! members have the greatest version of each item, as it was committed.

use keywright_semantics::request::time_to_live::{TtlChange, UpdateTimeToLive};

use super::*;
use crate::support::links::Broken;
use crate::tests::replicas::observed::{Observed, Requests, check_indexes};

/// How far the clock of a server is ahead at the beginning.
const AHEAD_MS: [u64; 3] = [0, 4 * 60_000, HOUR_MS];
const BAD: Weather = Weather { lost: 15, unanswered: 15, twice: 15, late: 15 };
const TURNS: u32 = 250;

/// What a history had.
#[derive(Debug, Default)]
struct Seen {
    /// The most regions that were open at a time.
    open_most: usize,
    /// Regions that left.
    left: usize,
    /// Items, and those of them that were deleted last.
    items: (usize, usize),
}

/// A random history, and what it has shown.
struct Run {
    world: World,
    requests: Requests,
    observed: Observed,
    seen: Seen,
}

impl Run {
    fn new(seed: u64, broken: Option<Broken>) -> Self {
        // In every second history so little waits for a member that it is often sent everything anew.
        let backlog_bytes_max = if seed.is_multiple_of(2) { u64::MAX } else { 600 };
        let config = EngineConfig { source_region_ms: 0, backlog_bytes_max, ..EngineConfig::default() };
        let world = World::with(&config);
        let mut requests = Requests::new(seed, 8);
        world.net.weather.lock().unwrap().1 = fastrand::Rng::with_seed(seed ^ 0xabcd);
        for (own, server) in world.servers.iter().enumerate() {
            let ahead_ms = requests.random.choice(AHEAD_MS).expect("one");
            server.env.now_ms.fetch_add(ahead_ms, Ordering::Relaxed);
            world.engine(own).links().set_broken(broken);
        }
        let ttl =
            UpdateTimeToLive { table: table_ref(), change: TtlChange::Enable, attribute: "due".to_owned() };
        world.run(FIRST, Request::UpdateTimeToLive(ttl)).expect("it is off");
        Self { world, requests, observed: Observed::default(), seen: Seen::default() }
    }

    fn members(&self) -> impl Iterator<Item = (&FlakyStore, Arc<Table>)> {
        let of_region = |(region, owner): &(&str, usize)| {
            Some((&self.world.servers[*owner].store, self.world.table(region)?))
        };
        REGIONS.iter().filter_map(of_region)
    }

    /// Looks at every member; a fault that it finds.
    fn observe(&mut self) -> Result<(), String> {
        let members: Vec<(FlakyStore, Arc<Table>)> =
            self.members().map(|(store, table)| (store.clone(), table)).collect();
        members.iter().try_for_each(|(store, table)| self.observed.look(store, table))
    }

    fn write(&mut self) {
        let open = self.world.open_regions();
        let Some(region) = self.requests.random.choice(open) else { return };
        let now_ms = self.world.servers[owner_of(region)].env.now_ms();
        let request = self.requests.write(now_ms, |name| self.world.get(region, name));
        self.world.run(region, request).expect("a write");
    }

    fn change_members(&mut self, turn: u32) {
        let open = self.world.open_regions();
        let Some(region) = self.requests.random.choice(&open) else { return };
        if self.requests.random.bool() {
            let target = self.requests.random.choice(&REGIONS).expect("a region").0;
            // Refused while the group changes, or because it is there.
            let _either = self.world.add(region, target);
        } else if turn > TURNS / 3 && open.len() > 2 {
            let leaves = self.world.remove(region, self.requests.random.choice(&open).expect("a region"));
            self.seen.left += usize::from(leaves.is_ok());
        }
    }

    /// Lets so much time pass that no message is on its way any more.
    fn pass_long(&self, ms: u64) {
        for _ in 0..=LATE_TURNS_MAX {
            self.world.net.deliver_late();
        }
        self.world.pass(ms);
    }

    fn turn(&mut self, turn: u32) -> Result<(), String> {
        let is_cut = self.requests.random.u8(..10) == 0;
        self.world.weather(if is_cut { Weather { lost: 100, ..BAD } } else { BAD });
        match self.requests.random.u8(..40) {
            0..18 => self.write(),
            18..31 => {
                let ms = self.requests.random.u64(1..3_000);
                self.world.pass(ms);
            }
            31..34 => self.change_members(turn),
            34 | 35 => self.world.restart(self.requests.random.usize(..2)),
            36 => self.pass_long(13 * HOUR_MS),
            _ => self.pass_long(5 * 60_000),
        }
        self.seen.open_most = self.seen.open_most.max(self.world.open_regions().len());
        self.observe()
    }

    fn quiet(&mut self, times: u32, ms: u64) -> Result<(), String> {
        for _ in 0..times {
            self.world.pass(ms);
            self.observe()?;
        }
        Ok(())
    }

    fn compare(&self) -> Result<(), String> {
        self.observed.compare(self.members())?;
        for region in self.world.open_regions() {
            let count = self.world.rows(region, Space::Items).len();
            check_indexes((region, count), |request| self.world.run(region, request))?;
        }
        Ok(())
    }

    /// Lets everything arrive, and compares; and again once deletions are forgotten.
    fn end(&mut self) -> Result<(), String> {
        self.world.heal();
        for _ in 0..3 {
            self.quiet(30, 400)?;
            self.quiet(1, 60_000)?;
        }
        self.quiet(30, 400)?;
        self.compare()?;
        for (_, table) in self.members() {
            if table.is_group_changing() {
                return Err(format!("{}: its group changes for ever: {:?}", table.region, table.replication));
            }
        }
        for _ in 0..3 {
            self.quiet(1, 13 * HOUR_MS)?;
            self.quiet(5, 1_000)?;
        }
        self.quiet(40, 4 * 60_000)?;
        self.compare()?;
        for (store, table) in self.members() {
            if !crate::tests::replicas::observed::rows_of(store, Space::Tombstones, &table).is_empty() {
                return Err(format!("{}: deletions are remembered for ever", table.region));
            }
        }
        Ok(())
    }
}

fn history(seed: u64, broken: Option<Broken>) -> Result<Seen, String> {
    let mut run = Run::new(seed, broken);
    for turn in 0..TURNS {
        run.turn(turn)?;
    }
    run.end()?;
    Ok(Seen { items: run.observed.count(), ..run.seen })
}

#[test]
fn members_of_two_servers_agree_on_the_greatest_version_of_each_item() {
    let mut all = Vec::new();
    for seed in seeds(8) {
        match history(seed, None) {
            Ok(seen) => all.push(seen),
            Err(fault) => panic!("seed {seed}: {fault}"),
        }
    }
    assert!(all.iter().any(|seen| seen.open_most >= 3), "many are members at a time: {all:?}");
    assert!(all.iter().any(|seen| seen.left > 0), "some leave: {all:?}");
    assert!(all.iter().any(|seen| seen.items.1 > 0), "some items are deleted last: {all:?}");
}

#[test]
fn a_rule_that_is_broken_shows() {
    // A history that shows it stands first; another may do so if histories change.
    for (broken, first) in
        [(Broken::Order, 1), (Broken::Above, 1), (Broken::Tie, 23), (Broken::Tombstones, 2)]
    {
        let fails = |seed: &u64| std::panic::catch_unwind(|| history(*seed, Some(broken)).is_err());
        let shown = (first..first + 60).find(|seed| fails(seed).unwrap_or(true));
        assert!(shown.is_some(), "{broken:?} is not noticed");
        println!("{broken:?} is noticed by history {}", shown.unwrap_or_default());
    }
}
