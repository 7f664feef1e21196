//! Time and allocations of encoding and decoding items, numbers and keys.

use divan::{AllocProfiler, Bencher, black_box};
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::key::{KeyValueRef, encode_sort, partition_hash};
use keywright_semantics::number::Number;
use keywright_semantics::value::{AttributeValue, Item};

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

const NUMBERS: [&str; 3] = ["42", "1700000000.125", "12345678901234567890123456789012345678"];

fn main() {
    divan::main();
}

/// About one kilobyte: keys, ten texts, ten numbers, a map and a list.
fn order() -> Item {
    let number = |text: &str| AttributeValue::number(text).expect("it is a number");
    let mut item = Item::from([
        ("pk".to_owned(), "customer#0000000042".into()),
        ("sk".to_owned(), "order#2024-05-06T07:08:09Z".into()),
        ("address".to_owned(), AttributeValue::M(Item::from([("city".to_owned(), "Utrecht".into())]))),
        ("lines".to_owned(), AttributeValue::L((0..10).map(AttributeValue::from).collect())),
    ]);
    for place in 0..10 {
        item.insert(format!("text{place}"), AttributeValue::S("x".repeat(60)));
        item.insert(format!("number{place}"), number("1700000000.125"));
    }
    item
}

#[divan::bench]
fn encode(bencher: Bencher<'_, '_>) {
    let item = order();
    bencher.bench(|| EncodedItem::encode(black_box(&item)));
}

#[divan::bench]
fn decode(bencher: Bencher<'_, '_>) {
    let item = EncodedItem::encode(&order());
    bencher.bench(|| black_box(&item).decode());
}

#[divan::bench(args = ["address", "pk", "text9", "unknown"])]
fn get(bencher: Bencher<'_, '_>, name: &str) {
    let item = EncodedItem::encode(&order());
    bencher.bench(|| black_box(&item).view().get(black_box(name)).map(|value| value.type_name()));
}

#[divan::bench]
fn subset(bencher: Bencher<'_, '_>) {
    let item = EncodedItem::encode(&order());
    bencher.bench(|| black_box(&item).view().encode_subset(|name| name.starts_with("text")));
}

#[divan::bench]
fn size(bencher: Bencher<'_, '_>) {
    let item = EncodedItem::encode(&order());
    bencher.bench(|| black_box(&item).size_bytes());
}

#[divan::bench(args = NUMBERS)]
fn number_parse(text: &str) -> Number {
    Number::parse(black_box(text)).expect("it is a number")
}

#[divan::bench(args = NUMBERS)]
fn number_print(bencher: Bencher<'_, '_>, text: &str) {
    let number = number_parse(text);
    bencher.with_inputs(|| String::with_capacity(200)).bench_refs(|out| {
        std::fmt::Write::write_fmt(out, format_args!("{}", black_box(number))).expect("texts take anything");
    });
}

#[divan::bench(args = NUMBERS)]
fn number_encode(bencher: Bencher<'_, '_>, text: &str) {
    let number = number_parse(text);
    bencher.with_inputs(|| Vec::with_capacity(32)).bench_refs(|out| black_box(number).encode_into(out));
}

#[divan::bench(args = NUMBERS)]
fn number_decode(bencher: Bencher<'_, '_>, text: &str) {
    let mut bytes = Vec::new();
    number_parse(text).encode_into(&mut bytes);
    bencher.bench(|| Number::decode(black_box(&bytes)).map(|(number, _)| number));
}

#[divan::bench]
fn key(bencher: Bencher<'_, '_>) {
    let mut out = Vec::with_capacity(64);
    bencher.bench_local(|| {
        out.clear();
        encode_sort(black_box(KeyValueRef::S("order#2024-05-06T07:08:09Z")), &mut out);
        partition_hash([black_box(KeyValueRef::S("customer#0000000042"))])
    });
}
