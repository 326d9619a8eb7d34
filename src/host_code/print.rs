//! Formulas in the languages of hosts.

use loopwright_kernel_ir::Name;

use super::formula::{Bounds, Formula, Op};

/// How a formula is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// In C, by integers of 64 bits.
    Integers,
    /// In C, by doubles: exact below 2^53, and on the same side of what is compared above.
    Doubles,
    /// In Python, by integers without limits.
    Python,
    /// In comments of CUDA C, for readers.
    Comment,
}

/// Prints formulas in one style.
pub(super) struct Printer<'a> {
    pub style: Style,
    /// What is known of the names: quotients of numbers that are not negative are C's.
    pub bounds: &'a Bounds,
    /// The name that a formula's name has in the text.
    pub rename: &'a dyn Fn(&Name) -> String,
}

mod level {
    pub(super) const CHOICE: u8 = 1;
    pub(super) const OR: u8 = 2;
    pub(super) const AND: u8 = 3;
    pub(super) const COMPARISON: u8 = 4;
    pub(super) const SUM: u8 = 5;
    pub(super) const PRODUCT: u8 = 6;
    pub(super) const ATOM: u8 = 7;
}

impl Printer<'_> {
    /// The text of a formula, without parentheses around it.
    pub fn text(&self, formula: &Formula) -> String {
        self.written(formula, 0)
    }

    /// The text of a number that is not negative, or counts as 0 if it is: then the outermost
    /// quotient is C's, which rounds to 0. So are those of which the number is the least or the
    /// greatest.
    pub fn natural(&self, formula: &Formula) -> String {
        match formula {
            Formula::Binary(Op::FloorDiv, a, b) if self.bounds.at_least(b, 1) => {
                let [a, b] = [self.written(a, level::PRODUCT), self.written(b, level::PRODUCT + 1)];
                format!("{a} / {b}")
            }
            Formula::Binary(op @ (Op::Min | Op::Max), a, b) => {
                format!("{}({}, {})", self.extreme(*op), self.natural(a), self.natural(b))
            }
            _ => self.text(formula),
        }
    }

    /// The function that gives the least or the greatest of two numbers.
    fn extreme(&self, op: Op) -> &'static str {
        match (self.style, op) {
            (Style::Integers, Op::Min) => "least",
            (Style::Integers, _) => "greatest",
            (Style::Doubles, Op::Min) => "fmin",
            (Style::Doubles, _) => "fmax",
            (_, Op::Min) => "min",
            _ => "max",
        }
    }

    fn written(&self, formula: &Formula, outer: u8) -> String {
        let (own, text) = self.piece(formula);
        if own < outer { format!("({text})") } else { text }
    }

    fn piece(&self, formula: &Formula) -> (u8, String) {
        match formula {
            Formula::Int(value) => (if *value < 0 { level::SUM } else { level::ATOM }, self.integer(*value)),
            Formula::Name(name) => (level::ATOM, (self.rename)(name)),
            Formula::If(c, a, b) => {
                let [c, a, b] = [c, a, b].map(|x| self.written(x, level::CHOICE + 1));
                let text = match self.style {
                    Style::Python => format!("{a} if {c} else {b}"),
                    _ => format!("{c} ? {a} : {b}"),
                };
                (level::CHOICE, text)
            }
            Formula::Binary(op, a, b) => self.binary(*op, a, b),
        }
    }

    fn integer(&self, value: i128) -> String {
        let is_small = value.unsigned_abs() <= i32::MAX.unsigned_abs().into();
        match self.style {
            Style::Python | Style::Comment => value.to_string(),
            _ if is_small => value.to_string(),
            Style::Integers => format!("INT64_C({value})"),
            Style::Doubles => format!("{value}.0"),
        }
    }

    fn binary(&self, op: Op, a: &Formula, b: &Formula) -> (u8, String) {
        let infix = |own: u8, sign: &str, right: u8| {
            (own, format!("{} {sign} {}", self.written(a, own), self.written(b, right)))
        };
        let call = |name: &str| (level::ATOM, format!("{name}({}, {})", self.text(a), self.text(b)));
        let python = self.style == Style::Python;
        match op {
            Op::Add => infix(level::SUM, "+", level::SUM),
            Op::Sub => infix(level::SUM, "-", level::SUM + 1),
            Op::Mul => infix(level::PRODUCT, "*", level::PRODUCT + 1),
            Op::FloorDiv | Op::FloorMod => {
                let sign = match (op, python) {
                    (Op::FloorMod, _) => "%",
                    (_, true) => "//",
                    _ => "/",
                };
                let is_c = self.bounds.at_least(a, 0) && self.bounds.at_least(b, 1);
                match self.style {
                    Style::Python => infix(level::PRODUCT, sign, level::PRODUCT + 1),
                    Style::Integers | Style::Comment if is_c => {
                        infix(level::PRODUCT, sign, level::PRODUCT + 1)
                    }
                    Style::Integers => call(if op == Op::FloorDiv { "floor_div" } else { "floor_mod" }),
                    Style::Doubles | Style::Comment => {
                        let (_, quotient) = infix(level::PRODUCT, "/", level::PRODUCT + 1);
                        if op == Op::FloorDiv {
                            return (level::ATOM, format!("floor({quotient})"));
                        }
                        let (left, right) = (self.written(a, level::SUM), self.written(b, level::PRODUCT));
                        (level::SUM, format!("{left} - {right} * floor({quotient})"))
                    }
                }
            }
            Op::Min | Op::Max => call(self.extreme(op)),
            Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Eq | Op::Ne => {
                let sign = match op {
                    Op::Lt => "<",
                    Op::Le => "<=",
                    Op::Gt => ">",
                    Op::Ge => ">=",
                    Op::Eq => "==",
                    _ => "!=",
                };
                let side = level::COMPARISON + 1;
                (level::COMPARISON, format!("{} {sign} {}", self.written(a, side), self.written(b, side)))
            }
            Op::And => infix(level::AND, if python { "and" } else { "&&" }, level::AND + 1),
            Op::Or => infix(level::OR, if python { "or" } else { "||" }, level::OR + 1),
        }
    }
}

/// Definitions of the functions that printed formulas of integers call, those alone that a text
/// uses.
pub(super) fn helpers(text: &str) -> String {
    const HELPERS: [(&str, &str); 4] = [
        (
            "floor_div(",
            "/* Rounds towards minus infinity; b is positive. */\n\
             static int64_t floor_div(int64_t a, int64_t b)\n\
             {\n    return a / b - (a % b < 0);\n}\n",
        ),
        (
            "floor_mod(",
            "static int64_t floor_mod(int64_t a, int64_t b)\n\
             {\n    return a % b + (a % b < 0 ? b : 0);\n}\n",
        ),
        ("least(", "static int64_t least(int64_t a, int64_t b)\n{\n    return a < b ? a : b;\n}\n"),
        ("greatest(", "static int64_t greatest(int64_t a, int64_t b)\n{\n    return a > b ? a : b;\n}\n"),
    ];
    let used = HELPERS.iter().filter(|(call, _)| text.contains(call));
    used.map(|(_, definition)| format!("{definition}\n")).collect()
}
