//! `keywright serve`: opens the store and the engine, listens, and stops cleanly.

use std::sync::Arc;
use std::time::Duration;

use keywright_engine::{Engine, EngineConfig};
use keywright_store::Store;
use keywright_store::memory::MemoryStore;
use keywright_store_local::{Aside, Durability, LocalOptions, LocalStore};
use tokio::sync::watch;

use crate::auth::Gate;
use crate::cli::DurabilityArgument;
use crate::config::{Config, Storage};
use crate::credentials::CredentialFile;
use crate::descriptors::{self, Keeps};
use crate::environment::SystemEnv;
use crate::http::Service;
use crate::limits::{CHANGES_SECONDS_MAX, DRAIN_SECONDS_MAX};
use crate::listener::{self, Listener};
use crate::{banner, timers, tls};

pub(crate) fn run(mut config: Config) -> Result<(), String> {
    start_log();
    let keeps = if config.storage == Storage::Memory { Keeps::Nothing } else { Keeps::Files };
    let shares = descriptors::share(keeps, config.limits.connections_max)?;
    config.limits.connections_max = shares.connections_max;
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
            let options = LocalOptions {
                durability,
                cache_bytes,
                long_reads,
                files_max: shares.store_files_max,
                ..LocalOptions::default()
            };
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
        ..default
    }
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
    let listener = Listener::bind(config.address, acceptor)?;
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
    let service =
        Arc::new(Service::new(engine.clone(), gate, config.origins, config.limits, stopping.clone()));
    let mut accepting = tokio::spawn(listener.run(Arc::clone(&service), stopping));
    stop_signal.await?;
    stop.send_replace(true);
    if tokio::time::timeout(Duration::from_secs(DRAIN_SECONDS_MAX), &mut accepting).await.is_err() {
        tracing::warn!("some requests were still running after {DRAIN_SECONDS_MAX} seconds and were cut off");
        accepting.abort();
        let _cut_off = accepting.await;
    }
    let changes_ended =
        tokio::time::timeout(Duration::from_secs(CHANGES_SECONDS_MAX), service.changes_ended()).await;
    if changes_ended.is_err() {
        // Counters that such a change may still move are counted anew at the next start.
        tracing::warn!("some changes were still running: the database is left as after a crash");
        return Ok(());
    }
    steps.await.map_err(|error| format!("background work ended badly: {error}"))?;
    engine.shutdown().await.map_err(|error| format!("cannot close the database cleanly: {error}"))
}
