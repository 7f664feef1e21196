//! Runs the requests of all patterns against the engine's limits on a virtual clock.
//!
//! Seconds are the steps: within one, the arrivals of all patterns and the further attempts that are due are
//! merged in the order of their milliseconds, then of the patterns.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keywright_engine::{
    AccountId, Caller, Engine, EngineConfig, Env, Namespace, Region, Throttle, ThroughputConfig, Whole,
};
use keywright_model::{DeclaredCapacity, Model, Table};
use keywright_semantics::capacity::HalfUnits;
use keywright_semantics::request::parts::{
    BillingMode, CreateTableParts, OnDemandThroughputParts, ProvisionedThroughputParts, UpdateTableParts,
    WarmThroughputParts,
};
use keywright_semantics::request::{CreateTable, Request as EngineRequest, UpdateTable};
use keywright_semantics::scaling::request::Request as ScalingRequest;
use keywright_semantics::scaling::response::{Progress, Response as ScalingResponse};
use keywright_semantics::share::MICRO;
use keywright_semantics::throttle::Throttled;
use keywright_store::memory::MemoryStore;

use super::bill::bill;
use super::draw::Random;
use super::profile::{Arrivals, Profile, TableMode, TableProfile, Units};
use super::program::{Program, Request, Resource, program, resources};
use super::report::{Event, Heaviest, Minute, Simulation, What};
use super::scaling;
use crate::cost::Costing;
use crate::run::{Measured, create_parts, drive};

pub(super) const MINUTE_MS: u64 = 60_000;
const MINUTE_SECONDS: u64 = 60;
/// A request in the unit in which arrivals are counted.
const REQUEST: u64 = 1_000_000_000;
/// From millionths of requests a second to that unit.
const PER_MICRO: u64 = 1000;
const _: () = assert!(PER_MICRO * MICRO == REQUEST, "a request a second is one request in its second");
const _: () = assert!(MINUTE_SECONDS * 1000 == MINUTE_MS, "a minute is a minute");
/// The SDKs' first delay before a further attempt to DynamoDB, and their longest.
const BACKOFF_MS: u64 = 25;
const BACKOFF_MS_MAX: u64 = 20_000;
const _: () =
    assert!(0 < BACKOFF_MS && BACKOFF_MS <= BACKOFF_MS_MAX, "delays grow from the first to the longest");
/// Keys that are counted in a minute of a resource, some 8 MB; beyond, the lightest are forgotten.
const KEYS_MAX: usize = 1 << 18;

/// Pieces of background work at one time.
const STEPS_MAX: usize = 1000;

struct Clock(AtomicU64, AtomicU64);

impl Env for Clock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Ids must be distinct; they need not be secret.
    fn random_u128(&self) -> u128 {
        let number = u128::from(self.1.fetch_add(1, Ordering::Relaxed)) + 1;
        number.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
    }
}

/// Runs a profile. `Err` says what the service refuses in it. `progress` gets the minutes that are done and
/// all of them.
pub fn simulate(
    model: &Model,
    measured: &Measured,
    profile: &Profile,
    costing: &Costing<'_>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Simulation, String> {
    let table_modes: Vec<TableMode> = model.tables.iter().map(|table| mode_of(table, profile)).collect();
    let mut runner = Runner::open(model, &table_modes, profile)?;
    let mut left_out = Vec::new();
    let mut sources = Vec::new();
    for pattern in &model.patterns {
        let own = profile.patterns.get(&pattern.id);
        let otherwise = pattern.rate.map(|rate| rate.average.0);
        if otherwise.is_none() && own.is_none_or(|own| own.points.is_empty()) {
            left_out.push((pattern.id.clone(), "it has no rate: write `rate: 10` in the profile".to_owned()));
            continue;
        }
        match program(model, measured, pattern, own) {
            Ok(program) => sources.push(program),
            Err(reason) => left_out.push((pattern.id.clone(), reason)),
        }
    }
    sources.sort_by(|one, other| one.id.cmp(&other.id));
    let sources = sources.into_iter().map(|program| {
        let rate = model.pattern(&program.id).and_then(|pattern| pattern.rate);
        Traffic::new(program, rate.map_or(0, |rate| rate.average.0), profile)
    });
    let mut sources: Vec<Traffic> = sources.collect();
    runner.run(&mut sources, progress)?;
    let minutes = std::mem::take(&mut runner.minutes);
    let bill = bill(model, &table_modes, (&runner.resources, &minutes), profile.length_s, costing)
        .map_err(|fault| fault.to_string())?;
    let mut simulation = Simulation {
        model: model.name.clone(),
        start_ms: profile.start_ms,
        length_s: profile.length_s,
        resources: runner.resources,
        minutes,
        events: runner.events,
        requests: runner.requests,
        retries: runner.retries,
        lost: runner.lost,
        throttled: runner.throttled,
        left_out,
        bill,
        assumptions: assumptions(profile),
        broken: Vec::new(),
    };
    simulation.broken = broken(&simulation, profile);
    Ok(simulation)
}

