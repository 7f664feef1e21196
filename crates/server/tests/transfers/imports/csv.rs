//! CSV and Ion.

use serde_json::{Value, json};

use super::{Scene, counts, request, with};

fn csv(table: &str, prefix: &str, options: Option<Value>) -> Value {
    let request = with(request(table, prefix), "InputFormat", json!("CSV"));
    match options {
        Some(options) => with(request, "InputFormatOptions", json!({"Csv": options})),
        None => request,
    }
}

#[test]
fn each_delimiter_separates_fields() {
    let mut scene = Scene::new();
    for (number, delimiter) in [",", ";", ":", "|", "\t", " "].into_iter().enumerate() {
        let (table, prefix) = (format!("Table{number}"), format!("in{number}/"));
        scene.put(&format!("{prefix}1"), format!("pk{delimiter}n\r\n1{delimiter}103\r\n"));
        let import = scene.imported(&csv(&table, &prefix, Some(json!({"Delimiter": delimiter}))));
        assert_eq!(
            (counts(&import), &import["ImportStatus"]),
            ([1, 1, 0], &json!("COMPLETED")),
            "{delimiter:?}"
        );
        assert_eq!(scene.items(&table), [json!({"pk": {"S": "1"}, "n": {"S": "103"}})]);
    }
}

#[test]
fn fields_may_be_quoted_and_empty_and_keys_have_the_types_of_their_definitions() {
    let mut scene = Scene::new();
    scene.put("in/1", "pk,n,note\n1,103,\"a, \"\"b\"\"\nc\"\n2,,\n");
    let mut wish = csv("New", "in/", None);
    wish["TableCreationParameters"]["AttributeDefinitions"] =
        json!([{"AttributeName": "pk", "AttributeType": "N"}]);
    let import = scene.imported(&wish);
    assert_eq!(counts(&import), [2, 2, 0], "{import}");
    assert_eq!(
        scene.items("New"),
        [
            json!({"n": {"S": "103"}, "note": {"S": "a, \"b\"\nc"}, "pk": {"N": "1"}}),
            json!({"n": {"S": ""}, "note": {"S": ""}, "pk": {"N": "2"}}),
        ]
    );
}

#[test]
fn a_list_of_headers_makes_the_first_line_data() {
    let mut scene = Scene::new();
    scene.put("in/1", "a,1\nb,2\n");
    let import = scene.imported(&csv("New", "in/", Some(json!({"HeaderList": ["pk", "x"]}))));
    assert_eq!(counts(&import), [2, 2, 0]);
    assert_eq!(scene.items("New")[0], json!({"pk": {"S": "a"}, "x": {"S": "1"}}));
}

#[test]
fn an_empty_key_is_an_error_of_its_line_and_256_columns_are_one_of_their_object() {
    let mut scene = Scene::new();
    scene.put("in/1", "pk,n\n,1\nb,2\n");
    let import = scene.imported(&csv("Keys", "in/", None));
    assert_eq!(counts(&import), [2, 1, 1]);
    let wide: Vec<String> = (0..256).map(|number| format!("c{number}")).collect();
    scene.put("wide/1", format!("{}\n{}\n", wide.join(","), wide.join(",")));
    let import = scene.imported(&csv("Wide", "wide/", None));
    assert_eq!((import["ErrorCount"].as_u64(), &import["ImportStatus"]), (Some(1), &json!("FAILED")));
    let refused = scene.import(&csv("More", "in/", Some(json!({"HeaderList": wide})))).unwrap_err();
    assert_eq!(refused.0, "ValidationException");
    assert!(refused.1.contains("less than or equal to 255"), "{}", refused.1);
}

#[test]
fn ion_is_read_with_its_types() {
    let mut scene = Scene::new();
    scene.put(
        "in/1.ion",
        "$ion_1_0 {Item:{pk:\"1\",n:103.,ok:true,bin:{{dGVzdA==}},tags:$dynamodb_SS::[\"a\",\"b\"],list:[1.,\"x\"]}}\n",
    );
    let import = scene.imported(&with(request("New", "in/"), "InputFormat", json!("ION")));
    assert_eq!(counts(&import), [1, 1, 0], "{import}");
    assert_eq!(
        scene.items("New"),
        [json!({"pk": {"S": "1"}, "n": {"N": "103"}, "ok": {"BOOL": true}, "bin": {"B": "dGVzdA=="},
            "tags": {"SS": ["a", "b"]}, "list": {"L": [{"N": "1"}, {"S": "x"}]}})]
    );
}
