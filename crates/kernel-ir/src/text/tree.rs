//! The loop tree in text:
//! `tree { for s { load_lo total.init for i { total.update } total.finish } }`.

use crate::{
    Part, PartRef, Tree,
    text::parser::{Parse, Parser},
};

impl Parser {
    /// Nodes up to a closing brace.
    pub(crate) fn trees(&mut self) -> Parse<Vec<Tree>> {
        let mut trees = Vec::new();
        while !self.at("}") {
            if self.at_word("for") {
                self.advance();
                let iname = self.name("an iname")?;
                self.open("{")?;
                let body = self.trees()?;
                self.close("}")?;
                trees.push(Tree::Loop { iname, body });
            } else if self.ident_here() {
                trees.push(Tree::Leaf(self.part_of()?));
            } else {
                return Err(self.unexpected("`for` or the part of an instruction"));
            }
            self.eat(";");
        }
        Ok(trees)
    }

    /// The part of an instruction, such as `total.update`.
    pub fn part_of(&mut self) -> Parse<PartRef> {
        let instruction = self.name("the id of an instruction")?;
        let part = if self.eat(".") { self.part()? } else { Part::Whole };
        Ok(PartRef { instruction, part })
    }

    /// `init`, `update`, `finish`; `init1`, `update1` for the second reduction.
    fn part(&mut self) -> Parse<Part> {
        let word = self.word(0).unwrap_or_default().to_string();
        let number = |rest: &str| match rest {
            "" => Some(0),
            digits if !digits.starts_with('0') => digits.parse::<usize>().ok(),
            _ => None,
        };
        let part = match word.strip_prefix("init").map(number) {
            Some(n) => n.map(Part::Init),
            None => match word.strip_prefix("update").map(number) {
                Some(n) => n.map(Part::Update),
                None => (word == "finish").then_some(Part::Finish),
            },
        };
        let Some(part) = part else { return Err(self.unexpected("`init`, `update` or `finish`")) };
        self.advance();
        Ok(part)
    }
}
