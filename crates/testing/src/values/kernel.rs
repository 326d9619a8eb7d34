//! A kernel of independent statements over one loop, as data and as text.

use std::{fmt, sync::Arc};

use loopwright_kernel_ir::{DType, Expr, Name, ReductionOp, UpdateOp};

use super::{power, types::Scope};

/// A loop: `{ [name] : lower <= name < upper }`, or a reduction's.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Loop {
    pub name: Name,
    pub lower: Expr,
    pub upper: Expr,
    /// The inames around it that its bounds mention.
    pub outer: Vec<Name>,
}

/// The target of a statement.
#[derive(Clone, Debug)]
pub enum Target {
    /// The array of this name and type, at the loop's position.
    Array(Name, DType),
    /// A scalar temporary, with its type if the text gives one.
    Temporary(Name, Option<DType>),
}

/// A statement of a random kernel.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Statement {
    pub target: Target,
    /// The target of a reduction's second result.
    pub second: Option<(Name, DType)>,
    /// How the value is combined with what the target holds, and the place of the target.
    pub update: Option<(UpdateOp, Expr)>,
    pub value: Expr,
    pub predicate: Option<Expr>,
    /// Whether its value is the kernel's only inexact function, applied to exact operands.
    pub inexact: bool,
}

/// A random kernel, before it becomes text.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Kernel {
    pub scalars: Vec<(Name, DType)>,
    pub arrays: Vec<(Name, DType)>,
    /// The loop around all statements.
    pub around: Loop,
    /// The loops of reductions, and further loops of single statements.
    pub loops: Vec<Loop>,
    pub operators: Vec<(ReductionOp, String)>,
    pub statements: Vec<Statement>,
    pub float: Option<DType>,
}

impl Statement {
    /// An assignment without a condition.
    pub fn new(target: Target, value: Expr) -> Statement {
        Statement { target, second: None, update: None, value, predicate: None, inexact: false }
    }

    /// The arrays that it writes.
    pub fn arrays(&self) -> impl Iterator<Item = (&Name, DType)> {
        let first = match &self.target {
            Target::Array(name, t) => Some((name, *t)),
            Target::Temporary(..) => None,
        };
        first.into_iter().chain(self.second.as_ref().map(|(name, t)| (name, *t)))
    }
}

/// Number of elements of an argument that is read.
pub const LENGTH: i64 = 64;
/// Number of iterations of the loop around all statements.
pub const POSITIONS: i64 = 40;

impl Kernel {
    /// The meaning of names except temporaries, which are added when they are assigned.
    pub fn scope(&self) -> Scope {
        let mut scope = Scope {
            arrays: Arc::new(self.arrays.iter().cloned().collect()),
            operators: Arc::new(self.operators.iter().map(|(op, _)| op.clone()).collect()),
            float: self.float,
            ..Scope::default()
        };
        for (name, t) in &self.scalars {
            scope.names.insert(name.clone(), super::types::Own::Of(*t));
        }
        scope
    }

    /// The kernel with these statements only, and without what they do not mention.
    pub fn with(&self, keep: &[usize]) -> Kernel {
        let mut small = self.clone();
        small.statements = keep.iter().map(|k| self.statements[*k].clone()).collect();
        let text = small.body();
        let mentions = |text: &str, name: &str| {
            text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
        };
        small.operators.retain(|(op, _)| mentions(&text, op.name.as_str()));
        small.loops.retain(|l| mentions(&text, l.name.as_str()));
        let text = small.inner();
        // Open values take the floating-point type of the whole kernel.
        small.arrays.retain(|(name, t)| t.is_float() || mentions(&text, name.as_str()));
        small.scalars.retain(|(name, _)| mentions(&text, name.as_str()));
        small
    }

    fn body(&self) -> String {
        let mut text = String::new();
        let place = match &self.around.lower {
            Expr::Int(0) => "i".to_string(),
            Expr::Int(v) if *v < 0 => format!("i + {}", -v),
            lower => format!("i - ({lower})"),
        };
        for s in &self.statements {
            let value = power::text(&s.value);
            match (&s.target, &s.update) {
                (Target::Array(name, _), Some((op, place))) => {
                    text += &format!("{name}[{place}] {} {value}", op.sign());
                }
                (Target::Array(name, _), None) => {
                    let second = s.second.as_ref().map(|(name, _)| format!(", {name}[{place}]"));
                    text += &format!("{name}[{place}]{} = {value}", second.unwrap_or_default());
                }
                (Target::Temporary(name, t), _) => {
                    text += &format!("<{}> {name} = {value}", t.map_or("", |t| t.name()));
                }
            }
            if let Some(p) = &s.predicate {
                text += &format!(" if {}", power::text(p));
            }
            // A temporary that mentions no iname still has one value per iteration.
            let mut names = s.value.names();
            names.extend(s.update.iter().flat_map(|(_, place)| place.names()));
            let inames = (matches!(s.target, Target::Temporary(..)) || s.update.is_some())
                && names.iter().all(|n| n.as_str() != "i");
            text += if inames { " {inames=i}\n" } else { "\n" };
        }
        text
    }

    /// All lines but the header.
    fn inner(&self) -> String {
        let mut text = String::new();
        for name in ["n", "m"].iter().filter(|n| self.scalars.iter().any(|(s, _)| s.as_str() == **n)) {
            text += &format!("assume 0 <= {name} <= {POSITIONS}\n");
        }
        for name in ["idx", "jdx"].iter().filter(|n| self.arrays.iter().any(|(s, _)| s.as_str() == **n)) {
            text += &format!("fact 0 <= {name} < 8\n");
        }
        for (_, source) in &self.operators {
            text += source;
        }
        for l in [&self.around].into_iter().chain(&self.loops) {
            let outer: Vec<&str> = l.outer.iter().map(Name::as_str).collect();
            let outer = if outer.is_empty() { String::new() } else { format!("[{}] -> ", outer.join(", ")) };
            text += &format!("{outer}{{ [{0}] : {1} <= {0} < {2} }}\n", l.name, l.lower, l.upper);
        }
        text + &self.body()
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut args: Vec<String> =
            self.arrays.iter().map(|(name, t)| format!("{name}: {t}[{LENGTH}]")).collect();
        for (name, t) in self.statements.iter().flat_map(Statement::arrays) {
            let arg = format!("{name}: {t}[{POSITIONS}]");
            if !args.contains(&arg) {
                args.push(arg);
            }
        }
        args.extend(self.scalars.iter().map(|(name, t)| format!("{name}: {t}")));
        write!(f, "kernel values({})\n{}", args.join(", "), self.inner())
    }
}
