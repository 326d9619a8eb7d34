//! Random formulas as text: the parsed set contains exactly the points at which the formula holds.

use loopwright_poly::{Name, Set};

const NAMES: [&str; 4] = ["i", "j", "n", "e"];

/// A function of the names, with fractions.
enum Sum {
    Number(i64),
    Variable(usize),
    Add(Box<Sum>, Box<Sum>),
    Subtract(Box<Sum>, Box<Sum>),
    Negative(Box<Sum>),
    /// The factor, written before with or without a sign, or after.
    Times(i64, Box<Sum>, usize),
    Over(Box<Sum>, i64),
    Mod(Box<Sum>, i64),
    /// Rounded down or up, by the functions of this number.
    Rounded(Box<Sum>, i64, usize),
}

enum Formula {
    /// Lists with comparisons between them.
    Chain(Vec<Vec<Sum>>, Vec<&'static str>),
    And(Box<Formula>, Box<Formula>),
    Or(Box<Formula>, Box<Formula>),
    Not(Box<Formula>),
    /// For some `e` from 0 to this number.
    Exists(i64, Box<Formula>),
    Constant(bool),
}

/// A fraction; the denominator is positive.
type Value = (i128, i128);

impl Sum {
    fn at(&self, point: [i64; 4]) -> Value {
        let add = |(a, b): Value, (c, d): Value| (a * d + c * b, b * d);
        match self {
            Sum::Number(n) => ((*n).into(), 1),
            Sum::Variable(k) => (point[*k].into(), 1),
            Sum::Add(a, b) => add(a.at(point), b.at(point)),
            Sum::Subtract(a, b) => {
                let (c, d) = b.at(point);
                add(a.at(point), (-c, d))
            }
            Sum::Negative(a) => (-a.at(point).0, a.at(point).1),
            Sum::Times(c, a, _) => (i128::from(*c) * a.at(point).0, a.at(point).1),
            Sum::Over(a, d) => (a.at(point).0, a.at(point).1 * i128::from(*d)),
            Sum::Mod(a, d) => (a.at(point).0.rem_euclid((*d).into()), 1),
            Sum::Rounded(a, d, how) => {
                let (c, d) = (a.at(point).0, a.at(point).1 * i128::from(*d));
                (if how % 2 == 1 { -(-c).div_euclid(d) } else { c.div_euclid(d) }, 1)
            }
        }
    }
}

impl std::fmt::Display for Sum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Sum::Number(n) => write!(f, "{n}"),
            Sum::Variable(k) => f.write_str(NAMES[*k]),
            Sum::Add(a, b) => write!(f, "{a} + {b}"),
            Sum::Subtract(a, b) => write!(f, "{a} - ({b})"),
            Sum::Negative(a) => write!(f, "-({a})"),
            Sum::Times(c, a, 0) => write!(f, "{c}*({a})"),
            Sum::Times(c, a, 1) => write!(f, "{c}({a})"),
            Sum::Times(c, a, _) => write!(f, "({a})*{c}"),
            Sum::Over(a, d) => write!(f, "({a})/{d}"),
            Sum::Mod(a, d) => write!(f, "({a}) mod {d}"),
            Sum::Rounded(a, d, how) => match how {
                0 => write!(f, "floor(({a})/{d})"),
                1 => write!(f, "ceil(({a})/{d})"),
                2 => write!(f, "floord({a}, {d})"),
                3 => write!(f, "ceild({a}, {d})"),
                _ => write!(f, "[({a})/{d}]"),
            },
        }
    }
}

impl Formula {
    fn holds(&self, point: [i64; 4]) -> bool {
        match self {
            Formula::Chain(lists, signs) => signs.iter().zip(lists.windows(2)).all(|(sign, pair)| {
                pair[0].iter().all(|a| {
                    pair[1].iter().all(|b| {
                        let ((a, d), (b, e)) = (a.at(point), b.at(point));
                        let order = (a * e).cmp(&(b * d));
                        match *sign {
                            "<" => order.is_lt(),
                            "<=" => order.is_le(),
                            ">" => order.is_gt(),
                            ">=" => order.is_ge(),
                            "=" => order.is_eq(),
                            _ => order.is_ne(),
                        }
                    })
                })
            }),
            Formula::And(a, b) => a.holds(point) && b.holds(point),
            Formula::Or(a, b) => a.holds(point) || b.holds(point),
            Formula::Not(a) => !a.holds(point),
            Formula::Exists(most, a) => (0..=*most).any(|e| a.holds([point[0], point[1], point[2], e])),
            Formula::Constant(value) => *value,
        }
    }
}

