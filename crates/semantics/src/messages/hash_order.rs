//! The order in which the service's messages list the members of a set: that of its hash table.
//!
//! Source: messages that public compatibility suites recorded in 2026. Their order is that of
//! `java.util.HashSet`, whose table grows by doubling and whose hash of a text is documented.

/// Buckets of an empty table.
const BUCKETS_MIN: u32 = 16;

/// The names in the order in which a hash set of them, filled in the given order, lists them.
pub fn hash_ordered<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let mut buckets = BUCKETS_MIN;
    while names.len() > usize::try_from(buckets / 4 * 3).unwrap_or(usize::MAX) {
        buckets = buckets.saturating_mul(2);
    }
    let mut ordered = names.to_vec();
    sort(&mut ordered, buckets);
    ordered
}

/// Sorts names as a hash set lists them that was copied from a collection of `copied` names. The copy is
/// sized at once, for three quarters and one name, and keeps its size while names are removed.
pub fn sort_as_copied(names: &mut [&str], copied: usize) {
    assert!(names.len() <= copied, "only names that were copied are left");
    let wanted = u32::try_from(copied / 3 * 4 + copied % 3 + 2).unwrap_or(u32::MAX / 2);
    sort(names, wanted.next_power_of_two().max(BUCKETS_MIN));
}

fn sort(names: &mut [&str], buckets: u32) {
    assert!(buckets.is_power_of_two(), "a mask selects a bucket");
    names.sort_by_key(|name| hash(name) & (buckets - 1));
}

fn hash(name: &str) -> u32 {
    let hash =
        name.encode_utf16().fold(0_u32, |hash, unit| hash.wrapping_mul(31).wrapping_add(u32::from(unit)));
    hash ^ (hash >> 16)
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
    fn a_copy_is_larger_than_a_set_that_was_filled_with_as_many_names() {
        // 'p' is 112 and 'a' is 97: in 16 buckets their places are 0 and 1, in 32 they are 16 and 1.
        let mut names = ["a", "p"];
        sort_as_copied(&mut names, 11);
        assert_eq!(names, ["p", "a"]);
        sort_as_copied(&mut names, 12);
        assert_eq!(names, ["a", "p"]);
    }

    #[test]
    fn a_full_table_grows() {
        let names: Vec<String> = (0..13).map(|number| char::from(b'a' + number).to_string()).collect();
        let names: Vec<&str> = names.iter().rev().map(String::as_str).collect();
        // 'a' is 97: in 32 buckets its place is 1, in 16 that of 'q'.
        assert_eq!(hash_ordered(&names), names.iter().rev().copied().collect::<Vec<_>>());
    }
}
