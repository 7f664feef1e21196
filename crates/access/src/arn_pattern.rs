//! Patterns of ARNs: each of the six fields has its own, and `*` stays within its field.
//!
//! Sources: IAM user guide, element Resource, condition operators. It does not know which resources exist.

use crate::arn::{Arn, Target};
use crate::context::Facts;
use crate::template::{Case, Piece, Template, UnclosedVariable, Variable, Variables, Wildcards, pieces};

/// Fields after the word `arn`.
const FIELDS: usize = 5;

/// A pattern of ARNs.
#[derive(Clone, Debug)]
pub(crate) enum ArnPattern {
    /// Everything, also what has no ARN.
    Everything,
    /// The fields after the word `arn`.
    Fields(Box<[Template; FIELDS]>),
}

/// A text that is no pattern of ARNs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotAnArn;

impl From<UnclosedVariable> for NotAnArn {
    fn from(_: UnclosedVariable) -> Self {
        Self
    }
}

impl ArnPattern {
    /// The pattern of a text. One that ends early matches any text after it.
    pub(crate) fn parse(text: &str, variables: Variables) -> Result<Self, NotAnArn> {
        let pieces = pieces(text, Wildcards::Match, variables)?;
        if !text.is_empty() && text.bytes().all(|byte| byte == b'*') {
            return Ok(Self::Everything);
        }
        let mut fields = split(pieces).into_iter();
        let begins_well = match fields.next().as_deref() {
            Some([Piece::Text(first)]) => first == "arn",
            _ => false,
        };
        if !begins_well {
            return Err(NotAnArn);
        }
        let mut next = || fields.next().map_or_else(Template::any, |field| Template::of(field, Case::Exact));
        let pattern = [next(), next(), next(), next(), next()];
        Ok(Self::Fields(Box::new(pattern)))
    }

    /// Whether an ARN matches. The pattern's variables are resolved.
    pub(crate) fn matches_arn(&self, arn: &Arn<'_>, facts: &Facts<'_>) -> bool {
        match self {
            Self::Everything => true,
            // The last field differs most often.
            Self::Fields(patterns) => {
                let fields = patterns.iter().zip(arn.fields());
                fields.rev().all(|(pattern, field)| pattern.matches(field, Case::Exact, facts))
            }
        }
    }

    /// Whether what an action is done to matches.
    pub(crate) fn matches(&self, target: &Target<'_>, facts: &Facts<'_>) -> bool {
        match target {
            Target::Everything => matches!(self, Self::Everything),
            Target::One(arn) => self.matches_arn(arn, facts),
        }
    }

    /// The variables in it.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &Variable> {
        let fields = match self {
            Self::Everything => &[],
            Self::Fields(fields) => fields.as_slice(),
        };
        fields.iter().flat_map(Template::variables)
    }
}

/// The fields of a pattern, six at most: colons in the last are its own.
fn split(pieces: Vec<Piece>) -> Vec<Vec<Piece>> {
    let mut fields: Vec<Vec<Piece>> = Vec::new();
    let mut field = Vec::new();
    for piece in pieces {
        let Piece::Text(text) = piece else {
            field.push(piece);
            continue;
        };
        let mut rest = text.as_str();
        while fields.len() < FIELDS {
            let Some((before, after)) = rest.split_once(':') else { break };
            if !before.is_empty() {
                field.push(Piece::Text(before.to_owned()));
            }
            fields.push(std::mem::take(&mut field));
            rest = after;
        }
        if !rest.is_empty() {
            field.push(Piece::Text(rest.to_owned()));
        }
    }
    fields.push(field);
    fields
}
