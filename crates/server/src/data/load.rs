//! `keywright data load`: puts the items of a file into a table.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use clap::Args;
use keywright_exchange::item_lines::Reader;
use keywright_exchange::table_key;
use keywright_model::json::Json;
use keywright_semantics::schema::KeyAttribute;
use keywright_semantics::value::Item;

use super::progress_file::ProgressFile;
use super::{FormArgument, put, table};
use crate::client::aws_settings::named_endpoint;
use crate::client::confirm::confirm;
use crate::client::endpoint::{Client, Credentials, Endpoint, block_on};
use crate::client::progress::Bar;
use crate::process::failure::Failure;
use crate::process::io_fault::failed;
use crate::process::output;

/// The longest line that is read: an item of 400 KB in its most wasteful form fits many times.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// Items between two records of progress. After a stop at most so many are put again.
const RECORD_EVERY_ITEMS: u64 = 1000;

/// Load items from a file into a table
///
/// Reads JSON lines, as `data dump` and exports of the service write them, or CSV. Every line is checked
/// before the first item is sent. An item replaces an existing one with its key.
#[derive(Debug, Args)]
#[expect(clippy::doc_markdown, reason = "these are texts for a terminal")]
pub(crate) struct LoadArguments {
    /// The file
    file: PathBuf,
    /// The table
    #[arg(long, value_name = "NAME")]
    table: String,
    /// The endpoint, such as `http://localhost:8000` [default: AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL,
    /// or that of the profile]
    #[arg(long, alias = "endpoint-url", value_name = "URL")]
    endpoint: Option<Endpoint>,
    /// The form of the lines [default: as the first line shows]
    #[arg(long, value_name = "FORM")]
    format: Option<FormArgument>,
    /// Go on after the last line that an interrupted load has recorded
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    credentials: Credentials,
}

pub(crate) fn run(arguments: &LoadArguments) -> Result<(), Failure> {
    let progress = ProgressFile::next_to(&arguments.file);
    let size_bytes = open(&arguments.file)?.metadata().map_err(failed("read", &arguments.file))?.len();
    let target = named_endpoint(arguments.endpoint.as_ref())?;
    let begin = begin(arguments, &target.endpoint, &progress, size_bytes)?;
    confirm(
        &target,
        &format!("this puts items into the table {}, over those with their keys,", arguments.table),
    )?;
    let loaded = block_on(async {
        let mut client = Client::connect(&target.endpoint, &arguments.credentials).await?;
        let keys = table_key::keys(&table::describe(&mut client, &arguments.table).await?)?;
        check(arguments, &keys)?;
        let mut loading = Loading { arguments, client, keys, progress: &progress, size_bytes };
        loading.load(begin).await
    })?;
    progress.remove()?;
    output::note(&format!("{}: loaded {loaded} items", arguments.table));
    Ok(())
}

/// How far a load has come.
#[derive(Clone, Copy, Default)]
struct Position {
    /// Lines whose items are in the table.
    lines: u64,
    /// Items that are in the table.
    items: u64,
}

/// The position of an interrupted load of the same file into the same table, if it is to be resumed.
fn begin(
    arguments: &LoadArguments,
    endpoint: &Endpoint,
    progress: &ProgressFile,
    size_bytes: u64,
) -> Result<Position, Failure> {
    let found = progress.read()?;
    let Some(record) = found.filter(|_| arguments.resume) else {
        if arguments.resume {
            output::note("Nothing to resume: the load begins with the first line.");
        } else if progress.path().exists() {
            output::note("An earlier load of this file was interrupted; --resume goes on where it stopped.");
        }
        return Ok(Position::default());
    };
    let number = |name: &str| record.get(name).and_then(Json::as_u64);
    let same = record.str_at("table") == Some(arguments.table.as_str())
        && record.str_at("endpoint") == Some(endpoint.to_string().as_str())
        && number("sizeBytes") == Some(size_bytes);
    match (number("lines"), number("items")) {
        (Some(lines), Some(items)) if same => Ok(Position { lines, items }),
        _ => Err(Failure::new(format!(
            "{} is of another file, table or endpoint: load without --resume to begin again",
            progress.path().display()
        ))),
    }
}

fn open(path: &Path) -> Result<File, Failure> {
    File::open(path).map_err(failed("read", path))
}

