//! `keywright data dump`: writes the items of a table to a file or to standard output.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, BufWriter, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use keywright_exchange::item_lines::{Form, Formulas, Printer, Reader, Writer};
use keywright_exchange::table_key;
use keywright_model::item_json::read_item;
use keywright_model::json::Json;
use keywright_semantics::value::Item;

use super::progress_file::ProgressFile;
use super::{FormArgument, table};
use crate::client::aws_settings::named_endpoint;
use crate::client::endpoint::{Client, Credentials, Endpoint, block_on};
use crate::client::paging::Pages;
use crate::client::progress::Bar;
use crate::process::failure::Failure;
use crate::process::io_fault::failed;
use crate::process::output;

const SCAN: &str = "Scan";

/// Write a table's items to a file
///
/// Scans the table, which costs read units and is no snapshot: changes during the dump may be missing.
#[derive(Debug, Args)]
#[expect(clippy::doc_markdown, reason = "these are texts for a terminal")]
pub(crate) struct DumpArguments {
    /// The table
    #[arg(long, value_name = "NAME")]
    table: String,
    /// The endpoint, such as `http://localhost:8000` [default: AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL, or
    /// that of the profile]
    #[arg(long, alias = "endpoint-url", value_name = "URL")]
    endpoint: Option<Endpoint>,
    /// Write here [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The form of the lines
    #[arg(long, value_name = "FORM", default_value = "dynamodb")]
    format: FormArgument,
    /// In CSV, put an apostrophe before each cell that begins like a formula (`=`, `+`, `-`, `@`, a tab or a
    /// line end), so that spreadsheet programs show it and do not run it. These cells load with the
    /// apostrophe
    #[arg(long)]
    for_spreadsheets: bool,
    /// Go on where an interrupted dump to this file stopped
    #[arg(long, requires = "output")]
    resume: bool,
    /// Overwrite a file that exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    credentials: Credentials,
}

pub(crate) fn run(arguments: &DumpArguments) -> Result<(), Failure> {
    if arguments.for_spreadsheets && arguments.format != FormArgument::Csv {
        return Err(Failure::new("--for-spreadsheets is about the cells of CSV: pass --format csv"));
    }
    let Some(output) = &arguments.output else { return to_standard_output(arguments) };
    if output.exists() && !arguments.force {
        return Err(Failure::new(format!("{} exists; pass --force to overwrite it", output.display())));
    }
    let partial = partial(output);
    let progress = ProgressFile::next_to(&partial);
    let target = named_endpoint(arguments.endpoint.as_ref())?;
    let (keys, written) = block_on(async {
        let mut client = Client::connect(&target.endpoint, &arguments.credentials).await?;
        let description = table::describe(&mut client, &arguments.table).await?;
        let keys = table_key::keys(&description)?;
        let mut file = Partial::open(&partial, &progress, arguments, &target.endpoint)?;
        let bar = Bar::new();
        let of = table::item_count(&description);
        let mut pages = Pages::new(SCAN, file.next.as_ref().and_then(Start::key));
        while let Some(start) = file.next.take() {
            let page = page(&mut client, &arguments.table, start, &mut pages);
            let (items, next) = page.await.map_err(|fault| {
                format!(
                    "{fault}; {} items are in {}: --resume goes on after them",
                    file.items,
                    partial.display()
                )
            })?;
            file.append(&items, next)?;
            bar.at(&format!("dumping {}", arguments.table), file.items, of.max(file.items));
        }
        Ok((keys, file.items))
    })?;
    let formulas = if arguments.for_spreadsheets { Formulas::Defused } else { Formulas::Kept };
    let writer = Writer::new(arguments.format.form(), keys).with_formulas(formulas);
    finish(&partial, output, arguments.format.form(), writer)?;
    progress.remove()?;
    output::note(&format!("{}: {written} items of {}", output.display(), arguments.table));
    Ok(())
}

/// Prints the pages as they come. CSV needs all items before its first line.
fn to_standard_output(arguments: &DumpArguments) -> Result<(), Failure> {
    let form = arguments.format.form();
    if form == Form::Csv {
        return Err(Failure::new(
            "CSV has a column for every attribute, known at the end only: pass -o FILE",
        ));
    }
    let target = named_endpoint(arguments.endpoint.as_ref())?;
    block_on(async {
        let mut client = Client::connect(&target.endpoint, &arguments.credentials).await?;
        let keys = table_key::keys(&table::describe(&mut client, &arguments.table).await?)?;
        let printer = Writer::new(form, keys).printer();
        let mut next = Some(Start::Beginning);
        let mut pages = Pages::new(SCAN, None);
        while let Some(start) = next {
            let (items, more) = page(&mut client, &arguments.table, start, &mut pages).await?;
            next = more;
            for item in &items {
                output::say(&printer.line(item));
            }
        }
        Ok(())
    })
}

/// Where a page begins.
enum Start {
    Beginning,
    /// After the item with this key.
    After(Json),
}

impl Start {
    fn key(&self) -> Option<Json> {
        match self {
            Self::Beginning => None,
            Self::After(key) => Some(key.clone()),
        }
    }
}

