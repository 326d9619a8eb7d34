//! The search space: values for the open parameters of a pipeline.
//!
//! A space is data. Each parameter has a list of candidates; requirements between parameters are
//! arithmetic over integers. In text:
//!
//! ```text
//! rows in [1, 2, 4]              # a list
//! lanes in powers(4, 32)         # 4, 8, 16, 32
//! unroll in 1..=4                # 1, 2, 3, 4
//! require rows * lanes >= 32 and rows * lanes <= 1024
//! ```

use std::fmt;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use loopwright_kernel_ir::{BinaryOp, Diagnostic, Expr, Name, Place, parse_expression};
use loopwright_transforms::Pipeline;
use serde::{Deserialize, Serialize};

use crate::Point;

/// A condition between parameters.
#[derive(Clone, Debug)]
pub struct Requirement {
    text: String,
    condition: Expr,
    /// Its line in the file of the space.
    place: Option<Place>,
}

/// Equal by what they say, wherever that stands.
impl PartialEq for Requirement {
    fn eq(&self, other: &Requirement) -> bool {
        self.text == other.text
    }
}

impl Requirement {
    /// Parses a condition such as `rows * lanes <= 1024`.
    pub fn parse(text: &str) -> Result<Requirement, Diagnostic> {
        let condition = parse_expression(text)?;
        let mut divides = false;
        condition.visit(&mut |e| divides |= matches!(e, Expr::Binary(BinaryOp::Div, ..)));
        if divides {
            return Err(Diagnostic::new(
                "requirement",
                format!("`{}` uses `/`, which is not an operation on integers", text.trim()),
            )
            .help(
                "write `//` for the quotient rounded down, and `a % b == 0` to require \
                 divisibility",
            ));
        }
        Ok(Requirement { text: text.trim().to_owned(), condition, place: None })
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Candidates for each open parameter of a pipeline, and requirements between them.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Space {
    parameters: IndexMap<Name, Vec<i64>>,
    requirements: Vec<Requirement>,
}

/// The most points of a space: a longer list would be enumerated before anything is tried.
const MOST_POINTS: usize = 10_000_000;

impl Space {
    /// No parameters: one point.
    pub fn new() -> Space {
        Space::default()
    }

    /// Adds a parameter with its candidates, in order. A value given twice counts once.
    pub fn parameter(mut self, name: impl Into<Name>, candidates: impl IntoIterator<Item = i64>) -> Space {
        let values: IndexSet<i64> = candidates.into_iter().collect();
        self.parameters.insert(name.into(), values.into_iter().collect());
        self
    }

    /// Adds a condition between parameters, such as `rows * lanes <= 1024`.
    pub fn require(mut self, condition: &str) -> Result<Space, Diagnostic> {
        let requirement = Requirement::parse(condition)?;
        for name in requirement.condition.names() {
            if !self.parameters.contains_key(&name) {
                return Err(Diagnostic::new(
                    "unknown-parameter",
                    format!("the requirement `{condition}` uses `{name}`, which has no candidates"),
                )
                .help(format!("the space has {}", self.names())));
            }
        }
        self.requirements.push(requirement);
        Ok(self)
    }

    /// The space of a text, a parameter or a requirement a line; `#` begins a comment.
    pub fn parse(text: &str) -> Result<Space, Diagnostic> {
        Space::parse_file("<space>", text)
    }

    /// As [`Space::parse`], with the name of the file for diagnostics.
    pub fn parse_file(origin: &str, text: &str) -> Result<Space, Diagnostic> {
        // A mark of the encoding is no part of the text.
        let text = text.trim_start_matches('\u{feff}');
        let (origin, whole): (Arc<str>, Arc<str>) = (origin.into(), text.into());
        let mut space = Space::new();
        let mut begins = 0;
        for full in text.split_inclusive('\n') {
            let before = full.len() - full.trim_start().len();
            let line = full.split('#').next().unwrap_or_default().trim();
            let start = begins + before;
            begins += full.len();
            if line.is_empty() {
                continue;
            }
            let place = Place {
                origin: Arc::clone(&origin),
                text: Arc::clone(&whole),
                span: start..start + line.len(),
            };
            space = space.with_line(line, &place).map_err(|d| within(d, &place))?;
        }
        Ok(space)
    }

    /// The space with what a line says.
    fn with_line(mut self, line: &str, place: &Place) -> Result<Space, Diagnostic> {
        if let Some(condition) = line.strip_prefix("require ") {
            let mut space = self.require(condition.trim())?;
            if let Some(requirement) = space.requirements.last_mut() {
                requirement.place = Some(place.clone());
            }
            return Ok(space);
        }
        let syntax = || {
            Diagnostic::new("space-syntax", format!("`{line}` is not a line of a search space")).help(
                "write `name in [1, 2, 4]`, `name in 1..=8`, `name in powers(4, 64)` or `require \
                 CONDITION`",
            )
        };
        let (name, values) = line.split_once(" in ").ok_or_else(syntax)?;
        let name = name.trim();
        if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return Err(syntax());
        }
        if self.parameters.contains_key(name) {
            return Err(Diagnostic::new(
                "parameter-twice",
                format!("parameter `{name}` already has candidates"),
            )
            .help("give them in one line"));
        }
        let mut numbers = values.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty());
        if let Some(number) = numbers.find(|word| word.parse::<u64>().map_or(true, |v| v > 1 << 63)) {
            let message = format!("`{number}` is not a 64-bit integer");
            return Err(Diagnostic::new("space-syntax", message).help("give a smaller number"));
        }
        let values = candidates(values.trim()).ok_or_else(syntax)?;
        // One more than are listed shows that there are too many.
        let values: Vec<i64> = values.take(MOST_POINTS + 1).collect();
        if values.len() > MOST_POINTS {
            let message = format!("parameter `{name}` has more than {MOST_POINTS} candidates");
            return Err(Diagnostic::new("space-size", message).help("give fewer candidates"));
        }
        if values.is_empty() {
            let message = format!("parameter `{name}` has no candidates");
            return Err(Diagnostic::new("no-candidates", message).help(format!(
                "list at least one, as in `{name} in [32]`; a range ends above where it begins"
            )));
        }
        self = self.parameter(name, values);
        Ok(self)
    }

