//! A sorted map of rows that is cheap to copy: the store's write buffer.
//!
//! It is a B-tree whose nodes are shared between copies. A copy is a reference to the root; a write replaces
//! the nodes on its path unless no copy shares them. So every view of the store keeps its own copy, and a map
//! holds one version of each key, however often it was overwritten.
//!
//! It does not know what rows mean, nor which rows other layers have.

use std::sync::Arc;

use keywright_store::Direction;
use lsm_tree::Slice;

/// Entries of a node. Small nodes make writes cheap: each write copies one node of every level.
const NODE_LEN_MAX: usize = 24;
/// Bytes of memory per row besides key and value, roughly.
const ROW_OVERHEAD_BYTES: usize = 96;

/// A key and what it holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) key: Slice,
    /// `None` means that the key is deleted, even if older layers have it.
    pub(crate) value: Option<Slice>,
}

impl Row {
    fn bytes(&self) -> usize {
        self.key.len() + self.value.as_ref().map_or(0, |value| value.len()) + ROW_OVERHEAD_BYTES
    }
}

enum Node {
    Leaf(Vec<Arc<Row>>),
    Branch(Vec<Child>),
}

/// A copy has room for one more entry, because a node is copied in order to insert.
impl Clone for Node {
    fn clone(&self) -> Self {
        match self {
            Self::Leaf(rows) => Self::Leaf(with_room(rows)),
            Self::Branch(children) => Self::Branch(with_room(children)),
        }
    }
}

fn with_room<T: Clone>(entries: &[T]) -> Vec<T> {
    let mut copy = Vec::with_capacity(NODE_LEN_MAX + 1);
    copy.extend_from_slice(entries);
    copy
}

/// A subtree and its first row.
#[derive(Clone)]
struct Child {
    first: Arc<Row>,
    node: Arc<Node>,
}

/// Invariants: rows are in the order of their keys, each key once; all leaves have the same depth; only the
/// root of an empty map is an empty node; `bytes` is the sum of the rows' bytes.
#[derive(Clone)]
pub(crate) struct RowMap {
    root: Arc<Node>,
    bytes: usize,
    len: usize,
}

impl Default for RowMap {
    fn default() -> Self {
        Self { root: Arc::new(Node::Leaf(Vec::new())), bytes: 0, len: 0 }
    }
}

/// What an insertion did below a node.
struct Inserted {
    replaced: Option<Arc<Row>>,
    /// The right half of a node that was full.
    split: Option<Child>,
}

impl Node {
    fn first(&self) -> Option<&Arc<Row>> {
        match self {
            Self::Leaf(rows) => rows.first(),
            Self::Branch(children) => children.first().map(|child| &child.first),
        }
    }

    fn insert(&mut self, row: Arc<Row>) -> Inserted {
        match self {
            Self::Leaf(rows) => {
                let replaced = match rows.binary_search_by(|held| held.key.cmp(&row.key)) {
                    Ok(place) => rows.get_mut(place).map(|held| std::mem::replace(held, row)),
                    Err(place) => {
                        rows.insert(place, row);
                        None
                    }
                };
                Inserted { replaced, split: split(rows).map(|half| Child::of(Self::Leaf(half))) }
            }
            Self::Branch(children) => {
                let place = place_of(children, &row.key);
                let child = children.get_mut(place).expect("a branch has the child that a key belongs to");
                let Inserted { replaced, split: below } = Arc::make_mut(&mut child.node).insert(row);
                child.first = Arc::clone(child.node.first().expect("a child has a row"));
                if let Some(half) = below {
                    children.insert(place + 1, half);
                }
                Inserted { replaced, split: split(children).map(|half| Child::of(Self::Branch(half))) }
            }
        }
    }

    /// Removes a key that the node holds.
    fn remove(&mut self, key: &[u8]) -> Option<Arc<Row>> {
        match self {
            Self::Leaf(rows) => {
                let place = rows.binary_search_by(|held| held.key.as_ref().cmp(key)).ok()?;
                Some(rows.remove(place))
            }
            Self::Branch(children) => {
                let place = place_of(children, key);
                let child = children.get_mut(place)?;
                let removed = Arc::make_mut(&mut child.node).remove(key)?;
                match child.node.first() {
                    Some(first) => child.first = Arc::clone(first),
                    None => drop(children.remove(place)),
                }
                Some(removed)
            }
        }
    }
}

impl Child {
    fn of(node: Node) -> Self {
        let first = Arc::clone(node.first().expect("a half of a full node has a row"));
        Self { first, node: Arc::new(node) }
    }
}

/// The upper half of a node that has become too large.
fn split<T>(entries: &mut Vec<T>) -> Option<Vec<T>> {
    // Keys often arrive in order: the node that stays is then never written again, so it is left fuller.
    (entries.len() > NODE_LEN_MAX).then(|| entries.split_off(NODE_LEN_MAX * 2 / 3))
}