/// A page of items, and where the next one begins.
async fn page(
    client: &mut Client,
    table: &str,
    start: Start,
    pages: &mut Pages,
) -> Result<(Vec<Item>, Option<Start>), Failure> {
    let mut request = Json::object([("TableName", Json::text(table))]);
    if let Start::After(key) = start {
        request.set("ExclusiveStartKey", key);
    }
    let answer = client.ask_again(SCAN, &request).await?;
    let no_scan = |what: &str| format!("{SCAN}: {what}: the endpoint does not answer as DynamoDB does");
    let Some(Json::List(elements)) = answer.get("Items") else {
        return Err(no_scan("the answer has no list Items").into());
    };
    let typed = |element: &Json| read_item(element).filter(|read| read.typed).map(|read| read.item);
    let items: Option<Vec<Item>> = elements.iter().map(typed).collect();
    let items = items.ok_or_else(|| no_scan("an item is not in DynamoDB's typed form"))?;
    let next = answer.get("LastEvaluatedKey");
    if next.is_some_and(|key| !matches!(key, Json::Object(_))) {
        return Err(no_scan("LastEvaluatedKey is no key").into());
    }
    pages.note(elements.len(), next)?;
    Ok((items, next.cloned().map(Start::After)))
}

/// The unfinished dump in typed lines: `.items.csv.dump`.
fn partial(output: &Path) -> PathBuf {
    let name = output.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    output.with_file_name(format!(".{name}.dump"))
}

/// The file of an unfinished dump.
struct Partial<'a> {
    path: &'a Path,
    file: File,
    progress: &'a ProgressFile,
    arguments: &'a DumpArguments,
    printer: Printer,
    endpoint: &'a Endpoint,
    items: u64,
    /// Where the next page begins; `None` after the last page.
    next: Option<Start>,
}

impl<'a> Partial<'a> {
    fn open(
        path: &'a Path,
        progress: &'a ProgressFile,
        arguments: &'a DumpArguments,
        endpoint: &'a Endpoint,
    ) -> Result<Self, Failure> {
        let explain = failed("write", path);
        let record = progress.read()?.filter(|_| arguments.resume);
        let file = OpenOptions::new().create(true).write(true).truncate(false).open(path).map_err(explain)?;
        let mut own = Self {
            path,
            file,
            progress,
            arguments,
            printer: Writer::new(Form::DynamoDb, Vec::new()).printer(),
            endpoint,
            items: 0,
            next: Some(Start::Beginning),
        };
        let mut bytes = 0;
        match &record {
            Some(record) => {
                let same = record.str_at("table") == Some(arguments.table.as_str())
                    && record.str_at("endpoint") == Some(endpoint.to_string().as_str());
                let number = |name: &str| record.get(name).and_then(Json::as_u64);
                let (Some(length), Some(items), true) = (number("bytes"), number("items"), same) else {
                    return Err(Failure::new(format!(
                        "{} is of another table or endpoint: dump without --resume to begin again",
                        progress.path().display()
                    )));
                };
                (bytes, own.items) = (length, items);
                own.next = match record.get("next") {
                    Some(Json::Null) | None => None,
                    Some(key) => Some(Start::After(key.clone())),
                };
            }
            None if arguments.resume => {
                output::note("Nothing to resume: the dump begins with the first item.");
            }
            None => {}
        }
        // Lines after the last record may be incomplete.
        own.file.set_len(bytes).map_err(explain)?;
        own.file.seek(SeekFrom::End(0)).map_err(explain)?;
        Ok(own)
    }

    /// Appends a page and records where the next one begins.
    fn append(&mut self, items: &[Item], next: Option<Start>) -> Result<(), Failure> {
        let explain = failed("write", self.path);
        let mut text = String::new();
        for item in items {
            text.push_str(&self.printer.line(item));
            text.push('\n');
        }
        self.file.write_all(text.as_bytes()).map_err(explain)?;
        self.items += u64::try_from(items.len()).unwrap_or(u64::MAX);
        let bytes = self.file.stream_position().map_err(explain)?;
        let key = match &next {
            Some(Start::After(key)) => key.clone(),
            Some(Start::Beginning) | None => Json::Null,
        };
        self.progress.write(&Json::object([
            ("table", Json::text(&self.arguments.table)),
            ("endpoint", Json::text(self.endpoint.to_string())),
            ("bytes", Json::number(bytes)),
            ("items", Json::number(self.items)),
            ("next", key),
        ]))?;
        self.next = next;
        Ok(())
    }
}

/// Turns the typed lines into the wanted form, under the wanted name.
fn finish(partial: &Path, output: &Path, form: Form, mut writer: Writer) -> Result<(), Failure> {
    let explain = failed("write", output);
    if form == Form::DynamoDb {
        return std::fs::rename(partial, output).map_err(explain);
    }
    if form == Form::Csv {
        each(partial, |item| {
            writer.see(item);
            Ok(())
        })?;
    }
    let new = output.with_file_name(format!(
        ".{}.new",
        output.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    ));
    let mut file = BufWriter::new(File::create(&new).map_err(explain)?);
    let printer = writer.printer();
    if let Some(header) = printer.header() {
        writeln!(file, "{header}").map_err(explain)?;
    }
    each(partial, |item| writeln!(file, "{}", printer.line(item)).map_err(explain))?;
    file.flush().map_err(explain)?;
    std::fs::rename(&new, output).map_err(explain)?;
    std::fs::remove_file(partial).map_err(failed("remove", partial))
}

/// Passes every item of the typed lines.
fn each(partial: &Path, mut take: impl FnMut(&Item) -> Result<(), Failure>) -> Result<(), Failure> {
    let explain = failed("read", partial);
    let mut reader = Reader::new(Some(Form::DynamoDb), Vec::new());
    for line in BufReader::new(File::open(partial).map_err(explain)?).lines() {
        let line = line.map_err(explain)?;
        if let Some(item) =
            reader.line(&line).map_err(|fault| Failure::new(format!("{}: {fault}", partial.display())))?
        {
            take(&item)?;
        }
    }
    Ok(())
}
