//! Derives what a disk can hold after a loss of power from a recording of a program's file operations.
//!
//! It follows everything under one folder: the contents of each file and folder, and which changes were
//! synced. From that it builds the folder as it can be found after a loss of power at any line of the
//! recording: everything that was synced, and of the rest what a seed decides.
//!
//! A file operation that it cannot interpret (mapped writes, copies by the kernel) fails the test.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use crate::support::dice::Dice;
use crate::support::key_streams::{KeyStreams, Keyed, is_zero, lengthen};
use crate::support::strace::{Argument, Call, End, Trace};

const SECTOR_BYTES: u64 = 512;
const BLOCK_BYTES: usize = 65_536;

/// What a disk guarantees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Only what POSIX guarantees: a file's bytes are safe after a sync of the file, a name after a sync of
    /// its folder. Anything else can survive or not, in any order, in pieces of sectors; only a rename is
    /// atomic.
    Strict,
    /// Like file systems with a metadata journal (ext4, XFS): names change in one order for the whole disk,
    /// and any sync makes all earlier names safe. File contents are as above.
    Journaled,
}

/// Syncs that a faulty store leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgotten {
    Journals,
    OtherFiles,
    Folders,
}

type Node = usize;

/// The bytes up to the last one that is not zero, and the length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Content {
    bytes: Vec<u8>,
    length: u64,
}

impl Content {
    fn read(file: &Path) -> Self {
        let mut bytes = fs::read(file).unwrap();
        let length = u64::try_from(bytes.len()).unwrap();
        let zeroes = bytes.rchunks(4096).take_while(|chunk| is_zero(chunk));
        let zeroes = zeroes.map(<[u8]>::len).sum::<usize>();
        bytes.truncate(bytes.len() - zeroes);
        bytes.shrink_to_fit();
        Self { bytes, length }
    }

    fn write(&mut self, offset: u64, written: &[u8]) {
        let start = usize::try_from(offset).unwrap();
        let end = start + written.len();
        if self.bytes.len() < end {
            lengthen(&mut self.bytes, end);
        }
        self.bytes[start..end].copy_from_slice(written);
        self.length = self.length.max(u64::try_from(end).unwrap());
    }

    fn cut(&mut self, length: u64) {
        self.length = length;
        self.bytes.truncate(usize::try_from(length).unwrap());
    }
}

/// One change of a file's bytes.
#[derive(Clone, Debug)]
struct Change {
    node: Node,
    begun: usize,
    ended: usize,
    what: Bytes,
}

#[derive(Clone, Debug)]
enum Bytes {
    Written { offset: u64, bytes: Vec<u8> },
    Length(u64),
}

/// One change of a name.
#[derive(Clone, Debug)]
struct Naming {
    begun: usize,
    ended: usize,
    /// The folder that must be synced to make it safe.
    folder: Node,
    what: Names,
}

#[derive(Clone, Debug)]
enum Names {
    Link(String, Node),
    Unlink(String),
    Rename { from: (Node, String), to: String, node: Node },
}

#[derive(Clone, Debug)]
struct Sync {
    node: Node,
    begun: usize,
    ended: usize,
}

type Folders = BTreeMap<Node, BTreeMap<String, Node>>;

fn apply(folders: &mut Folders, naming: &Naming) {
    if let Names::Rename { from: (folder, name), node, .. } = &naming.what {
        let names = folders.entry(*folder).or_default();
        if names.get(name) == Some(node) {
            names.remove(name);
        }
    }
    let names = folders.entry(naming.folder).or_default();
    match &naming.what {
        Names::Link(name, node) | Names::Rename { to: name, node, .. } => {
            names.insert(name.clone(), *node);
        }
        Names::Unlink(name) => {
            names.remove(name);
        }
    }
}

/// An open file description. Duplicated descriptors share it.
#[derive(Debug)]
struct Opened {
    node: Node,
    position: u64,
    appends: bool,
}

/// A folder's initial contents and all recorded changes.
#[derive(Clone, Debug)]
pub struct Recording {
    root: PathBuf,
    /// The initial contents: files, and the names in each folder.
    files: BTreeMap<Node, Content>,
    folders: Folders,
    /// The first name of each node.
    names: Vec<String>,
    changes: Vec<Change>,
    namings: Vec<Naming>,
    syncs: Vec<Sync>,
    pub lines: usize,
}

