//! The order of a run: fill what is empty, then take turns between the targets, round by round.

use super::cli::Plan;
use super::fixed_http::FixedHttp;
use super::limits::BareStore;
use super::report::{Measured, Part, Report};
use super::tally::Tally;
use super::workload::Kind;
use super::{load, prepare};
use crate::banner;

/// Measures everything that the plan asks for.
pub(super) fn measure(plan: &Plan) -> Result<Report, String> {
    let mut report = Report::new(plan);
    for endpoint in &plan.endpoints {
        let load = prepare::prepare(plan, endpoint)
            .map_err(|fault| format!("{} cannot be prepared: {fault}", endpoint.name))?;
        if let Some(load) = load {
            report.loads.push((endpoint.name.clone(), load));
        }
    }
    let bare_store = match &plan.limits {
        None => None,
        Some(folder) => Some(BareStore::fill(folder, plan)?),
    };
    for kind in &plan.kinds {
        report.parts.push(measure_kind(plan, *kind, bare_store.as_ref())?);
    }
    Ok(report)
}

fn measure_kind(plan: &Plan, kind: Kind, bare_store: Option<&BareStore>) -> Result<Part, String> {
    let mut targets: Vec<Measured> =
        plan.endpoints.iter().map(|endpoint| Measured::new(&endpoint.name)).collect();
    let mut bare_http = None;
    for round in 0..plan.rounds {
        banner::note(&format!("{}: round {} of {}", kind.name(), round + 1, plan.rounds));
        let turn = u64::from(round);
        let mut tallies: Vec<Tally> = Vec::new();
        for endpoint in &plan.endpoints {
            tallies.push(load::turn(plan, endpoint, kind, turn)?);
        }
        if let Some(bare_store) = bare_store {
            if bare_http.is_none() {
                bare_http = Some(FixedHttp::start(tallies.first().map_or(0, Tally::mean_body_bytes))?);
            }
            if let Some(bare_http) = &bare_http {
                tallies.push(load::turn(plan, &bare_http.endpoint, kind, turn)?);
            }
            tallies.push(bare_store.turn(plan, kind, turn)?);
        }
        if round == 0 && plan.limits.is_some() {
            targets.extend(["bare HTTP", "bare store"].map(Measured::new));
        }
        for (target, tally) in targets.iter_mut().zip(tallies) {
            target.rounds.push(tally);
        }
    }
    Ok(Part { kind, targets })
}
