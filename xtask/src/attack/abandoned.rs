//! Work whose client leaves: moves of a clock that stands over a year, with a hundred scalable targets.

use std::thread;
use std::time::Duration;

use super::background::{scaled_table, target};
use super::clock::Timer;
use super::conduct::{Attack, PEAK_MIB_MAX, per_second};
use super::field::{Field, answered, must_on, preparing};
use super::http::Connection;
use super::request::Sender;
use super::server::Setting;

const TARGETS: usize = 100;
const CLIENTS: usize = 8;
const YEAR_MS: u64 = 365 * 24 * 3_600_000;
/// How long a client waits before it leaves.
const PATIENCE: Duration = Duration::from_millis(300);
/// When the processor is looked at, after the last client has left.
const CALM: Duration = Duration::from_millis(500);
/// A fifth of one processor more than the quiet clients alone.
const TICKS_MAX: u64 = 20;

pub(crate) const ATTACKS: &[Attack] = &[Attack {
    name: "clock/years",
    what: "8 clients move a clock by years with 100 targets, and leave",
    why: "a year of minutes is computed for nobody",
    setting: Setting {
        arguments: &["--clock", "manual@2026-11-27T16:00:00Z"],
        peak_mib_max: PEAK_MIB_MAX,
        ..Setting::MEMORY
    },
    prepare: |sender: &Sender| {
        let mut connection = preparing(sender)?;
        for number in 0..TARGETS {
            must_on(&mut connection, sender, "CreateTable", &scaled_table(number))?;
            for (operation, body) in target(number, "Read") {
                answered(&mut connection, &sender.scaling(operation, body.as_bytes()))?;
            }
        }
        Ok(())
    },
    strike: |field| {
        field.together(CLIENTS, |_| {
            while field.left() > CALM * 3 {
                leave(field);
            }
        });
        thread::sleep(CALM);
        let (timer, ticks) = (Timer::start(), field.server.cpu_ticks());
        thread::sleep(CALM);
        let own = per_second(ticks, field.server.cpu_ticks(), timer.elapsed());
        if own > field.quiet_ticks + TICKS_MAX {
            let quiet = field.quiet_ticks;
            field.fault(format!("{own} % of a processor after all clients have left, {quiet} before"));
        }
    },
}];

/// Begins a move of a year, and leaves.
fn leave(field: &Field<'_>) {
    let body = format!(r#"{{"advance-ms":{YEAR_MS}}}"#);
    let request = format!(
        "POST /_keywright/clock HTTP/1.1\r\nHost: {}\r\nX-Keywright: clock\r\nContent-Length: {}\r\n\r\n{body}",
        field.sender.address,
        body.len()
    );
    let called = Connection::open(field.sender.address, PATIENCE)
        .and_then(|mut connection| connection.call(request.as_bytes()));
    match called {
        Ok(answer) => field.note(&Ok(answer)),
        Err(_) => field.count("left"),
    }
}
