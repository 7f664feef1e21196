//! Decides which segments of a table's keys are literals of
//! the design (`ORDER` in `ORDER#17`) and which are values.
//!
//! One text cannot decide it: `USER#alice` looks like `USER#profile`. Counting over all texts of a table can.
//! At each place of a key (after the same literals) there are few literals, each of them frequent and with
//! attributes of its own. Values are many, or each occurs in one partition, or their items are alike, or an
//! attribute holds them. If counting is inconclusive, a segment after a literal counts as a value. A missing
//! entity is corrected with one line; a literal in place of a value would give two items the same key.

use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::schema::IndexKind;
use keywright_semantics::value::Item;

use super::classify::{TYPE_ATTRIBUTES, is_self, text};
use super::electrodb::Labels;
use super::shape::{Cut, Role, cut, delimiter, reads_like_a_word, segments};
use super::template::is_generic;
use keywright_model::tables::TableDefinition;

/// The most literals at one place of a key, unless each of them is frequent.
const WORDS_MAX: usize = 12;

/// The most upper-case literals among items that are alike.
const ALIKE_MAX: usize = 4;

/// Parts of the names of type attributes. A segment can be a literal even if such an attribute holds it.
const TYPE_NAMES: [&str; 5] = ["type", "kind", "entity", "model", "class"];

/// Ends of the names of identifying attributes. Their values are
/// never literals, even if the examples contain only one value.
const IDENTIFYING_NAMES: [&str; 16] = [
    "id",
    "key",
    "code",
    "slug",
    "name",
    "tenant",
    "org",
    "organization",
    "account",
    "workspace",
    "customer",
    "company",
    "project",
    "site",
    "region",
    "country",
];

/// The literals in every key text of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lexicon {
    /// By key attribute and text: for each segment, whether it is a literal.
    words: BTreeMap<String, BTreeMap<String, Vec<bool>>>,
    /// Tenant names: first segments followed by the same literals, as in `acme#user#12` and `globex#user#7`.
    tenants: BTreeSet<String>,
    /// The labels of keys that contain the names of their attributes.
    labels: Option<Labels>,
    /// The values of type attributes, in lower case.
    types: BTreeSet<String>,
}

/// The text of one item's key attribute, in segments.
struct Row<'a> {
    item: usize,
    delimiter: Option<char>,
    segments: Vec<&'a str>,
    words: Vec<bool>,
}

/// The place of a segment: the segments before it, without values, and whether it is the last one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Spot<'a> {
    delimiter: Option<char>,
    before: Vec<Option<&'a str>>,
    last: bool,
    count: usize,
}

/// The knowledge about the table while its keys are read.
struct Around<'a> {
    items: &'a [&'a Item],
    /// Each item's non-key attributes.
    attributes: Vec<BTreeSet<&'a str>>,
    partitions: Vec<&'a str>,
    /// Known values: those of attributes, and those of key variables found so far.
    values: BTreeSet<&'a str>,
    /// Tenant names, and the literals that follow them.
    tenants: BTreeSet<&'a str>,
    tenants_words: BTreeSet<&'a str>,
    composed: bool,
    /// Whether the key attribute is named after its contents, as `Country`, and not just after its role.
    named: bool,
    /// The values of type attributes, in lower case.
    types: BTreeSet<String>,
    /// First segments that are the upper level of a hierarchy of values, such as the states above cities.
    levels: BTreeSet<&'a str>,
}

/// The segments at one place, with the items that have them.
struct Found<'a, 'b> {
    around: &'b Around<'a>,
    role: Role,
    spot: &'b Spot<'a>,
    by_text: BTreeMap<&'a str, Vec<usize>>,
    /// For each segment, the fewest segments of a text that contains it.
    depths: BTreeMap<&'a str, usize>,
    /// Whether all of them follow first segments that are the upper level of a hierarchy.
    below_levels: bool,
    /// For the first of several segments: the word-like segments that follow it, with their items.
    followers: BTreeMap<&'a str, Followers<'a>>,
}