fn mode_of(table: &Table, profile: &Profile) -> TableMode {
    let declared = match table.billing {
        DeclaredCapacity::OnDemand => TableMode::OnDemand,
        DeclaredCapacity::Provisioned { .. } => TableMode::Provisioned,
    };
    profile.tables.get(&table.name).and_then(|own| own.mode).unwrap_or(declared)
}

/// What is ours in the figures.
fn assumptions(profile: &Profile) -> Vec<String> {
    let config = ThroughputConfig::default();
    let split = config.split;
    vec![
        "Every request costs what its pattern consumed when it was metered on data of the declared sizes; the engine's limits decide on each arrival, nothing is executed again.".to_owned(),
        format!(
            "A partition is split after {} minutes at {} % of a ceiling or with refusals; the split takes {} s.",
            split.minutes, split.heat_percent, split.duration_s
        ),
        format!("An on-demand table serves twice its highest minute {} minutes later.", config.peak_minutes),
        format!("At the start, {} s of provisioned units are saved, and no data adds partitions.", profile.saved_s),
        format!(
            "A throttled request is tried {} times more, after random delays of up to {BACKOFF_MS} ms that double, at most {} s.",
            profile.retries,
            BACKOFF_MS_MAX / 1000
        ),
        format!(
            "An attribute without a declared number of values has as many as its entity has items, or {}; shards are taken in turn.",
            super::program::VALUES
        ),
        "A read of several pages is admitted once. Sizes do not vary between requests of a pattern.".to_owned(),
    ]
}

fn broken(simulation: &Simulation, profile: &Profile) -> Vec<String> {
    let expect = profile.expect;
    let mut found = Vec::new();
    let mut check = |name: &str, most: Option<u64>, is: u64| {
        if let Some(most) = most.filter(|most| is > *most) {
            found.push(format!("{name}: at most {most} expected, {is} found"));
        }
    };
    let worst = simulation.throttled.iter().max().copied().unwrap_or(0);
    check("throttled-per-minute", expect.throttled_per_minute, worst);
    let longest = simulation.stretches().iter().map(|own| own.minutes).max().unwrap_or(0);
    check("throttled-minutes", expect.throttled_minutes, u64::try_from(longest).unwrap_or(u64::MAX));
    check("lost", expect.lost, simulation.lost);
    let total = simulation.bill.total();
    if let Some(most) = expect.monthly_nanos.filter(|most| total.as_nanos() > *most) {
        let most = crate::price::Money::nanos(most);
        found.push(format!("cost: at most {most} a month expected, {total} found"));
    }
    found
}

/// A pattern with its rate and its own random numbers.
struct Traffic {
    program: Program,
    otherwise: u64,
    arrivals: Arrivals,
    /// What is left until the next request.
    left: u64,
    random: Random,
}

impl Traffic {
    fn new(program: Program, otherwise: u64, profile: &Profile) -> Self {
        let name =
            program.id.bytes().fold(profile.seed, |sum, byte| Random::new(sum ^ u64::from(byte)).next());
        let mut own =
            Self { program, otherwise, arrivals: profile.arrivals, left: 0, random: Random::new(name) };
        own.left = match own.arrivals {
            Arrivals::Even => REQUEST / 2,
            Arrivals::Poisson => own.gap(),
        };
        own
    }

