//! The members of a JSON object in their order, each value as its raw text.
//!
//! A map type would lose duplicate names and the order, and a parsed value the bytes (N-8).

use core::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::prelude::*;

/// Names (unescaped) with raw values, in the order of the text.
pub(crate) struct Members<'a>(pub(crate) Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Reads one object.
    pub(crate) fn of(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The last value called `name`, which is the one that counts for most readers.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, raw)| raw.get())
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// Where `part`, which must be a slice of `whole`, begins in it.
pub(crate) fn offset_in(whole: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n_8_members_keep_order_duplicates_and_bytes() {
        let text = r#"{ "b" : 1e3 ,"a":[ ],"b":"\ud83d"}"#;
        let members = Members::of(text).unwrap();
        let read: Vec<_> = members.0.iter().map(|(name, raw)| (name.as_str(), raw.get())).collect();
        assert_eq!(read, [("b", "1e3"), ("a", "[ ]"), ("b", r#""\ud83d""#)]);
        assert_eq!(offset_in(text, read[1].1), text.find('[').unwrap());
        assert_eq!(members.get("b"), Some(r#""\ud83d""#));
    }
}