/// The word-like segments after a first segment, with their items.
type Followers<'a> = BTreeMap<&'a str, Vec<usize>>;

impl Lexicon {
    /// Reads the keys of a table, the table's own key first.
    pub(crate) fn of(table: &TableDefinition, items: &[&Item]) -> Self {
        let mut around = Around::of(table, items);
        let mut lexicon = Self { labels: Labels::of(items), ..Self::default() };
        for (name, role) in places(table) {
            if lexicon.words.contains_key(name) {
                continue;
            }
            let mut rows: Vec<Row<'_>> = Vec::new();
            let mut own: BTreeMap<String, Vec<bool>> = BTreeMap::new();
            for (item, value) in items.iter().enumerate() {
                let Some(text) = text(value, name) else { continue };
                if let Some((_, words)) = lexicon.labels.as_ref().and_then(|labels| labels.cut(text)) {
                    own.insert(text.to_owned(), words);
                    continue;
                }
                let delimiter = delimiter(text);
                rows.push(Row { item, delimiter, segments: segments(text, delimiter), words: Vec::new() });
            }
            around.named = !is_generic(name);
            read(&mut around, role, &mut rows);
            own.extend(rows.into_iter().map(|row| {
                let delimiter = row.delimiter.map(String::from).unwrap_or_default();
                (row.segments.join(&delimiter), row.words)
            }));
            lexicon.words.insert(name.to_owned(), own);
        }
        lexicon.tenants = around.tenants.into_iter().map(str::to_owned).collect();
        lexicon.types = around.types;
        lexicon
    }

    /// Whether a segment is a tenant name.
    pub(super) fn is_tenant(&self, text: &str) -> bool {
        self.tenants.contains(text)
    }

    /// Whether a word is the value of a type attribute.
    pub(super) fn is_type(&self, word: &str) -> bool {
        self.types.contains(&word.to_lowercase())
    }

    /// A key's text in parts.
    pub(super) fn cut<'t>(&self, text: &'t str) -> Cut<'t> {
        let labelled = self.labels.as_ref().and_then(|labels| labels.cut(text));
        labelled.map_or_else(|| cut(text), |(cut, _)| cut)
    }

    /// The attribute that a label in a key names.
    pub(super) fn attribute_of(&self, label: &str) -> Option<&str> {
        self.labels.as_ref().map(|labels| labels.attribute_of(label))?
    }

    /// Whether a segment of a text is a literal; false for texts that were not read.
    pub(super) fn is_word(&self, attribute: &str, text: &str, at: usize) -> bool {
        let words = self.words.get(attribute).and_then(|texts| texts.get(text));
        words.and_then(|words| words.get(at)).copied().unwrap_or(false)
    }

    /// The literals of a text, with `*` for everything else. Texts of one template have the same shape.
    pub(super) fn shape(&self, attribute: &str, text: &str) -> String {
        let cut = self.cut(text);
        let parts = cut.parts.iter().enumerate();
        let parts = parts.map(|(at, part)| if self.is_word(attribute, text, at) { *part } else { "*" });
        let between = cut.between.iter().copied().chain([""]);
        parts.zip(between).flat_map(|(part, then)| [part, then]).collect()
    }
}

fn places(table: &TableDefinition) -> Vec<(&str, Role)> {
    let global = |kind: IndexKind| kind == IndexKind::Global;
    let keys = std::iter::once((&table.schema.key, true))
        .chain(table.schema.indexes.iter().map(|index| (&index.key, global(index.kind))));
    keys.flat_map(|(key, whole)| {
        let partition = key.partition.iter().filter(move |_| whole).map(|part| (part, Role::Partition));
        partition.chain(key.sort.iter().map(|part| (part, Role::Sort)))
    })
    .map(|(part, role)| (part.name.as_str(), role))
    .collect()
}

