//! Runs of models, kept for a while: a check, its views and its cost are of one run.
//!
//! A run of a model that names files is not kept, because the files may change.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use keywright_model::Model;
use keywright_model::data::{self, Limit, NotLoaded, Sample};
use keywright_workbench::check_on;
use keywright_workbench::report::Checked;
use keywright_workbench::run::{Measured, Progress, measure};

use super::model_files::{ModelFiles, too_large};
use super::refusal::{Kind, Refusal};
use super::worker::Reporter;
use crate::limits::{MODEL_BYTES_MAX, RUNS_KEPT_MAX, SAMPLE_BYTES_MAX, SAMPLES_MAX};

/// A model that was run on its data.
pub(super) struct Run {
    pub(super) model: Model,
    pub(super) checked: Checked,
    measured: Mutex<Option<Arc<Measured>>>,
}

/// The last runs by their texts, the newest first.
#[derive(Default)]
pub(super) struct Runs(Mutex<VecDeque<(String, Arc<Run>)>>);

impl Runs {
    /// The run of this text.
    pub(super) fn of(
        &self,
        text: &str,
        files: &ModelFiles,
        reporter: &mut Reporter,
    ) -> Result<Arc<Run>, Refusal> {
        if let Some(run) = self.known(text) {
            return Ok(run);
        }
        let model = parse(text)?;
        reporter.at("loading items", None);
        let (samples, names_files) = samples(&model, files)?;
        let checked = check_on(&model, samples, &mut |progress| report(reporter, progress));
        let checked = checked.map_err(Refusal::faults)?;
        let run = Arc::new(Run { model, checked, measured: Mutex::default() });
        if !names_files {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push_front((text.to_owned(), Arc::clone(&run)));
            kept.truncate(RUNS_KEPT_MAX);
        }
        Ok(run)
    }

    fn known(&self, text: &str) -> Option<Arc<Run>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().position(|(known, _)| known == text)?;
        let found = kept.remove(place)?;
        let run = Arc::clone(&found.1);
        kept.push_front(found);
        Some(run)
    }
}

impl Run {
    /// Its workload, metered once.
    pub(super) fn measured(&self, reporter: &mut Reporter) -> Result<Arc<Measured>, Refusal> {
        let known = self.measured.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(known) = known {
            return Ok(known);
        }
        reporter.at("metering the workload", None);
        let measured = Arc::new(measure(&self.model, &self.checked.report.samples).map_err(Refusal::faults)?);
        *self.measured.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&measured));
        Ok(measured)
    }
}

/// A model's text, parsed.
pub(super) fn parse(text: &str) -> Result<Model, Refusal> {
    if text.len() > MODEL_BYTES_MAX {
        return Err(too_large());
    }
    keywright_model::parse(text).map_err(Refusal::faults)
}

/// A model's items, and whether files were read for them.
pub(super) fn samples(model: &Model, files: &ModelFiles) -> Result<(Vec<Sample>, bool), Refusal> {
    let has_read = Cell::new(false);
    let read_file = |name: &str| {
        has_read.set(true);
        files.data_file(name)
    };
    let limit = Limit { items: SAMPLES_MAX, bytes: usize::try_from(SAMPLE_BYTES_MAX).unwrap_or(usize::MAX) };
    let samples = data::load_within(model, &read_file, limit).map_err(|reason| match reason {
        NotLoaded::Faults(faults) => Refusal::faults(faults),
        NotLoaded::BeyondLimit => too_many(),
    })?;
    Ok((samples, has_read.get()))
}

fn too_many() -> Refusal {
    let text = format!(
        "the studio runs models on at most {SAMPLES_MAX} items and {} MiB: lower `sample`, or run keywright model check",
        SAMPLE_BYTES_MAX >> 20
    );
    Refusal::new(Kind::TooLarge, text)
}

fn report(reporter: &mut Reporter, progress: Progress<'_>) {
    match progress {
        Progress::Loading { done, of } => reporter.at("loading items", Some((done, of))),
        Progress::Pattern { id, done, of } => reporter.at(&format!("pattern {id}"), Some((done, of))),
    }
}