    fn gap(&mut self) -> u64 {
        match self.arrivals {
            Arrivals::Even => REQUEST,
            Arrivals::Poisson => {
                let gap = (u128::from(self.random.exponential()) * u128::from(REQUEST)) >> 32;
                u64::try_from(gap).unwrap_or(u64::MAX).max(1)
            }
        }
    }

    /// The milliseconds within a second at which requests arrive.
    fn arrivals(&mut self, profile: &Profile, second: u64, mut arrive: impl FnMut(u64)) {
        let own = profile.patterns.get(&self.program.id);
        let rate = own.map_or(self.otherwise, |own| own.rate_micro(second, profile.start_ms, self.otherwise));
        let mass = rate.saturating_mul(PER_MICRO);
        let mut passed = 0;
        while self.left <= mass - passed && mass > 0 {
            passed += self.left;
            let ms = u128::from(passed) * 1000 / u128::from(mass);
            arrive(u64::try_from(ms).unwrap_or(0).min(999));
            self.left = self.gap();
        }
        assert!(passed <= mass, "a request arrives within its second");
        self.left -= mass - passed;
    }
}

/// A further attempt: due time, order of arrival, number of the attempt, and the request.
struct Again {
    attempt: u32,
    request: Request,
    trial: keywright_engine::Trial,
}

/// What is counted of a resource in the running minute.
#[derive(Default)]
struct Tally {
    minute: Minute,
    /// The first keys of its partitions.
    starts: Vec<Vec<u8>>,
    asked: Vec<[HalfUnits; 2]>,
    keys: KeyCounts,
    /// The key of each partition that was asked for most, with its units.
    heaviest_keys: Vec<Option<(String, HalfUnits)>>,
    whole: Vec<Option<Whole>>,
}

impl Tally {
    fn ask(&mut self, place: usize, units: HalfUnits, key: &[u8], label: &str) {
        let partition = self.starts.partition_point(|start| start.as_slice() <= key).saturating_sub(1);
        if let Some(sum) = self.asked.get_mut(partition).and_then(|two| two.get_mut(place)) {
            *sum += units;
        }
        let counted = self.keys.ask(units, label);
        if let Some(heaviest) = self.heaviest_keys.get_mut(partition) {
            let lighter = |(known, sum): &(String, HalfUnits)| {
                (*sum, Reverse(known.as_str())) < (counted, Reverse(label))
            };
            match heaviest {
                Some((known, sum)) if known == label => *sum = counted.max(*sum),
                Some(known) if !lighter(known) => {}
                _ => *heaviest = Some((label.to_owned(), counted)),
            }
        }
    }

    fn heaviest(&self) -> Option<Heaviest> {
        let total = |two: &[HalfUnits; 2]| two.iter().map(|units| units.0).sum::<u64>();
        // A partition's ceiling for writes is a third of that for reads.
        let weight = |[read, write]: &[HalfUnits; 2]| read.0.saturating_add(write.0.saturating_mul(3));
        let (place, asked) =
            self.asked.iter().enumerate().max_by_key(|(place, two)| (weight(two), Reverse(*place)))?;
        if total(asked) == 0 {
            return None;
        }
        let key = self.heaviest_keys.get(place).cloned().flatten();
        Some(Heaviest { partition: place + 1, asked: *asked, key })
    }
}

/// The units that each partition key was asked for in a minute, counted by the key's hash. A key has its true
/// figure no matter what else is asked for, as long as there are at most `KEYS_MAX` keys; beyond that, the
/// lightest begin again at zero.
#[derive(Default)]
struct KeyCounts(HashMap<u64, HalfUnits>);

impl KeyCounts {
    /// Counts units for a key; returns all that were counted for it.
    fn ask(&mut self, units: HalfUnits, label: &str) -> HalfUnits {
        let mut hasher = DefaultHasher::new();
        label.hash(&mut hasher);
        let hash = hasher.finish();
        let sum = self.0.entry(hash).or_default();
        *sum += units;
        let counted = *sum;
        if self.0.len() > KEYS_MAX {
            self.forget_lightest(hash);
        }
        counted
    }

