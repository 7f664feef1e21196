//! What the server knows about a connection's client: its address, its activity, whether it was admitted.
//!
//! It does not know requests; `http` reports when one was admitted.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::hosts::AdmittedHost;
use super::idle_timeout::Activity;
use super::secured::Secured;
use crate::limits::{HANDSHAKES_SHARE, Limits, PerAddress};

/// The unit in which addresses are counted: an IPv4 address, or the 64-bit network of an IPv6 client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address(IpAddr);

impl Address {
    /// The unit that an address belongs to.
    pub fn of(ip: IpAddr) -> Self {
        match ip.to_canonical() {
            IpAddr::V6(ip) if !ip.is_loopback() => {
                let network = u128::from(ip) & !u128::from(u64::MAX);
                Self(Ipv6Addr::from(network).into())
            }
            ip => Self(ip),
        }
    }

    /// Whether the client runs on this machine.
    pub const fn is_loopback(self) -> bool {
        self.0.is_loopback()
    }
}

/// Connections, handshakes and requests of one address.
#[derive(Debug)]
struct InUse {
    connections: u32,
    /// Shared with the address's connections, as is the next.
    requests: Arc<AtomicU32>,
    handshakes: Arc<AtomicU32>,
}

/// The addresses with open connections, as far as limits apply to them.
#[derive(Debug)]
pub struct Addresses {
    connections_max: PerAddress,
    requests_max: PerAddress,
    in_use: HashMap<Address, InUse>,
}

/// A limit that a connection shares with the others of its address.
#[derive(Clone, Debug)]
struct SharedLimit {
    count: Arc<AtomicU32>,
    most: u32,
}

impl SharedLimit {
    /// Counts one more, unless the address is at its limit.
    fn begin(&self) -> Result<Counted<'_>, TooMany> {
        let counted = Counted(Some(&self.count));
        let before = self.count.fetch_add(1, Ordering::Relaxed);
        if before >= self.most { Err(TooMany) } else { Ok(counted) }
    }
}

/// The limits of a connection's address; without any, all are `None`.
#[derive(Clone, Debug, Default)]
pub struct AddressLimits {
    requests: Option<SharedLimit>,
    handshakes: Option<SharedLimit>,
}

/// A request or handshake that counts against its address until it is dropped.
pub struct Counted<'l>(Option<&'l AtomicU32>);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        if let Some(count) = self.0 {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Addresses {
    /// No address yet, with the limits that the settings give.
    pub fn new(limits: &Limits) -> Self {
        Self {
            connections_max: limits.connections_per_address,
            requests_max: limits.requests_per_address,
            in_use: HashMap::new(),
        }
    }

    /// Counts a new connection, unless its address is at its limit.
    pub fn begin(&mut self, ip: IpAddr) -> Result<AddressLimits, TooMany> {
        let (connections_max, requests_max) = (self.connections_max.of(ip), self.requests_max.of(ip));
        if connections_max.is_none() && requests_max.is_none() {
            return Ok(AddressLimits::default());
        }
        let in_use = self.in_use.entry(Address::of(ip)).or_insert_with(|| InUse {
            connections: 0,
            requests: Arc::default(),
            handshakes: Arc::default(),
        });
        if connections_max.is_some_and(|most| in_use.connections >= most) {
            return Err(TooMany);
        }
        in_use.connections += 1;
        let limit = |count: &Arc<AtomicU32>, most| SharedLimit { count: Arc::clone(count), most };
        Ok(AddressLimits {
            requests: requests_max.map(|most| limit(&in_use.requests, most)),
            handshakes: connections_max.map(|most| limit(&in_use.handshakes, handshakes_max(most))),
        })
    }

    /// Notes that a connection counted by `begin` has ended.
    pub fn end(&mut self, ip: IpAddr) {
        let address = Address::of(ip);
        if let Some(in_use) = self.in_use.get_mut(&address) {
            in_use.connections = in_use.connections.saturating_sub(1);
            if in_use.connections == 0 {
                self.in_use.remove(&address);
            }
        }
    }
}

/// Handshakes at a time of which so many connections may be open.
fn handshakes_max(connections_max: u32) -> u32 {
    let share = u32::try_from(HANDSHAKES_SHARE).unwrap_or(u32::MAX);
    (connections_max / share).max(1)
}

/// The address is at its limit of connections, handshakes or requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

/// Numbers of open connections in some state, of all addresses.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Without an admitted request.
    pub unadmitted: Arc<AtomicUsize>,
    /// With a TLS handshake under way.
    pub handshakes: Arc<AtomicUsize>,
}

/// The client of one connection.
#[derive(Debug)]
pub struct Client {
    /// What its connection is doing.
    pub activity: Arc<Activity>,
    /// Where it connects from.
    pub ip: IpAddr,
    /// The unit in which that is counted.
    pub address: Address,
    /// Under which name it reaches the server, once that was admitted.
    pub host: AdmittedHost,
    /// Where the connection has TLS, once its handshake is over.
    secured: OnceLock<Secured>,
    /// Of the certificate that the client has shown, if it names anybody.
    certificate_subject: OnceLock<String>,
    limits: AddressLimits,
    counts: Counts,
}

