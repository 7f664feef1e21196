//! The threads of a store: started when it is opened, ended in order when it is closed.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use crate::background::{Background, Syncer};
use crate::committer::Committer;
use crate::journal::{Segments, Sizes};
use crate::pacing;

pub(crate) struct Threads {
    committer: Mutex<Option<JoinHandle<()>>>,
    others: Mutex<Vec<JoinHandle<()>>>,
    background: Arc<Background>,
    segments: Arc<Segments>,
    syncer: Option<Arc<Syncer>>,
}

impl Threads {
    pub(crate) fn start(
        committer: Committer,
        background: Arc<Background>,
        segments: Arc<Segments>,
        syncer: Option<Arc<Syncer>>,
    ) -> io::Result<Self> {
        let mut others = Vec::new();
        {
            let mut start = |name: &str, work: Box<dyn FnOnce() + Send>| -> io::Result<()> {
                others.push(Builder::new().name(name.to_owned()).spawn(work)?);
                Ok(())
            };
            let (flusher, merger, remover, maker) = (
                Arc::clone(&background),
                Arc::clone(&background),
                Arc::clone(&background),
                Arc::clone(&segments),
            );
            start("keywright-flush", Box::new(move || flusher.flush_all()))?;
            start(
                "keywright-merge",
                Box::new(move || {
                    pacing::yield_to_others();
                    merger.merge_all();
                }),
            )?;
            start("keywright-remove", Box::new(move || remover.remove_all()))?;
            start("keywright-space", Box::new(move || maker.run()))?;
            if let Some(syncer) = syncer.clone() {
                start("keywright-sync", Box::new(move || syncer.run()))?;
            }
        }
        let committer = Builder::new().name("keywright-commit".to_owned()).spawn(move || committer.run())?;
        Ok(Self {
            committer: Mutex::new(Some(committer)),
            others: Mutex::new(others),
            background,
            segments,
            syncer,
        })
    }

    /// Has all tables that are not under the newest key written anew.
    pub(crate) fn rewrite_tables(&self) {
        self.background.rewrite();
    }

    /// The journal's files.
    pub(crate) fn segments(&self) -> &Segments {
        &self.segments
    }

    /// The sizes of the journal's files.
    pub(crate) fn journal_sizes(&self) -> Sizes {
        self.segments.sizes()
    }

    /// Waits for the commit thread, which ends once the queue is empty, and ends the others. Idempotent.
    pub(crate) fn join(&self) {
        let take = |thread: &Mutex<Option<JoinHandle<()>>>| {
            thread.lock().unwrap_or_else(PoisonError::into_inner).take()
        };
        if let Some(committer) = take(&self.committer) {
            // A panic of the thread has already poisoned the store.
            let _ = committer.join();
        }
        self.background.close();
        self.segments.close();
        if let Some(syncer) = &self.syncer {
            // The commit thread has ended it, unless it ended by a panic.
            syncer.stop();
        }
        let others = std::mem::take(&mut *self.others.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in others {
            let _ = thread.join();
        }
    }
}
