//! Addresses and ranges of addresses: `203.0.113.0/24`, `2001:db8::/32`, or one address.
//!
//! It does not know who connects.

use std::net::IpAddr;

/// A range of addresses. Invariant: the prefix is no longer than an address of its family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix_bits: u32,
}

impl Network {
    /// Parses an address, or an address and the bits of a prefix, such as `10.0.0.0/8`.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let bits_max = if address.is_ipv4() { 32 } else { 128 };
        let prefix_bits = match prefix {
            Some(prefix) if prefix.bytes().all(|byte| byte.is_ascii_digit()) => prefix.parse().ok()?,
            Some(_) => return None,
            None => bits_max,
        };
        (prefix_bits <= bits_max).then_some(Self { address, prefix_bits })
    }

    /// Whether an address is in the range. An IPv4 address within IPv6 is the IPv4 address.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differ = own.to_bits() ^ other.to_bits();
                differ.leading_zeros() >= self.prefix_bits
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differ = own.to_bits() ^ other.to_bits();
                differ.leading_zeros() >= self.prefix_bits
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_contains_the_addresses_of_its_prefix() {
        let contains =
            |range: &str, address: &str| Network::parse(range).unwrap().contains(address.parse().unwrap());
        assert!(contains("203.0.113.0/24", "203.0.113.255"));
        assert!(!contains("203.0.113.0/24", "203.0.114.0"));
        assert!(contains("0.0.0.0/0", "9.9.9.9") && !contains("0.0.0.0/0", "2001:db8::1"));
        assert!(contains("203.0.113.7", "::ffff:203.0.113.7"));
        assert!(contains("2001:db8::/32", "2001:db8:1::1") && !contains("2001:db8::/32", "2001:db9::1"));
        for text in ["", "203.0.113.0/33", "203.0.113/24", "::/129", "1.2.3.4/", "1.2.3.4/+8", "host"] {
            assert_eq!(Network::parse(text), None, "{text}");
        }
    }
}
