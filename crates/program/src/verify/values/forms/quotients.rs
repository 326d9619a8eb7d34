//! Quotients of integers, rounded down, as forms.
//!
//! Those of indices are functions. Of data little is known but that a remainder is less than its
//! divisor: `(v % k + k) // k` is 1, so that the remainder of a remainder is found to be one.

use loopwright_kernel_ir::{DType, Number};

use super::{Form, Forms, Node, Op};
use crate::BinOp;

impl Forms {
    /// The quotient of integers, rounded down.
    pub(super) fn quotient(&mut self, dtype: DType, a: Form, b: Form) -> Form {
        if let Some(k) = self.as_number(b).and_then(Number::as_i64).filter(|k| *k > 0) {
            if k == 1 {
                return a;
            }
            if let Some(v) = self.as_number(a).and_then(Number::as_i64) {
                return self.int(dtype, v.div_euclid(k));
            }
            // Of indices it is a function.
            if dtype == self.index
                && self.is_index(a)
                && let Some(Ok(aff)) = self.to_aff(a, &mut |_| None).map(|aff| aff.floor_div(k))
            {
                return self.of_aff(&aff, dtype, &mut |_, _| None);
            }
            if let Some(whole) = self.beside_remainder(dtype, a, k) {
                return self.int(dtype, whole);
            }
        }
        self.make(Node::Op(Op::Binary(BinOp::FloorDiv), dtype, vec![a, b]))
    }

    /// The `m` of `v mod k + k*m`, whose quotient by `k` is `m`; `None` if the form is no such sum,
    /// or one that may wrap.
    fn beside_remainder(&self, dtype: DType, form: Form, k: i64) -> Option<i64> {
        let terms = self.terms(form);
        let divided = terms.iter().find_map(|(product, factor)| {
            let ([quotient], true) = (product.as_slice(), factor.checked_neg() == Some(k)) else {
                return None;
            };
            let Node::Op(Op::Binary(BinOp::FloorDiv), own, args) = self.node(*quotient) else { return None };
            let [v, by] = args.as_slice() else { return None };
            (*own == dtype && self.as_number(*by)?.as_i64() == Some(k)).then_some((*v, *quotient))
        });
        let (v, quotient) = divided?;
        // `v - k*(v // k)` is the remainder, also where the product wraps. The rest is a constant.
        let mut rest = terms;
        rest.retain(|(product, _)| *product != [quotient]);
        for (product, factor) in self.terms(v) {
            match rest.iter_mut().find(|(own, _)| *own == product) {
                Some((_, own)) => *own = own.checked_sub(factor)?,
                None => rest.push((product, factor.checked_neg()?)),
            }
        }
        rest.retain(|(_, factor)| *factor != 0);
        let beside = match rest.as_slice() {
            [] => 0,
            [(product, beside)] if product.is_empty() => *beside,
            _ => return None,
        };
        let in_type = |v: i128| Number::from_bits(dtype, v as u64).as_i128();
        let (beside, k) = (in_type(beside.into())?, i128::from(k));
        let greatest = beside + k - 1;
        let whole = beside % k == 0 && in_type(greatest) == Some(greatest);
        whole.then(|| i64::try_from(beside / k).ok()).flatten()
    }
}
