//! Derived items, with declared and inferred sources, attributes of their own and attributes that move to
//! them.

use std::collections::BTreeSet;

use super::derived_items::{ALONE, APP, BOTH, MEMBER, TEAM, USER_TEAM};
use super::facts::{facts, remark_kinds, remarks};
use super::plans::{kinds, subject};
use crate::diff::StepKind::{Backfill, DeleteItems, LoadItems, StopWrites, SwitchReads, Verify, WriteBoth};
use crate::diff::*;

const ALL_COPIED: &str = "teamId: {type: S, copyOf: Member.teamId}, userId: {type: S, copyOf: Member.userId}, role: {type: S, copyOf: Member.role}";

#[test]
fn items_that_are_made_of_others_are_kept_whole_loaded_from_those_and_compared_however_the_model_says_so() {
    let before = subject(APP, &[TEAM, MEMBER], ALONE);
    let cases = [
        ("plain keys", "teamId: S, userId: S, role: {type: S, copyOf: Member.role}"),
        (
            "keys that are copies of two entities",
            "teamId: {type: S, copyOf: Team.teamId}, userId: {type: S, copyOf: Member.userId}, role: S",
        ),
        ("nothing but the same transactions", "teamId: S, userId: S, role: S"),
    ];
    for (what, attributes) in cases {
        let second = USER_TEAM.replace(ALL_COPIED, attributes);
        assert_ne!(second, USER_TEAM);
        let plan = diff(&before, &subject(APP, &[TEAM, MEMBER, &second], BOTH)).plan;
        assert_eq!(kinds(&plan), [WriteBoth, LoadItems, Verify, SwitchReads], "{what}");
        let written = facts(&plan, WriteBoth);
        assert!(
            written[0].starts_with("keep-derived: entity=UserTeam, source=Member, patterns=W1 W2 W3,"),
            "{what}: {written:?}"
        );
        assert!(
            written
                .iter()
                .any(|text| text == "put-derived-whole: entity=UserTeam, source=Member, patterns=W2"),
            "{what}"
        );
        let load = plan.steps.iter().find(|step| step.kind == LoadItems).and_then(|step| step.units);
        assert_eq!(load.map(|units| units.reads), Some(4419), "{what}");
    }
}

#[test]
fn a_copy_of_a_copy_is_kept_by_the_writers_of_their_common_source() {
    let deep = "ByRole: {count: 20000, size: 900, key: {pk: \"r#{role}\", sk: \"u#{userId}#{teamId}\"}, attrs: {teamId: S, userId: {type: S, copyOf: UserTeam.userId}, role: {type: S, copyOf: UserTeam.role}}}";
    let before = subject(APP, &[TEAM, MEMBER], ALONE);
    // The source of an intermediate derived item may be inferred from its transactions.
    for second in [USER_TEAM.to_owned(), USER_TEAM.replace(ALL_COPIED, "teamId: S, userId: S, role: S")] {
        let after = subject(APP, &[TEAM, MEMBER, &second, deep], BOTH);
        let plan = diff(&before, &after).plan;
        assert!(
            remarks(&plan).contains(&"new-data: entity=ByRole, table=App, source=Member, moved=".to_owned()),
            "{:?}",
            plan.summary
        );
        let written = facts(&plan, WriteBoth);
        let kept = |text: &String| {
            text.starts_with("keep-derived: entity=ByRole, source=Member, patterns=W1 W2 W3,")
        };
        assert!(written.iter().any(kept), "{written:?}");
        assert!(written.iter().any(|text| text.ends_with("undetermined=role")), "{written:?}");
        // Nothing in the new model writes them.
        let switched = facts(&plan, SwitchReads);
        let continued = "continue-dual-write: entity=ByRole, patterns=W1 W2 W3, except=";
        assert!(switched.contains(&continued.to_owned()), "{switched:?}");
    }
}

#[test]
fn undeclared_copies_without_writers_are_neither_loaded_nor_derived() {
    let second = USER_TEAM.replace(ALL_COPIED, "teamId: S, userId: S, role: S");
    let plan =
        diff(&subject(APP, &[TEAM, MEMBER], ALONE), &subject(APP, &[TEAM, MEMBER, &second], ALONE)).plan;
    assert_eq!((plan.steps.len(), plan.extent), (0, Extent::None));
    assert!(remark_kinds(&plan).contains(&"maybe-derived".to_owned()), "{:?}", plan.summary);
}

#[test]
fn items_that_several_others_make_stay_when_one_of_those_goes() {
    let team = "ByTeamRole: {count: 900, size: 90, key: {pk: \"t#{teamId}\", sk: \"r#{role}\"}, attrs: {teamId: {type: S, copyOf: Member.teamId}, role: {type: S, copyOf: Member.role}}}";
    let plan = diff(&subject(APP, &[TEAM, MEMBER], ALONE), &subject(APP, &[TEAM, MEMBER, team], ALONE)).plan;
    let written = facts(&plan, WriteBoth);
    assert!(
        written[0].starts_with("keep-derived: entity=ByTeamRole, source=Member, patterns=W1 W2,"),
        "{written:?}"
    );
    let verified = facts(&plan, Verify);
    assert!(verified[0].contains("shared=true"), "{verified:?}");
}