/// The place of the child whose subtree a key belongs to.
fn place_of(children: &[Child], key: &[u8]) -> usize {
    children.partition_point(|child| child.first.key.as_ref() <= key).saturating_sub(1)
}

impl RowMap {
    /// Memory of all rows, roughly.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<&Arc<Row>> {
        let mut node = &*self.root;
        loop {
            match node {
                Node::Leaf(rows) => {
                    let place = rows.binary_search_by(|held| held.key.as_ref().cmp(key)).ok()?;
                    return rows.get(place);
                }
                Node::Branch(children) => node = &*children.get(place_of(children, key))?.node,
            }
        }
    }

    /// Inserts a row in the place of one with the same key.
    pub(crate) fn insert(&mut self, row: Row) -> Option<Arc<Row>> {
        self.bytes += row.bytes();
        let Inserted { replaced, split } = Arc::make_mut(&mut self.root).insert(Arc::new(row));
        if let Some(half) = split {
            let first = Arc::clone(self.root.first().expect("a root that was split has rows"));
            let left = Child { first, node: Arc::clone(&self.root) };
            self.root = Arc::new(Node::Branch(vec![left, half]));
        }
        match &replaced {
            Some(row) => self.bytes -= row.bytes(),
            None => self.len += 1,
        }
        replaced
    }

    /// Removes a row. Nodes may become small; a map that shrinks is soon flushed and replaced by an empty
    /// one.
    pub(crate) fn remove(&mut self, key: &[u8]) -> Option<Arc<Row>> {
        self.get(key)?;
        let removed = Arc::make_mut(&mut self.root).remove(key)?;
        self.bytes -= removed.bytes();
        self.len -= 1;
        if self.len == 0 {
            *self = Self::default();
        }
        while let Node::Branch(children) = &*self.root
            && let [only] = children.as_slice()
        {
            self.root = Arc::clone(&only.node);
        }
        Some(removed)
    }

    /// The rows from `start` on, and below `end`, in either order.
    pub(crate) fn range(&self, start: &[u8], end: &[u8], direction: Direction) -> Rows {
        let mut rows = Rows {
            path: Vec::new(),
            direction,
            bound: Slice::from(match direction {
                Direction::Forward => end,
                Direction::Backward => start,
            }),
        };
        rows.seek(
            &self.root,
            match direction {
                Direction::Forward => start,
                Direction::Backward => end,
            },
        );
        rows
    }

    /// All rows in order.
    pub(crate) fn iter(&self) -> Rows {
        let mut rows = Rows { path: Vec::new(), direction: Direction::Forward, bound: Slice::from([]) };
        rows.descend(Arc::clone(&self.root));
        rows
    }
}

/// Rows of a map in order. It shares the map's nodes, so that the map may change meanwhile.
pub(crate) struct Rows {
    /// From the root to a leaf: each node with the place of its next entry. Going backward it is the number
    /// of entries left.
    path: Vec<(Arc<Node>, usize)>,
    direction: Direction,
    /// The end, exclusive, or going backward the start, inclusive. Empty: none.
    bound: Slice,
}

impl Rows {
    /// Goes to the first row at or after `key`, or to the last one before it.
    fn seek(&mut self, root: &Arc<Node>, key: &[u8]) {
        let mut node = Arc::clone(root);
        loop {
            let (place, below) = match &*node {
                Node::Leaf(rows) => (rows.partition_point(|row| row.key.as_ref() < key), None),
                Node::Branch(children) => {
                    let place = place_of(children, key);
                    let below = children.get(place).map(|child| Arc::clone(&child.node));
                    (
                        match self.direction {
                            Direction::Forward => place + 1,
                            Direction::Backward => place,
                        },
                        below,
                    )
                }
            };
            self.path.push((node, place));
            match below {
                Some(below) => node = below,
                None => return,
            }
        }
    }

    /// Goes to the first leaf below a node, or to the last one.
    fn descend(&mut self, mut node: Arc<Node>) {
        loop {
            let (place, below) = match (&*node, self.direction) {
                (Node::Leaf(_), Direction::Forward) => (0, None),
                (Node::Leaf(rows), Direction::Backward) => (rows.len(), None),
                (Node::Branch(children), Direction::Forward) => (1, children.first()),
                (Node::Branch(children), Direction::Backward) => {
                    (children.len().saturating_sub(1), children.last())
                }
            };
            let below = below.map(|child| Arc::clone(&child.node));
            self.path.push((node, place));
            match below {
                Some(below) => node = below,
                None => return,
            }
        }
    }

