//! The JSON Schema of `card.json`.

use serde_json::Value;

/// The schema, as `quell schema card` prints it.
pub fn schema() -> Value {
    let text = include_str!("card.schema.json");
    serde_json::from_str(text).expect("the file of the schema is JSON, as the test below shows")
}

#[cfg(test)]
mod tests {
    use crate::characterize::card::SCHEMA;

    #[test]
    fn the_schema_is_one() {
        let schema = super::schema();
        assert!(jsonschema::meta::is_valid(&schema));
        assert_eq!(schema["properties"]["schema"]["const"], SCHEMA);
        // A key that is not there is refused, as is one too many.
        let validator = jsonschema::validator_for(&schema).unwrap();
        assert!(!validator.is_valid(&serde_json::json!({})));
    }

    #[test]
    fn an_object_has_no_key_without_a_meaning_and_none_that_it_does_not_list() {
        let mut objects = 0;
        let mut open = vec![super::schema()];
        while let Some(value) = open.pop() {
            if let Some(keys) = value["properties"].as_object() {
                objects += 1;
                assert_eq!(value["additionalProperties"], false, "{value}");
                for (name, of) in keys {
                    assert!(of["description"].is_string(), "{name}: {of}");
                }
                let required = value["required"].as_array().unwrap().iter();
                let unknown: Vec<_> = required
                    .filter(|name| !keys.contains_key(name.as_str().unwrap()))
                    .collect();
                assert!(unknown.is_empty(), "{unknown:?}");
            }
            if let Some(object) = value.as_object() {
                open.extend(object.values().cloned());
            }
        }
        assert_eq!(objects, 14);
    }
}
