//! SIGKILL of one server after the other, under writers that use all of them: no acknowledged write is lost,
//! indexes equal the table, the stream equals the history.

use std::time::Duration;

use crate::support::Server;
use crate::support::client::{Caller, client, create_indexed_table};
use crate::support::dice::{Dice, wanted};
use crate::support::in_process::Http;
use crate::support::ledger::{TABLE, check_stream_and, check_whole, enable_stream, scan};
use crate::support::register::{History, Register};
use crate::support::shared_store::url_or_say;

/// `KEYWRIGHT_KILLS` sets another number.
const KILLS_DEFAULT: u64 = 8;
const SERVERS: usize = 3;
/// How often a table that changes is compared with its indexes.
const COMPARED_MAX: u32 = 20;
/// Maximum delay of a kill after the writers began.
const WRITING_MS_MAX: u64 = 600;

/// Checks the table and its indexes. PostgreSQL may still carry out what a killed server had sent, so a table
/// that changed while it was compared with its indexes is compared again.
async fn check_at_rest(http: &Http, register: &Register) {
    for _ in 0..COMPARED_MAX {
        let table = scan(http, None).await.unwrap();
        register.check_table(&table).unwrap();
        let whole = check_whole(http, &table).await;
        if scan(http, None).await.unwrap() == table {
            return whole.unwrap();
        }
    }
    panic!("the table still changes, though nobody writes");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_servers_lose_nothing_that_was_acknowledged() {
    let Some(url) = url_or_say("kills") else { return };
    let kills = wanted("KEYWRIGHT_KILLS", KILLS_DEFAULT);
    let seed = wanted("KEYWRIGHT_SEED", 1);
    let mut dice = Dice::new(seed);
    let mut servers: Vec<Server> = (0..SERVERS).map(|_| Server::on_store(&url)).collect();
    let asking = client(&servers[0].endpoint, Caller::default());
    create_indexed_table(&asking, TABLE).await;
    enable_stream(&asking).await;
    let register = Register::new();
    for _ in 0..kills {
        let endpoints: Vec<&str> = servers.iter().map(|server| server.endpoint.as_str()).collect();
        let writers = register.start_at(&endpoints, dice.roll(1 << 31));
        tokio::time::sleep(Duration::from_millis(100 + dice.roll(WRITING_MS_MAX))).await;
        let killed = usize::try_from(dice.roll(3)).unwrap();
        servers.remove(killed).kill();
        register.stop(writers).await;
        check_at_rest(&Http::new(servers[0].address()), &register).await;
        servers.push(Server::on_store(&url));
    }
    for server in &servers {
        let http = Http::new(server.address());
        let table = scan(&http, None).await.unwrap();
        register.check_table(&table).unwrap();
        let mut history = History::default();
        check_stream_and(&http, &table, &mut |place, change| history.note(place, change)).await.unwrap();
        register.check_history(&history).unwrap();
    }
    let (acknowledged, tried) = register.counts();
    assert!(acknowledged > 0, "no change was acknowledged before any kill");
    println!(
        "seed {seed}: {kills} kills; of {tried} changes tried {acknowledged} were acknowledged and kept"
    );
}