/// A handshake that counts until it is dropped.
pub struct Handshake<'c> {
    all: &'c AtomicUsize,
    _of_address: Counted<'c>,
}

impl Drop for Handshake<'_> {
    fn drop(&mut self) {
        self.all.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Client {
    /// The client of a new connection, without an admitted request.
    pub fn new(ip: IpAddr, limits: AddressLimits, counts: Counts) -> Self {
        counts.unadmitted.fetch_add(1, Ordering::Relaxed);
        let (secured, certificate_subject) = (OnceLock::new(), OnceLock::new());
        let activity = Arc::new(Activity::new());
        let (address, host) = (Address::of(ip), AdmittedHost::default());
        Self { activity, ip, address, host, secured, certificate_subject, limits, counts }
    }

    /// Notes what the TLS handshake has agreed on. A connection has one handshake.
    pub(crate) fn note_secured(&self, secured: Secured) {
        let is_first = self.secured.set(secured).is_ok();
        assert!(is_first, "a connection has one handshake");
    }

    /// What the TLS handshake has agreed on; none without TLS.
    pub fn secured(&self) -> Option<Secured> {
        self.secured.get().copied()
    }

    /// Notes whom a verified certificate of the client names. A connection has one handshake.
    pub(crate) fn note_certificate_subject(&self, subject: String) {
        let is_first = self.certificate_subject.set(subject).is_ok();
        assert!(is_first, "a connection has one handshake");
    }

    /// Whom the client's certificate names, as text after RFC 4514; it is verified.
    pub fn certificate_subject(&self) -> Option<&str> {
        self.certificate_subject.get().map(String::as_str)
    }

    /// Counts a TLS handshake, unless its address is at its limit.
    pub fn begin_handshake(&self) -> Result<Handshake<'_>, TooMany> {
        let of_address = self.limits.handshakes.as_ref().map_or(Ok(Counted(None)), SharedLimit::begin)?;
        let all = &*self.counts.handshakes;
        all.fetch_add(1, Ordering::Relaxed);
        Ok(Handshake { all, _of_address: of_address })
    }

    /// Notes that a request was admitted: it was well-formed and, with credentials, its signature is valid.
    pub fn admit(&self) {
        if self.activity.admit() {
            self.counts.unadmitted.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Counts a request, unless its address is at its limit.
    pub fn begin_request(&self) -> Result<Counted<'_>, TooMany> {
        self.limits.requests.as_ref().map_or(Ok(Counted(None)), SharedLimit::begin)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if !self.activity.was_admitted() {
            self.counts.unadmitted.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn addresses(connections: PerAddress, requests: PerAddress) -> Addresses {
        Addresses { connections_max: connections, requests_max: requests, in_use: HashMap::new() }
    }

    #[test]
    fn connections_of_one_address_are_limited_and_an_ended_one_frees_its_place() {
        let mut addresses = addresses(PerAddress::Every(2), PerAddress::Unlimited);
        assert!(addresses.begin(HERE).is_ok() && addresses.begin(HERE).is_ok());
        assert_eq!(addresses.begin(HERE).err(), Some(TooMany));
        assert!(addresses.begin([192, 0, 2, 1].into()).is_ok(), "another address has its own");
        addresses.end(HERE);
        assert!(addresses.begin(HERE).is_ok());
    }

    #[test]
    fn connections_of_one_address_share_its_request_limit() {
        let mut addresses = addresses(PerAddress::Unlimited, PerAddress::Every(2));
        let clients: Vec<Client> =
            (0..2).map(|_| Client::new(HERE, addresses.begin(HERE).unwrap(), Counts::default())).collect();
        let first = clients[0].begin_request();
        let second = clients[1].begin_request();
        assert!(first.is_ok() && second.is_ok());
        assert!(clients[0].begin_request().is_err() && clients[1].begin_request().is_err());
        drop(first);
        assert!(clients[1].begin_request().is_ok());
    }

    #[test]
    fn a_client_counts_as_unadmitted_until_its_first_admitted_request() {
        let counts = Counts::default();
        let unadmitted = Arc::clone(&counts.unadmitted);
        let [first, second] = [(); 2].map(|()| Client::new(HERE, AddressLimits::default(), counts.clone()));
        first.admit();
        first.admit();
        assert_eq!(unadmitted.load(Ordering::Relaxed), 1);
        drop((first, second));
        assert_eq!(unadmitted.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_quarter_of_an_addresss_connections_may_be_in_their_handshake() {
        let mut addresses = addresses(PerAddress::Every(8), PerAddress::Unlimited);
        let counts = Counts::default();
        let mut client = || Client::new(HERE, addresses.begin(HERE).unwrap(), counts.clone());
        let (first, second, third) = (client(), client(), client());
        let handshakes = (first.begin_handshake(), second.begin_handshake());
        assert!(handshakes.0.is_ok() && handshakes.1.is_ok());
        assert!(third.begin_handshake().is_err());
        assert_eq!(counts.handshakes.load(Ordering::Relaxed), 2);
        drop(handshakes);
        assert!(third.begin_handshake().is_ok());
        assert_eq!(counts.handshakes.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn an_ipv6_client_is_counted_by_its_network() {
        let of = |text: &str| Address::of(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    }
}