impl Recording {
    /// Reads the folder before the program is started; these contents count as synced.
    pub fn begin(root: &Path) -> Self {
        let mut recording = Self {
            root: root.to_owned(),
            files: BTreeMap::new(),
            folders: Folders::new(),
            names: Vec::new(),
            changes: Vec::new(),
            namings: Vec::new(),
            syncs: Vec::new(),
            lines: 0,
        };
        recording.take_in(root, String::new());
        recording
    }

    fn take_in(&mut self, path: &Path, name: String) -> Node {
        let node = self.new_node(name);
        if path.is_dir() {
            let mut names = BTreeMap::new();
            for entry in fs::read_dir(path).unwrap() {
                let entry = entry.unwrap();
                let name = entry.file_name().into_string().unwrap();
                names.insert(name.clone(), self.take_in(&entry.path(), name));
            }
            self.folders.insert(node, names);
        } else {
            self.files.insert(node, Content::read(path));
        }
        node
    }

    fn new_node(&mut self, name: String) -> Node {
        self.names.push(name);
        self.names.len() - 1
    }

    /// Applies the trace of the program.
    pub fn follow(&mut self, trace: &Trace) {
        self.lines = trace.lines;
        let mut follower = Follower {
            folders: self.folders.clone(),
            lengths: self.files.iter().map(|(node, content)| (*node, content.length)).collect(),
            recording: self,
            descriptors: HashMap::new(),
            opened: Vec::new(),
        };
        for (end, place) in &trace.ends {
            follower.step(*end, &trace.calls[*place]);
        }
    }

    /// The files that are journals, and since when: one is made under another name.
    fn journals(&self) -> Journals {
        let found = |node: &Node| is_journal(&self.names[*node]);
        let mut since: HashMap<Node, usize> =
            self.files.keys().copied().filter(found).map(|node| (node, 0)).collect();
        for naming in &self.namings {
            if let Names::Rename { to, node, .. } = &naming.what
                && is_journal(to)
            {
                since.entry(*node).or_insert(naming.ended);
            }
        }
        Journals(since)
    }

    /// How often a file was renamed to this name.
    pub fn renamed_to(&self, wanted: &str) -> usize {
        let is_wanted = |naming: &&Naming| matches!(&naming.what, Names::Rename { to, .. } if to == wanted);
        self.namings.iter().filter(is_wanted).count()
    }

    /// Notes the bytes that were written to encrypted files.
    pub fn note_key_streams(&self, streams: &mut KeyStreams) {
        let mut keyed = Keyed::default();
        for (node, content) in &self.files {
            keyed.found(*node, &content.bytes);
        }
        for change in &self.changes {
            if let Bytes::Written { offset, bytes } = &change.what {
                keyed.written(streams, change.node, *offset, bytes);
            }
        }
    }

    /// The same recording without these syncs.
    pub fn without_syncs(&self, forgotten: Forgotten) -> Self {
        let mut recording = self.clone();
        let journals = self.journals();
        recording.syncs.retain(|sync| {
            let is_folder = self.folders.contains_key(&sync.node);
            let is_journal = journals.has(sync);
            match forgotten {
                Forgotten::Journals => !is_journal,
                Forgotten::OtherFiles => is_journal || is_folder,
                Forgotten::Folders => !is_folder,
            }
        });
        recording
    }

    /// The line from which nothing is guaranteed if the power is lost before `line`: where the last completed
    /// sync of a journal began.
    pub fn synced_through(&self, line: usize) -> usize {
        let journals = self.journals();
        let done = self.syncs.iter().filter(|sync| sync.ended < line && journals.has(sync));
        done.map(|sync| sync.begun).max().unwrap_or(0)
    }

    /// Counts of written tables, replaced manifests, new journals, and shortened and removed files.
    pub fn summary(&self) -> String {
        let count =
            |wanted: &dyn Fn(&Naming) -> bool| self.namings.iter().filter(|naming| wanted(naming)).count();
        let tables =
            count(&|naming| matches!(&naming.what, Names::Link(..)) && self.names[naming.folder] == "tables");
        let lists = count(&|naming| matches!(&naming.what, Names::Rename { to, .. } if to == "current"));
        let journals = count(&|naming| matches!(&naming.what, Names::Rename { to, .. } if is_journal(to)));
        let removed = count(&|naming| matches!(&naming.what, Names::Unlink(_)));
        let cuts = self.changes.iter().filter(|change| matches!(change.what, Bytes::Length(_))).count();
        format!(
            "{} writes, {} syncs, {tables} tables, {lists} lists of tables, {journals} journals, {cuts} cuts of files, \
             {removed} files removed",
            self.changes.len(),
            self.syncs.len()
        )
    }

