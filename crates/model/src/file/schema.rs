//! The JSON Schema of the model file, for completion and checks in editors.

/// The schema as JSON text (draft 2020-12).
pub fn schema() -> &'static str {
    include_str!("schema.json")
}

/// A commented model to start from; it passes `model check`.
pub fn starter() -> &'static str {
    include_str!("starter.yaml")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::super::{read, read_entity, read_pattern, read_table};

    fn fields(schema: &Value, pointer: &str) -> BTreeSet<String> {
        let properties = schema.pointer(pointer).and_then(Value::as_object).expect(pointer);
        properties.keys().cloned().collect()
    }

    #[test]
    fn the_schema_has_the_fields_the_reader_knows() {
        let schema: Value = serde_json::from_str(super::schema()).expect("JSON");
        for (pointer, known) in [
            ("/properties", read::MODEL_FIELDS),
            ("/$defs/data/oneOf/1/properties", read::DATA_FIELDS),
            ("/$defs/pattern/properties/order/oneOf/1/properties", read_pattern::ORDER_FIELDS),
            ("/$defs/generate/properties", read::GENERATE_FIELDS),
            ("/$defs/table/properties", read_table::TABLE_FIELDS),
            ("/$defs/index/properties", read_table::INDEX_FIELDS),
            ("/$defs/billing/oneOf/1/properties", read_table::BILLING_FIELDS),
            ("/$defs/provisioned/properties", read_table::PROVISIONED_FIELDS),
            ("/$defs/autoscale/properties", read_table::AUTOSCALE_FIELDS),
            ("/$defs/entity/properties", read_entity::ENTITY_FIELDS),
            ("/$defs/attribute/oneOf/1/properties", read_entity::ATTRIBUTE_FIELDS),
            ("/$defs/pattern/properties", read_pattern::PATTERN_FIELDS),
            ("/$defs/step/properties", read_pattern::STEP_FIELDS),
            ("/$defs/returns/properties", read_pattern::RETURNS_FIELDS),
            ("/$defs/rate/oneOf/1/properties", read_pattern::RATE_FIELDS),
            ("/$defs/expect/properties", read_pattern::EXPECT_FIELDS),
        ] {
            let known: BTreeSet<String> = known.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(fields(&schema, pointer), known, "{pointer}");
        }
    }

    /// Every number in the schema, with its path.
    fn numbers(schema: &Value, way: &str, found: &mut Vec<(String, Value)>) {
        let types = schema.get("type").map(ToString::to_string).unwrap_or_default();
        if types.contains("integer") || types.contains("number") {
            found.push((way.to_owned(), schema.clone()));
        }
        if let Some(members) = schema.as_object() {
            for (name, value) in members {
                numbers(value, &format!("{way}/{name}"), found);
            }
        }
        for element in schema.as_array().into_iter().flatten() {
            numbers(element, way, found);
        }
    }

    #[test]
    fn no_number_in_the_schema_can_be_negative() {
        let schema: Value = serde_json::from_str(super::schema()).expect("JSON");
        let mut found = Vec::new();
        numbers(&schema, "", &mut found);
        found.retain(|(way, _)| !way.ends_with("/pattern/properties/id"));
        assert!(found.len() > 20, "{}", found.len());
        for (way, number) in found {
            assert!(number.get("minimum").and_then(Value::as_i64) >= Some(0), "{way}");
            // Digits can be grouped, which makes the value a text in YAML.
            assert!(number.to_string().contains("[0-9_]"), "{way}: {number}");
        }
        for fields in ["count: -5", "count: 5, size: -1", "count: 1.5"] {
            let model = format!(
                "format: 1\nmodel: m\ntables: {{T: {{key: {{pk: S}}}}}}\nentities: {{E: {{{fields}, key: {{pk: \"{{id}}\"}}, attrs: {{id: S}}}}}}"
            );
            assert!(crate::parse(&model).is_err(), "{fields}");
        }
    }
}