    /// The parameters and their candidates.
    pub fn parameters(&self) -> &IndexMap<Name, Vec<i64>> {
        &self.parameters
    }

    fn names(&self) -> String {
        let names: Vec<String> = self.parameters.keys().map(|n| format!("`{n}`")).collect();
        if names.is_empty() { "no parameters".to_owned() } else { names.join(", ") }
    }

    /// Refuses a space that does not fit a pipeline: an open parameter without candidates, or
    /// candidates for none.
    pub fn check(&self, pipeline: &Pipeline) -> Result<(), Diagnostic> {
        let open = pipeline.parameters();
        if let Some(name) = open.iter().find(|n| !self.parameters.contains_key(*n)) {
            return Err(Diagnostic::new(
                "open-parameter",
                format!("the pipeline's parameter `${name}` has no candidates"),
            )
            .help(format!("add a line `{name} in [...]` to the space")));
        }
        if let Some(name) = self.parameters.keys().find(|n| !open.contains(n)) {
            let known: Vec<String> = open.iter().map(|n| format!("`${n}`")).collect();
            let help = match known.is_empty() {
                true => format!("no number of the pipeline is open: write `${name}` in place of one"),
                false => format!("its parameters are {}", known.join(", ")),
            };
            return Err(Diagnostic::new(
                "unknown-parameter",
                format!("the space has candidates for `{name}`, which the pipeline does not have"),
            )
            .help(help));
        }
        Ok(())
    }

