//! Calls that control the database from outside, for tests: the clock that stands, and the simulation of
//! replication.
//!
//! Pages of the studio reach the simulation too. The forms are in `clock` and `simulation`.

use std::time::Duration;

use hyper::Method;
use hyper::http::request::Parts;
use keywright_access::action::Own;
use keywright_access::arn::Target;
use keywright_engine::{AccountId, Chosen, DeliveryFault, Engine, Namespace, Region};
use keywright_semantics::error::Error;
use keywright_semantics::place::DEFAULT_ACCOUNT;
use keywright_wire::Family;
use serde_json::json;
use tokio::time::Instant;

use super::admission::Asker;
use super::branches::HEADER;
use super::context::RequestContext;
use super::receive::BodyForm;
use super::request_trace::Trace;
use super::response::Answer;
use super::service::Service;
use crate::clock::{self, endpoint as clock_form};
use crate::connection::body::{self, RequestBody};
use crate::connection::client::{Address, Client};
use crate::simulation;
use crate::simulation::endpoint::{self as simulation_form, Delivered, Delivery};
use crate::simulation::known::Tables;
use crate::storage::any_store::AnyStore;
use crate::studio::{Access, Simulating, SimulationOperation, Visit};

/// How often a call that waits looks.
const QUIET_LOOK_EVERY: Duration = Duration::from_millis(5);

impl Tables for Engine<AnyStore> {
    fn has(&self, account: Option<&AccountId>, name: &str, region: Option<&str>) -> bool {
        self.knows_table(account, name, region)
    }

    fn has_strong(&self, account: Option<&AccountId>, name: Option<&str>, region: Option<&str>) -> bool {
        self.knows_strong_table(account, name, region)
    }
}

/// What a call controls.
#[derive(Clone, Copy)]
pub(super) enum Control<'s> {
    Clock(&'s clock::Desk),
    /// What is simulated.
    Simulation(&'s simulation::Desk),
    /// Changes are delivered one by one.
    Deliveries,
    /// The call waits until no change is on its way.
    Quiet,
}

impl Control<'_> {
    /// The right that a call of this method needs.
    pub(super) fn right(self, method: &Method) -> Own {
        match (self, *method == Method::GET) {
            (Self::Clock(_), true) => Own::GetClock,
            (Self::Clock(_), false) => Own::MoveClock,
            (Self::Simulation(_), true) | (Self::Quiet, _) => Own::GetSimulation,
            (Self::Simulation(_), false) | (Self::Deliveries, _) => Own::ChangeSimulation,
        }
    }

    /// What a call that changes something must have in a header that pages of other origins cannot send, and
    /// the most bytes of its body.
    const fn expected(self) -> (&'static str, usize) {
        match self {
            Self::Clock(_) => (clock_form::HEADER_VALUE, clock_form::BODY_BYTES_MAX),
            Self::Simulation(_) | Self::Deliveries | Self::Quiet => {
                (simulation_form::HEADER_VALUE, simulation_form::BODY_BYTES_MAX)
            }
        }
    }
}

