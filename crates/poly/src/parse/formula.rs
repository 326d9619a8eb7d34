//! Formulas and sums. A formula is read into alternatives of conjunctions without bound names.

use std::collections::BTreeSet;

use super::{KEYWORDS, Parser, lexer::Token};
use crate::{Aff, Constraint, Error, Name, Result, System, relation::DISJUNCT_LIMIT};

/// Alternatives, each a conjunction.
pub(super) type Alternatives = Vec<Vec<Constraint>>;

/// `aff / denominator`, not rounded.
pub(super) struct Rational {
    pub(super) aff: Aff,
    pub(super) denominator: i64,
}

impl Rational {
    fn whole(aff: Aff) -> Self {
        Rational { aff, denominator: 1 }
    }

    /// Both over one denominator.
    fn common(&self, other: &Rational) -> Result<(Aff, Aff, i64)> {
        let denominator = self.denominator.checked_mul(other.denominator).ok_or(Error::Overflow)?;
        if self.denominator == other.denominator {
            return Ok((self.aff.clone(), other.aff.clone(), self.denominator));
        }
        Ok((self.aff.scale(other.denominator)?, other.aff.scale(self.denominator)?, denominator))
    }

    fn add(&self, other: &Rational, sign: i64) -> Result<Self> {
        let (left, right, denominator) = self.common(other)?;
        Ok(Rational { aff: left.add(&right.scale(sign)?)?, denominator })
    }
}

impl Parser {
    pub(super) fn formula(&mut self) -> Result<Alternatives> {
        self.deeper(|p| {
            let mut all = p.conjunction()?;
            while p.eat_word("or") {
                all.extend(p.conjunction()?);
                p.bounded(&all)?;
            }
            Ok(all)
        })
    }

    fn bounded(&self, list: &Alternatives) -> Result<()> {
        match list.len() > DISJUNCT_LIMIT {
            true => self.fail(format!("the formula has more than {DISJUNCT_LIMIT} alternatives")),
            false => Ok(()),
        }
    }

    fn conjunction(&mut self) -> Result<Alternatives> {
        let mut all = self.one()?;
        while self.eat_word("and") {
            let mut next = self.one()?;
            match next.pop() {
                // One alternative is appended in place: a long conjunction takes linear time.
                Some(only) if next.is_empty() => {
                    for conjunction in &mut all {
                        conjunction.extend(only.iter().cloned());
                    }
                }
                last => {
                    next.extend(last);
                    all = self.both(&all, &next)?;
                }
            }
        }
        Ok(all)
    }

    fn both(&self, left: &Alternatives, right: &Alternatives) -> Result<Alternatives> {
        if left.len().saturating_mul(right.len()) > DISJUNCT_LIMIT {
            return self.fail(format!("the formula has more than {DISJUNCT_LIMIT} alternatives"));
        }
        Ok(left.iter().flat_map(|a| right.iter().map(move |b| [a.as_slice(), b].concat())).collect())
    }

    fn one(&mut self) -> Result<Alternatives> {
        if self.eat_word("not") {
            let inner = self.deeper(|p| p.one())?;
            return self.negation(&inner);
        }
        if self.eat_word("exists") {
            return self.deeper(|p| p.exists());
        }
        if self.eat_word("true") {
            return Ok(vec![Vec::new()]);
        }
        if self.eat_word("false") {
            return Ok(Vec::new());
        }
        if self.is_sign("(") && self.formulas.get(self.at) == Some(&true) {
            self.at += 1;
            let inner = self.formula()?;
            self.expect(")")?;
            return Ok(inner);
        }
        self.chain()
    }

    /// Not (a or b) is not a and not b; not (c and d) is not c, or c and not d: alternatives that
    /// exclude each other.
    fn negation(&self, list: &Alternatives) -> Result<Alternatives> {
        let mut all: Alternatives = vec![Vec::new()];
        for conjunction in list {
            let mut outside = Vec::new();
            for (k, constraint) in conjunction.iter().enumerate() {
                for negated in constraint.negations()? {
                    outside.push([&conjunction[..k], &[negated]].concat());
                }
            }
            all = self.both(&all, &outside)?;
        }
        Ok(all)
    }

    fn exists(&mut self) -> Result<Alternatives> {
        let bracket = self.eat("(");
        let known = self.scope.len();
        let mut bound = BTreeSet::new();
        let mut equations: Vec<Constraint> = Vec::new();
        loop {
            let name = self.name()?;
            // No name in a text can be spelt like this.
            let column = Name::new(format!("\u{0}e{}", self.bound));
            self.bound += 1;
            if self.eat("=") {
                let value = self.sum()?;
                let aff = self.integral(value)?;
                equations.push(Constraint::equal(&Aff::var(&column), &aff)?);
            }
            self.scope.push((name, column.clone()));
            bound.insert(column);
            if !self.eat(",") {
                break;
            }
        }
        self.expect(":")?;
        let inner = self.formula()?;
        if bracket {
            self.expect(")")?;
        }
        self.scope.truncate(known);
        let mut all = Vec::new();
        for mut conjunction in inner {
            conjunction.extend(equations.iter().cloned());
            if !conjunction.iter().any(|c| c.aff.mentions_any(&|n| bound.contains(n))) {
                all.push(conjunction);
                continue;
            }
            // Constraints without the bound names stay as written.
            let (with, without): (Vec<_>, Vec<_>) =
                conjunction.into_iter().partition(|c| c.aff.mentions_any(&|n| bound.contains(n)));
            for system in System::new(&with)?.project_exactly(&|n| bound.contains(n))? {
                if system != System::nothing() {
                    all.push([without.as_slice(), system.constraints()].concat());
                }
            }
        }
        self.bounded(&all)?;
        Ok(all)
    }

