//! Changes that a plan leaves out: what they do is ambiguous, or the service refuses them.

use super::super::kinds::kinds;
use super::super::phrasing::and;
use super::Items;

kinds! {
    /// A change that the plan leaves out. Nothing is written, moved or deleted for it.
    NotPlanned {
        /// The source of derived items is itself left out.
        "source-left-out" SourceLeftOut { items: Items, source: String }
        /// New items have only attributes of others, and nothing declares them as copies.
        "maybe-derived" MaybeDerived { items: Items, source: Items }
        /// Attributes of new items may have moved from others.
        "maybe-moved" MaybeMoved { items: Items, source: Items, attributes: Vec<String> }
        /// Derived items have attributes of their own under a key that changes with `attribute`.
        "changing-key" ChangingKey { items: Items, source: Items, attribute: String }
        /// Old items and items of another entity can have the same key.
        "overlapping-keys" OverlappingKeys { items: Items, other: Items }
        /// Attributes of removed items may have moved to others.
        "maybe-merged" MaybeMerged { items: Items, other: Items, attributes: Vec<String> }
        /// A removed entity may be one or several new ones.
        "maybe-renamed" MaybeRenamed { items: Items, others: Vec<Items>, split: bool }
        /// The type of an index key cannot change.
        "held-type" HeldType { entity: String, attribute: String, index: String }
        /// An attribute may have moved from other items.
        "maybe-moved-attribute" MaybeMovedAttribute { entity: String, attribute: String, source: String }
        /// A table with replicas has a stream of another view than new and old images.
        "stream-of-replicas" StreamOfReplicas { table: String, view: String }
        /// A table with replicas has fixed write units.
        "fixed-units-with-replicas" FixedUnitsWithReplicas { table: String, regions: Vec<String> }
    }
}

impl NotPlanned {
    pub(super) fn text(&self) -> String {
        match self {
            Self::SourceLeftOut { items, source } => {
                format!("{items} is derived from {source}, whose items are left out")
            }
            Self::MaybeDerived { items, source } => format!(
                "{items} has only attributes of {source} and may be derived from it. If it is, declare `copyOf`; if not, add the pattern that writes it"
            ),
            Self::MaybeMoved { items, source, attributes } => {
                let names = and(attributes);
                format!(
                    "{names} of {items} may have moved from {source}. If so, declare with `copyOf` what its key is a copy of; if not, first migrate to a model in which only {} has lost {names}",
                    source.entity
                )
            }
            Self::ChangingKey { items, source, attribute } => format!(
                "{items} has attributes that {source} lacks, and {attribute} in its key may change: they would stay under the previous key. Make its key of attributes that do not change"
            ),
            Self::OverlappingKeys { items, other } => format!(
                "items of {items} may be items of {other}, because their keys can be equal: they are not moved or deleted"
            ),
            Self::MaybeMerged { items, other, attributes } => {
                let names = and(attributes);
                format!(
                    "{names} of {items} may have become {names} of {other}: nothing is deleted or filled. First migrate to a model that has both, the second as `copyOf` of the first"
                )
            }
            Self::MaybeRenamed { items, others, split } => {
                let names: Vec<String> = others.iter().map(ToString::to_string).collect();
                let advice = if *split {
                    "If they are split or merged there is no plan; if not, first migrate to a model without the new ones"
                        .to_owned()
                } else {
                    let new = others.first().map_or("", |other| other.entity.as_str());
                    format!(
                        "If it has, first migrate to a model that keeps the name {}; if not, to one without {new}",
                        items.entity
                    )
                };
                format!(
                    "{items} may have become {}: they are not written or deleted. {advice}",
                    names.join(" or ")
                )
            }
            Self::HeldType { entity, attribute, index } => format!(
                "{attribute} of {entity} cannot change its type while index {index} has it as key. First migrate to a model without the index"
            ),
            Self::MaybeMovedAttribute { entity, attribute, source } => format!(
                "{attribute} of {entity} may have been {attribute} of {source} and is not filled. If so, first migrate to a model that has both, that of {entity} as `copyOf: {source}.{attribute}`"
            ),
            Self::StreamOfReplicas { table, view } => format!(
                "the stream of {table} cannot be {view}, because replicas need new and old images: write `stream: new-and-old`"
            ),
            Self::FixedUnitsWithReplicas { table, regions } => format!(
                "{table} cannot have replicas ({}) with fixed write units: write `autoscale`, or `billing: on-demand`",
                regions.join(", ")
            ),
        }
    }
}