impl std::fmt::Display for Formula {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Formula::Chain(lists, signs) => {
                for (k, list) in lists.iter().enumerate() {
                    let list: Vec<String> = list.iter().map(Sum::to_string).collect();
                    write!(f, "{}", list.join(", "))?;
                    if let Some(sign) = signs.get(k) {
                        write!(f, " {sign} ")?;
                    }
                }
                Ok(())
            }
            Formula::And(a, b) => write!(f, "({a}) and ({b})"),
            Formula::Or(a, b) => write!(f, "(({a}) or {b})"),
            Formula::Not(a) => write!(f, "not ({a})"),
            Formula::Exists(most, a) => write!(f, "exists (e: 0 <= e <= {most} and ({a}))"),
            Formula::Constant(value) => write!(f, "{value}"),
        }
    }
}

/// Pseudo-random numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    /// A function, without fractions if it has to be `whole`.
    fn sum(&mut self, depth: usize, names: usize, whole: bool) -> Sum {
        let divisor = |dice: &mut Dice| [1, 2, 3, 4, 6][dice.below(5)];
        if depth == 0 {
            return match self.below(3) {
                0 => Sum::Number(self.below(13) as i64 - 6),
                _ => Sum::Variable(self.below(names)),
            };
        }
        let kind = self.below(if whole { 7 } else { 9 });
        let inner = |dice: &mut Dice, whole| Box::new(dice.sum(depth - 1, names, whole));
        match kind {
            0 => Sum::Add(inner(self, whole), inner(self, whole)),
            1 => Sum::Subtract(inner(self, whole), inner(self, whole)),
            2 => Sum::Negative(inner(self, whole)),
            3 => Sum::Times(self.below(9) as i64 - 4, inner(self, whole), self.below(3)),
            4 => Sum::Mod(inner(self, true), divisor(self)),
            5 => Sum::Rounded(inner(self, false), divisor(self), self.below(5)),
            6 => self.sum(0, names, whole),
            _ => Sum::Over(inner(self, false), divisor(self)),
        }
    }

    fn formula(&mut self, depth: usize, names: usize) -> Formula {
        let inner = |dice: &mut Dice, names| Box::new(dice.formula(depth - 1, names));
        match if depth == 0 { 9 } else { self.below(9) } {
            0 | 1 => Formula::And(inner(self, names), inner(self, names)),
            2 | 3 => Formula::Or(inner(self, names), inner(self, names)),
            4 => Formula::Not(inner(self, names)),
            5 if names == 3 => Formula::Exists(self.below(4) as i64, inner(self, 4)),
            6 if self.below(4) == 0 => Formula::Constant(self.below(2) == 0),
            _ => {
                let signs: Vec<&str> = (0..1 + self.below(2))
                    .map(|_| ["<", "<=", ">", ">=", "=", "!="][self.below(6)])
                    .collect();
                let list =
                    |dice: &mut Dice| (0..1 + dice.below(5) / 4).map(|_| dice.sum(2, names, false)).collect();
                let lists = (0..=signs.len()).map(|_| list(self)).collect();
                Formula::Chain(lists, signs)
            }
        }
    }
}

#[test]
fn formulas_hold_where_they_say() {
    let mut read = 0;
    for seed in 0..1200 {
        let formula = Dice(seed).formula(2, 3);
        let text = format!("[n] -> {{ [i, j] : {formula} }}");
        // More alternatives than are allowed, or large numbers.
        let Ok(set) = text.parse::<Set>() else { continue };
        read += 1;
        for n in [-2, 3] {
            for i in -5..=5 {
                for j in -5..=5 {
                    let point = [i, j, n, 0];
                    let value = |name: &Name| NAMES.iter().position(|m| *name == *m).map(|k| point[k]);
                    let found = set.contains(&value).unwrap();
                    assert_eq!(found, formula.holds(point), "{text} at i={i}, j={j}, n={n}: {set}");
                }
            }
        }
    }
    assert!(read >= 1000, "{read} formulas were read");
}