    /// A random line near which a loss of power matters: around a sync, a change of names, or anywhere.
    pub fn moment(&self, dice: &mut Dice) -> usize {
        let pick = |dice: &mut Dice, length: usize| {
            usize::try_from(dice.roll(u64::try_from(length.max(1)).unwrap())).unwrap()
        };
        let near = |dice: &mut Dice, line: usize| (line + pick(dice, 4)).saturating_sub(1);
        let place = pick(dice, usize::MAX >> 33);
        let journals = self.journals();
        let rare = self.syncs.iter().filter(|sync| !journals.has(sync)).collect::<Vec<_>>();
        match dice.roll(4) {
            0 if !self.namings.is_empty() => near(dice, self.namings[place % self.namings.len()].ended),
            1 if !rare.is_empty() => near(dice, rare[place % rare.len()].ended),
            2 if !self.syncs.is_empty() => near(dice, self.syncs[place % self.syncs.len()].ended),
            _ => pick(dice, self.lines + 1),
        }
    }

    /// A folder as it can be found after a loss of power before this line.
    pub fn image(&self, line: usize, model: Model, dice: &mut Dice) -> Image {
        let synced = self.synced(line);
        let folders = self.surviving_names(line, model, &synced, dice);
        let contents = self.surviving_contents(line, &synced, dice);
        let mut image = Image::default();
        image.place(0, Path::new(""), &folders, &contents);
        image
    }

    /// For each node, the line before which all its changes are safe.
    fn synced(&self, line: usize) -> HashMap<Node, usize> {
        let mut synced = HashMap::new();
        for sync in self.syncs.iter().filter(|sync| sync.ended < line) {
            let before = synced.entry(sync.node).or_insert(0);
            *before = sync.begun.max(*before);
        }
        synced
    }

    fn surviving_names(
        &self,
        line: usize,
        model: Model,
        synced: &HashMap<Node, usize>,
        dice: &mut Dice,
    ) -> Folders {
        let last_sync = synced.values().copied().max().unwrap_or(0);
        let is_safe = |naming: &Naming| match model {
            Model::Strict => naming.ended < synced.get(&naming.folder).copied().unwrap_or(0),
            Model::Journaled => naming.ended < last_sync,
        };
        // In the journaled model all names form one group, because they change in one order.
        let group = |naming: &Naming| if model == Model::Journaled { 0 } else { naming.folder };
        let happened = || self.namings.iter().filter(|naming| naming.begun < line);
        let doubtful = happened().filter(|naming| !is_safe(naming)).map(group);
        let mut lotteries = Lotteries::new(doubtful, model);
        let mut folders = self.folders.clone();
        for naming in happened() {
            let survives =
                is_safe(naming) || matches!(lotteries.draw(group(naming), dice), Fate::Whole | Fate::Sectors);
            if survives {
                apply(&mut folders, naming);
            }
        }
        folders
    }

    fn surviving_contents(
        &self,
        line: usize,
        synced: &HashMap<Node, usize>,
        dice: &mut Dice,
    ) -> BTreeMap<Node, Content> {
        let is_safe = |change: &Change| change.ended < synced.get(&change.node).copied().unwrap_or(0);
        let happened = || self.changes.iter().filter(|change| change.begun < line);
        let doubtful = happened().filter(|change| !is_safe(change)).map(|change| change.node);
        let mut lotteries = Lotteries::new(doubtful, Model::Strict);
        let mut contents = self.files.clone();
        for change in happened() {
            let fate = if is_safe(change) { Fate::Whole } else { lotteries.draw(change.node, dice) };
            change.apply(contents.entry(change.node).or_default(), fate, dice);
        }
        contents
    }
}

struct Journals(HashMap<Node, usize>);

impl Journals {
    /// Whether this is a sync of a journal that is in use.
    fn has(&self, sync: &Sync) -> bool {
        self.0.get(&sync.node).is_some_and(|since| *since <= sync.begun)
    }
}

/// Journals are synced with every commit.
fn is_journal(name: &str) -> bool {
    name.len() == 8 && name.bytes().all(|byte| byte.is_ascii_digit())
}

/// How much of a change survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Whole,
    Lost,
    /// A prefix of any length.
    Beginning,
    /// Any subset of its sectors.
    Sectors,
}

