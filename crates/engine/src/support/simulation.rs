//! What a simulation does to replication between regions: how late and how often changes arrive, which do
//! not, and which regions have a wrong clock.
//!
//! It is data. It acts on deliveries and on versions only (`links`), so no setting loses an
//! acknowledged write otherwise than by the rule that the later write of an item wins.

use super::env::AccountId;

/// Millionths of a certain chance.
const CERTAIN: u32 = 1_000_000;

/// A chance between zero and one, in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Chance(u32);

impl Chance {
    /// Of so many millionths; `None` above one.
    pub fn of_millionths(millionths: u32) -> Option<Self> {
        (millionths <= CERTAIN).then_some(Self(millionths))
    }

    /// The chance in millionths.
    pub const fn millionths(self) -> u32 {
        self.0
    }

    /// Whether an even draw hits.
    pub(crate) fn hits(self, draw: u64) -> bool {
        draw % u64::from(CERTAIN) < u64::from(self.0)
    }
}

/// The regions that a rule is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Regions {
    /// All that no rule names.
    Any,
    /// The region of this name.
    One(String),
}

impl Regions {
    fn has(&self, region: &str) -> bool {
        match self {
            Self::Any => true,
            Self::One(name) => name == region,
        }
    }

    const fn is_one(&self) -> bool {
        matches!(self, Self::One(_))
    }
}

/// Changes on their way from one region to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairRule {
    /// Where they were written.
    pub from: Regions,
    /// Where they go.
    pub to: Regions,
    /// Milliseconds after which each arrives.
    pub latency_ms: u64,
    /// The most milliseconds that are added to it. What is drawn holds for a whole commit.
    pub jitter_ms: u64,
    /// Nothing arrives.
    pub partition: bool,
    /// How often a change arrives twice.
    pub duplicate: Chance,
    /// How often a change lets changes of other items overtake it.
    pub reorder: Chance,
    /// How often an item of a commit arrives apart from those before it.
    pub split_transactions: Chance,
    /// When the rule ends.
    pub until_ms: Option<u64>,
}

impl PairRule {
    /// A rule that changes nothing.
    pub const fn none(from: Regions, to: Regions) -> Self {
        Self {
            from,
            to,
            latency_ms: 0,
            jitter_ms: 0,
            partition: false,
            duplicate: Chance(0),
            reorder: Chance(0),
            split_transactions: Chance(0),
            until_ms: None,
        }
    }
}

/// A region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionRule {
    /// Its name.
    pub region: String,
    /// Nothing arrives there, and nothing leaves it.
    pub pause: bool,
    /// What is added to the time in the versions of its writes.
    pub clock_ms: i64,
    /// Since when it is cut off from the other regions of strongly consistent tables, if it is. A rule that
    /// replaces one with such a time keeps that.
    pub isolated_ms: Option<u64>,
    /// When the rule ends.
    pub until_ms: Option<u64>,
}

/// The replicas of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableRule {
    /// Whose table; of every account if there is none.
    pub account: Option<AccountId>,
    /// The table's name.
    pub table: String,
    /// Changes move only when they are delivered one by one.
    pub step: bool,
    /// How long a write of a strongly consistent table is on its way between regions. Another region's write
    /// of the same item conflicts with it until then.
    pub round_trip_ms: u64,
    /// How often a write of a strongly consistent table is refused as if another region wrote the item.
    pub conflict: Chance,
    /// When the rule ends.
    pub until_ms: Option<u64>,
}

impl TableRule {
    /// A rule that changes nothing, for the tables of every account with this name.
    pub const fn none(table: String) -> Self {
        Self { account: None, table, step: false, round_trip_ms: 0, conflict: Chance(0), until_ms: None }
    }
}

/// Why a replica takes no part in replication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inaccessible {
    /// Its account has switched its region off.
    RegionDisabled,
    /// Its key cannot be used.
    EncryptionCredentials,
    /// Replication may not read or write it.
    NotAuthorized,
}

impl Inaccessible {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::RegionDisabled, Self::EncryptionCredentials, Self::NotAuthorized];

    /// Its name as a status of a replica (API reference: `ReplicaDescription`).
    pub const fn name(self) -> &'static str {
        match self {
            Self::RegionDisabled => "REGION_DISABLED",
            Self::EncryptionCredentials => "INACCESSIBLE_ENCRYPTION_CREDENTIALS",
            Self::NotAuthorized => "REPLICATION_NOT_AUTHORIZED",
        }
    }
}

