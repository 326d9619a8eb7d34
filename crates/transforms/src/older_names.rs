//! Names of steps and keys of their arguments that others have replaced. They are read until 1.0.

use crate::{
    Step,
    call::{self, Body, Call},
};

/// Keys of arguments: the step, the older key, the present one.
const KEYS: &[(&str, &str, &str)] =
    &[("flatten_ragged", "runs", "full_chunks"), ("flatten_ragged", "rest", "tail_tiles")];

/// The keys under which a step reads an argument: the present one, then the older ones.
pub(crate) fn keys<'k>(step: &'k str, key: &'k str) -> impl Iterator<Item = &'k str> {
    let of =
        move |(of, older, now): &(&str, &'static str, &str)| (*of == step && *now == key).then_some(*older);
    std::iter::once(key).chain(KEYS.iter().filter_map(of))
}

/// A name that another one has replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OlderName {
    /// The older name, or `name=` of an argument.
    pub older: String,
    /// What is written today.
    pub now: String,
}

impl OlderName {
    fn of_step((older, now): &(&str, &str)) -> OlderName {
        OlderName { older: (*older).to_string(), now: (*now).to_string() }
    }

    fn of_key((_, older, now): &(&str, &str, &str)) -> OlderName {
        OlderName { older: format!("{older}="), now: format!("{now}=") }
    }
}

/// The older names of a step and of its arguments, by its present name.
pub fn older_names_of(step: &str) -> Vec<OlderName> {
    let names = Step::OLDER.iter().filter(|(_, now)| *now == step).map(OlderName::of_step);
    names.chain(KEYS.iter().filter(|(of, ..)| *of == step).map(OlderName::of_key)).collect()
}

/// The older names that the text of a pipeline uses, each once; none if it is no pipeline.
///
/// ```
/// use loopwright_transforms::older_names_in;
///
/// let found = older_names_in("tag_inames(s: block.x)\njoin_atomically(total)  # in any order");
/// assert_eq!(found.len(), 1);
/// assert_eq!((found[0].older.as_str(), found[0].now.as_str()), ("join_atomically", "reduce_atomically"));
/// ```
pub fn older_names_in(text: &str) -> Vec<OlderName> {
    let mut found = Vec::new();
    for call in &call::read("<pipeline>", text.trim_start_matches('\u{feff}')).unwrap_or_default() {
        collect(call, &mut found);
    }
    found
}

fn collect(call: &Call, found: &mut Vec<OlderName>) {
    let mut add = |name: OlderName| {
        if !found.contains(&name) {
            found.push(name);
        }
    };
    if let Some(of) = Step::OLDER.iter().find(|(older, _)| *older == call.name) {
        add(OlderName::of_step(of));
    }
    match &call.body {
        Body::Arguments(pieces) => {
            for key in pieces.iter().filter_map(|piece| piece.key.as_deref()) {
                let mut keys = KEYS.iter().filter(|(of, older, _)| *of == call.name && *older == key);
                if let Some(of) = keys.next() {
                    add(OlderName::of_key(of));
                }
            }
        }
        Body::Steps(calls) => calls.iter().for_each(|call| collect(call, found)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_names_are_found_in_groups_and_not_in_comments() {
        let text = "together { join_atomically(a); join_atomically(b) }\n# join_atomically(c)\n\
                    flatten_ragged(s, i, threads=32, items=8, tiles=1, runs=2, rest=1)\n";
        let found: Vec<String> =
            older_names_in(text).iter().map(|n| format!("{} {}", n.older, n.now)).collect();
        assert_eq!(found, ["join_atomically reduce_atomically", "runs= full_chunks=", "rest= tail_tiles="]);
        assert_eq!(older_names_in("reduce_atomically(total)"), []);
        assert_eq!(older_names_in("reduce_atomically("), []);
    }

    #[test]
    fn older_names_are_read() {
        for (older, now) in Step::OLDER {
            assert!(Step::NAMES.contains(now) && !Step::NAMES.contains(older), "{older}");
        }
        for (step, older, now) in KEYS {
            assert_eq!(keys(step, now).collect::<Vec<_>>(), [*now, *older]);
        }
    }
}
