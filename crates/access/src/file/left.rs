//! What the calls of a plan leave in an account that its file does not name.
//!
//! It does not know secrets: no call of IAM reads them.

use super::{AccessFile, PlanFault, Principals, Prune, plan};

/// What pruning would change in addition, for people.
pub fn left(file: &AccessFile, there: &Principals, account: &str) -> Result<Vec<String>, PlanFault> {
    let made = plan(file, there, account, Prune::Nothing)?;
    let pruned = plan(file, there, account, Prune::All)?;
    Ok(pruned.into_iter().filter(|step| !made.contains(step)).map(|step| step.text).collect())
}

#[cfg(test)]
mod tests {
    use keywright_semantics::iam::names::Kind;

    use super::*;
    use crate::file::{AccessKey, Entity};

    const ACCOUNT: &str = "123456789012";
    const KEY: &str = "AKIABEN0000000000001";

    /// An account with the user `ben`, who has a key, and the role `nightly`.
    fn there() -> Principals {
        let mut there = Principals::default();
        let mut ben = Entity::new(Kind::User, "ben");
        ben.keys.insert(KEY.to_owned(), AccessKey { is_active: true, secret: None });
        there.insert(ben);
        there.insert(Entity::new(Kind::Role, "nightly"));
        there
    }

    #[test]
    fn what_a_file_does_not_name_is_left_and_named() {
        let file = AccessFile::default();
        let left = left(&file, &there(), ACCOUNT).unwrap();
        assert_eq!(
            left,
            [&format!("delete key {KEY} of user ben"), "delete user ben", "delete role nightly"]
        );
        let same = AccessFile { account: None, principals: there() };
        assert_eq!(super::left(&same, &there(), ACCOUNT), Ok(Vec::new()));
    }
}
