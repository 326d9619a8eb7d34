//! Complex numbers in expressions: imaginary literals, and parts of elements.

use crate::{
    Expr, Float, Name,
    text::parser::{Parse, Parser},
};

impl Parser {
    /// An imaginary literal. `2.0j` is `complex(0, 2.0)`.
    pub(super) fn imaginary(&mut self, value: f64) -> Parse<Expr> {
        if !self.complex {
            return Err(self.no_complex());
        }
        self.advance();
        let args = vec![Expr::Int(0), Expr::Float(Float(value))];
        Ok(Expr::Call { function: Name::new("complex"), precision: None, args })
    }

    /// The refusal of complex numbers in texts that are not declared kernels.
    pub(super) fn no_complex(&self) -> Box<crate::Diagnostic> {
        let help = "only the texts of declared kernels have complex numbers; they are read as pairs: write \
                    the parts, `x[i, 0]` and `x[i, 1]` of an array, `a_re` and `a_im` of a scalar";
        self.error("complex-type", "there are no complex numbers here").help(help).into()
    }

    /// `.re` or `.im` after an element.
    pub(super) fn complex_part(&mut self) -> Option<Name> {
        let part = self.word(1).filter(|w| self.complex && self.at(".") && ["re", "im"].contains(w))?;
        let part = Name::new(part);
        self.advance();
        self.advance();
        Some(part)
    }
}
