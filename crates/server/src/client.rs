//! What the server knows about a connection's client: its address, its activity, whether it was admitted.
//!
//! It does not know requests; `http` reports when one was admitted.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::idle_timeout::Activity;
use crate::limits::{Limits, PerAddress};

/// The unit in which addresses are counted: an IPv4 address, or the 64-bit network of an IPv6 client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Address(IpAddr);

impl Address {
    pub(crate) fn of(ip: IpAddr) -> Self {
        match ip.to_canonical() {
            IpAddr::V6(ip) if !ip.is_loopback() => {
                let network = u128::from(ip) & !u128::from(u64::MAX);
                Self(Ipv6Addr::from(network).into())
            }
            ip => Self(ip),
        }
    }

    /// Whether the client runs on this machine.
    pub(crate) const fn is_loopback(self) -> bool {
        self.0.is_loopback()
    }
}

/// Connections and requests of one address.
#[derive(Debug)]
struct InUse {
    connections: u32,
    /// Shared with the address's connections.
    requests: Arc<AtomicU32>,
}

/// The addresses with open connections, as far as limits apply to them.
#[derive(Debug)]
pub(crate) struct Addresses {
    connections_max: PerAddress,
    requests_max: PerAddress,
    in_use: HashMap<Address, InUse>,
}

/// The limit of concurrent requests that a connection shares with the others of its address.
#[derive(Clone, Debug)]
pub(crate) struct RequestLimit {
    under_way: Arc<AtomicU32>,
    most: u32,
}

/// A request that counts against its address until it is dropped.
pub(crate) struct UnderWay<'l>(Option<&'l AtomicU32>);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if let Some(count) = self.0 {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Addresses {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            connections_max: limits.connections_per_address,
            requests_max: limits.requests_per_address,
            in_use: HashMap::new(),
        }
    }

    /// Counts a new connection, unless its address is at its limit.
    pub(crate) fn begin(&mut self, ip: IpAddr) -> Result<Option<RequestLimit>, TooMany> {
        let (connections_max, requests_max) = (self.connections_max.of(ip), self.requests_max.of(ip));
        if connections_max.is_none() && requests_max.is_none() {
            return Ok(None);
        }
        let in_use = self
            .in_use
            .entry(Address::of(ip))
            .or_insert_with(|| InUse { connections: 0, requests: Arc::default() });
        if connections_max.is_some_and(|most| in_use.connections >= most) {
            return Err(TooMany);
        }
        in_use.connections += 1;
        Ok(requests_max.map(|most| RequestLimit { under_way: Arc::clone(&in_use.requests), most }))
    }

    /// Notes that a connection counted by `begin` has ended.
    pub(crate) fn end(&mut self, ip: IpAddr) {
        let address = Address::of(ip);
        if let Some(in_use) = self.in_use.get_mut(&address) {
            in_use.connections = in_use.connections.saturating_sub(1);
            if in_use.connections == 0 {
                self.in_use.remove(&address);
            }
        }
    }
}

/// The address is at its limit of connections or requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

/// The client of one connection.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) activity: Arc<Activity>,
    pub(crate) address: Address,
    request_limit: Option<RequestLimit>,
    /// Number of open connections without an admitted request.
    unadmitted: Arc<AtomicUsize>,
}

impl Client {
    pub(crate) fn new(ip: IpAddr, request_limit: Option<RequestLimit>, unadmitted: Arc<AtomicUsize>) -> Self {
        unadmitted.fetch_add(1, Ordering::Relaxed);
        let activity = Arc::new(Activity::new());
        Self { activity, address: Address::of(ip), request_limit, unadmitted }
    }

    /// Notes that a request was admitted: it was well-formed and, with credentials, its signature is valid.
    pub(crate) fn admit(&self) {
        if self.activity.admit() {
            self.unadmitted.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Counts a request, unless its address is at its limit.
    pub(crate) fn begin_request(&self) -> Result<UnderWay<'_>, TooMany> {
        let Some(limit) = &self.request_limit else { return Ok(UnderWay(None)) };
        let under_way = UnderWay(Some(&limit.under_way));
        let before = limit.under_way.fetch_add(1, Ordering::Relaxed);
        if before >= limit.most { Err(TooMany) } else { Ok(under_way) }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if !self.activity.was_admitted() {
            self.unadmitted.fetch_sub(1, Ordering::Relaxed);
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
            (0..2).map(|_| Client::new(HERE, addresses.begin(HERE).unwrap(), Arc::default())).collect();
        let first = clients[0].begin_request();
        let second = clients[1].begin_request();
        assert!(first.is_ok() && second.is_ok());
        assert!(clients[0].begin_request().is_err() && clients[1].begin_request().is_err());
        drop(first);
        assert!(clients[1].begin_request().is_ok());
    }

    #[test]
    fn a_client_counts_as_unadmitted_until_its_first_admitted_request() {
        let unadmitted = Arc::new(AtomicUsize::new(0));
        let [first, second] = [(); 2].map(|()| Client::new(HERE, None, Arc::clone(&unadmitted)));
        first.admit();
        first.admit();
        assert_eq!(unadmitted.load(Ordering::Relaxed), 1);
        drop((first, second));
        assert_eq!(unadmitted.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn an_ipv6_client_is_counted_by_its_network() {
        let of = |text: &str| Address::of(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    }
}
