//! Sets and maps as text in isl's syntax, which parses back to the same value.

use std::fmt;

use crate::{Name, relation::Relation};

fn tuple(name: &Option<Name>, dims: &[Name]) -> String {
    let name = name.as_ref().map_or("", |n| n.as_str());
    format!("{name}[{}]", join(dims))
}

fn join(names: &[Name]) -> String {
    names.iter().map(|n| n.as_str()).collect::<Vec<_>>().join(", ")
}

impl Relation {
    /// The tuples alone, for messages.
    pub(crate) fn space_text(&self) -> String {
        match self.ins.is_empty() && self.in_tuple.is_none() {
            true => tuple(&self.out_tuple, &self.outs),
            false => {
                format!("{} -> {}", tuple(&self.in_tuple, &self.ins), tuple(&self.out_tuple, &self.outs))
            }
        }
    }

    /// The whole value. A map prints both of its tuples, even if the first has no dimensions.
    pub(crate) fn print(&self, f: &mut fmt::Formatter<'_>, map: bool) -> fmt::Result {
        if !self.params.is_empty() {
            write!(f, "[{}] -> ", join(&self.params))?;
        }
        write!(f, "{{ ")?;
        if map {
            write!(f, "{} -> ", tuple(&self.in_tuple, &self.ins))?;
        }
        write!(f, "{}", tuple(&self.out_tuple, &self.outs))?;
        match self.disjuncts.as_slice() {
            [] => write!(f, " : false")?,
            [one] if one.constraints().is_empty() => {}
            [one] => write!(f, " : {}", one)?,
            many => {
                let parts: Vec<String> = many.iter().map(|s| format!("({s})")).collect();
                write!(f, " : {}", parts.join(" or "))?;
            }
        }
        write!(f, " }}")
    }
}
