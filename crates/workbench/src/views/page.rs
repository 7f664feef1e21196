//! A page of headings, sentences, tables and drawings, as text for a terminal or as Markdown.
//!
//! It knows nothing of models. There is no colour: words carry the meaning.

use std::fmt::Write as _;

use keywright_model::json::Json;

/// One view of a model, ready to be printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// One line.
    pub title: String,
    /// From top to bottom.
    pub blocks: Vec<Block>,
}

/// A part of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// A heading below the title.
    Heading(String),
    /// A paragraph; line breaks count.
    Text(String),
    /// Points, never empty.
    List(Vec<String>),
    /// A table.
    Table(Table),
    /// One picture in both forms: drawn with letters, and in Mermaid's language for Markdown.
    Drawing {
        /// Drawn with letters, several lines.
        text: String,
        /// In Mermaid's language; `None` if it has no picture for it.
        mermaid: Option<String>,
    },
}

/// Rows under headers; every row has a cell for each header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The names of the columns.
    pub headers: Vec<String>,
    /// From top to bottom.
    pub rows: Vec<Vec<String>>,
}

/// The text of an empty cell.
pub(super) const NOTHING: &str = "-";

impl Page {
    pub(super) fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), blocks: Vec::new() }
    }

    pub(super) fn heading(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Heading(text.into()));
    }

    pub(super) fn say(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Text(text.into()));
    }

    pub(super) fn list(&mut self, lines: Vec<String>) {
        if !lines.is_empty() {
            self.blocks.push(Block::List(lines));
        }
    }

    pub(super) fn table<'a>(&mut self, headers: impl IntoIterator<Item = &'a str>, rows: Vec<Vec<String>>) {
        let headers: Vec<String> = headers.into_iter().map(str::to_owned).collect();
        assert!(rows.iter().all(|row| row.len() == headers.len()), "a row has a cell for each header");
        self.blocks.push(Block::Table(Table { headers, rows }));
    }

    pub(super) fn draw(&mut self, text: String, mermaid: Option<String>) {
        self.blocks.push(Block::Drawing { text, mermaid });
    }

    /// The page as data: what a program draws has the words of `text`.
    pub fn json(&self) -> Json {
        let texts = |texts: &[String]| Json::List(texts.iter().map(Json::text).collect());
        let block = |block: &Block| match block {
            Block::Heading(text) => Json::object([("heading", Json::text(text))]),
            Block::Text(text) => Json::object([("text", Json::text(text))]),
            Block::List(lines) => Json::object([("list", texts(lines))]),
            Block::Table(table) => {
                let rows = Json::List(table.rows.iter().map(|row| texts(row)).collect());
                Json::object([("table", Json::object([("headers", texts(&table.headers)), ("rows", rows)]))])
            }
            Block::Drawing { text, mermaid } => {
                let mermaid = mermaid.as_ref().map_or(Json::Null, Json::text);
                Json::object([("drawing", Json::object([("text", Json::text(text)), ("mermaid", mermaid)]))])
            }
        };
        Json::object([
            ("title", Json::text(&self.title)),
            ("blocks", Json::List(self.blocks.iter().map(block).collect())),
        ])
    }

    /// The page for a terminal.
    pub fn text(&self) -> String {
        let mut out = format!("{}\n{}\n", self.title, "=".repeat(self.title.chars().count()));
        for block in &self.blocks {
            out.push('\n');
            match block {
                Block::Heading(text) => {
                    let _ = writeln!(out, "{text}\n{}", "-".repeat(text.chars().count()));
                }
                Block::Text(text) => {
                    let _ = writeln!(out, "{text}");
                }
                Block::List(lines) => {
                    for line in lines {
                        let _ = writeln!(out, "- {}", line.replace('\n', "\n  "));
                    }
                }
                Block::Table(table) => out.push_str(&table.text()),
                Block::Drawing { text, .. } => {
                    let _ = writeln!(out, "{}", text.trim_end());
                }
            }
        }
        out
    }

    /// The page as Markdown.
    pub fn markdown(&self) -> String {
        let mut out = format!("# {}\n", self.title);
        for block in &self.blocks {
            out.push('\n');
            match block {
                Block::Heading(text) => {
                    let _ = writeln!(out, "## {text}");
                }
                Block::Text(text) => {
                    let _ = writeln!(out, "{text}");
                }
                Block::List(lines) => {
                    for line in lines {
                        let _ = writeln!(out, "- {}", line.replace('\n', "\n  "));
                    }
                }
                Block::Table(table) => out.push_str(&table.markdown()),
                Block::Drawing { mermaid: Some(mermaid), .. } => {
                    let _ = writeln!(out, "```mermaid\n{}\n```", mermaid.trim_end());
                }
                Block::Drawing { text, mermaid: None } => {
                    let _ = writeln!(out, "```text\n{}\n```", text.trim_end());
                }
            }
        }
        out
    }
}

impl Table {
    fn text(&self) -> String {
        let rows: Vec<&Vec<String>> = std::iter::once(&self.headers).chain(&self.rows).collect();
        let width = |column: usize| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.headers.len()).map(width).collect();
        let mut out = String::new();
        for row in rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                let _ = write!(line, "{cell}{}  ", " ".repeat(width.saturating_sub(cell.chars().count())));
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }

    fn markdown(&self) -> String {
        let line = |row: &[String]| {
            let cells: Vec<String> =
                row.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule = "|---".repeat(self.headers.len());
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("{}{rule}|\n{rows}", line(&self.headers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_the_same_in_both_forms() {
        let mut page = Page::new("Keys");
        page.heading("Shop");
        page.say("One table.");
        page.list(vec!["first\nand more".to_owned()]);
        page.table(["entity", "PK"], vec![vec!["Order".to_owned(), "o#{id}|x".to_owned()]]);
        page.draw("A -- B".to_owned(), Some("erDiagram".to_owned()));
        assert_eq!(
            page.text(),
            "Keys\n====\n\nShop\n----\n\nOne table.\n\n- first\n  and more\n\nentity  PK\nOrder   o#{id}|x\n\nA -- B\n"
        );
        assert_eq!(
            page.markdown(),
            "# Keys\n\n## Shop\n\nOne table.\n\n- first\n  and more\n\n| entity | PK |\n|---|---|\n| Order | o#{id}\\|x |\n\n```mermaid\nerDiagram\n```\n"
        );
        assert_eq!(
            page.json().compact(),
            r#"{"title":"Keys","blocks":[{"heading":"Shop"},{"text":"One table."},{"list":["first\nand more"]},{"table":{"headers":["entity","PK"],"rows":[["Order","o#{id}|x"]]}},{"drawing":{"text":"A -- B","mermaid":"erDiagram"}}]}"#
        );
    }
}