/// Decides which unsynced changes of each file or folder survive.
struct Lotteries {
    model: Model,
    /// Number of unsynced changes of each node.
    doubtful: HashMap<Node, u64>,
    begun: HashMap<Node, Lottery>,
}

enum Lottery {
    /// The first `left` changes, then perhaps a prefix of the next one, then none.
    First {
        left: u64,
        beginning: bool,
    },
    Any,
}

impl Lotteries {
    fn new(doubtful: impl Iterator<Item = Node>, model: Model) -> Self {
        let mut counted = HashMap::new();
        for node in doubtful {
            *counted.entry(node).or_default() += 1;
        }
        Self { model, doubtful: counted, begun: HashMap::new() }
    }

    fn draw(&mut self, node: Node, dice: &mut Dice) -> Fate {
        let length = self.doubtful.get(&node).copied().unwrap_or(0);
        let model = self.model;
        self.begun.entry(node).or_insert_with(|| Lottery::begin(length, model, dice)).draw(dice)
    }
}

impl Lottery {
    fn begin(length: u64, model: Model, dice: &mut Dice) -> Self {
        let left = match (model, dice.roll(4)) {
            (_, 0) => 0,
            (_, 1) => length,
            (Model::Strict, 2) => return Self::Any,
            (Model::Strict | Model::Journaled, _) => dice.roll(length + 1),
        };
        Self::First { left, beginning: dice.roll(2) == 0 }
    }

    fn draw(&mut self, dice: &mut Dice) -> Fate {
        match self {
            Self::First { left: 0, beginning } => {
                if std::mem::take(beginning) {
                    Fate::Beginning
                } else {
                    Fate::Lost
                }
            }
            Self::First { left, .. } => {
                *left -= 1;
                Fate::Whole
            }
            Self::Any => match dice.roll(3) {
                0 => Fate::Whole,
                1 => Fate::Lost,
                _ => Fate::Sectors,
            },
        }
    }
}

impl Change {
    fn apply(&self, content: &mut Content, fate: Fate, dice: &mut Dice) {
        match (&self.what, fate) {
            (_, Fate::Lost) | (Bytes::Length(_), Fate::Beginning) => {}
            (Bytes::Length(length), Fate::Whole | Fate::Sectors) => content.cut(*length),
            (Bytes::Written { offset, bytes }, Fate::Whole) => content.write(*offset, bytes),
            (Bytes::Written { offset, bytes }, Fate::Beginning) => {
                let kept = dice.roll(u64::try_from(bytes.len()).unwrap() + 1);
                content.write(*offset, &bytes[..usize::try_from(kept).unwrap()]);
            }
            (Bytes::Written { offset, bytes }, Fate::Sectors) => {
                let mut start = *offset;
                let mut rest = bytes.as_slice();
                while !rest.is_empty() {
                    let sector =
                        usize::try_from(SECTOR_BYTES - start % SECTOR_BYTES).unwrap().min(rest.len());
                    let (piece, after) = rest.split_at(sector);
                    if dice.roll(2) == 0 {
                        content.write(start, piece);
                    }
                    start += u64::try_from(sector).unwrap();
                    rest = after;
                }
            }
        }
    }
}

/// Files and folders by their path.
#[derive(Debug, Default)]
pub struct Image(BTreeMap<PathBuf, Option<Content>>);

impl Image {
    fn place(&mut self, folder: Node, path: &Path, folders: &Folders, contents: &BTreeMap<Node, Content>) {
        for (name, node) in folders.get(&folder).into_iter().flatten() {
            let path = path.join(name);
            if folders.contains_key(node) {
                self.0.insert(path.clone(), None);
                self.place(*node, &path, folders, contents);
            } else {
                self.0.insert(path, Some(contents.get(node).cloned().unwrap_or_default()));
            }
        }
    }

    pub fn write_to(&self, folder: &Path) {
        for (path, content) in &self.0 {
            let path = folder.join(path);
            let Some(content) = content else {
                fs::create_dir(path).unwrap();
                continue;
            };
            let file = fs::File::create(&path).unwrap();
            file.set_len(content.length).unwrap();
            // Zeroes at the end take no space.
            for (block, bytes) in (0..).zip(content.bytes.chunks(BLOCK_BYTES)) {
                if !is_zero(bytes) {
                    file.write_all_at(bytes, block * u64::try_from(BLOCK_BYTES).unwrap()).unwrap();
                }
            }
        }
    }

