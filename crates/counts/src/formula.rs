//! Formulas: quasi-polynomials, each with the parameter values for which it counts.

use std::{collections::BTreeSet, fmt};

use loopwright_poly::{Constraint, Name};

use crate::{QuasiPolynomial, Refusal};

/// The greatest number of pieces of a formula.
const PIECES: usize = 64;

/// A quasi-polynomial that counts where conditions on the parameters hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// Conditions on the parameters that have to hold together. If there are none, the piece always
    /// counts, as long as the kernel's assumptions hold.
    pub conditions: Vec<Constraint>,
    /// Its value where they hold.
    pub value: QuasiPolynomial,
}

/// A number in terms of a kernel's parameters: the sum of the pieces whose conditions hold, 0 where
/// none does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Formula {
    pieces: Vec<Piece>,
}

impl Formula {
    /// A formula without conditions.
    pub fn always(value: QuasiPolynomial) -> Formula {
        let mut formula = Formula::default();
        if !value.is_zero() {
            formula.pieces.push(Piece { conditions: Vec::new(), value });
        }
        formula
    }

    /// Its pieces, whose values are added where their conditions hold.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Adds a piece. Pieces with the same conditions become one.
    pub(crate) fn add_piece(&mut self, piece: Piece) -> Result<(), Refusal> {
        if piece.value.is_zero() {
            return Ok(());
        }
        match self.pieces.iter().position(|p| p.conditions == piece.conditions) {
            Some(k) => {
                self.pieces[k].value = self.pieces[k].value.plus(&piece.value)?;
                if self.pieces[k].value.is_zero() {
                    self.pieces.remove(k);
                }
            }
            // What always counts comes first.
            None if piece.conditions.is_empty() => self.pieces.insert(0, piece),
            None => self.pieces.push(piece),
        }
        if self.pieces.len() > PIECES {
            return Err(Refusal::new("count-size", "it takes too many cases of the parameters"));
        }
        Ok(())
    }

    /// The sum of both; an error if it has too many pieces or terms, or if a coefficient overflows.
    pub fn plus(&self, other: &Formula) -> Result<Formula, Refusal> {
        let mut sum = self.clone();
        for piece in &other.pieces {
            sum.add_piece(piece.clone())?;
        }
        Ok(sum)
    }

    /// The product with an integer.
    pub fn scale(&self, by: i64) -> Result<Formula, Refusal> {
        let factor = QuasiPolynomial::constant(by);
        let mut product = Formula::default();
        for Piece { conditions, value } in &self.pieces {
            product.add_piece(Piece { conditions: conditions.clone(), value: value.times(&factor)? })?;
        }
        Ok(product)
    }

    /// Its value for these parameters; `None` if one of them has no value or the result is no
    /// integer that 128 bits hold.
    pub fn eval(&self, values: &dyn Fn(&Name) -> Option<i64>) -> Option<i128> {
        let mut sum = 0i128;
        for piece in &self.pieces {
            let mut holds = true;
            for c in &piece.conditions {
                holds &= c.holds(values)?;
            }
            if holds {
                sum = sum.checked_add(piece.value.eval(values)?)?;
            }
        }
        Some(sum)
    }

    /// The parameters that occur in a value or a condition.
    pub fn names(&self) -> BTreeSet<Name> {
        let of = |p: &Piece| {
            let mut names = p.value.names();
            names.extend(p.conditions.iter().flat_map(Constraint::names));
            names
        };
        self.pieces.iter().flat_map(of).collect()
    }
}

/// `n*m`, or `(n - 3)*m if 3 <= n`; pieces are joined by `+`, in brackets where there are several.
impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pieces.is_empty() {
            return write!(f, "0");
        }
        for (k, Piece { conditions, value }) in self.pieces.iter().enumerate() {
            if k > 0 {
                write!(f, " + ")?;
            }
            if conditions.is_empty() {
                write!(f, "{value}")?;
                continue;
            }
            let conditions: Vec<String> = conditions.iter().map(Constraint::to_string).collect();
            let several = self.pieces.len() > 1;
            let (open, close) = if several { ("[", "]") } else { ("", "") };
            write!(f, "{open}{value} if {}{close}", conditions.join(" and "))?;
        }
        Ok(())
    }
}
