//! Layouts, tuples and tilers as JSON.

use serde_json::{Map, Value as Json};

use crate::{Coordinate, IntTuple, Layout, Tiler};

pub(super) fn int(json: &Json) -> Result<i64, String> {
    json.as_i64().ok_or_else(|| format!("expected an integer, found {json}"))
}

pub(super) fn tuple(json: &Json) -> Result<IntTuple, String> {
    match json.as_array() {
        None => Ok(int(json)?.into()),
        Some(elements) => Ok(IntTuple::Tuple(elements.iter().map(tuple).collect::<Result<_, _>>()?)),
    }
}

pub(super) fn layout(json: &Json) -> Result<Layout, String> {
    let fields = json.as_object().ok_or_else(|| format!("expected a layout, found {json}"))?;
    only(fields, &["shape", "stride"])?;
    let field = |name| fields.get(name).ok_or_else(|| format!("a layout without {name}: {json}"));
    Layout::new(&tuple(field("shape")?)?, &tuple(field("stride")?)?).map_err(|e| e.to_string())
}

pub(super) fn tiler(json: &Json) -> Result<Tiler, String> {
    match json {
        Json::Null => Ok(Tiler::Keep),
        Json::Object(_) => Ok(Tiler::Layout(layout(json)?)),
        Json::Array(parts) => Ok(Tiler::Modes(parts.iter().map(tiler).collect::<Result<_, _>>()?)),
        _ => Ok(Tiler::Layout(Layout::mode(int(json)?, 1))),
    }
}

pub(super) fn coordinate(json: &Json) -> Result<Coordinate, String> {
    match json {
        Json::Null => Ok(Coordinate::All),
        Json::Array(parts) => Ok(Coordinate::Tuple(parts.iter().map(coordinate).collect::<Result<_, _>>()?)),
        _ => Ok(Coordinate::Index(int(json)?)),
    }
}

/// Nothing but these fields.
pub(super) fn only(fields: &Map<String, Json>, names: &[&str]) -> Result<(), String> {
    match fields.keys().find(|key| !names.contains(&key.as_str())) {
        Some(key) => Err(format!("key {key} is unknown")),
        None => Ok(()),
    }
}

pub(super) fn tuple_json(tuple: &IntTuple) -> Json {
    match tuple {
        IntTuple::Int(n) => n.as_const().map_or_else(|| Json::from(n.to_string()), Json::from),
        IntTuple::Tuple(elements) => Json::Array(elements.iter().map(tuple_json).collect()),
    }
}

pub(super) fn layout_json(layout: &Layout) -> Json {
    serde_json::json!({"shape": tuple_json(&layout.shape()), "stride": tuple_json(&layout.stride())})
}
