//! The order in which the service's messages list the members of a set: that of its hash table.
//!
//! Source: messages that public compatibility suites recorded in 2026. Their order is that of
//! `java.util.HashSet`, whose table grows by doubling and whose hash of a text is documented.

/// The names in the order in which a hash set of them, filled in the given order, lists them.
pub fn hash_ordered<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let mut buckets: u32 = 16;
    while names.len() > usize::try_from(buckets / 4 * 3).unwrap_or(usize::MAX) {
        buckets = buckets.saturating_mul(2);
    }
    assert!(buckets.is_power_of_two(), "a mask selects a bucket");
    let mut ordered = names.to_vec();
    ordered.sort_by_key(|name| bucket(name, buckets));
    ordered
}

fn bucket(name: &str, buckets: u32) -> u32 {
    let hash =
        name.encode_utf16().fold(0_u32, |hash, unit| hash.wrapping_mul(31).wrapping_add(u32::from(unit)));
    (hash ^ (hash >> 16)) & (buckets - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_by_their_hashes() {
        // All three have one bucket, in which names stay as they came.
        assert_eq!(hash_ordered(&["zz", "aa", "mm"]), ["zz", "aa", "mm"]);
        assert_eq!(hash_ordered(&["b", "a"]), ["a", "b"]);
    }

    #[test]
    fn a_full_table_grows() {
        let names: Vec<String> = (0..13).map(|number| char::from(b'a' + number).to_string()).collect();
        let names: Vec<&str> = names.iter().rev().map(String::as_str).collect();
        // 'a' is 97: in 32 buckets its place is 1, in 16 that of 'q'.
        assert_eq!(hash_ordered(&names), names.iter().rev().copied().collect::<Vec<_>>());
    }
}