/// A replica that takes no part in replication. If that lasts, it leaves its group for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaRule {
    /// Whose table; of every account if there is none.
    pub account: Option<AccountId>,
    /// The table's name.
    pub table: String,
    /// The replica's region.
    pub region: String,
    /// Why.
    pub status: Inaccessible,
    /// Since when. A rule that replaces an equal one keeps its time.
    pub since_ms: u64,
    /// When the rule ends.
    pub until_ms: Option<u64>,
}

impl ReplicaRule {
    /// Whether two rules say the same of the same replica.
    fn repeats(&self, other: &Self) -> bool {
        let Self { account, table, region, status, since_ms: _, until_ms: _ } = self;
        (account, table, region, status) == (&other.account, &other.table, &other.region, &other.status)
    }
}

/// All that a simulation does. Nothing is simulated by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simulation {
    /// What draws follow from.
    pub seed: u64,
    /// A rule for one region comes before one for all, first by where changes come from.
    pub pairs: Vec<PairRule>,
    /// One rule for a region.
    pub regions: Vec<RegionRule>,
    /// One rule for a table.
    pub tables: Vec<TableRule>,
    /// One rule for a replica.
    pub replicas: Vec<ReplicaRule>,
}

impl Simulation {
    /// The rule for changes from one region to another.
    pub(crate) fn pair(&self, from: &str, to: &str, now_ms: u64) -> Option<&PairRule> {
        let fit = |rule: &&PairRule| is_live(rule.until_ms, now_ms) && rule.from.has(from) && rule.to.has(to);
        self.pairs.iter().filter(fit).max_by_key(|rule| (rule.from.is_one(), rule.to.is_one()))
    }

    /// The rule for a region.
    pub(crate) fn region(&self, region: &str, now_ms: u64) -> Option<&RegionRule> {
        self.regions.iter().find(|rule| is_live(rule.until_ms, now_ms) && rule.region == region)
    }

    /// Whether changes of a table move only when they are delivered one by one.
    pub(crate) fn is_stepped(&self, account: &str, table: &str, now_ms: u64) -> bool {
        self.rules_of((account, table), now_ms).any(|rule| rule.step)
    }

    /// The rules for a table.
    pub(crate) fn rules_of<'s>(
        &'s self,
        (account, table): (&'s str, &'s str),
        now_ms: u64,
    ) -> impl Iterator<Item = &'s TableRule> {
        self.tables.iter().filter(move |rule| {
            let is_account = rule.account.as_ref().is_none_or(|owner| owner.as_str() == account);
            is_live(rule.until_ms, now_ms) && is_account && rule.table == table
        })
    }

    /// Why a replica of a table takes no part in replication, if so.
    pub(crate) fn inaccessible(
        &self,
        (account, table): (&str, &str),
        region: &str,
        now_ms: u64,
    ) -> Option<&ReplicaRule> {
        self.replicas.iter().find(|rule| {
            let is_account = rule.account.as_ref().is_none_or(|owner| owner.as_str() == account);
            is_live(rule.until_ms, now_ms) && is_account && rule.table == table && rule.region == region
        })
    }

    /// The same after another simulation: what goes on keeps the time at which it began.
    pub(crate) fn after(mut self, before: &Self) -> Self {
        for rule in &mut self.replicas {
            if let Some(known) = before.replicas.iter().find(|known| known.repeats(rule)) {
                rule.since_ms = known.since_ms;
            }
        }
        for rule in &mut self.regions {
            let Some(began_ms) = rule.isolated_ms else { continue };
            // One that ended before this one began was another.
            let known = before.region(&rule.region, began_ms).and_then(|known| known.isolated_ms);
            rule.isolated_ms = Some(known.unwrap_or(began_ms));
        }
        self
    }

    /// The same without the rules that have ended.
    pub(crate) fn at(&self, now_ms: u64) -> Self {
        let mut now = self.clone();
        now.pairs.retain(|rule| is_live(rule.until_ms, now_ms));
        now.regions.retain(|rule| is_live(rule.until_ms, now_ms));
        now.tables.retain(|rule| is_live(rule.until_ms, now_ms));
        now.replicas.retain(|rule| is_live(rule.until_ms, now_ms));
        now
    }

    /// Whether there is any rule.
    pub(crate) fn has_rules(&self) -> bool {
        let is_empty = self.pairs.is_empty() && self.regions.is_empty() && self.tables.is_empty();
        !is_empty || !self.replicas.is_empty()
    }

    /// Whether a rule changes something.
    pub(crate) fn has_effect(&self) -> bool {
        let pair = |rule: &PairRule| {
            let is_late = rule.latency_ms > 0 || rule.jitter_ms > 0 || rule.partition;
            let chances = [rule.duplicate, rule.reorder, rule.split_transactions];
            is_late || chances.iter().any(|chance| *chance > Chance::default())
        };
        self.pairs.iter().any(pair)
            || self.regions.iter().any(|rule| rule.pause || rule.clock_ms != 0 || rule.isolated_ms.is_some())
            || self
                .tables
                .iter()
                .any(|rule| rule.step || rule.round_trip_ms > 0 || rule.conflict > Chance::default())
            || !self.replicas.is_empty()
    }

    /// When the next rule ends.
    pub(crate) fn next_end_ms(&self) -> Option<u64> {
        let pairs = self.pairs.iter().map(|rule| rule.until_ms);
        let regions = self.regions.iter().map(|rule| rule.until_ms);
        let tables = self.tables.iter().map(|rule| rule.until_ms);
        let replicas = self.replicas.iter().map(|rule| rule.until_ms);
        pairs.chain(regions).chain(tables).chain(replicas).flatten().min()
    }
}

