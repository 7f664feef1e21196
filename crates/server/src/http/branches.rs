//! The endpoint of branches: `POST /_keywright/branch` copies all tables of one place to another, `DELETE`
//! drops such a copy. A place is an account and region.
//!
//! It knows the form of requests and responses. `http` authenticates them, the engine executes them.

use keywright_engine::{AccountId, Branch, BranchFault, Namespace, Region};
use keywright_semantics::error::Error;
use keywright_semantics::place::{ACCOUNT_DIGITS, DEFAULT_ACCOUNT, RegionName};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::process::foreign;

pub(crate) const PATH: &str = "/_keywright/branch";
/// Without credentials a request must have this header. A page of a browser cannot send it to another origin
/// without a preflight.
pub(crate) const HEADER: &str = "x-keywright";
pub(crate) const HEADER_VALUE: &str = "branch";
/// Bytes of a request's body.
pub(crate) const BODY_BYTES_MAX: usize = 4_096;

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Make { from: Namespace, to: Namespace },
    Drop(Namespace),
}

/// A status and the sentence that explains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        json!({ "message": self.message }).to_string().into_bytes()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MakeBody {
    from: String,
    to: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DropBody {
    branch: String,
}

/// What decides which places a request may name.
#[derive(Clone, Copy)]
pub(crate) struct Naming<'n> {
    /// Who signed the request, where signatures are verified. Places without an account are the signer's, and
    /// those of other accounts are refused.
    pub(crate) signer: Option<&'n Namespace>,
    /// Whether a place that no request can name otherwise has tables: a store of an earlier release has some.
    pub(crate) is_left: &'n dyn Fn(&Namespace) -> bool,
}

/// Whether a place must have a name by today's rule, or may be one that an earlier release took.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Source,
    Target,
}

/// Reads a request's body.
pub(crate) fn read(drops: bool, body: &[u8], naming: Naming<'_>) -> Result<Command, Refusal> {
    if drops {
        let read: DropBody = parse(body, r#"{"branch": "PLACE"}"#)?;
        return Ok(Command::Drop(place("branch", &read.branch, Role::Source, naming)?));
    }
    let read: MakeBody = parse(body, r#"{"from": "PLACE", "to": "PLACE"}"#)?;
    let from = place("from", &read.from, Role::Source, naming)?;
    let to = place("to", &read.to, Role::Target, naming)?;
    if from == to {
        return Err(Refusal::new(
            400,
            format!("`from` and `to` are both {}: name another place", shown(&to)),
        ));
    }
    Ok(Command::Make { from, to })
}

fn parse<'b, T: Deserialize<'b>>(body: &'b [u8], form: &str) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| {
        let places = "a PLACE is REGION or ACCOUNT/REGION, such as 123456789012/us-east-1";
        Refusal::new(400, format!("the body is not {form}: {error}; {places}"))
    })
}

fn place(member: &str, text: &str, role: Role, naming: Naming<'_>) -> Result<Namespace, Refusal> {
    let (account, region) = match text.split_once('/') {
        Some((account, region)) => (Some(account), region),
        None => (None, text),
    };
    let own = naming.signer.map_or(DEFAULT_ACCOUNT, |signer| signer.account.as_str());
    let account = account.unwrap_or(own);
    let place = Namespace { account: AccountId::from(account), region: Region::stored(region) };
    let is_taken = place.can_be_named() || (role == Role::Source && (naming.is_left)(&place));
    if !is_taken {
        let what = match RegionName::parse(region) {
            None => format!("a region has {}", RegionName::FORM),
            Some(_) => format!("an account has {ACCOUNT_DIGITS} digits"),
        };
        return Err(Refusal::new(400, format!("`{member}` is {}: {what}", foreign::quoted(text))));
    }
    if naming.signer.is_some() && account != own {
        let text = foreign::quoted(text);
        let message = format!("`{member}` is {text}: the request is signed by account {own}");
        return Err(Refusal::new(403, message));
    }
    Ok(place)
}

/// A place as a request names it. One that requests cannot name otherwise is quoted as JSON has it.
pub(crate) fn shown(place: &Namespace) -> String {
    let text = format!("{}/{}", place.account, place.region);
    if place.can_be_named() { text } else { foreign::quoted(&text) }
}

/// The body of a successful response.
pub(crate) fn made(branch: &Branch) -> Vec<u8> {
    json!({ "tables": branch.tables, "items": branch.items }).to_string().into_bytes()
}

/// The body of the response to a dropped branch.
pub(crate) fn dropped(branch: &Branch) -> Vec<u8> {
    let mut body = json!({ "tables": branch.tables });
    if let Value::Object(members) = &mut body
        && !branch.kept.is_empty()
    {
        members.insert("kept".to_owned(), json!(branch.kept));
    }
    body.to_string().into_bytes()
}

/// Whether a limit of a setting refuses the command.
pub(crate) const fn is_limit(fault: &BranchFault) -> bool {
    matches!(fault, BranchFault::TooManyBranches { .. } | BranchFault::TooLarge { .. })
}

/// Bytes for people, rounded up.
fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1024 * 1024))
}

