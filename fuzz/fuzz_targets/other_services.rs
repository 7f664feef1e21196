//! Any bytes as a request to CloudWatch in each of its protocols, as one to Application Auto Scaling, as one
//! on event source mappings, as a pattern of events, and as a schedule: none panics, a fault can be rendered,
//! and the next time of a schedule lies in the future.

#![no_main]

use keywright_semantics::monitoring::document::TimeMs;
use keywright_semantics::scaling::schedule::Schedule;
use keywright_semantics::{monitoring, scaling};
use keywright_wire::events::{Pattern, batch_answer, window_answer};
use keywright_wire::{
    Protocol, RequestLine, decode_event_sources, decode_monitoring, decode_scaling, render_event_sources_fault,
    render_fault, render_scaling_fault,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, u32, &[u8])| {
    let (operation, now_s, body) = input;
    let place = usize::from(operation);
    let name = monitoring::Operation::ALL.get(place % monitoring::Operation::ALL.len());
    let name = name.map_or("", |operation| operation.name());
    for protocol in [Protocol::Json, Protocol::Cbor, Protocol::Query] {
        if let Err(fault) = decode_monitoring(protocol, name, body) {
            assert!(!render_fault(protocol, &fault).body.is_empty());
        }
    }
    let name = scaling::Operation::ALL.get(place % scaling::Operation::ALL.len());
    if let Err(fault) = decode_scaling(name.map_or("", |operation| operation.name()), body) {
        assert!(!render_scaling_fault(&fault).body.is_empty());
    }
    let method = ["GET", "POST", "PUT", "DELETE"].get(place % 4).copied().unwrap_or_default();
    let Ok(text) = std::str::from_utf8(body) else { return };
    for path in ["/2015-03-31/event-source-mappings", "/2015-03-31/event-source-mappings/u"] {
        if let Err(fault) = decode_event_sources(RequestLine { method, path, query: text }, body) {
            assert!(!render_event_sources_fault(&fault).body.is_empty());
        }
    }
    let _answers = (batch_answer(body), window_answer(body));
    if let Ok(pattern) = Pattern::compile(text) {
        pattern.matches(body);
    }
    let now = TimeMs(i64::from(now_s) * 1000);
    for zone in [None, Some("Europe/Berlin"), Some("America/New_York")] {
        if let Ok(schedule) = Schedule::parse(text, zone)
            && let Some(next) = schedule.next_after(now, now)
        {
            assert!(next.0 > now.0, "{text} in {zone:?}: {} is not after {}", next.0, now.0);
        }
    }
});