    fn is_within(&self, row: &Row) -> bool {
        match self.direction {
            Direction::Forward => self.bound.is_empty() || row.key < self.bound,
            Direction::Backward => row.key >= self.bound,
        }
    }
}

impl Iterator for Rows {
    type Item = Arc<Row>;

    fn next(&mut self) -> Option<Arc<Row>> {
        loop {
            let (node, place) = self.path.last_mut()?;
            let at = match self.direction {
                Direction::Forward => Some(*place),
                Direction::Backward => place.checked_sub(1),
            };
            let next = at.and_then(|at| match &**node {
                Node::Leaf(rows) => rows.get(at).map(|row| Ok(Arc::clone(row))),
                Node::Branch(children) => children.get(at).map(|child| Err(Arc::clone(&child.node))),
            });
            match self.direction {
                Direction::Forward => *place += 1,
                Direction::Backward => *place = place.saturating_sub(1),
            }
            match next {
                Some(Ok(row)) if self.is_within(&row) => return Some(row),
                Some(Ok(_)) => self.path.clear(),
                Some(Err(below)) => self.descend(below),
                None => drop(self.path.pop()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use keywright_store::random::Random;

    use super::*;

    type Model = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

    fn slice(bytes: &[u8]) -> Slice {
        Slice::from(bytes)
    }

    fn pairs(rows: Rows) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
        rows.map(|row| (row.key.to_vec(), row.value.as_ref().map(|value| value.to_vec()))).collect()
    }

    fn check(map: &RowMap, model: &Model) {
        let all: Vec<_> = model.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        assert_eq!(pairs(map.iter()), all);
        assert_eq!(map.len(), model.len());
        let bytes = |row: Arc<Row>| row.bytes();
        assert_eq!(map.bytes(), map.iter().map(bytes).sum::<usize>());
    }

    /// A map and copies of it at several times, compared with sorted maps: every copy keeps what it had.
    #[test]
    fn a_map_and_its_copies_behave_as_sorted_maps() {
        let mut random = Random::new(7);
        let mut number = |below: u64| random.below(below);
        let (mut map, mut model) = (RowMap::default(), Model::new());
        let mut copies: Vec<(RowMap, Model)> = Vec::new();
        for step in 0..20_000_u64 {
            let key = number(3_000).to_be_bytes()[5..].to_vec();
            match number(10) {
                0..=2 => {
                    let removed = map.remove(&key).map(|row| row.value.as_ref().map(|value| value.to_vec()));
                    assert_eq!(removed, model.remove(&key));
                }
                3 => {
                    map.insert(Row { key: slice(&key), value: None });
                    model.insert(key.clone(), None);
                }
                _ => {
                    let value = step.to_be_bytes();
                    map.insert(Row { key: slice(&key), value: Some(slice(&value)) });
                    model.insert(key.clone(), Some(value.to_vec()));
                }
            }
            let found = map.get(&key).map(|row| row.value.as_ref().map(|value| value.to_vec()));
            assert_eq!(found.as_ref(), model.get(&key));
            if step % 1_000 == 0 {
                copies.push((map.clone(), model.clone()));
            }
            if step % 50 == 0 {
                let (one, other) =
                    (number(3_100).to_be_bytes()[5..].to_vec(), number(3_100).to_be_bytes()[5..].to_vec());
                let (start, end) = if one < other { (one, other) } else { (other, one) };
                let within: Vec<_> = model
                    .range(start.clone()..end.clone())
                    .map(|(key, value)| (key.clone(), value.clone()))
                    .collect();
                assert_eq!(pairs(map.range(&start, &end, Direction::Forward)), within);
                let backward: Vec<_> = within.into_iter().rev().collect();
                assert_eq!(pairs(map.range(&start, &end, Direction::Backward)), backward);
            }
        }
        for (map, model) in &copies {
            check(map, model);
        }
        check(&map, &model);
        for key in model.keys() {
            map.remove(key);
        }
        check(&map, &Model::new());
        assert!(pairs(map.range(&[], &[0xFF], Direction::Backward)).is_empty());
    }

    #[test]
    fn rows_in_order_fill_the_nodes() {
        let mut map = RowMap::default();
        for number in 0..10_000_u64 {
            map.insert(Row { key: slice(&number.to_be_bytes()), value: None });
        }
        assert_eq!(map.iter().count(), 10_000);
        let mut leaves = 0;
        let mut nodes = vec![Arc::clone(&map.root)];
        while let Some(node) = nodes.pop() {
            match &*node {
                Node::Leaf(_) => leaves += 1,
                Node::Branch(children) => nodes.extend(children.iter().map(|child| Arc::clone(&child.node))),
            }
        }
        assert!(leaves <= 10_000 / (NODE_LEN_MAX / 2), "{leaves} leaves");
    }
}
