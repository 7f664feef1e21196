//! Prefixes that are not ours, or of another version, are left as they are.

use keywright_store::kit::block_on;
use keywright_store_tikv::{OpenError, TikvOptions, TikvStore};
use tikv_client::TransactionClient;

use crate::engine::url_or_say;
use crate::kit::RUNTIME;

fn refused_with(prefix: &str, key: &'static [u8], value: &'static [u8]) -> Option<OpenError> {
    let url = url_or_say(prefix)?;
    let options = TikvOptions::parse(&url).unwrap();
    let pd = url.trim_start_matches("tikv://").split('/').next().unwrap().to_owned();
    let write = async move {
        let client = TransactionClient::new(vec![pd]).await.unwrap();
        let mut transaction = client.begin_optimistic().await.unwrap();
        transaction.put(key.to_vec(), value.to_vec()).await.unwrap();
        transaction.commit().await.unwrap();
    };
    block_on(RUNTIME.spawn(write)).unwrap();
    let opened = block_on(TikvStore::open(options, RUNTIME.handle().clone()));
    let Err(error) = opened else { panic!("the prefix {prefix} was taken") };
    Some(error)
}

#[test]
fn a_prefix_with_rows_of_others_is_refused() {
    let Some(error) = refused_with("foreign", b"foreign/orders/1", b"x") else { return };
    assert_eq!(error, OpenError::Foreign("foreign".to_owned()));
}

#[test]
fn another_layout_is_refused() {
    let Some(error) = refused_with("newer", b"newer/\0layout", b"\0keywright rows 2") else { return };
    assert_eq!(error, OpenError::OtherLayout("keywright rows 2".to_owned()));
}
