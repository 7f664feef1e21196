//! Libraries on top of the SDKs, each with a scenario of its own features (`clients/ecosystem`): models,
//! queries of indexes, conditions, pages, batches and transactions. The calls of Terraform's AWS provider are
//! sent by boto3 in the provider's order.
//!
//! `cargo xtask test --long` installs and runs them, and so does `cargo xtask test … -- ecosystem`.

use std::process::Command;

use crate::foreign_clients::{installed, run, scripts};
use crate::support::Server;

fn python(script: &str) {
    let python = installed("ecosystem/python/bin/python");
    let server = Server::in_memory();
    let script = scripts().join("ecosystem").join(script);
    run(Command::new(python).arg("-B").arg(script).arg(&server.endpoint));
}

/// Node finds packages next to the script, so it is copied there.
fn javascript(script: &str) {
    let folder = installed("ecosystem/javascript");
    std::fs::copy(scripts().join("ecosystem").join(script), folder.join(script)).unwrap();
    let server = Server::in_memory();
    run(Command::new("node").arg(folder.join(script)).arg(&server.endpoint));
}

macro_rules! scenarios {
    ($($name:ident: $language:ident $script:literal,)*) => {
        $(#[test]
        #[ignore = "needs clients: run `cargo xtask test --long`"]
        fn $name() {
            $language($script);
        })*
    };
}

scenarios! {
    aiodynamo_signs_and_retries_by_itself: python "run_aiodynamo.py",
    langgraph_keeps_the_state_of_agents_and_their_memories: python "run_langgraph.py",
    the_data_mapper_maps_classes: javascript "run_data_mapper.mjs",
    dynamoose_maps_documents: javascript "run_dynamoose.mjs",
    electrodb_maps_entities_and_collections: javascript "run_electrodb.mjs",
    onetable_maps_a_single_table: javascript "run_onetable.mjs",
    pynamodb_maps_models: python "run_pynamodb.py",
    terraform_creates_reads_changes_and_destroys_a_table: python "run_terraform.py",
}