    /// Forgets the lighter half of the keys, but not this one.
    fn forget_lightest(&mut self, kept: u64) {
        let mut sums: Vec<HalfUnits> = self.0.values().copied().collect();
        let middle = sums.len() / 2;
        let (_, median, _) = sums.select_nth_unstable(middle);
        let median = *median;
        self.0.retain(|hash, sum| *sum > median || *hash == kept);
        assert!(self.0.len() <= KEYS_MAX, "there is room for further keys");
    }
}

struct Runner<'a> {
    engine: Engine<MemoryStore>,
    clock: Arc<Clock>,
    caller: Caller,
    profile: &'a Profile,
    model: &'a Model,
    table_modes: &'a [TableMode],
    resources: Vec<Resource>,
    tallies: Vec<Tally>,
    minutes: Vec<Vec<Minute>>,
    events: Vec<Event>,
    waiting: BinaryHeap<Reverse<(u64, u64)>>,
    again: BTreeMap<u64, Again>,
    next_again: u64,
    backoff: Random,
    requests: u64,
    retries: u64,
    lost: u64,
    throttled: Vec<u64>,
    throttled_now: u64,
    /// Whether a table scales, which is background work.
    scales: bool,
}

impl<'a> Runner<'a> {
    fn open(model: &'a Model, table_modes: &'a [TableMode], profile: &'a Profile) -> Result<Self, String> {
        let clock = Arc::new(Clock(AtomicU64::new(profile.start_ms), AtomicU64::new(0)));
        let throughput = ThroughputConfig {
            throttle: Throttle::Full,
            burst_start_s: profile.saved_s,
            ..ThroughputConfig::default()
        };
        let config = EngineConfig { throughput, ..EngineConfig::default() };
        let env: Arc<dyn Env> = Arc::<Clock>::clone(&clock);
        let engine =
            drive(Engine::open(MemoryStore::default(), env, config))?.map_err(|fault| fault.to_string())?;
        let caller = Caller::account(Namespace {
            account: AccountId::from("000000000000"),
            region: Region::from("us-east-1"),
        });
        let resources = resources(model);
        let mut runner = Self {
            engine,
            clock,
            caller,
            profile,
            model,
            table_modes,
            tallies: resources.iter().map(|_| Tally::default()).collect(),
            minutes: resources.iter().map(|_| Vec::new()).collect(),
            resources,
            events: Vec::new(),
            waiting: BinaryHeap::new(),
            again: BTreeMap::new(),
            next_again: 0,
            backoff: Random::new(profile.seed ^ 0x00ba_c0ff),
            requests: 0,
            retries: 0,
            lost: 0,
            throttled: Vec::new(),
            throttled_now: 0,
            scales: false,
        };
        assert_eq!(table_modes.len(), model.tables.len(), "each table has a mode");
        let default = TableProfile::default();
        for (table, mode) in model.tables.iter().zip(table_modes) {
            let own = profile.tables.get(&table.name).unwrap_or(&default);
            let parts = table_parts(table, *mode, own);
            let request =
                CreateTable::validate(parts).map_err(|fault| refused(&table.name, &fault.message))?;
            runner.execute(EngineRequest::CreateTable(Box::new(request)), &table.name)?;
            runner.work()?;
            for request in
                scaling::requests(table, *mode, own).map_err(|fault| refused(&table.name, &fault))?
            {
                runner.scale(request)?;
                runner.scales = true;
            }
        }
        Ok(runner)
    }

    fn execute(&self, request: EngineRequest, table: &str) -> Result<(), String> {
        drive(self.engine.execute(&self.caller, request))?
            .map(drop)
            .map_err(|fault| refused(table, &fault.message))
    }

    fn scale(&self, request: ScalingRequest) -> Result<ScalingResponse, String> {
        drive(self.engine.scale(&self.caller, request))?.map_err(|fault| fault.message)
    }

