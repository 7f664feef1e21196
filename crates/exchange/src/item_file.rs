//! Other tools' documents as files of items, which a model can name in its data section.

use keywright_semantics::value::Item;

use super::fault::Faults;
use super::workbench_json::Document;
use keywright_model::data::ItemFile;
use keywright_model::json::Json;

/// What every `NoSQL` Workbench document contains: a text without it is not parsed to find out.
const DOCUMENT_MEMBER: &str = "\"DataModel\"";

/// A file's text as a file of items: the items of a `NoSQL` Workbench document, any other text as it is.
pub fn item_file(text: String) -> ItemFile {
    let document = text.contains(DOCUMENT_MEMBER).then(|| Json::parse(&text)).and_then(Result::ok);
    match document.filter(Document::looks_like) {
        Some(root) => ItemFile::Imported(items(root).map_err(|faults| {
            let texts = faults.iter().map(ToString::to_string);
            texts.collect()
        })),
        None => ItemFile::Text(text),
    }
}

fn items(root: Json) -> Result<Vec<(String, Item)>, Faults> {
    let draft = Document::of(root)?.read()?.draft;
    let items = draft.tables.into_iter().flat_map(|table| {
        let name = table.definition.name;
        table.items.into_iter().map(move |item| (name.clone(), item))
    });
    Ok(items.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_document_is_read_as_one() {
        let document = r#"{"DataModel": [{"TableName": "T",
            "KeyAttributes": {"PartitionKey": {"AttributeName": "pk", "AttributeType": "S"}},
            "TableData": [{"pk": {"S": "a"}}]}]}"#;
        let ItemFile::Imported(Ok(items)) = item_file(document.to_owned()) else { panic!("a document") };
        let item = Item::from([("pk".to_owned(), "a".into())]);
        assert_eq!(items, [("T".to_owned(), item)]);
        let broken = document.replace("PartitionKey", "SortKey");
        assert!(matches!(item_file(broken), ItemFile::Imported(Err(faults)) if faults.len() == 1));
        for text in ["T: []\n", r#"{"T": [{"pk": {"S": "\"DataModel\""}}]}"#, r#"{"DataModel": 1}"#] {
            assert_eq!(item_file(text.to_owned()), ItemFile::Text(text.to_owned()));
        }
    }
}
