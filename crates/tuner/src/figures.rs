//! Figures in files: JSON has no infinite number, and `null` stands for one.
//!
//! A cost can be infinite, for example on a machine of unknown speed. `serde_json` writes `null`
//! for anything but a finite number and would not read it back as a number. A missing figure ranks
//! last, like an infinite one, so `null` is read as infinity. Structures read in this way have no
//! optional figures.

use serde::de::value::MapDeserializer;
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::{Error, Map, Value};

/// Reads a structure of figures; for `#[serde(deserialize_with)]`.
pub(crate) fn read<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<T, D::Error> {
    let fields = Map::deserialize(from)?.into_iter().map(|(name, value)| (name, Figure(value)));
    T::deserialize(MapDeserializer::new(fields)).map_err(|e: Error| D::Error::custom(e))
}

/// Reads one figure; for `#[serde(deserialize_with)]`.
pub(crate) fn read_one<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::INFINITY))
}

/// A value of a field, of which `null` is read as infinity.
struct Figure(Value);

impl<'de> IntoDeserializer<'de, Error> for Figure {
    type Deserializer = Figure;

    fn into_deserializer(self) -> Figure {
        self
    }
}

impl<'de> Deserializer<'de> for Figure {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_f64(f64::INFINITY),
            value => value.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}