    /// Does the background work that is due.
    fn work(&self) -> Result<(), String> {
        let now_ms = self.clock.now_ms();
        for _ in 0..STEPS_MAX {
            if drive(self.engine.step(now_ms))?.at_ms.is_none_or(|at_ms| at_ms > now_ms) {
                break;
            }
        }
        Ok(())
    }

    /// What scaling did, in the order of its times.
    fn activities(&mut self) -> Result<(), String> {
        let mut next_token = None;
        let mut found = Vec::new();
        loop {
            let answer = self.scale(scaling::activities(next_token)?)?;
            let ScalingResponse::DescribeScalingActivities { activities, next_token: next } = answer else {
                break;
            };
            found.extend(activities);
            next_token = next;
            if next_token.is_none() {
                break;
            }
        }
        for activity in found.into_iter().rev() {
            let Some((table, index)) = scaling::resource_of(&activity) else { continue };
            let is_it = |own: &&Resource| own.table == table && own.index == index;
            let Some(resource) = self.resources.iter().find(is_it).cloned() else { continue };
            let at_ms = u64::try_from(activity.start.0).unwrap_or(0);
            let minute = at_ms.saturating_sub(self.profile.start_ms) / MINUTE_MS;
            let failed = (activity.progress == Progress::Failed).then_some(activity.message).flatten();
            let text =
                failed.map_or(activity.description.clone(), |why| format!("{} {why}", activity.description));
            let minute = usize::try_from(minute).unwrap_or(usize::MAX);
            self.events.push(Event { minute, resource, what: What::Scaled { text } });
        }
        self.events.sort_by_key(|event| event.minute);
        Ok(())
    }

    fn run(&mut self, sources: &mut [Traffic], progress: &mut dyn FnMut(u64, u64)) -> Result<(), String> {
        let minutes = self.profile.length_s.div_ceil(MINUTE_SECONDS);
        self.begin_minute();
        let mut due: Vec<(u64, usize)> = Vec::new();
        for second in 0..self.profile.length_s {
            let start_ms = self.profile.start_ms + second * 1000;
            if second > 0 && second.is_multiple_of(MINUTE_SECONDS) {
                self.end_minute();
                progress(second / MINUTE_SECONDS, minutes);
                self.begin_minute();
            }
            self.set_clock(start_ms);
            if self.scales && start_ms.is_multiple_of(MINUTE_MS) {
                self.work()?;
            }
            self.change(second)?;
            due.clear();
            for (place, source) in sources.iter_mut().enumerate() {
                source.arrivals(self.profile, second, |ms| due.push((start_ms + ms, place)));
            }
            due.sort_unstable();
            for (at_ms, place) in due.drain(..) {
                self.try_again(at_ms);
                self.set_clock(at_ms);
                let Some(source) = sources.get_mut(place) else { continue };
                let request = source.program.request(&mut source.random, at_ms, &self.resources);
                self.requests += 1;
                self.note_demand(&request);
                self.attempt(Again { attempt: 0, request, trial: source.program.trial }, at_ms);
            }
            self.try_again(start_ms + 1000);
        }
        self.end_minute();
        if self.scales {
            self.activities()?;
        }
        // What waits at the end is neither refused nor served.
        assert_eq!(self.waiting.len(), self.again.len(), "each further attempt has its time");
        assert!(self.lost <= self.requests, "a request is given up once");
        Ok(())
    }

    fn set_clock(&self, now_ms: u64) {
        self.clock.0.store(now_ms, Ordering::Relaxed);
    }

    /// The attempts that are due before a time.
    fn try_again(&mut self, before_ms: u64) {
        while let Some(Reverse((at_ms, number))) = self.waiting.peek().copied()
            && at_ms < before_ms
        {
            self.waiting.pop();
            let Some(again) = self.again.remove(&number) else { continue };
            self.set_clock(at_ms);
            self.retries += 1;
            self.attempt(again, at_ms);
        }
    }

    fn note_demand(&mut self, request: &Request) {
        for (part, labels) in request.parts.iter().zip(&request.labels) {
            for (arm, (resource, _)) in part.arms.iter().zip(labels) {
                let Some(tally) = self.tallies.get_mut(*resource) else { continue };
                if let Some(sum) = tally.minute.demanded.get_mut(arm.direction.place()) {
                    *sum += arm.units;
                }
            }
        }
    }

