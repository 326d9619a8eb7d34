//! Layouts that are set: `layout((64,16):(17,1))` and `swizzle(3, 3, 3)`.

use loopwright_layout::{Layout, Swizzle};

use crate::{
    ArrayLayout,
    text::{
        lexer::Tok,
        parser::{Parse, Parser},
    },
};

impl Parser {
    /// `layout(MODES)` or `swizzle(BITS, BASE, SHIFT)`, if there is one, added to a layout.
    pub fn array_layout(&mut self, layout: &mut ArrayLayout) -> Parse<bool> {
        if self.at_word("layout") && self.peek_is(1, "(") {
            self.advance();
            layout.modes = Some(self.modes()?);
            return Ok(true);
        }
        if self.at_word("swizzle") && self.peek_is(1, "(") {
            self.advance();
            layout.swizzle = Some(self.swizzle()?);
            return Ok(true);
        }
        Ok(false)
    }

    /// `((64,16):(17,1))`: a layout in parentheses.
    fn modes(&mut self) -> Parse<Layout> {
        let start = self.span().end;
        self.open("(")?;
        let mut depth = 0usize;
        while depth > 0 || !self.at(")") {
            if self.at("(") {
                depth += 1;
            } else if self.at(")") {
                depth -= 1;
            } else if self.tok(0) == Tok::End {
                break;
            }
            self.advance();
        }
        let span = start..self.span().start;
        self.close(")")?;
        let text = self.text()[span.clone()].trim();
        text.parse().map_err(|e: loopwright_layout::Error| {
            self.diagnostic(span, "wrong-layout", format!("this is not a layout: {e}"))
                .help("write a mode for each axis, as `(64,16):(17,1)`")
                .into()
        })
    }

    /// The numbers of a swizzle: `(BITS, BASE, SHIFT)`.
    fn swizzle(&mut self) -> Parse<Swizzle> {
        let start = self.span().start;
        self.open("(")?;
        let mut numbers = [0i64; 3];
        for (k, number) in numbers.iter_mut().enumerate() {
            if k > 0 {
                self.expect(",")?;
            }
            let negative = self.eat("-");
            let value = self.number("a number of bits")?;
            let value = self.small(value)?;
            *number = if negative { -value } else { value };
        }
        self.close(")")?;
        let [bits, base, shift] = numbers;
        Swizzle::new(bits, base, shift).map_err(|e| {
            let span = start..self.last_end();
            self.diagnostic(span, "wrong-layout", e.to_string())
                .help("write the number of bits, the first of them, and the distance to those added to them")
                .into()
        })
    }
}
