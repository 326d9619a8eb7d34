//! What is known of loaded integers: the ranges of types, and whether a scalar that is loaded from
//! an array has the element's value.

use std::collections::BTreeSet;

use crate::{Aff, Arg, Constraint, DType, Fact, KernelData, Name, Type};

impl DType {
    /// Whether it is an integer type that has all values of another one.
    pub fn holds(self, other: DType) -> bool {
        if !self.is_integer() || !other.is_integer() {
            return self == other;
        }
        match (self.is_unsigned(), other.is_unsigned()) {
            (true, true) | (false, false) => other.bytes() <= self.bytes(),
            (false, true) => other.bytes() < self.bytes(),
            (true, false) => false,
        }
    }

    /// The least and the greatest value of an integer type.
    pub fn range(self) -> Option<(i128, i128)> {
        if !self.is_integer() {
            return None;
        }
        let bits = 8 * self.bytes();
        Some(match self.is_unsigned() {
            true => (0, (1 << bits) - 1),
            false => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        })
    }
}

/// That a value is within an integer type, as far as queries can ask: ends beyond 62 bits are left
/// out, which says less.
pub(crate) fn within(value: &Aff, dtype: DType) -> Vec<Constraint> {
    const FAR: i128 = 1 << 62;
    let Some((least, greatest)) = dtype.range() else { return Vec::new() };
    let end = |end: i128| i64::try_from(end).ok().filter(|_| end.abs() < FAR).map(Aff::constant);
    let least = end(least).and_then(|least| Constraint::le(&least, value).ok());
    let greatest = end(greatest).and_then(|greatest| Constraint::le(value, &greatest).ok());
    least.into_iter().chain(greatest).collect()
}

impl KernelData {
    /// Whether a scalar temporary has the value of the element of this array that is assigned to
    /// it: its type has all values of the array's, or all those that are declared of the array.
    pub fn keeps(&self, scalar: &Name, array: &Name) -> bool {
        self.type_of(scalar).is_some_and(|own| self.is_kept_by(array, own))
    }

    /// The same for a conversion of elements to a type.
    pub fn is_kept_by(&self, array: &Name, dtype: &Type) -> bool {
        let Some(element) = self.type_of(array) else { return false };
        if dtype == element {
            return true;
        }
        let (Some(own), Some(element)) = (dtype.known(), element.known()) else { return false };
        own.holds(element) || self.is_declared_within(array, own)
    }

    fn type_of(&self, name: &Name) -> Option<&Type> {
        let arg = self.args.iter().find(|a| a.name() == name).map(dtype_of);
        arg.or_else(|| self.array(name).map(|a| &a.dtype))
    }

    /// The facts that hold while the kernel runs: those about arrays that it does not write. A fact
    /// is about the elements that the caller gives; of what a kernel writes nothing is known.
    pub fn lasting_facts(&self) -> impl Iterator<Item = &Fact> {
        let written: BTreeSet<&Name> =
            self.instructions.iter().flat_map(|i| &i.targets).map(|t| &t.array).collect();
        self.facts.iter().filter(move |fact| !written.contains(fact.array()))
    }

    /// Whether a declared range keeps the elements of an array within an integer type.
    fn is_declared_within(&self, array: &Name, dtype: DType) -> bool {
        let Some((least, greatest)) = dtype.range() else { return false };
        let is_held = |name: &Name| {
            let scalar = self.args.iter().find(|a| a.name() == name).and_then(|a| dtype_of(a).known());
            scalar.is_some_and(|t| dtype.holds(t))
        };
        self.lasting_facts().any(|fact| {
            let Fact::Range { array: of, lower: Some(lower), upper: Some(upper) } = fact else {
                return false;
            };
            let (Some(lower), Some(upper)) = (lower.to_aff(), upper.to_aff()) else { return false };
            let above = lower.as_constant().is_some_and(|l| i128::from(l) >= least);
            let below = match upper.as_constant() {
                Some(u) => i128::from(u) - 1 <= greatest,
                // Below `n`, and at most `n`.
                None => {
                    let c = upper.constant_term();
                    upper.add_constant(-c).is_ok_and(|n| n.as_var().is_some_and(is_held)) && c <= 1
                }
            };
            of == array && above && below
        })
    }
}

fn dtype_of(arg: &Arg) -> &Type {
    match arg {
        Arg::Array(array) => &array.dtype,
        Arg::Scalar(scalar) => &scalar.dtype,
    }
}
