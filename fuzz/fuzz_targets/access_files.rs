//! Any text as a file of users: none panics, a file that is read is the same after it was written, and an
//! account that is as a file says needs no change.

#![no_main]

use keywright_access::file::{AccessFile, Prune, plan};
use keywright_semantics::place::DEFAULT_ACCOUNT;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(file) = AccessFile::parse(text) else { return };
    let written = file.text();
    assert_eq!(AccessFile::parse(&written).as_ref(), Ok(&file), "{written}");
    let account = file.account.clone().unwrap_or_else(|| DEFAULT_ACCOUNT.to_owned());
    let mut there = file.principals.clone();
    for entity in there.entities.values_mut() {
        let arn = |named: &String| file.principals.policy_arn(&account, named);
        entity.attached = entity.attached.iter().map(arn).collect();
        entity.boundary = entity.boundary.as_ref().map(arn);
    }
    for prune in [Prune::Nothing, Prune::All] {
        assert_eq!(plan(&file, &there, &account, prune), Ok(Vec::new()), "{written}");
        let _ = plan(&file, &Default::default(), &account, prune);
    }
});
