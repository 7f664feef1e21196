//! The order of a run: fill what is empty, then take turns between the targets, round by round.

use super::cli::Plan;
use super::client::Endpoint;
use super::fixed_http::FixedHttp;
use super::limits::BareStore;
use super::pace::Pace;
use super::report::{Measured, Part, Report};
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
    let bare_store = match (&plan.limits, plan.pace) {
        // Its tasks do as much as they can, which is no measure of a fixed rate.
        (None, _) | (_, Pace::Open { .. }) => None,
        (Some(folder), Pace::Closed) => Some(BareStore::fill(folder, plan)?),
    };
    for kind in &plan.kinds {
        report.parts.push(measure_kind(plan, *kind, bare_store.as_ref())?);
    }
    Ok(report)
}

/// What is measured in turns.
enum Target<'a> {
    Endpoint(&'a Endpoint),
    /// Started when it is known how large its answers must be.
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

fn measure_kind(plan: &Plan, kind: Kind, bare_store: Option<&BareStore>) -> Result<Part, String> {
    let mut targets: Vec<Target<'_>> = plan.endpoints.iter().map(Target::Endpoint).collect();
    targets.extend(plan.limits.is_some().then_some(Target::BareHttp(None)));
    targets.extend(bare_store.map(Target::BareStore));
    let mut measured: Vec<Measured> = targets.iter().map(|target| Measured::new(target.name())).collect();
    for round in 0..plan.rounds {
        banner::note(&format!("{}: round {} of {}", kind.name(), round + 1, plan.rounds));
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

/// Who comes when: each round begins with another target, because what one leaves behind on the machine falls on the next.
fn order(round: u32, targets: usize) -> impl Iterator<Item = usize> {
    let first = usize::try_from(round).unwrap_or(0).checked_rem(targets).unwrap_or(0);
    (0..targets).map(move |place| (first + place) % targets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_begins_a_round_in_its_turn_and_has_one_turn_in_each() {
        let orders: Vec<Vec<usize>> = (0..4).map(|round| order(round, 3).collect()).collect();
        assert_eq!(orders, [vec![0, 1, 2], vec![1, 2, 0], vec![2, 0, 1], vec![0, 1, 2]]);
    }
}
