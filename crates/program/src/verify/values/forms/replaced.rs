//! Forms with others in place of some that they are made of.

use loopwright_kernel_ir::{Aff, Name};
use loopwright_poly::Table;

use super::{Form, Forms, Node, Op};

impl Forms {
    /// Calls a function with what a form is made of; subscripts of elements are no part of it.
    pub fn visit(&self, form: Form, found: &mut dyn FnMut(&Node)) {
        found(self.node(form));
        match self.node(form) {
            Node::Sum(_, terms) => {
                terms.iter().flat_map(|(product, _)| product).for_each(|f| self.visit(*f, found));
            }
            Node::Op(_, _, args) => args.iter().for_each(|f| self.visit(*f, found)),
            Node::Name(_) | Node::Constant(..) | Node::Scalar(..) | Node::Element(..) => {}
        }
    }

    /// A form with others in place of some that it is made of, outermost first; subscripts of
    /// elements are no part of it. Sums and operations on those are made anew.
    pub fn replaced(&mut self, form: Form, other: &mut dyn FnMut(&mut Forms, Form) -> Option<Form>) -> Form {
        if let Some(other) = other(self, form) {
            return other;
        }
        match self.node(form).clone() {
            Node::Name(_) | Node::Constant(..) | Node::Scalar(..) | Node::Element(..) => form,
            Node::Sum(dtype, terms) => {
                let mut sum = self.int(dtype, 0);
                for (product, factor) in terms {
                    let mut term = self.int(dtype, factor);
                    for f in product {
                        let f = self.replaced(f, other);
                        term = self.times(dtype, term, f);
                    }
                    sum = self.plus(dtype, sum, term, 1);
                }
                sum
            }
            Node::Op(op, dtype, args) => {
                let args: Vec<Form> = args.into_iter().map(|a| self.replaced(a, other)).collect();
                match (&op, args.as_slice()) {
                    (Op::Binary(op), [a, b]) => {
                        let of = self.dtype(*a);
                        self.binary(*op, of, *a, *b)
                    }
                    _ => self.make(Node::Op(op, dtype, args)),
                }
            }
        }
    }

    /// A form with functions in place of names, also in the subscripts of elements.
    pub fn substitute(&mut self, form: Form, by: &Table<Name, Aff>) -> Form {
        self.replaced(form, &mut |forms, part| match forms.node(part).clone() {
            Node::Name(name) => {
                let index = forms.index;
                by.get(&name).map(|aff| forms.of_aff(aff, index, &mut |_, _| None))
            }
            Node::Element(dtype, place, subscripts, version) => {
                let subscripts = subscripts.into_iter().map(|s| forms.substitute(s, by)).collect();
                Some(forms.make(Node::Element(dtype, place, subscripts, version)))
            }
            Node::Sum(..) | Node::Constant(..) | Node::Scalar(..) | Node::Op(..) => None,
        })
    }
}