fn is_live(until_ms: Option<u64>, now_ms: u64) -> bool {
    until_ms.is_none_or(|until_ms| now_ms < until_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(from: &str, to: &str, latency_ms: u64) -> PairRule {
        let regions = |name: &str| if name == "*" { Regions::Any } else { Regions::One(name.to_owned()) };
        PairRule { latency_ms, ..PairRule::none(regions(from), regions(to)) }
    }

    #[test]
    fn the_most_exact_rule_of_a_pair_holds_until_it_ends() {
        let until = PairRule { until_ms: Some(50), ..pair("a", "b", 4) };
        let pairs = vec![until, pair("*", "*", 1), pair("*", "b", 2), pair("a", "*", 3)];
        let simulation = Simulation { pairs, ..Simulation::default() };
        let latency = |from, to, now_ms| simulation.pair(from, to, now_ms).map(|rule| rule.latency_ms);
        assert_eq!([latency("a", "b", 49), latency("a", "b", 50)], [Some(4), Some(3)]);
        assert_eq!([latency("c", "b", 0), latency("c", "d", 0)], [Some(2), Some(1)]);
        assert_eq!(simulation.next_end_ms(), Some(50));
        assert_eq!(simulation.at(50).pairs.len(), 3);
    }

    #[test]
    fn a_replica_stays_inaccessible_since_its_first_rule_while_later_ones_say_the_same() {
        let rule = |status, since_ms| ReplicaRule {
            account: None,
            table: "T".to_owned(),
            region: "a".to_owned(),
            status,
            since_ms,
            until_ms: Some(90),
        };
        let of = |rule| Simulation { replicas: vec![rule], ..Simulation::default() };
        let first = of(rule(Inaccessible::NotAuthorized, 1));
        let since = |simulation: &Simulation, region, now_ms| {
            simulation.inaccessible(("1", "T"), region, now_ms).map(|rule| rule.since_ms)
        };
        let again = of(rule(Inaccessible::NotAuthorized, 5)).after(&first);
        let other = of(rule(Inaccessible::RegionDisabled, 5)).after(&first);
        assert_eq!([since(&again, "a", 6), since(&other, "a", 6)], [Some(1), Some(5)]);
        assert_eq!([since(&again, "b", 6), since(&again, "a", 90)], [None, None]);
        assert!(again.has_effect() && again.has_rules() && !again.at(90).has_rules());
    }

    #[test]
    fn a_table_is_stepped_in_its_account() {
        let rule = TableRule {
            account: Some(AccountId::from("1")),
            step: true,
            until_ms: Some(9),
            ..TableRule::none("T".to_owned())
        };
        let simulation = Simulation { tables: vec![rule], ..Simulation::default() };
        let stepped = |account, table, now_ms| simulation.is_stepped(account, table, now_ms);
        assert_eq!([stepped("1", "T", 8), stepped("1", "T", 9)], [true, false]);
        assert_eq!([stepped("2", "T", 8), stepped("1", "U", 8)], [false, false]);
    }
}