impl Service {
    /// The control that a request is for, if it is there for such a client.
    pub(super) fn control(&self, head: &Parts, client: &Client) -> Option<Control<'_>> {
        let is = |methods: &[Method]| methods.contains(&head.method);
        match head.uri.path() {
            clock_form::PATH if is(&[Method::GET, Method::POST]) => {
                self.clock.as_ref().filter(|_| client.address.is_loopback()).map(Control::Clock)
            }
            path => {
                let desk = self.simulation.as_deref().filter(|desk| desk.admits(client.address))?;
                match path {
                    simulation_form::PATH if is(&[Method::GET, Method::POST, Method::DELETE]) => {
                        Some(Control::Simulation(desk))
                    }
                    simulation_form::DELIVER_PATH if is(&[Method::POST]) => Some(Control::Deliveries),
                    simulation_form::QUIET_PATH if is(&[Method::POST]) => Some(Control::Quiet),
                    _ => None,
                }
            }
        }
    }

    /// Shows what a control is set to, or sets it. With credentials the request must be signed; without, one
    /// that changes something must have a header that pages of other origins cannot send.
    pub(super) async fn serve_control(
        &self,
        context: &RequestContext<'_>,
        control: Control<'_>,
        mut body: RequestBody,
        trace: &mut Trace,
    ) -> Result<Answer, Error> {
        let method = &context.head.method;
        if self.authenticator.verifies() {
            let expected = (Family::DynamoDb, BodyForm::Short);
            let signed = self.receive_signed(context, expected, body, trace).await?;
            self.allow_own(context, &signed.signer, control.right(method))?;
            let account = signed.signer.caller.namespace.account;
            return self.controlled(control, method, (&account, &signed.body)).await;
        }
        let account = AccountId::from(DEFAULT_ACCOUNT);
        if *method == Method::GET {
            return self.controlled(control, method, (&account, &[])).await;
        }
        let (value, bytes_max) = control.expected();
        if context.head.headers.get(HEADER).is_none_or(|sent| sent != value) {
            self.discard(context.head, &mut body, context.client).await;
            return Ok(refused(403, &format!("send this request with the header {HEADER}: {value}")));
        }
        let mut hold = self.bodies.hold(self.trusts(context.client));
        let read = body::read(&mut body, bytes_max, &mut hold);
        let Some(Ok(sent)) = self.within_time(read, context.client).await else {
            return Ok(refused(400, &format!("the body is longer than {bytes_max} bytes, or broken")));
        };
        context.client.admit();
        self.controlled(control, method, (&account, &sent)).await
    }

    /// Whether a visitor of the studio can simulate replication.
    pub(super) fn simulating_for(&self, visit: &Visit) -> Simulating {
        match self.simulation.as_deref() {
            None => Simulating::Off,
            Some(desk) if desk.admits(Address::of(visit.ip)) => Simulating::On,
            Some(_) => Simulating::FromItsMachine,
        }
    }

    /// Does what a page asks of the simulation; none if it would change something and may not.
    pub(super) async fn simulated_for(
        &self,
        operation: SimulationOperation,
        (address, asker): (Address, &Asker<'_>),
        body: &[u8],
        trace: &mut Trace,
    ) -> Result<Option<Answer>, Error> {
        let Some(desk) = self.simulation.as_deref().filter(|desk| desk.admits(address)) else {
            return Ok(Some(refused(
                404,
                "replication is not simulated here: start the server with --simulate",
            )));
        };
        let (control, method) = match operation {
            SimulationOperation::Show => (Control::Simulation(desk), Method::GET),
            SimulationOperation::Replace => (Control::Simulation(desk), Method::POST),
            SimulationOperation::End => (Control::Simulation(desk), Method::DELETE),
            SimulationOperation::Deliver => (Control::Deliveries, Method::POST),
        };
        let right = control.right(&method);
        if let Some(notes) = &mut trace.audit {
            notes.name((right, Target::Everything));
        }
        asker.judge.as_ref().map_or(Ok(()), |judge| judge.own_call(right))?;
        let changes = operation != SimulationOperation::Show;
        trace.permit(changes && asker.access == Access::Write)?;
        if changes && asker.access == Access::Read {
            return Ok(None);
        }
        self.controlled(control, &method, (&asker.caller.namespace.account, body)).await.map(Some)
    }

    /// Does what a call says. Tables without an account are those of this one.
    async fn controlled(
        &self,
        control: Control<'_>,
        method: &Method,
        (account, body): (&AccountId, &[u8]),
    ) -> Result<Answer, Error> {
        match control {
            Control::Clock(desk) if *method == Method::GET => Ok(clock_shown(desk)),
            Control::Clock(desk) => Ok(moved(desk, body).await),
            Control::Simulation(desk) => self.simulated(desk, method, body),
            Control::Deliveries => match simulation_form::read_delivery(body) {
                Ok(delivery) => self.delivered(account, delivery).await,
                Err(message) => Ok(refused(400, &message)),
            },
            Control::Quiet => match simulation_form::read_wait(body) {
                Ok(wait_ms) => self.waited(wait_ms).await,
                Err(message) => Ok(refused(400, &message)),
            },
        }
    }

    /// Shows, replaces or ends the simulation.
    fn simulated(&self, desk: &simulation::Desk, method: &Method, body: &[u8]) -> Result<Answer, Error> {
        let changed = match *method {
            Method::POST => {
                let engine = self.engine()?;
                simulation_form::replace(desk, body, &engine)
            }
            Method::DELETE => {
                simulation_form::end(desk);
                Ok(())
            }
            _ => Ok(()),
        };
        Ok(match changed {
            Ok(()) => Answer::json(desk.shown(), None),
            Err(message) => refused(400, &message),
        })
    }

    /// Delivers changes of a table of this account.
    async fn delivered(&self, account: &AccountId, delivery: Delivery) -> Result<Answer, Error> {
        let Delivery { table, from, to, what } = delivery;
        let place = Namespace { account: account.clone(), region: Region::stored(&from) };
        let chosen = match &what {
            Delivered::Count(count) => Chosen::Next(*count),
            Delivered::Key(key) => Chosen::Item(key),
        };
        let (engine, sender, to) = (self.engine()?, table.clone(), Region::stored(&to));
        let outcome = engine.deliver((&place, &sender), &to, chosen).await;
        match outcome {
            Ok(count) => Ok(Answer::json(simulation_form::delivered(count), None)),
            Err(DeliveryFault::NoReplica) => {
                let text = format!("account {account} has no table {table} in {from} with a replica in {to}");
                Ok(refused(404, &text))
            }
            Err(DeliveryFault::OtherServer) => {
                let text = format!(
                    "region {to} is owned by another server: changes cannot be delivered there by hand"
                );
                Ok(refused(400, &text))
            }
            Err(DeliveryFault::Key(text)) => Ok(refused(400, &text)),
            Err(DeliveryFault::Failed(error)) => Err(error),
        }
    }

    /// Waits until no change is on its way, for so many milliseconds at most.
    async fn waited(&self, wait_ms: u64) -> Result<Answer, Error> {
        let end = Instant::now() + Duration::from_millis(wait_ms);
        loop {
            let on_way = self.engine()?.changes_on_way().await?;
            if on_way == 0 || Instant::now() >= end || *self.stopping.borrow() {
                return Ok(Answer::json(simulation_form::waited(on_way), None));
            }
            tokio::time::sleep(QUIET_LOOK_EVERY).await;
        }
    }
}

fn clock_shown(desk: &clock::Desk) -> Answer {
    Answer::json(clock_form::shown(desk.now_ms()), None)
}

/// Advances the clock as a body says.
async fn moved(desk: &clock::Desk, body: &[u8]) -> Answer {
    match clock_form::read(body) {
        Err(message) => refused(400, &message),
        Ok(by_ms) if desk.advance(by_ms).await => clock_shown(desk),
        Ok(_) => refused(503, "the server stops"),
    }
}

fn refused(status: u16, message: &str) -> Answer {
    Answer::error(status, json!({ "message": message }).to_string().into_bytes())
}
