//! The order of a run: fill empty tables, then measure every target in every round.

use keywright_process::failure::Failure;
use keywright_process::output;

use super::cli::Plan;
use super::client::Endpoint;
use super::fixed_http::FixedHttp;
use super::limits::BareStore;
use super::pace::Pace;
use super::prepare::MadeTables;
use super::report::{Measured, Part, Report};
use super::workload::Kind;
use super::{load, prepare};
use crate::Settings;

/// Runs the plan, and notes the tables that it makes.
pub(super) fn measure(
    plan: &Plan,
    settings: &dyn Settings,
    made: &mut MadeTables,
) -> Result<Report, Failure> {
    let mut report = Report::new(plan);
    // Those with a key of their own share the table of the endpoint.
    for endpoint in plan.endpoints.iter().filter(|endpoint| endpoint.signer.is_none()) {
        let load = prepare::prepare(plan, endpoint, made)
            .map_err(|fault| Failure::new(format!("cannot prepare {}: {fault}", endpoint.name)))?;
        if let Some(load) = load {
            report.loads.push((endpoint.name.clone(), load));
        }
    }
    let bare_store = match (&plan.limits, plan.pace) {
        // The bare store has no fixed rate: its tasks run as fast as they can.
        (None, _) | (_, Pace::Open { .. }) => None,
        (Some(folder), Pace::Closed) => Some(BareStore::fill(folder, plan, settings)?),
    };
    for kind in &plan.kinds {
        report.parts.push(measure_kind(plan, *kind, bare_store.as_ref())?);
    }
    Ok(report)
}

/// A target of the measurements.
enum Target<'a> {
    Endpoint(&'a Endpoint),
    /// Started once the size of its responses is known.
    BareHttp(Option<FixedHttp>),
    BareStore(&'a BareStore),
}

impl Target<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Endpoint(endpoint) => &endpoint.name,
            Self::BareHttp(_) => "bare HTTP",
            Self::BareStore(_) => "bare store",
        }
    }
}

fn measure_kind(plan: &Plan, kind: Kind, bare_store: Option<&BareStore>) -> Result<Part, Failure> {
    let mut targets: Vec<Target<'_>> = plan.endpoints.iter().map(Target::Endpoint).collect();
    targets.extend(plan.limits.is_some().then_some(Target::BareHttp(None)));
    targets.extend(bare_store.map(Target::BareStore));
    let mut measured: Vec<Measured> = targets.iter().map(|target| Measured::new(target.name())).collect();
    for round in 0..plan.rounds {
        output::note(&format!("{}: round {} of {}", kind.name(), round + 1, plan.rounds));
        let turn = u64::from(round);
        for place in order(round, targets.len()) {
            let tally = match targets.get_mut(place) {
                None => continue,
                Some(Target::Endpoint(endpoint)) => load::turn(plan, endpoint, kind, turn)?,
                Some(Target::BareHttp(server)) => {
                    let server = if let Some(server) = server {
                        server
                    } else {
                        let answer_bytes = measured.first().map_or(0, Measured::answer_bytes);
                        server.insert(FixedHttp::start(answer_bytes)?)
                    };
                    load::turn(plan, &server.endpoint, kind, turn)?
                }
                Some(Target::BareStore(store)) => store.turn(plan, kind, turn)?,
            };
            if let Some(measured) = measured.get_mut(place) {
                measured.rounds.push(tally);
            }
        }
    }
    Ok(Part { kind, targets: measured })
}

/// The order of the targets in a round. Each round begins with another target, because what one leaves behind
/// on the machine affects the next.
fn order(round: u32, targets: usize) -> impl Iterator<Item = usize> {
    let first = usize::try_from(round).unwrap_or(0).checked_rem(targets).unwrap_or(0);
    (0..targets).map(move |place| (first + place) % targets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_rotate_over_the_rounds_and_run_once_in_each() {
        let orders: Vec<Vec<usize>> = (0..4).map(|round| order(round, 3).collect()).collect();
        assert_eq!(orders, [vec![0, 1, 2], vec![1, 2, 0], vec![2, 0, 1], vec![0, 1, 2]]);
    }
}