/// Decides place by place, because a segment is compared with those after the same literals.
fn read<'a>(around: &mut Around<'a>, role: Role, rows: &mut [Row<'a>]) {
    let longest = rows.iter().map(|row| row.segments.len()).max().unwrap_or(0);
    for at in 0..longest {
        let mut spots: BTreeMap<Spot<'a>, Vec<usize>> = BTreeMap::new();
        for (number, row) in rows.iter().enumerate().filter(|(_, row)| row.segments.len() > at) {
            let before = row.segments.iter().zip(&row.words);
            let spot = Spot {
                delimiter: row.delimiter,
                before: before.map(|(part, word)| word.then_some(*part)).collect(),
                last: row.segments.len() == at + 1,
                count: if at == 0 { row.segments.len().min(2) } else { row.segments.len() },
            };
            spots.entry(spot).or_default().push(number);
        }
        for (spot, numbers) in spots {
            let first = |number: &usize| rows.get(*number).and_then(|row| row.segments.first());
            let below_levels = at > 0
                && numbers.iter().all(|own| first(own).is_some_and(|part| around.levels.contains(part)));
            let mut found = Found {
                around,
                role,
                spot: &spot,
                by_text: BTreeMap::new(),
                depths: BTreeMap::new(),
                below_levels,
                followers: BTreeMap::new(),
            };
            for row in numbers.iter().filter_map(|number| rows.get(*number)) {
                let Some(part) = row.segments.get(at) else { continue };
                found.by_text.entry(part).or_default().push(row.item);
                let depth = found.depths.entry(part).or_insert(usize::MAX);
                *depth = row.segments.len().min(*depth);
                let followers = found.followers.entry(part).or_default();
                if let Some(next) = row.segments.get(at + 1).filter(|next| reads_like_a_word(next)) {
                    followers.entry(next).or_default().push(row.item);
                }
            }
            let tenants = if at == 0 && !spot.last { found.tenants() } else { BTreeSet::new() };
            let follow = tenants.iter().filter_map(|tenant| found.followers.get(tenant));
            let follow: Vec<&str> = follow.flat_map(|words| words.keys().copied()).collect();
            let levels = if at == 0 && !spot.last { found.levels() } else { BTreeSet::new() };
            let mut words = found.words();
            words.retain(|word| !tenants.contains(word) && !levels.contains(word));
            let values: Vec<&str> = found.by_text.into_keys().filter(|part| !words.contains(part)).collect();
            around.values.extend(values);
            around.levels.extend(levels);
            around.tenants.extend(tenants);
            around.tenants_words.extend(follow);
            for number in numbers {
                if let Some(row) = rows.get_mut(number)
                    && let Some(part) = row.segments.get(at)
                {
                    row.words.push(words.contains(part));
                }
            }
        }
    }
}

impl<'a> Around<'a> {
    fn of(table: &'a TableDefinition, items: &'a [&'a Item]) -> Self {
        let keys: BTreeSet<&str> = places(table).into_iter().map(|(name, _)| name).collect();
        let partition = table.schema.key.partition.first().map_or("", |key| key.name.as_str());
        let partitions: Vec<&str> =
            items.iter().map(|item| text(item, partition).unwrap_or_default()).collect();
        let attributes: Vec<BTreeSet<&str>> = items
            .iter()
            .map(|item| item.keys().map(String::as_str).filter(|name| !keys.contains(name)).collect())
            .collect();
        let values = items
            .iter()
            .zip(&attributes)
            .flat_map(|(item, names)| {
                names.iter().filter(|name| !says_type(name)).map(|name| text(item, name))
            })
            .flatten()
            .collect();
        let composed = partitions.iter().any(|text| delimiter(text).is_some());
        let (tenants, tenants_words) = (BTreeSet::new(), BTreeSet::new());
        let types = items.iter().flat_map(|item| TYPE_ATTRIBUTES.iter().filter_map(|name| text(item, name)));
        let types = types.map(str::to_lowercase).collect();
        let levels = BTreeSet::new();
        let named = false;
        Self { items, attributes, partitions, values, tenants, tenants_words, composed, named, types, levels }
    }

    fn partitions_of(&self, items: &[usize]) -> usize {
        items.iter().filter_map(|at| self.partitions.get(*at)).collect::<BTreeSet<_>>().len()
    }

    /// The attributes that at least one of the items has.
    fn attributes_of(&self, items: &[usize]) -> BTreeSet<&'a str> {
        items.iter().filter_map(|at| self.attributes.get(*at)).flatten().copied().collect()
    }
}

