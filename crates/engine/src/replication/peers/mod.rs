//! Members of a group on other servers.
//!
//! - `message`: what servers say to each other, in a frame with a version; `ask` says it.
//! - `ship`: changes are sent in batches; `receive`, `received`: they are written, with the sender's place.
//! - `places`: whether one of two servers was restored from an older state.
//! - `membership`: who is in a group, and where a newcomer's places begin.
//! - `tend`: what is due for the remote members of a region.
//!
//! How a server is reached is not known here: `support::peers`. What a message asks of tables is done in
//! `peers` of this crate.
//!
//! Layers: message, received < ask, membership < ship, receive < tend

mod ask;
mod membership;
mod message;
mod places;
mod receive;
mod received;
mod ship;
mod tend;

pub(crate) use ask::{Unsent, ask, ends, refused};
pub(crate) use membership::{
    change_remote, open_places, remote_member, remove_remote, rows_to_read, take_state, values_here,
    with_values_of_group,
};
pub use message::PEER_PROTOCOL;
pub(crate) use message::{
    Answer, Comparison, Ends, Joiner, Look, MemberView, Message, RefusalKind, Repair, ScalingBounds,
    ScalingRule, decode, encode,
};
pub(crate) use places::answer as answer_places;
pub(crate) use receive::{is_lost, receive};
pub(super) use receive::{is_sound, read_row};
pub(crate) use received::{Received, key as received_key};
pub(super) use ship::row_of;
pub use tend::{PeerLane, PeerNotice};
pub(crate) use tend::{are_told, must_tell_of_end, speaker, step, tell_again};