    /// All points that satisfy the requirements, the last parameter changing fastest.
    pub fn points(&self) -> Result<Vec<Point>, Diagnostic> {
        let count = self.parameters.values().try_fold(1usize, |n, v| n.checked_mul(v.len()));
        if count.is_none_or(|n| n > MOST_POINTS) {
            return Err(Diagnostic::new(
                "space-size",
                format!("the space has more than {MOST_POINTS} combinations"),
            )
            .help("give fewer candidates"));
        }
        let mut points = vec![Point::default()];
        for (name, values) in &self.parameters {
            points = points
                .iter()
                .flat_map(|point| values.iter().map(|value| point.with(name.clone(), *value)))
                .collect();
        }
        let mut found = Vec::new();
        for point in points {
            if self.fulfils(&point)? {
                found.push(point);
            }
        }
        Ok(found)
    }

    fn fulfils(&self, point: &Point) -> Result<bool, Diagnostic> {
        for requirement in &self.requirements {
            let value = requirement.condition.to_integer(&|name| point.get(name));
            match value {
                Some(0) => return Ok(false),
                Some(_) => {}
                None => {
                    let mut refusal = Diagnostic::new(
                        "requirement",
                        format!("`{requirement}` has no integer value at {point}"),
                    )
                    .help(
                        "requirements consist of parameters, integers, + - * // %, comparisons, \
                         and, or, not",
                    );
                    refusal.place = requirement.place.clone();
                    return Err(refusal);
                }
            }
        }
        Ok(true)
    }
}

/// The refusal of a line with its place in the file: the part of the line that is wrong, or all of
/// it.
fn within(mut refusal: Diagnostic, line: &Place) -> Diagnostic {
    let written = line.text.get(line.span.clone()).unwrap_or_default();
    let part = refusal.place.take().and_then(|part| {
        let begin = line.span.start + written.find(&*part.text)?;
        Some(begin + part.span.start..begin + part.span.end)
    });
    refusal.place = Some(Place { span: part.unwrap_or(line.span.clone()), ..line.clone() });
    refusal
}

/// The values of `[1, 2]`, `1..=4`, `1..4` or `powers(4, 32)`, of which there may be very many.
fn candidates(text: &str) -> Option<Box<dyn Iterator<Item = i64>>> {
    let number = |t: &str| t.trim().parse::<i64>().ok();
    if let Some(list) = text.strip_prefix('[') {
        let list = list.strip_suffix(']')?.trim();
        if list.is_empty() {
            return Some(Box::new(std::iter::empty()));
        }
        let values = list.split(',').map(number).collect::<Option<Vec<i64>>>()?;
        return Some(Box::new(values.into_iter()));
    }
    if let Some(range) = text.strip_prefix("powers(") {
        let (low, high) = range.strip_suffix(')')?.split_once(',')?;
        let (low, high) = (number(low)?, number(high)?);
        if low < 1 {
            return None;
        }
        let powers = std::iter::successors(Some(low), |value| value.checked_mul(2));
        return Some(Box::new(powers.take_while(move |value| *value <= high)));
    }
    match text.split_once("..=") {
        Some((low, high)) => Some(Box::new(number(low)?..=number(high)?)),
        None => {
            let (low, high) = text.split_once("..")?;
            Some(Box::new(number(low)?..number(high)?))
        }
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, values) in &self.parameters {
            let values: Vec<String> = values.iter().map(i64::to_string).collect();
            writeln!(f, "{name} in [{}]", values.join(", "))?;
        }
        self.requirements.iter().try_for_each(|r| writeln!(f, "require {r}"))
    }
}