    /// The bytes of a file, if it exists.
    pub fn read(&self, path: &Path) -> Option<Vec<u8>> {
        let content = self.0.get(path)?.as_ref()?;
        let mut bytes = content.bytes.clone();
        lengthen(&mut bytes, usize::try_from(content.length).unwrap());
        Some(bytes)
    }
}

/// Replays a recording with the program's own view of its files.
struct Follower<'a> {
    recording: &'a mut Recording,
    /// The folders as the program sees them.
    folders: Folders,
    lengths: HashMap<Node, u64>,
    descriptors: HashMap<i64, usize>,
    opened: Vec<Opened>,
}

impl Follower<'_> {
    fn step(&mut self, end: End, call: &Call) {
        match (end, call.name.as_str()) {
            (End::Begun, "close") => {
                self.descriptors.remove(&call.number(0).unwrap_or(-1));
            }
            (End::Begun, "write" | "writev" | "pwrite64") if call.result.is_none_or(|result| result > 0) => {
                self.write(call);
            }
            _ if end == End::Begun || !call.succeeded() => {}
            (_, "open" | "openat") => self.open(call),
            (_, "dup" | "dup2" | "dup3") => self.copy(call),
            (_, "fcntl") if call.arguments[1].word().starts_with("F_DUPFD") => self.copy(call),
            (_, "lseek") => {
                if let Some(opened) = self.opened_mut(call) {
                    opened.position = u64::try_from(call.result.unwrap()).unwrap();
                }
            }
            (_, "read" | "readv") => {
                if let Some(opened) = self.opened_mut(call) {
                    opened.position += u64::try_from(call.result.unwrap()).unwrap();
                }
            }
            (_, "ftruncate") => {
                let length = u64::try_from(call.number(1).unwrap()).unwrap();
                if let Some(node) = self.opened_mut(call).map(|opened| opened.node) {
                    self.cut(node, length, call);
                }
            }
            (_, "fsync" | "fdatasync") => self.sync(call),
            (_, "mkdir") => self.make_folder(&call.arguments[0].clone(), None, call),
            (_, "mkdirat") => self.make_folder(&call.arguments[1].clone(), call.number(0), call),
            (_, "unlink" | "rmdir") => self.unlink(&call.arguments[0].clone(), None, call),
            (_, "unlinkat") => self.unlink(&call.arguments[1].clone(), call.number(0), call),
            (_, "rename") => self.rename((0, None), (1, None), call),
            (_, "renameat" | "renameat2") => self.rename((1, call.number(0)), (3, call.number(2)), call),
            // Handled at their beginning, or not about files.
            (
                _,
                "write" | "writev" | "pwrite64" | "close" | "fcntl" | "accept4" | "recvfrom" | "sendto"
                | "sendmsg",
            ) => {}
            (_, "mmap") => {
                let written = call.arguments[2].word().contains("PROT_WRITE")
                    && call.arguments[3].word().contains("MAP_SHARED");
                let of_ours =
                    call.number(4).is_some_and(|descriptor| self.descriptors.contains_key(&descriptor));
                assert!(!(written && of_ours), "not understood: {} at line {}", call.name, call.begun);
            }
            (_, name) => panic!("not understood: {name} at line {}", call.begun),
        }
    }

    fn opened_mut(&mut self, call: &Call) -> Option<&mut Opened> {
        let opened = self.descriptors.get(&call.number(0)?)?;
        self.opened.get_mut(*opened)
    }

    /// The folder and name of a path; `None` for paths outside the root.
    fn resolve(&self, path: &Argument, relative_to: Option<i64>) -> Option<(Node, String)> {
        let path = PathBuf::from(String::from_utf8(path.bytes().to_vec()).unwrap());
        let (start, path) = if path.is_absolute() {
            (0, path.strip_prefix(&self.recording.root).ok()?.to_owned())
        } else {
            let opened = self.descriptors.get(&relative_to?)?;
            (self.opened[*opened].node, path)
        };
        let mut folder = start;
        let mut names = path.iter().map(|name| name.to_str().unwrap()).peekable();
        while let Some(name) = names.next() {
            if names.peek().is_none() {
                return Some((folder, name.to_owned()));
            }
            folder = *self.folders.get(&folder)?.get(name)?;
        }
        // The root itself.
        Some((folder, ".".to_owned()))
    }

    fn lookup(&self, folder: Node, name: &str) -> Option<Node> {
        if name == "." { Some(folder) } else { self.folders.get(&folder)?.get(name).copied() }
    }

    fn open(&mut self, call: &Call) {
        let (relative_to, path) = match call.name.as_str() {
            "open" => (None, &call.arguments[0]),
            _ => (call.number(0), &call.arguments[1]),
        };
        let flags = call.arguments.iter().map(Argument::word).find(|word| word.starts_with("O_")).unwrap();
        let descriptor = call.result.unwrap();
        // The descriptor's number can be reused by now.
        self.descriptors.remove(&descriptor);
        let Some((folder, name)) = self.resolve(path, relative_to) else { return };
        let existing = self.lookup(folder, &name);
        let node = existing.unwrap_or_else(|| self.create(folder, name, call));
        if existing.is_some() && flags.contains("O_TRUNC") {
            self.cut(node, 0, call);
        }
        self.descriptors.insert(descriptor, self.opened.len());
        self.opened.push(Opened { node, position: 0, appends: flags.contains("O_APPEND") });
    }

    fn create(&mut self, folder: Node, name: String, call: &Call) -> Node {
        let node = self.recording.new_node(name.clone());
        self.lengths.insert(node, 0);
        self.rename_or_link(folder, Names::Link(name, node), call);
        node
    }

    fn rename_or_link(&mut self, folder: Node, what: Names, call: &Call) {
        let naming = Naming { begun: call.begun, ended: call.ended.unwrap(), folder, what };
        apply(&mut self.folders, &naming);
        self.recording.namings.push(naming);
    }

    fn copy(&mut self, call: &Call) {
        let copy = call.result.unwrap();
        match self.descriptors.get(&call.number(0).unwrap()).copied() {
            Some(opened) => self.descriptors.insert(copy, opened),
            None => self.descriptors.remove(&copy),
        };
    }

    fn write(&mut self, call: &Call) {
        let Some(opened) = self.descriptors.get(&call.number(0).unwrap_or(-1)).copied() else { return };
        let Opened { node, position, appends } = self.opened[opened];
        let mut bytes = call.arguments[1].bytes().to_vec();
        if let Some(written) = call.result {
            bytes.truncate(usize::try_from(written).unwrap());
        }
        let length = u64::try_from(bytes.len()).unwrap();
        let offset = match call.name.as_str() {
            // Cut off where the kill met it: it had not begun.
            "pwrite64" if call.result.is_none() && call.number(3).is_none() => return,
            "pwrite64" => u64::try_from(call.number(3).unwrap()).unwrap(),
            _ if appends => self.lengths[&node],
            _ => position,
        };
        if call.name != "pwrite64" {
            self.opened[opened].position = offset + length;
        }
        let end = self.lengths.entry(node).or_insert(0);
        *end = (*end).max(offset + length);
        self.change(node, call, Bytes::Written { offset, bytes });
    }

    fn cut(&mut self, node: Node, length: u64, call: &Call) {
        self.lengths.insert(node, length);
        self.change(node, call, Bytes::Length(length));
    }

    fn change(&mut self, node: Node, call: &Call, what: Bytes) {
        let change = Change { node, begun: call.begun, ended: call.ended.unwrap_or(usize::MAX), what };
        self.recording.changes.push(change);
    }

    fn sync(&mut self, call: &Call) {
        if let Some(node) = self.opened_mut(call).map(|opened| opened.node) {
            self.recording.syncs.push(Sync { node, begun: call.begun, ended: call.ended.unwrap() });
        }
    }

    fn make_folder(&mut self, path: &Argument, relative_to: Option<i64>, call: &Call) {
        let Some((folder, name)) = self.resolve(path, relative_to) else { return };
        let node = self.recording.new_node(name.clone());
        self.folders.insert(node, BTreeMap::new());
        self.recording.folders.insert(node, BTreeMap::new());
        self.rename_or_link(folder, Names::Link(name, node), call);
    }

    fn unlink(&mut self, path: &Argument, relative_to: Option<i64>, call: &Call) {
        if let Some((folder, name)) = self.resolve(path, relative_to) {
            self.rename_or_link(folder, Names::Unlink(name), call);
        }
    }

    fn rename(&mut self, from: (usize, Option<i64>), to: (usize, Option<i64>), call: &Call) {
        let from = self.resolve(&call.arguments[from.0], from.1);
        let to = self.resolve(&call.arguments[to.0], to.1);
        let (Some(from), Some((folder, to))) = (from, to) else { return };
        let node = self.lookup(from.0, &from.1).unwrap();
        self.rename_or_link(folder, Names::Rename { from, to, node }, call);
    }
}
