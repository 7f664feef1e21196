//! Table settings that change, each at its time: those that add capacity, protection or copies come before
//! everything else, those that take them away come last.

use keywright_semantics::request::parts::{StreamViewType, TableClass};

use super::plan::StepKind::{ChangeSetting as First, LowerSetting as Last};
use super::plan::{Place, StepKind};
use keywright_model::tables::{Capacity, Provisioned, Scaling, TableDefinition};

/// The changed settings of a table, old and new.
pub(super) fn settings(old: &TableDefinition, new: &TableDefinition) -> [(&'static str, String, String); 8] {
    let on = |set: bool| if set { "on" } else { "off" }.to_owned();
    [
        ("billing", billing(&old.billing), billing(&new.billing)),
        ("auto scaling", scaling(&old.billing), scaling(&new.billing)),
        ("ttl", ttl(old), ttl(new)),
        ("stream", stream(old), stream(new)),
        ("class", class(old), class(new)),
        ("point-in-time recovery", on(old.point_in_time_recovery), on(new.point_in_time_recovery)),
        ("deletion protection", on(old.deletion_protection), on(new.deletion_protection)),
        ("replicas", regions(&old.replicas), regions(&new.replicas)),
    ]
}

/// The calls that change settings, each with its step.
pub(super) fn calls(old: &TableDefinition, new: &TableDefinition) -> Vec<(StepKind, String)> {
    let mut found = Vec::new();
    let name = &new.name;
    let refused = refused_replicas(old, new).is_some();
    for (setting, before, now) in settings(old, new) {
        if before == now || refused && ["billing", "auto scaling", "replicas"].contains(&setting) {
            continue;
        }
        let mut set = |kind: StepKind, to: &str, how: &str| {
            found.push((kind, format!("set {setting} of {name} to {to} ({how})")));
        };
        match setting {
            "billing" => match (&old.billing, &new.billing) {
                (Capacity::Provisioned(from), Capacity::Provisioned(to)) => {
                    let most = higher(from, to);
                    if provisioned(&most) != before {
                        set(First, &provisioned(&most), "UpdateTable");
                    }
                    if provisioned(&most) != now {
                        set(Last, &now, "UpdateTable");
                    }
                }
                (_, Capacity::OnDemand) => set(First, &now, "UpdateTable"),
                (Capacity::OnDemand, Capacity::Provisioned(_)) => set(Last, &now, "UpdateTable"),
            },
            "auto scaling" => {
                let kind = if widens(&old.billing, &new.billing) { First } else { Last };
                set(
                    kind,
                    &now,
                    "Application Auto Scaling: RegisterScalableTarget and PutScalingPolicy, or DeregisterScalableTarget; not UpdateTable",
                );
            }
            "ttl" => {
                // An attribute that no longer means an expiry must not delete items; a new expiry begins when
                // all data is in place.
                if old.ttl.is_some() {
                    set(First, "off", "UpdateTimeToLive, once an hour at most");
                }
                if new.ttl.is_some() {
                    set(Last, &now, "UpdateTimeToLive, once an hour at most");
                }
            }
            "stream" => {
                // Replicas need a stream of both images, which must exist before them.
                let kind = if old.stream.is_none() || !new.replicas.is_empty() { First } else { Last };
                let how = if old.stream.is_some() && new.stream.is_some() {
                    "UpdateTable; another view is a new stream, by way of off: readers of the old one read it to its end first"
                } else {
                    "UpdateTable"
                };
                set(kind, &now, how);
            }
            // Writes to the infrequent-access class cost more.
            "class" => {
                let kind = if new.class == Some(TableClass::StandardInfrequentAccess) { Last } else { First };
                set(kind, &now, "UpdateTable");
            }
            "point-in-time recovery" => {
                set(if new.point_in_time_recovery { First } else { Last }, &now, "UpdateContinuousBackups");
            }
            "deletion protection" => {
                set(if new.deletion_protection { First } else { Last }, &now, "UpdateTable");
            }
            _ => {
                let mut all = old.replicas.clone();
                all.extend(new.replicas.iter().filter(|region| !old.replicas.contains(region)).cloned());
                let how = "UpdateTable, one replica at a time; a new one is paid by the gigabyte";
                if all.len() > old.replicas.len() {
                    set(when_scaled(&old.billing, &new.billing), &regions(&all), how);
                }
                if all.len() > new.replicas.len() {
                    set(
                        Last,
                        &now,
                        "UpdateTable, one replica at a time, after nothing reads or writes there",
                    );
                }
            }
        }
    }
    // A stream cannot be disabled while replicas use it; new replicas come when their requirements are met.
    let goes = |kind: StepKind, text: &str| {
        kind == Last
            && text.starts_with("set replicas ")
            && !new.replicas.iter().any(|region| !old.replicas.contains(region))
    };
    found.sort_by_key(|(kind, text)| *kind == Last && !goes(*kind, text));
    found
}

/// When replicas can be added: only to a table that is on demand or scales its write capacity.
fn when_scaled(old: &Capacity, new: &Capacity) -> StepKind {
    match (old, new) {
        (_, Capacity::OnDemand) => First,
        // An on-demand table accepts replicas, but the scaling settings that they need later would come after
        // them.
        (Capacity::OnDemand, Capacity::Provisioned(_)) => Last,
        (Capacity::Provisioned(_), Capacity::Provisioned(_)) => {
            if writes_scale(old) || widens(old, new) {
                First
            } else {
                Last
            }
        }
    }
}

fn writes_scale(billing: &Capacity) -> bool {
    match billing {
        Capacity::OnDemand => true,
        Capacity::Provisioned(capacity) => capacity.autoscaling.is_some_and(|both| both.write.is_some()),
    }
}

/// The price of a job's units: after the first settings and before the last ones.
pub(super) fn place(old: Option<&TableDefinition>, new: &TableDefinition) -> Place {
    let rare = |table: &TableDefinition| table.class == Some(TableClass::StandardInfrequentAccess);
    // Settings that change after the jobs do not concern them.
    let during = |old: &TableDefinition| {
        refused_replicas(old, new).is_none() && when_scaled(&old.billing, &new.billing) == First
    };
    let mut regions = if old.is_none_or(during) { new.replicas.clone() } else { Vec::new() };
    for region in old.into_iter().flat_map(|old| &old.replicas) {
        if !regions.contains(region) {
            regions.push(region.clone());
        }
    }
    Place { infrequent: rare(new) && old.is_none_or(rare), replicas: regions.len() }
}

fn ttl(table: &TableDefinition) -> String {
    table.ttl.clone().unwrap_or_else(|| "off".to_owned())
}

/// The view of a table's stream; replicas need both images, whatever the model says (developer guide: global
/// tables).
fn stream(table: &TableDefinition) -> String {
    let needed = (!table.replicas.is_empty()).then_some(StreamViewType::NewAndOldImages);
    needed.or(table.stream).map_or("off".to_owned(), |view| view.name().to_owned())
}

/// Why a model's stream setting contradicts its replicas.
pub(super) fn refused_stream(table: &TableDefinition) -> Option<String> {
    let view = table.stream.filter(|view| *view != StreamViewType::NewAndOldImages)?;
    (!table.replicas.is_empty()).then(|| {
        format!(
            "not planned: the stream of {} cannot be {}, as replicas need one of new and old images: write `stream: new-and-old`",
            table.name,
            view.name()
        )
    })
}

/// Why a model's capacity contradicts its replicas. An existing contradiction is left alone: global tables of
/// the version before 2019.11.21 may have fixed units.
pub(super) fn refused_replicas(old: &TableDefinition, new: &TableDefinition) -> Option<String> {
    let stays = old.replicas == new.replicas && writes_scale(&old.billing) == writes_scale(&new.billing);
    (!stays && !new.replicas.is_empty() && !writes_scale(&new.billing)).then(|| {
        format!(
            "not planned: {} cannot have replicas ({}) and fixed write units, as the service refuses that: write `autoscale`, or `billing: on-demand`",
            new.name,
            new.replicas.join(", ")
        )
    })
}

fn class(table: &TableDefinition) -> String {
    table.class.map_or("STANDARD".to_owned(), |class| class.name().to_owned())
}

fn regions(replicas: &[String]) -> String {
    if replicas.is_empty() { "none".to_owned() } else { replicas.join(", ") }
}

fn billing(billing: &Capacity) -> String {
    match billing {
        Capacity::OnDemand => "on-demand".to_owned(),
        Capacity::Provisioned(capacity) => provisioned(capacity),
    }
}

fn provisioned(capacity: &Provisioned) -> String {
    let mut text = format!("provisioned {} RCU, {} WCU", capacity.table.read, capacity.table.write);
    for (index, units) in &capacity.indexes {
        text = format!("{text}; {index} {} RCU, {} WCU", units.read, units.write);
    }
    text
}

fn scaling(billing: &Capacity) -> String {
    let Capacity::Provisioned(Provisioned { autoscaling: Some(scaling), .. }) = billing else {
        return "off".to_owned();
    };
    let range = |one: &Scaling| format!("{} to {} at {} %", one.units_min, one.units_max, one.target_percent);
    match (&scaling.read, &scaling.write) {
        (Some(read), Some(write)) if read == write => range(read),
        (Some(read), Some(write)) => format!("reads {}, writes {}", range(read), range(write)),
        (Some(read), None) => format!("reads {}", range(read)),
        (None, Some(write)) => format!("writes {}", range(write)),
        (None, None) => "off".to_owned(),
    }
}

/// The capacity that is enough for both designs.
fn higher(one: &Provisioned, other: &Provisioned) -> Provisioned {
    let mut most = other.clone();
    most.table.read = one.table.read.max(other.table.read);
    most.table.write = one.table.write.max(other.table.write);
    let names: Vec<&String> = one.indexes.keys().chain(other.indexes.keys()).collect();
    most.indexes = names
        .into_iter()
        .map(|name| {
            let (own, its) = (one.of_index(name), other.of_index(name));
            let units = keywright_model::tables::Units {
                read: own.read.max(its.read),
                write: own.write.max(its.write),
            };
            (name.clone(), units)
        })
        .collect();
    most.autoscaling = one.autoscaling;
    most
}

/// Whether auto scaling may then go as high as before, or higher.
fn widens(old: &Capacity, new: &Capacity) -> bool {
    let most = |billing: &Capacity| match billing {
        Capacity::OnDemand => u64::MAX,
        Capacity::Provisioned(capacity) => capacity
            .autoscaling
            .and_then(keywright_model::tables::AutoScaling::together)
            .map_or(capacity.table.write, |range| range.units_max),
    };
    most(new) >= most(old) && !matches!(old, Capacity::OnDemand)
}