    fn attempt(&mut self, mut again: Again, now_ms: u64) {
        let answers = self.engine.try_limits(&self.caller.namespace, again.trial, &again.request.parts);
        // Reads, writes and transactions stand or fall as a whole.
        let is_batch = again.trial == keywright_engine::Trial::Batch;
        let is_whole = !is_batch && answers.iter().any(Option::is_some);
        let mut rest = Request { parts: Vec::new(), labels: Vec::new() };
        let parts = std::mem::take(&mut again.request.parts);
        let labels = std::mem::take(&mut again.request.labels);
        for ((part, labels), answer) in parts.into_iter().zip(labels).zip(answers) {
            let passed = answer.is_none() && !is_whole;
            for (arm, (resource, label)) in part.arms.iter().zip(&labels) {
                let Some(tally) = self.tallies.get_mut(*resource) else { continue };
                tally.ask(arm.direction.place(), arm.units, &arm.key, label);
                if let Some(sum) = tally.minute.consumed.get_mut(arm.direction.place()).filter(|_| passed) {
                    *sum += arm.units;
                }
            }
            if let Some(throttled) = &answer {
                self.note_refusal(&part.table, throttled);
            }
            if !passed {
                rest.parts.push(part);
                rest.labels.push(labels);
            }
        }
        if rest.parts.is_empty() {
            return;
        }
        self.throttled_now += 1;
        if again.attempt >= self.profile.retries {
            self.lost += 1;
            return;
        }
        let delay = BACKOFF_MS.checked_shl(again.attempt).unwrap_or(BACKOFF_MS_MAX).min(BACKOFF_MS_MAX);
        let at_ms = now_ms + 1 + self.backoff.below(delay);
        let number = self.next_again;
        self.next_again += 1;
        self.waiting.push(Reverse((at_ms, number)));
        self.again.insert(number, Again { attempt: again.attempt + 1, request: rest, trial: again.trial });
    }

    fn note_refusal(&mut self, table: &str, throttled: &Throttled) {
        for reason in &throttled.reasons {
            let index = reason.resource.split_once("/index/").map(|(_, index)| index);
            let is_it = |own: &Resource| own.table == table && own.index.as_deref() == index;
            let Some(place) = self.resources.iter().position(is_it) else { continue };
            if let Some(tally) = self.tallies.get_mut(place) {
                *tally.minute.refused.entry(reason.name()).or_default() += 1;
            }
        }
    }

    fn begin_minute(&mut self) {
        assert_eq!(self.tallies.len(), self.resources.len(), "each resource has its tally");
        for (resource, tally) in self.resources.iter().zip(&mut self.tallies) {
            let state =
                self.engine.limit_state(&self.caller.namespace, &resource.table, resource.index.as_deref());
            let partitions = state.map(|state| state.partitions).unwrap_or_default();
            tally.starts = partitions.iter().map(|own| own.start.clone()).collect();
            tally.whole = partitions.iter().map(|own| own.whole).collect();
            tally.asked = vec![[HalfUnits(0); 2]; tally.starts.len()];
            tally.keys.0.clear();
            tally.heaviest_keys = vec![None; tally.starts.len()];
            tally.minute = Minute::default();
        }
    }

