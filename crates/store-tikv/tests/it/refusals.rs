//! Prefixes that are not ours, or of another version, are left as they are.

use bytes::Bytes;
use keywright_store::kit::block_on;
use keywright_store::{KeyRange, Store as _, Transaction as _};
use keywright_store_tikv::{OpenError, TikvOptions, TikvStore};

use crate::engine::url_or_say;
use crate::kit::RUNTIME;
use crate::raw::Client;

/// Why a store is not opened whose prefix holds this row.
fn refused_with(prefix: &str, key: &'static [u8], value: &'static [u8]) -> Option<(OpenError, String)> {
    let url = url_or_say(prefix)?;
    let write = {
        let url = url.clone();
        async move {
            let raw = Client::open(&url).await;
            let mut transaction = raw.tikv.begin_optimistic().await.unwrap();
            let row = [raw.prefix.as_bytes(), b"/", key].concat();
            transaction.put(row, value.to_vec()).await.unwrap();
            transaction.commit().await.unwrap();
            raw.prefix
        }
    };
    let prefix = block_on(RUNTIME.spawn(write)).unwrap();
    let options = TikvOptions::parse(&url).unwrap();
    let opened = block_on(TikvStore::open(options, RUNTIME.handle().clone()));
    let Err(error) = opened else { panic!("the prefix {prefix} was taken") };
    Some((error, prefix))
}

#[test]
fn a_prefix_with_rows_of_others_is_refused() {
    let Some((error, prefix)) = refused_with("foreign", b"orders/1", b"x") else { return };
    assert_eq!(error, OpenError::Foreign(prefix));
}

#[test]
fn another_layout_is_refused() {
    let Some((error, _)) = refused_with("newer", b"\0layout", b"\0keywright rows 2") else { return };
    assert_eq!(error, OpenError::OtherLayout("keywright rows 2".to_owned()));
}

#[test]
fn a_prefix_that_begins_like_another_one_is_independent_of_it() {
    let (Some(short), Some(long)) = (url_or_say("below"), url_or_say("below-it")) else { return };
    let open = |url: &str| {
        let options = TikvOptions::parse(url).unwrap();
        block_on(TikvStore::open(options, RUNTIME.handle().clone())).unwrap()
    };
    let (short, long) = (open(&short), open(&long));
    let everything = KeyRange { start: Bytes::new(), end: None };
    for store in [&short, &long] {
        let mut transaction = block_on(store.begin()).unwrap();
        transaction.put(Bytes::from("a"), Bytes::from("1"));
        block_on(transaction.commit()).unwrap();
    }
    block_on(short.clear_range(&everything)).unwrap();
    assert_eq!(block_on(short.get(b"a")).unwrap(), None);
    assert_eq!(block_on(long.get(b"a")).unwrap(), Some(Bytes::from("1")));
}

fn now_ms() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    u64::try_from(now.as_millis()).unwrap()
}

#[test]
fn a_clock_that_is_far_from_that_of_pd_is_refused() {
    let Some(url) = url_or_say("clock") else { return };
    let ahead: fn() -> u64 = || now_ms() + 90_000;
    let behind: fn() -> u64 = || now_ms() - 90_000;
    let near: fn() -> u64 = || now_ms() - 30_000;
    let open = |clock| {
        let mut options = TikvOptions::parse(&url).unwrap();
        options.now_ms = Some(clock);
        block_on(TikvStore::open(options, RUNTIME.handle().clone()))
    };
    for clock in [ahead, behind] {
        let Err(error) = open(clock) else { panic!("the clocks are 90 seconds apart") };
        assert!(matches!(error, OpenError::Clock(85_000..=95_000)), "{error:?}");
        assert!(error.to_string().contains("must agree on the time"), "{error}");
    }
    assert!(open(near).is_ok());
}
