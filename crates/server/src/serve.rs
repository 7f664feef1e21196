//! `keywright serve`: opens the store and the engine, listens, and stops cleanly.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use keywright_engine::{Engine, EngineConfig, Lane};
use keywright_store::Store;
use keywright_store::memory::MemoryStore;
use keywright_store_local::{Aside, Durability, LocalOptions, LocalStore};
use tokio::sync::watch;

use crate::auth::Gate;
use crate::cli::DurabilityArgument;
use crate::config::{Config, Storage};
use crate::credentials::CredentialFile;
use crate::environment::SystemEnv;
use crate::http::Service;
use crate::listener::{self, Listener};
use crate::{banner, timers, tls};

/// How long running requests get after a stop signal.
const DRAIN_SECONDS_MAX: u64 = 30;

pub(crate) fn run(config: Config) -> Result<(), String> {
    start_log();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))?;
    match config.storage.clone() {
        Storage::Memory => runtime.block_on(serve(config, MemoryStore::new())),
        Storage::Folder { path, durability, cache_bytes } => {
            let durability = match durability {
                DurabilityArgument::Synced => Durability::Synced,
                DurabilityArgument::Relaxed => Durability::Relaxed,
            };
            // A thread that reads for long hands its other requests over to another one.
            let long_reads: Aside = |read| tokio::task::block_in_place(read);
            let options = LocalOptions { durability, cache_bytes, long_reads, ..LocalOptions::default() };
            let store = LocalStore::open(&path, options)
                .map_err(|error| format!("cannot open the data folder {}: {error}", path.display()))?;
            runtime.block_on(serve(config, store))
        }
    }
}

/// Warnings and errors, or what `RUST_LOG` asks for, on standard error.
fn start_log() {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}

fn engine_config(config: &Config) -> EngineConfig {
    let default = EngineConfig::default();
    EngineConfig {
        transition_ms: config.transition_ms,
        ttl_delay_ms: config.ttl_delay_ms.unwrap_or(default.ttl_delay_ms),
        stream_shard_open_ms_max: config.stream_shard_ms.unwrap_or(default.stream_shard_open_ms_max),
        lane: Arc::new(lane()),
        ..default
    }
}

/// Long computations take all processors but one, so that short requests always find one free; a machine with a single one
/// shares it.
fn lane() -> Lane {
    let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    Lane::new(processors.saturating_sub(1).max(1), |work| tokio::task::block_in_place(work))
}

async fn serve<S: Store>(config: Config, store: S) -> Result<(), String> {
    let gate = match &config.credentials {
        None => Gate::Open,
        Some(path) => Gate::with_keys(CredentialFile::read(path)?.into_map()),
    };
    let acceptor = config.tls.as_ref().map(tls::acceptor).transpose()?;
    let engine_config = engine_config(&config);
    let engine = Engine::open(store, Arc::new(SystemEnv), engine_config)
        .await
        .map_err(|error| format!("cannot open the database: {error}"))?;
    let listener = Listener::bind(config.address, acceptor).await?;
    // Before anyone is told that it serves: a stop that comes at once ends it well too.
    let stop_signal = listener::stop_signal()?;
    banner::announce(&banner::serving(
        listener.address(),
        listener.secure(),
        &config.storage,
        gate.verifies(),
    ));

    let (stop, stopping) = watch::channel(false);
    let steps = tokio::spawn(timers::run(engine.clone(), stopping.clone()));
    let service = Arc::new(Service::new(engine.clone(), gate, config.origins, stopping.clone()));
    let accepting = tokio::spawn(listener.run(Arc::clone(&service), stopping));
    stop_signal.await?;
    stop.send_replace(true);
    let drain = async {
        let _ended = accepting.await;
        service.changes_ended().await;
    };
    let drained = tokio::time::timeout(Duration::from_secs(DRAIN_SECONDS_MAX), drain).await;
    if drained.is_err() {
        // Counters that a running change may still move are counted anew at the next start.
        tracing::warn!("some requests were still running after {DRAIN_SECONDS_MAX} seconds and were cut off");
        return Ok(());
    }
    steps.await.map_err(|error| format!("background work ended badly: {error}"))?;
    engine.shutdown().await.map_err(|error| format!("cannot close the database cleanly: {error}"))
}