const USER: &str = "User: {count: 50000, size: 1000, key: {pk: \"u#{userId}\", sk: \"u\"}, attrs: {userId: S, mail: S, bio: S}}";
const WRITES: &str = "  - {id: R1, get: User, given: {userId: eq}, rate: 5}
  - {id: W3, put: User, if: not-exists, rate: 2}
  - {id: W4, update: User, set: \"mail = :t\", if: exists, rate: 2}
  - {id: W6, delete: User, if: exists, rate: 1}
";
const BIO: &str = "  - {id: W9, update: User, set: \"bio = :t\", if: exists, rate: 2}\n";

fn profile(attributes: &str) -> String {
    format!(
        "Profile: {{count: 50000, size: 500, key: {{pk: \"u#{{userId}}\", sk: \"profile\"}}, attrs: {{{attributes}}}}}"
    )
}

#[test]
fn attributes_that_move_to_derived_items_are_kept_in_both_until_the_reads_move() {
    let before = subject(APP, &[USER], &format!("{WRITES}{BIO}"));
    let patterns = format!(
        "{WRITES}{}  - {{id: R7, get: Profile, given: {{userId: eq}}, rate: 3}}\n",
        BIO.replace("update: User", "update: Profile")
    );
    // The key is declared as a copy, or inferred from the attributes that the source lost.
    for key in ["userId: {type: S, copyOf: User.userId}", "userId: S"] {
        let after =
            subject(APP, &[&USER.replace(", bio: S", ""), &profile(&format!("{key}, bio: S"))], &patterns);
        let plan = diff(&before, &after).plan;
        assert_eq!(kinds(&plan), [WriteBoth, LoadItems, Verify, SwitchReads, StopWrites, DeleteItems]);
        let written = facts(&plan, WriteBoth);
        // A writer that changes nothing of it does not write it.
        assert!(
            written[0].starts_with("keep-derived: entity=Profile, source=User, patterns=W3 W6 W9,"),
            "{written:?}"
        );
        assert!(
            written.contains(&"put-derived-whole: entity=Profile, source=User, patterns=W9".to_owned()),
            "{written:?}"
        );
        let switched = facts(&plan, SwitchReads);
        let over = "move-attributes: entity=Profile, source=User, patterns=W9, attributes=bio";
        assert!(switched.contains(&over.to_owned()), "{switched:?}");
        assert!(
            switched.contains(
                &"stop-reading: entity=User, patterns=R1, attributes=bio, instead=Profile".to_owned()
            )
        );
        assert_eq!(facts(&plan, StopWrites), ["stop-setting: entity=User, patterns=W3 W9, attributes=bio"]);
        assert_eq!(
            facts(&plan, DeleteItems),
            ["remove-attributes: entity=User, items=50000, table=App, attributes=bio"]
        );
    }
}

#[test]
fn own_attributes_of_derived_items_are_not_overwritten_and_not_written_before_all_items_exist() {
    let before = subject(APP, &[USER], WRITES);
    let own = profile("userId: {type: S, copyOf: User.userId}, mail: {type: S, copyOf: User.mail}, theme: S");
    let patterns = format!("{WRITES}  - {{id: W8, update: Profile, set: \"theme = :t\", rate: 1}}\n");
    let plan = diff(&before, &subject(APP, &[USER, &own], &patterns)).plan;
    let written = facts(&plan, WriteBoth);
    assert!(
        written.contains(&"update-derived: entity=Profile, attributes=mail userId, apart=theme".to_owned()),
        "{written:?}"
    );
    assert!(
        !written.iter().any(|text| text == "put-derived-whole: entity=Profile, source=User, patterns=W4"),
        "{written:?}"
    );
    assert!(facts(&plan, Verify)[0].contains("attributes=mail userId, apart=theme,"));
    let switched = facts(&plan, SwitchReads);
    assert!(
        switched
            .iter()
            .any(|text| text
                .starts_with("write-own-attributes: entity=Profile, patterns=W8, attributes=theme,")),
        "{switched:?}"
    );
    // Its own attributes would stay behind under its previous key.
    let moving = own.replace("profile", "p#{mail}");
    let plan = diff(&before, &subject(APP, &[USER, &moving], &patterns)).plan;
    assert_eq!(plan.extent, Extent::None, "{plan:#?}");
    assert!(remark_kinds(&plan).contains(&"changing-key".to_owned()), "{:?}", plan.summary);
}

#[test]
fn items_that_merge_into_others_are_kept_until_these_have_their_attributes() {
    let split = |bio: &str| {
        let user = USER.replace(", bio: S", bio);
        subject(APP, &[&user, &profile("userId: S, bio: S")], WRITES)
    };
    let merged = subject(APP, &[USER], WRITES);
    let plan = diff(&split(""), &merged).plan;
    assert_eq!((kinds(&plan).contains(&DeleteItems), plan.extent), (false, Extent::None), "{plan:#?}");
    assert!(remark_kinds(&plan).contains(&"maybe-merged".to_owned()), "{:?}", plan.summary);
    // The advice of the message leads to a plan.
    let both = split(", bio: {type: S, copyOf: Profile.bio}");
    let plan = diff(&split(""), &both).plan;
    assert_eq!(plan.extent, Extent::Whole);
    assert!(facts(&plan, Backfill)[0].contains("items=50000, table=App, values=bio Profile.bio"));
    let plan = diff(&both, &merged).plan;
    assert_eq!((kinds(&plan).contains(&DeleteItems), plan.extent), (true, Extent::Whole), "{plan:#?}");
}

#[test]
fn attributes_that_may_move_between_existing_items_are_not_filled_silently() {
    let model = |user: &str, own: &str| {
        let user = USER.replace(", bio: S", user);
        let asked = "  - {id: R7, get: Profile, given: {userId: eq}, rate: 3}\n";
        subject(APP, &[&user, &profile(&format!("userId: S{own}"))], &format!("{WRITES}{asked}"))
    };
    let (before, after) = (model(", bio: S", ", theme: S"), model("", ", theme: S, bio: S"));
    let plan = diff(&before, &after).plan;
    assert_eq!((plan.steps.len(), plan.extent), (0, Extent::None), "{plan:#?}");
    let open = "maybe-moved-attribute: entity=Profile, attribute=bio, source=User";
    assert!(remarks(&plan).contains(&open.to_owned()), "{:?}", plan.summary);
    let between = model(", bio: S", ", theme: S, bio: {type: S, copyOf: User.bio}");
    for (one, other) in [(&before, &between), (&between, &after)] {
        assert_eq!(diff(one, other).plan.extent, Extent::Whole);
    }
}

#[test]
fn a_derived_item_with_several_sources_is_loaded_and_verified_with_all_of_them() {
    let team = USER_TEAM.replace("role: {type", "teamName: {type: S, copyOf: Team.name}, role: {type");
    let patterns = format!("{ALONE}  - {{id: W7, update: Team, set: \"name = :n\", rate: 1}}\n");
    let before = subject(APP, &[TEAM, MEMBER], &patterns);
    let plan = diff(&before, &subject(APP, &[TEAM, MEMBER, &team], &patterns)).plan;
    let written = facts(&plan, WriteBoth);
    let kept = "keep-copies: entity=UserTeam, attribute=teamName, source=Team, from=name, patterns=W7, found=App t#{teamId} m#{userId} Member";
    assert!(written.contains(&kept.to_owned()), "{written:?}");
    assert!(facts(&plan, LoadItems)[0].contains("values=teamName Team.name,"));
    assert!(facts(&plan, Verify)[0].ends_with("sources=Member Team"));
}

#[test]
fn a_uniqueness_condition_starts_when_all_items_exist_and_duplicates_are_reported() {
    let claim = "MailOf: {count: 50000, size: 100, key: {pk: \"m#{mail}\", sk: \"m\"}, attrs: {mail: S, userId: {type: S, copyOf: User.userId}}}";
    let patterns = WRITES.replace(
        "put: User, if: not-exists",
        "transact: [{put: User, if: not-exists}, {put: MailOf, if: not-exists}]",
    );
    let plan = diff(&subject(APP, &[USER], WRITES), &subject(APP, &[USER, claim], &patterns)).plan;
    assert!(facts(&plan, LoadItems)[0].contains("claims=true"));
    let switched = facts(&plan, SwitchReads);
    assert!(switched.contains(&"require-absence: entity=MailOf, patterns=W3".to_owned()), "{switched:?}");
}

#[test]
fn an_update_of_new_items_that_may_be_elsewhere_puts_them_whole() {
    let note =
        "Note: {count: 9, size: 90, key: {pk: \"n#{noteId}\", sk: \"n\"}, attrs: {noteId: S, text: S}}";
    let patterns = format!(
        "{WRITES}  - {{id: W1, put: Note, rate: 1}}\n  - {{id: W2, update: Note, set: \"text = :t\", rate: 1}}\n"
    );
    let plan = diff(&subject(APP, &[USER], WRITES), &subject(APP, &[USER, note], &patterns)).plan;
    assert_eq!(kinds(&plan), [WriteBoth, LoadItems, Verify]);
    assert!(
        facts(&plan, WriteBoth).contains(&"put-loaded-whole: entity=Note, table=App, patterns=W2".to_owned())
    );
    let steps: BTreeSet<StepKind> = kinds(&plan).into_iter().collect();
    assert!(steps.contains(&Verify));
}