/// Whether an attribute's name suggests that it holds an item's type.
pub(crate) fn says_type(name: &str) -> bool {
    let lower = name.to_lowercase();
    TYPE_ATTRIBUTES.contains(&name) || TYPE_NAMES.iter().any(|part| lower.contains(part))
}

/// Whether an attribute's name suggests an identifier: `tenantId` does, `role` does not.
pub(super) fn identifies(name: &str) -> bool {
    let lower = name.to_lowercase();
    IDENTIFYING_NAMES.iter().any(|end| lower.ends_with(end))
}

/// Whether items with these attributes can be of one entity, which allows some optional attributes.
fn alike(one: &BTreeSet<&str>, other: &BTreeSet<&str>) -> bool {
    one.intersection(other).count() * 5 >= one.union(other).count() * 3
}

fn is_upper(word: &str) -> bool {
    word.chars().all(|letter| !letter.is_lowercase())
}

impl<'a> Found<'a, '_> {
    /// The segments that are literals.
    fn words(&self) -> BTreeSet<&'a str> {
        let mut words: BTreeSet<&'a str> =
            self.by_text.keys().copied().filter(|part| part.is_empty()).collect();
        let candidates = self.candidates();
        if self.below_levels {
            // A segment below a state is a city, unless it is a single word after all states.
            let one = |word: &&str| self.by_text.len() == 1 && self.partitions_of(word) > 1;
            words.extend(candidates.into_iter().filter(one));
        } else if !candidates.is_empty() && !self.held() {
            let chosen = match (self.spot.before.last(), self.spot.last, self.role) {
                (None, false, _) => self.prefixes(candidates),
                (None, true, Role::Partition) => self.whole_partitions(candidates),
                (None, true, Role::Sort) => self.by_likeness(candidates),
                (Some(Some(_)), true, _) => self.behind_a_word(&candidates),
                (Some(Some(_)), false, _) => self.between(candidates),
                (Some(None), last, _) => self.behind_a_value(candidates, last),
            };
            words.extend(chosen);
        }
        if !self.spot.last {
            let typed = self.by_text.keys().filter(|part| self.around.types.contains(&part.to_lowercase()));
            words.extend(typed);
        }
        words
    }

    /// Segments that look like words.
    fn candidates(&self) -> Vec<&'a str> {
        let first = self.spot.before.is_empty();
        let one_case = |word: &str| is_upper(word) || word.chars().all(|letter| !letter.is_uppercase());
        let texts = self.by_text.iter();
        let candidates = texts.filter(|(part, items)| {
            let often = self.role == Role::Sort && self.around.partitions_of(items) > 2;
            let any_case = first && (!self.spot.last || often);
            reads_like_a_word(part) && (any_case || one_case(part))
        });
        candidates.map(|(part, _)| *part).collect()
    }

    fn items_of(&self, part: &str) -> &[usize] {
        self.by_text.get(part).map_or(&[], Vec::as_slice)
    }

    fn partitions_of(&self, part: &str) -> usize {
        self.around.partitions_of(self.items_of(part))
    }

    /// Whether an attribute holds this segment in every item. A single short text proves nothing. Neither
    /// does the item's type, nor a first segment that all texts share.
    fn held(&self) -> bool {
        let mut texts = self.by_text.keys();
        let telling = self.by_text.len() > 1 || texts.clone().any(|part| part.len() > 3);
        let leads = self.spot.before.is_empty() && !self.spot.last && self.by_text.len() == 1;
        if texts.all(|part| self.around.types.contains(&part.to_lowercase())) {
            return false;
        }
        let first = self.by_text.values().flatten().next();
        let Some(names) = first.and_then(|at| self.around.attributes.get(*at)).filter(|_| telling) else {
            return false;
        };
        names.iter().filter(|name| !says_type(name) && (!leads || identifies(name))).any(|name| {
            self.by_text.iter().all(|(part, items)| {
                let own = |at: &usize| self.around.items.get(*at).and_then(|item| text(item, name));
                items.iter().all(|at| own(at) == Some(part))
            })
        })
    }

    /// First segments of sort keys that are the upper level of a hierarchy, as states are above cities: their
    /// items are alike, each occurs in one partition only, and several segments follow.
    fn levels(&self) -> BTreeSet<&'a str> {
        if self.role != Role::Sort || self.by_text.keys().any(|part| !reads_like_a_word(part)) {
            return BTreeSet::new();
        }
        let all: Vec<&'a str> = self.by_text.keys().copied().collect();
        let attributes: Vec<BTreeSet<&str>> =
            all.iter().map(|part| self.around.attributes_of(self.items_of(part))).collect();
        let first = attributes.first().cloned().unwrap_or_default();
        let like_the_first = attributes.iter().all(|own| !own.is_empty() && alike(&first, own));
        let apart = all.iter().all(|part| self.partitions_of(part) == 1);
        let deep = all.iter().all(|part| self.depths.get(part).is_some_and(|depth| *depth > 2));
        let items: Vec<usize> = self.by_text.values().flatten().copied().collect();
        let partitions = self.around.partitions_of(&items);
        let several = partitions > 1 && all.len() > partitions || !self.around.composed && all.len() > 2;
        let typed = all.iter().any(|part| self.around.types.contains(&part.to_lowercase()));
        if like_the_first && apart && deep && several && !typed {
            all.into_iter().collect()
        } else {
            BTreeSet::new()
        }
    }

    /// The first of several segments is nearly always a literal, unless there are many and each is rare.
    fn prefixes(&self, candidates: Vec<&'a str>) -> Vec<&'a str> {
        let total: usize = self.by_text.values().map(Vec::len).sum();
        let few = self.by_text.len() <= WORDS_MAX;
        candidates.into_iter().filter(|word| few || self.items_of(word).len() * 20 >= total).collect()
    }

    /// First segments that are tenant names: the same literals follow
    /// each of them, with items that have the same attributes.
    fn tenants(&self) -> BTreeSet<&'a str> {
        let mut clusters: Vec<(Followers<'a>, Vec<&'a str>)> = Vec::new();
        for (text, followers) in &self.followers {
            if self.around.tenants.contains(text) {
                clusters.push((followers.clone(), vec![text]));
                continue;
            }
            let followed: usize = followers.values().map(Vec::len).sum();
            if followed == 0 || followed * 5 < self.items_of(text).len() * 4 {
                continue;
            }
            match clusters.iter_mut().find(|(known, _)| self.same_followers(known, followers)) {
                Some((known, texts)) => {
                    for (word, items) in followers {
                        known.entry(word).or_default().extend(items);
                    }
                    texts.push(text);
                }
                None => clusters.push((followers.clone(), vec![text])),
            }
        }
        let tenants = clusters.into_iter().filter(|(followers, texts)| self.are_tenants(followers, texts));
        tenants.flat_map(|(_, texts)| texts).collect()
    }

    /// Whether two first segments are followed by the same literals,
    /// as far as the examples show, with items that are alike.
    fn same_followers(&self, one: &Followers<'a>, other: &Followers<'a>) -> bool {
        let shared: Vec<(&Vec<usize>, &Vec<usize>)> =
            one.iter().filter_map(|(word, items)| Some((items, other.get(word)?))).collect();
        let similar = |(ours, theirs): &(&Vec<usize>, &Vec<usize>)| {
            let (ours, theirs) = (self.around.attributes_of(ours), self.around.attributes_of(theirs));
            let part = !ours.is_empty() && !theirs.is_empty();
            alike(&ours, &theirs) || (part && (ours.is_subset(&theirs) || theirs.is_subset(&ours)))
        };
        shared.len() * 2 >= one.len().min(other.len()) && !shared.is_empty() && shared.iter().all(similar)
    }

    /// Whether first segments with the same followers are values and the
    /// followers literals. Several literals have items with different attributes.
    /// With a single follower, or with items alike, upper and lower case decide.
    fn are_tenants(&self, followers: &Followers<'a>, texts: &[&'a str]) -> bool {
        if texts.iter().any(|text| self.around.tenants.contains(text)) {
            return true;
        }
        if texts.len() < 2 || followers.len() > WORDS_MAX / 2 {
            return false;
        }
        let own: Vec<BTreeSet<&str>> =
            followers.values().map(|items| self.around.attributes_of(items)).collect();
        let first = own.first().cloned().unwrap_or_default();
        let lower = texts.iter().all(|text| !is_upper(text));
        let longer = texts.len() > 2 && followers.values().all(|items| items.len() >= texts.len() * 2);
        own.iter().any(|other| !alike(&first, other))
            || (lower && followers.keys().all(|word| is_upper(word)))
            || (lower && longer && own.len() == 1 && self.role == Role::Partition)
    }

    /// A partition key of one segment is an identifier, unless the table's other partition keys are composed
    /// or its values repeat. A key named after its contents holds values.
    fn whole_partitions(&self, candidates: Vec<&'a str>) -> Vec<&'a str> {
        if self.around.named && !self.around.composed {
            return Vec::new();
        }
        let all = candidates.len() == self.by_text.len();
        let upper = candidates.iter().all(|word| is_upper(word) && word.len() > 2);
        let repeated = candidates.iter().all(|word| self.items_of(word).len() > 1);
        let composed = self.around.composed;
        let words = all
            && ((upper && candidates.len() <= 3 && (composed || repeated))
                || (composed && candidates.len() == 1));
        if words { candidates } else { Vec::new() }
    }

    /// A sort key of one segment: literals have items that differ
    /// in their attributes, or there are only few of them.
    fn by_likeness(&self, candidates: Vec<&'a str>) -> Vec<&'a str> {
        let mut words = Vec::new();
        let all: Vec<usize> = self.by_text.values().flatten().copied().collect();
        let partitions = self.around.partitions_of(&all);
        for cluster in self.clusters(candidates) {
            let upper = cluster.iter().all(|word| is_upper(word));
            let spread = |count: usize| cluster.iter().all(|word| self.partitions_of(word) >= count);
            let few = match cluster.len() {
                1 => true,
                2 => upper || spread(3),
                count => upper && (count <= ALIKE_MAX || (count <= WORDS_MAX && spread(2))),
            };
            // A single word that occurs in nearly every partition is a literal among values.
            let everywhere: Vec<&str> = cluster
                .iter()
                .copied()
                .filter(|word| partitions > 2 && self.partitions_of(word) * 2 > partitions)
                .collect();
            match everywhere.as_slice() {
                _ if few => words.extend(cluster),
                [one] => words.push(one),
                _ => words.extend(cluster.into_iter().filter(|word| is_self(word))),
            }
        }
        let rare = |word: &&str| self.partitions_of(word) < 2 && !is_self(word) && !is_upper(word);
        if words.iter().filter(|word| rare(word)).count() > WORDS_MAX {
            words.retain(|word| !rare(word));
        }
        words
    }

    /// Groups of words whose items are alike. Words whose items look like those of values are left out,
    /// unless they occur in several partitions.
    fn clusters(&self, candidates: Vec<&'a str>) -> Vec<Vec<&'a str>> {
        let values = self.by_text.iter().filter(|(part, _)| !candidates.contains(part));
        let values: Vec<BTreeSet<&str>> = values
            .map(|(_, items)| self.around.attributes_of(items))
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let mut clusters: Vec<(bool, BTreeSet<&str>, Vec<&'a str>)> = Vec::new();
        for word in candidates {
            let own = self.around.attributes_of(self.items_of(word));
            let among_values = values.iter().any(|value| alike(value, &own));
            if among_values && self.partitions_of(word) < 2 && !is_self(word) {
                continue;
            }
            let upper = is_upper(word);
            match clusters.iter_mut().find(|(case, known, _)| *case == upper && alike(known, &own)) {
                Some((_, _, cluster)) => cluster.push(word),
                None => clusters.push((upper, own, vec![word])),
            }
        }
        clusters.into_iter().map(|(_, _, cluster)| cluster).collect()
    }

    /// The last segment after a literal is a value, unless it stands for "the item itself", or a few words
    /// occur in many partitions, each with attributes of its own.
    fn behind_a_word(&self, candidates: &[&'a str]) -> Vec<&'a str> {
        let clusters = self.clusters(candidates.to_vec());
        let selves = |cluster: &[&str]| cluster.iter().all(|word| is_self(word));
        let own = clusters.iter().all(|cluster| cluster.len() == 1);
        let spread = candidates.iter().all(|word| self.partitions_of(word) >= 2);
        let few = (2..=WORDS_MAX / 2).contains(&candidates.len()) && candidates.len() == self.by_text.len();
        if self.role == Role::Sort && own && spread && few {
            return candidates.to_vec();
        }
        clusters.into_iter().filter(|cluster| selves(cluster)).flatten().collect()
    }

    /// A segment between a literal and further segments. Literals and
    /// values alternate in texts with an even number of segments.
    fn between(&self, candidates: Vec<&'a str>) -> Vec<&'a str> {
        let alternating = self.spot.count.is_multiple_of(2) && self.spot.before.len() == 1;
        let all = candidates.len() == self.by_text.len();
        let items: usize = self.by_text.values().map(Vec::len).sum();
        let upper = candidates.iter().all(|word| is_upper(word));
        let few = if upper { candidates.len() <= WORDS_MAX / 2 } else { items >= candidates.len() * 8 };
        let named = candidates.iter().any(|word| self.around.values.contains(word));
        let words = !alternating && all && few && candidates.len() <= WORDS_MAX / 2 && (upper || !named);
        if words { candidates } else { Vec::new() }
    }

    /// A segment after a value is a literal, unless there are many of them or they are known values.
    fn behind_a_value(&self, candidates: Vec<&'a str>, last: bool) -> Vec<&'a str> {
        let known = |word: &&str| self.around.tenants_words.contains(word);
        if self.spot.before.len() == 1 && candidates.iter().any(known) {
            return candidates.into_iter().filter(|word| known(word)).collect();
        }
        let items: usize = self.by_text.values().map(Vec::len).sum();
        let upper = candidates.iter().all(|word| is_upper(word));
        let named = !upper && candidates.iter().any(|word| self.around.values.contains(word));
        let mixed = candidates.len() < self.by_text.len();
        let repeated = items >= candidates.len() * 2 || self.role == Role::Partition;
        let few = match (upper, last) {
            (true, _) | (false, false) => candidates.len() <= WORDS_MAX / 2 || items >= candidates.len() * 8,
            (false, true) => candidates.len() == 1 || (candidates.len() <= ALIKE_MAX && repeated),
        };
        let words = few && !named && !(mixed && last && !upper);
        if words { candidates } else { Vec::new() }
    }
}