impl Serialize for Space {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Space {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Space, D::Error> {
        let text = String::deserialize(deserializer)?;
        Space::parse(&text).map_err(|d| serde::de::Error::custom(d.render()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_space_is_read_and_printed() {
        let text = "rows in [1, 2, 2, 4] # twice\n\
                    lanes in powers(8, 40)\n\
                    unroll in 1..=2\n\
                    k in 3..5\n\
                    require rows * lanes <= 32 and unroll != rows\n";
        let space = Space::parse(text).expect("it is one");
        assert_eq!(space.parameters()["rows"], [1, 2, 4]);
        assert_eq!(space.parameters()["lanes"], [8, 16, 32]);
        assert_eq!(space.parameters()["k"], [3, 4]);
        assert_eq!(Space::parse(&space.to_string()), Ok(space.clone()));
        let points = space.points().expect("it has points");
        // rows 1: lanes 8, 16, 32 with unroll 2; rows 2: lanes 8, 16 with unroll 1; rows 4: lanes 8
        // with both; k doubles all.
        assert_eq!(points.len(), 2 * (3 + 2 + 2));
        assert_eq!(points[0].to_string(), "rows=1 lanes=8 unroll=2 k=3");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let code = |text: &str| Space::parse(text).map_err(|d| d.code);
        assert_eq!(code("rows = 4"), Err("space-syntax"));
        let wide = Space::parse("rows in 1..=99999999999999999999").unwrap_err();
        assert!(wide.message.contains("`99999999999999999999` is not a 64-bit integer"), "{wide}");
        assert_eq!(code("rows in []"), Err("no-candidates"));
        assert_eq!(code("rows in powers(0, 4)"), Err("space-syntax"));
        for all in ["1..=9223372036854775807", "0..=10000000", "-9223372036854775808..9223372036854775807"] {
            assert_eq!(code(&format!("rows in {all}")), Err("space-size"), "{all}");
        }
        assert_eq!(code("rows in 9223372036854775808..9223372036854775809"), Err("space-syntax"));
        assert_eq!(
            Space::parse("rows in powers(1, 9223372036854775807)").map(|s| s.parameters()["rows"].len()),
            Ok(63)
        );
        assert_eq!(code("rows in [1]\nrows in [2]"), Err("parameter-twice"));
        assert_eq!(code("rows in [1]\nrequire lanes == 4"), Err("unknown-parameter"));
        let slash = Space::parse("rows in [16]\nwidth in [64]\nrequire width / (rows - 8) >= 4")
            .map_err(|d| d.render());
        let slash = slash.expect_err("it is not a division of integers");
        assert!(slash.contains(" --> <space>:3:1\n") && slash.contains("write `//`"), "{slash}");
        let divided = Space::parse("a in [0, 1]\nrequire 4 // a == 4").expect("only its value is wrong");
        assert_eq!(divided.points().map_err(|d| d.code), Err("requirement"));
        let huge = Space::new().parameter("a", 0..4000).parameter("b", 0..4000);
        assert_eq!(huge.points().map_err(|d| d.code), Err("space-size"));
    }

    /// By looking through those before each, a million candidates would take minutes.
    #[test]
    fn a_long_range_is_read() {
        let space = Space::parse("block in 1..=1000000").expect("it is one");
        assert!(space.parameters()["block"].iter().copied().eq(1..=1_000_000));
    }

    #[test]
    fn a_space_fits_its_pipeline() {
        let pipeline = Pipeline::parse("split_iname(i, $block)").expect("it is one");
        let code = |space: Space| space.check(&pipeline).map_err(|d| d.code);
        let closed = Pipeline::parse("split_iname(i, 64)").expect("it is one");
        let refused = Space::new().parameter("block", [1]).check(&closed).expect_err("nothing is open");
        let help = "no number of the pipeline is open: write `$block` in place of one";
        assert_eq!(refused.help.as_deref(), Some(help));
        assert_eq!(code(Space::new().parameter("block", [1])), Ok(()));
        assert_eq!(code(Space::new()), Err("open-parameter"));
        assert_eq!(
            code(Space::new().parameter("block", [1]).parameter("blokc", [1])),
            Err("unknown-parameter")
        );
    }
}