    fn chain(&mut self) -> Result<Alternatives> {
        let mut left = self.sums()?;
        let mut all: Alternatives = vec![Vec::new()];
        let mut any = false;
        while let Token::Sign(sign @ ("<" | "<=" | ">" | ">=" | "=" | "!=")) = *self.peek() {
            self.at += 1;
            any = true;
            let right = self.sums()?;
            for a in &left {
                for b in &right {
                    let (a, b, _) = a.common(b)?;
                    let one = match sign {
                        "<" => vec![Constraint::lt(&a, &b)?],
                        "<=" => vec![Constraint::le(&a, &b)?],
                        ">" => vec![Constraint::lt(&b, &a)?],
                        ">=" => vec![Constraint::le(&b, &a)?],
                        "=" => vec![Constraint::zero(b.sub(&a)?)],
                        _ => vec![Constraint::lt(&a, &b)?, Constraint::lt(&b, &a)?],
                    };
                    let one: Alternatives = one.into_iter().map(|c| vec![c]).collect();
                    all = self.both(&all, &one)?;
                }
            }
            left = right;
        }
        if !any {
            return self.fail("expected a comparison");
        }
        Ok(all)
    }

    fn sums(&mut self) -> Result<Vec<Rational>> {
        let mut list = vec![self.sum()?];
        while self.eat(",") {
            list.push(self.sum()?);
        }
        Ok(list)
    }

    pub(super) fn sum(&mut self) -> Result<Rational> {
        self.deeper(|p| {
            let mut sum = p.product()?;
            loop {
                if p.eat("+") {
                    sum = sum.add(&p.product()?, 1)?;
                } else if p.eat("-") {
                    sum = sum.add(&p.product()?, -1)?;
                } else {
                    return Ok(sum);
                }
            }
        })
    }

    fn starts_factor(&self) -> bool {
        match self.peek() {
            Token::Number(_) => true,
            Token::Sign(s) => *s == "(" || *s == "[",
            Token::Word(w) => {
                !KEYWORDS.contains(&w.as_str()) || matches!(w.as_str(), "floor" | "ceil" | "floord" | "ceild")
            }
            Token::End => false,
        }
    }

    fn product(&mut self) -> Result<Rational> {
        let mut product = self.factor()?;
        loop {
            if self.eat("/") {
                let by = self.divisor()?;
                product.denominator = product.denominator.checked_mul(by).ok_or(Error::Overflow)?;
                if let Some(c) = product.aff.as_constant().filter(|c| c % product.denominator == 0) {
                    product = Rational::whole(Aff::constant(c / product.denominator));
                }
            } else if self.eat_word("mod") {
                let by = self.divisor()?;
                product = Rational::whole(self.integral(product)?.modulo(by)?);
            } else if self.eat("*") || self.starts_factor() {
                let factor = self.factor()?;
                let denominator =
                    product.denominator.checked_mul(factor.denominator).ok_or(Error::Overflow)?;
                let aff = match (product.aff.as_constant(), factor.aff.as_constant()) {
                    (Some(c), _) => factor.aff.scale(c)?,
                    (_, Some(c)) => product.aff.scale(c)?,
                    _ => return self.fail("a product of two functions is not affine"),
                };
                product = Rational { aff, denominator };
            } else {
                return Ok(product);
            }
        }
    }

    fn divisor(&mut self) -> Result<i64> {
        match *self.peek() {
            Token::Number(n) if n > 0 => {
                self.at += 1;
                Ok(n)
            }
            _ => self.fail("expected a positive constant as the divisor"),
        }
    }

    fn factor(&mut self) -> Result<Rational> {
        let start = self.at;
        match self.next() {
            Token::Number(n) => Ok(Rational::whole(Aff::constant(n))),
            Token::Sign("-") => {
                let inner = self.deeper(|p| p.factor())?;
                // -3i mod 2 and -i/2 bind the sign first, as in isl.
                Ok(Rational { aff: inner.aff.neg()?, denominator: inner.denominator })
            }
            Token::Sign("+") => self.deeper(|p| p.factor()),
            Token::Sign("(") => {
                let inner = self.sum()?;
                self.expect(")")?;
                Ok(inner)
            }
            Token::Sign("[") => {
                let inner = self.sum()?;
                self.expect("]")?;
                Ok(Rational::whole(inner.aff.floor_div(inner.denominator)?))
            }
            Token::Word(w) if matches!(w.as_str(), "floor" | "ceil" | "floord" | "ceild") => {
                self.expect("(")?;
                let mut inner = self.sum()?;
                if w.ends_with('d') {
                    self.expect(",")?;
                    let by = self.divisor()?;
                    inner.denominator = inner.denominator.checked_mul(by).ok_or(Error::Overflow)?;
                }
                self.expect(")")?;
                let rounded = match w.starts_with("ceil") {
                    true => inner.aff.add_constant(inner.denominator - 1)?,
                    false => inner.aff,
                };
                Ok(Rational::whole(rounded.floor_div(inner.denominator)?))
            }
            Token::Word(w) if !KEYWORDS.contains(&w.as_str()) => match self.lookup(&w) {
                Some(name) => Ok(Rational::whole(Aff::var(name))),
                None => {
                    self.at = start;
                    self.fail(format!("the name `{w}` is neither a parameter nor a dimension"))
                }
            },
            _ => {
                self.at = start;
                self.fail("expected a number, a name or a bracket")
            }
        }
    }
}