/// The lines of a file with their numbers, from one.
struct Lines<'a> {
    path: &'a Path,
    input: BufReader<File>,
    number: u64,
    bytes: u64,
}

impl<'a> Lines<'a> {
    fn open(path: &'a Path) -> Result<Self, Failure> {
        Ok(Self { path, input: BufReader::new(open(path)?), number: 0, bytes: 0 })
    }

    /// The next line without its end.
    fn next(&mut self) -> Result<Option<String>, Failure> {
        let mut bytes = Vec::new();
        let read = std::io::Read::take(&mut self.input, LINE_BYTES_MAX).read_until(b'\n', &mut bytes);
        let read = read.map_err(failed("read", self.path))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        let read = u64::try_from(read).unwrap_or(u64::MAX);
        self.bytes += read;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        } else if read == LINE_BYTES_MAX {
            return Err(self.fault(&format!("the line is longer than {} MiB", LINE_BYTES_MAX >> 20)).into());
        }
        String::from_utf8(bytes).map(Some).map_err(|_| Failure::new(self.fault("the line is not UTF-8")))
    }

    fn fault(&self, text: &str) -> String {
        format!("{}:{}: {text}", self.path.display(), self.number)
    }
}

/// Reads the whole file, so that nothing is loaded of one with a fault.
fn check(arguments: &LoadArguments, keys: &[KeyAttribute]) -> Result<(), Failure> {
    let mut lines = Lines::open(&arguments.file)?;
    let mut reader = Reader::new(arguments.format.map(FormArgument::form), keys.to_vec());
    while let Some(line) = lines.next()? {
        reader.line(&line).map_err(|fault| lines.fault(&fault))?;
    }
    reader.finish().map_err(|fault| Failure::new(lines.fault(&fault)))
}

struct Loading<'a> {
    arguments: &'a LoadArguments,
    client: Client,
    keys: Vec<KeyAttribute>,
    progress: &'a ProgressFile,
    size_bytes: u64,
}

impl Loading<'_> {
    /// Loads what follows the position; returns the number of items that the file has.
    async fn load(&mut self, begin: Position) -> Result<u64, Failure> {
        let mut lines = Lines::open(&self.arguments.file)?;
        let mut reader = Reader::new(self.arguments.format.map(FormArgument::form), self.keys.clone());
        let bar = Bar::new();
        let mut at = Position::default();
        let mut waiting: Vec<Item> = Vec::new();
        let mut recorded = begin.items;
        while let Some(line) = lines.next()? {
            let Some(item) = reader.line(&line).map_err(|fault| lines.fault(&fault))? else { continue };
            if lines.number <= begin.lines {
                at = Position { lines: lines.number, items: at.items + 1 };
                continue;
            }
            waiting.push(item);
            if waiting.len() == put::BATCH_ITEMS_MAX {
                at = self.send(&mut waiting, at, lines.number).await?;
                bar.at(&format!("loading {}", self.arguments.table), lines.bytes, self.size_bytes);
            }
            if at.items >= recorded + RECORD_EVERY_ITEMS && waiting.is_empty() {
                self.record(at)?;
                recorded = at.items;
            }
        }
        let at = self.send(&mut waiting, at, lines.number).await?;
        Ok(at.items)
    }

    /// Sends the waiting items. A fault is reported with how to go on.
    async fn send(&mut self, waiting: &mut Vec<Item>, at: Position, lines: u64) -> Result<Position, Failure> {
        let items = std::mem::take(waiting);
        let sent = put::batch(&mut self.client, &self.arguments.table, &self.keys, &items).await;
        if let Err(fault) = sent {
            self.record(at)?;
            return Err(Failure::new(format!(
                "{fault}; {} items are loaded: --resume goes on after them",
                at.items
            )));
        }
        let items = u64::try_from(items.len()).unwrap_or(u64::MAX);
        Ok(Position { lines, items: at.items + items })
    }

    fn record(&self, at: Position) -> Result<(), Failure> {
        let endpoint = self.client.endpoint.to_string();
        self.progress.write(&Json::object([
            ("table", Json::text(&self.arguments.table)),
            ("endpoint", Json::text(endpoint)),
            ("sizeBytes", Json::number(self.size_bytes)),
            ("lines", Json::number(at.lines)),
            ("items", Json::number(at.items)),
        ]))
    }
}