/// The response to a command that failed; the error itself where the store failed.
pub(crate) fn refusal(command: &Command, fault: BranchFault) -> Result<Refusal, Error> {
    let (source, target) = match command {
        Command::Make { from, to } => (shown(from), shown(to)),
        Command::Drop(branch) => (shown(branch), shown(branch)),
    };
    Ok(match fault {
        BranchFault::OlderServers => Refusal::new(
            409,
            "a server of an earlier release uses the store, and would purge a branch that is being made: try \
             again when all servers have this release; one that was killed counts for a minute more",
        ),
        BranchFault::GivenUp => Refusal::new(
            503,
            "the other servers heard nothing of this one for five seconds and dropped the copy: try again",
        ),
        BranchFault::NothingToCopy => Refusal::new(404, format!("{source} has no tables to copy")),
        BranchFault::Occupied => Refusal::new(
            409,
            format!("{target} has tables: drop them first, or name a place without tables as `to`"),
        ),
        BranchFault::Changing(table) => Refusal::new(
            409,
            format!(
                "table {table} of {source} is being created, changed or deleted: try again when it is ACTIVE"
            ),
        ),
        BranchFault::TooMany => {
            Refusal::new(409, format!("{source} has too many tables for one more copy: delete some first"))
        }
        BranchFault::TooManyBranches { count_max } => Refusal::new(
            409,
            format!(
                "there are {count_max} branches, as many as --branches-per-account allows: drop some with \
                 DELETE {PATH}, or restart with a higher number"
            ),
        ),
        BranchFault::TooLarge { wanted, held, bytes_max } => Refusal::new(
            409,
            format!(
                "this branch would copy {} and the present ones have copied {}: --branch-mib-per-account allows {} \
                 together; drop some with DELETE {PATH}, or restart with a higher number",
                mib(wanted),
                mib(held),
                mib(bytes_max)
            ),
        ),
        BranchFault::Busy => Refusal::new(503, "too many branches wait to be made: try again in a moment"),
        BranchFault::NoBranch => Refusal::new(404, format!("{target} was not made by {PATH}")),
        BranchFault::Store(error) => return Err(error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(account: &str, region: &'static str) -> Namespace {
        Namespace { account: AccountId::from(account), region: Region::from(region) }
    }

    fn read(drops: bool, body: &[u8], signer: Option<&Namespace>) -> Result<Command, Refusal> {
        super::read(drops, body, Naming { signer, is_left: &|place| place.region.as_str() == LEFT })
    }

    /// A place of an earlier release.
    const LEFT: &str = "\\evil.example/'x";

    #[test]
    fn a_place_of_an_earlier_release_is_copied_from_and_dropped_and_never_made() {
        let left = caller(DEFAULT_ACCOUNT, LEFT);
        let named = shown(&left);
        assert!(!named.contains('\''), "it may stand between the quotes of a shell: {named}");
        let made = read(false, format!(r#"{{"from": {named}, "to": "test-1"}}"#).as_bytes(), None);
        assert_eq!(made, Ok(Command::Make { from: left.clone(), to: caller(DEFAULT_ACCOUNT, "test-1") }));
        let dropped = read(true, format!(r#"{{"branch": {named}}}"#).as_bytes(), None);
        assert_eq!(dropped, Ok(Command::Drop(left)));
        let to = read(false, format!(r#"{{"from": "test-1", "to": {named}}}"#).as_bytes(), None);
        assert_eq!(to.map_err(|refusal| refusal.status), Err(400));
        assert_eq!(read(true, br#"{"branch": "\\other"}"#, None).map_err(|refusal| refusal.status), Err(400));
    }

    #[test]
    fn a_place_is_a_region_or_an_account_and_a_region() {
        let body = br#"{"from": "us-east-1", "to": "000000000001/test-1"}"#;
        let made = Command::Make {
            from: caller(DEFAULT_ACCOUNT, "us-east-1"),
            to: caller("000000000001", "test-1"),
        };
        assert_eq!(read(false, body, None), Ok(made));
        let body = br#"{"branch": "test-1"}"#;
        assert_eq!(read(true, body, None), Ok(Command::Drop(caller(DEFAULT_ACCOUNT, "test-1"))));
    }

    #[test]
    fn a_signer_uses_only_places_of_the_own_account() {
        let signer = caller("000000000007", "eu-west-1");
        let body = br#"{"from": "us-east-1", "to": "test-1"}"#;
        let made =
            Command::Make { from: caller("000000000007", "us-east-1"), to: caller("000000000007", "test-1") };
        assert_eq!(read(false, body, Some(&signer)), Ok(made));
        let foreign = br#"{"from": "us-east-1", "to": "000000000001/test-1"}"#;
        assert_eq!(read(false, foreign, Some(&signer)).map_err(|refusal| refusal.status), Err(403));
    }

    #[test]
    fn what_is_no_place_is_refused_with_a_reason() {
        let long = "a".repeat(65);
        for to in ["", "a b", "1/us-east-1", "12345678901x/r", "us-east-1/", long.as_str(), "us-east-1"] {
            let body = json!({"from": "us-east-1", "to": to}).to_string();
            let refusal = read(false, body.as_bytes(), None).unwrap_err();
            assert_eq!(refusal.status, 400, "{to}");
        }
        for body in ["", "{}", r#"{"from": "a"}"#, r#"{"from": "a", "to": "b", "more": 1}"#, "[]"] {
            assert_eq!(
                read(false, body.as_bytes(), None).map_err(|refusal| refusal.status),
                Err(400),
                "{body}"
            );
        }
    }
}