    fn end_minute(&mut self) {
        let minute = self.throttled.len();
        for (place, resource) in self.resources.iter().enumerate() {
            let state =
                self.engine.limit_state(&self.caller.namespace, &resource.table, resource.index.as_deref());
            let (Some(state), Some(tally)) = (state, self.tallies.get_mut(place)) else { continue };
            let mode =
                self.model.tables.iter().zip(self.table_modes).find(|(own, _)| own.name == resource.table);
            let mut ended = std::mem::take(&mut tally.minute);
            ended.units = state.units;
            ended.provisioned =
                mode.filter(|(_, mode)| **mode == TableMode::Provisioned).map(|_| state.units);
            ended.partitions = state.partitions.len();
            ended.heaviest = tally.heaviest();
            let (from, to) = (tally.starts.len(), state.partitions.len());
            let event = |what| Event { minute, resource: resource.clone(), what };
            if to > from {
                self.events.push(event(What::Split { from, to }));
            }
            for (number, own) in state.partitions.iter().enumerate() {
                let before = tally.starts.binary_search(&own.start).ok();
                let before = before.and_then(|place| tally.whole.get(place).copied().flatten());
                if let Some(why) = own.whole.filter(|_| before != own.whole) {
                    self.events.push(event(What::Whole { partition: number + 1, why }));
                }
            }
            if let Some(minutes) = self.minutes.get_mut(place) {
                minutes.push(ended);
            }
        }
        self.throttled.push(std::mem::take(&mut self.throttled_now));
    }

    /// Applies the changes of provisioned units that are due at this second.
    fn change(&self, second: u64) -> Result<(), String> {
        for (name, table) in &self.profile.tables {
            for change in table.changes.iter().filter(|change| change.at_s == second) {
                let state = self.engine.limit_state(&self.caller.namespace, name, None);
                let now = state.map_or([1, 1], |state| state.units);
                let parts = UpdateTableParts {
                    table_name: name.clone(),
                    provisioned_throughput: Some(provisioned(change.units, now)),
                    ..UpdateTableParts::default()
                };
                let request = UpdateTable::validate(&parts).map_err(|fault| refused(name, &fault.message))?;
                self.execute(EngineRequest::UpdateTable(Box::new(request)), name)?;
                self.work()?;
            }
        }
        Ok(())
    }
}

fn refused(table: &str, message: &str) -> String {
    format!("table `{table}`: {message}")
}

fn signed(units: u64) -> i64 {
    i64::try_from(units).unwrap_or(i64::MAX)
}

fn provisioned(units: Units, otherwise: [u64; 2]) -> ProvisionedThroughputParts {
    let [read, write] = otherwise;
    ProvisionedThroughputParts {
        read_capacity_units: signed(units.read.unwrap_or(read)),
        write_capacity_units: signed(units.write.unwrap_or(write)),
    }
}

fn table_parts(table: &Table, mode: TableMode, own: &TableProfile) -> CreateTableParts {
    let mut parts = create_parts(table);
    let declared = match table.billing {
        DeclaredCapacity::Provisioned { read_units, write_units, .. } => [read_units, write_units],
        DeclaredCapacity::OnDemand => [1, 1],
    };
    let warm = warm(own);
    parts.warm_throughput.clone_from(&warm);
    for index in parts.global_secondary_indexes.iter_mut().flatten() {
        index.warm_throughput.clone_from(&warm);
    }
    match mode {
        TableMode::OnDemand => {
            let max = (own.max != Units::default()).then_some(OnDemandThroughputParts {
                max_read_request_units: own.max.read.map(signed),
                max_write_request_units: own.max.write.map(signed),
            });
            parts.on_demand_throughput = max;
        }
        TableMode::Provisioned => {
            let units = provisioned(own.units, declared);
            parts.billing_mode = Some(BillingMode::Provisioned);
            let of_table = [units.read_capacity_units, units.write_capacity_units]
                .map(|it| u64::try_from(it).unwrap_or(1));
            parts.provisioned_throughput = Some(units);
            for index in parts.global_secondary_indexes.iter_mut().flatten() {
                let units = own.indexes.get(&index.index_name).copied().unwrap_or_default();
                index.provisioned_throughput = Some(provisioned(units, of_table));
            }
        }
    }
    parts
}

/// Warm throughput, or twice the peak served before the start, if either is given.
fn warm(own: &TableProfile) -> Option<WarmThroughputParts> {
    let most =
        |warm: Option<u64>, peak: Option<u64>| warm.max(peak.map(|peak| peak.saturating_mul(2))).map(signed);
    let (read, write) = (most(own.warm.read, own.peak.read), most(own.warm.write, own.peak.write));
    (read.is_some() || write.is_some())
        .then_some(WarmThroughputParts { read_units_per_second: read, write_units_per_second: write })
}
