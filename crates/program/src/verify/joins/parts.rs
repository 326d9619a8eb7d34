//! Which partial results are in a value.

/// A value of an operator's state, by the partial results that are joined in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    /// The number of the value of the operator's state; `None` where the operator is not known.
    pub number: Option<u8>,
    pub content: Content,
}

impl Parts {
    /// The same with other partial results: those with numbers that are greater by so much.
    pub fn moved(&self, by: usize) -> Parts {
        Parts { number: self.number, content: self.content.moved(by) }
    }
}

/// Partial results that are joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// For operators that commute: partial results in any order.
    Set {
        /// A bit for each partial result.
        bits: Bits,
        /// One that is in it more than once.
        twice: Option<usize>,
    },
    /// In their order: those from one number to another one, exclusive.
    Run {
        from: usize,
        to: usize,
        /// Whether something is joined that is not a neighbour.
        broken: bool,
    },
}

/// A set of small numbers: the first 256 are kept in place, since most blocks have no more threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bits {
    first: [u64; 4],
    others: Vec<u64>,
}

impl Bits {
    fn new(size: usize) -> Bits {
        Bits { first: [0; 4], others: vec![0; size.div_ceil(64).saturating_sub(4)] }
    }

    fn words(&self) -> impl Iterator<Item = &u64> {
        self.first.iter().chain(&self.others)
    }

    fn insert(&mut self, number: usize) {
        let (k, kept) = (number / 64, self.first.len());
        let word = if k < kept { self.first.get_mut(k) } else { self.others.get_mut(k - kept) };
        if let Some(word) = word {
            *word |= 1 << (number % 64);
        }
    }

    /// Adds the members of another set; the least one that is in both, if there is any.
    fn take_in(&mut self, other: &Bits) -> Option<usize> {
        let mut common = None;
        let mut join = |k: usize, own: &mut u64, more: u64| {
            let both = *own & more;
            if both != 0 && common.is_none() {
                common = Some(64 * k + both.trailing_zeros() as usize);
            }
            *own |= more;
        };
        // A loop over the words in place: this is most of what a join costs.
        for k in 0..self.first.len() {
            join(k, &mut self.first[k], other.first[k]);
        }
        for (k, (own, more)) in self.others.iter_mut().zip(&other.others).enumerate() {
            join(self.first.len() + k, own, *more);
        }
        common
    }
}

impl Content {
    /// Nothing, as a set of this many partial results.
    pub fn no_set(size: usize) -> Content {
        Content::Set { bits: Bits::new(size), twice: None }
    }

    /// One of this many partial results.
    pub fn single(size: usize, number: usize) -> Content {
        Content::set(size, [number])
    }

    /// Some of this many partial results.
    pub fn set(size: usize, numbers: impl IntoIterator<Item = usize>) -> Content {
        let mut bits = Bits::new(size);
        numbers.into_iter().for_each(|number| bits.insert(number));
        Content::Set { bits, twice: None }
    }

    /// Those from one to another one, in their order.
    pub fn run(from: usize, to: usize) -> Content {
        Content::Run { from, to, broken: false }
    }

    /// The same of other partial results: those with numbers that are greater by so much.
    fn moved(&self, by: usize) -> Content {
        match self {
            Content::Set { bits, twice } => {
                let mut moved = Bits { first: [0; 4], others: vec![0; bits.others.len()] };
                for (k, word) in bits.words().enumerate() {
                    let mut word = *word;
                    while word != 0 {
                        moved.insert(64 * k + word.trailing_zeros() as usize + by);
                        word &= word - 1;
                    }
                }
                Content::Set { bits: moved, twice: twice.map(|number| number + by) }
            }
            Content::Run { from, to, broken } => {
                Content::Run { from: from + by, to: to + by, broken: *broken }
            }
        }
    }

    /// Whether it is a set of which nothing is known to be in it twice.
    pub fn is_plain_set(&self) -> bool {
        matches!(self, Content::Set { twice: None, .. })
    }

    pub fn has(&self, number: usize) -> bool {
        match self {
            Content::Set { bits, .. } => {
                bits.words().nth(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
            }
            Content::Run { from, to, .. } => (*from..*to).contains(&number),
        }
    }

    /// These and then the others; where it does not matter, the others may come first.
    pub fn with(&self, other: &Content, commutes: bool) -> Content {
        match (self, other) {
            (Content::Set { bits: a, twice: one }, Content::Set { bits: b, twice: two }) => {
                let mut bits = a.clone();
                let common = bits.take_in(b);
                Content::Set { bits, twice: one.or(*two).or(common) }
            }
            (
                Content::Run { from: a, to: b, broken: one },
                Content::Run { from: c, to: d, broken: other },
            ) => {
                let broken = *one || *other;
                match () {
                    () if c == d => Content::Run { from: *a, to: *b, broken },
                    () if a == b => Content::Run { from: *c, to: *d, broken },
                    () if b == c => Content::Run { from: *a, to: *d, broken },
                    () if commutes && d == a => Content::Run { from: *c, to: *b, broken },
                    () => Content::Run { from: *a.min(c), to: *b.max(d), broken: true },
                }
            }
            (one, _) => one.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(size: usize, numbers: &[usize]) -> Content {
        numbers.iter().fold(Content::no_set(size), |all, n| all.with(&Content::single(size, *n), true))
    }

    #[test]
    fn sets_have_their_members_and_tell_one_that_is_in_both() {
        let size = 600;
        let numbers = [0, 63, 64, 255, 256, 330, 599];
        for (k, own) in numbers.iter().enumerate() {
            let all = set(size, &numbers[k..]);
            assert!((0..size).all(|n| all.has(n) == numbers[k..].contains(&n)), "{own}");
            let again = all.with(&Content::single(size, *own), true);
            assert!(matches!(again, Content::Set { twice: Some(n), .. } if n == *own), "{own}: {again:?}");
            // It stays known on either side.
            for joined in [again.with(&set(size, &[7]), true), set(size, &[7]).with(&again, true)] {
                assert!(matches!(joined, Content::Set { twice: Some(n), .. } if n == *own), "{joined:?}");
            }
        }
        assert!(matches!(set(size, &numbers), Content::Set { twice: None, .. }));
    }

    /// Only neighbours are joined; one of nothing is a neighbour of all.
    #[test]
    fn runs_are_joined_in_their_order() {
        let (run, is_broken) = (Content::run, |c: Content| matches!(c, Content::Run { broken: true, .. }));
        for commutes in [false, true] {
            assert_eq!(run(2, 5).with(&run(5, 6), commutes), run(2, 6));
            assert_eq!(run(2, 5).with(&run(0, 0), commutes), run(2, 5));
            assert_eq!(run(0, 0).with(&run(2, 5), commutes), run(2, 5));
            for (from, to) in [(6, 7), (4, 6), (3, 4), (2, 5), (0, 1)] {
                assert!(is_broken(run(2, 5).with(&run(from, to), commutes)), "{from} to {to}");
            }
            let broken = run(2, 5).with(&run(7, 8), commutes);
            assert!(is_broken(broken.with(&run(8, 9), commutes)));
            assert!(is_broken(run(1, 2).with(&broken, commutes)));
        }
        assert_eq!(run(2, 5).with(&run(1, 2), true), run(1, 5));
        assert!(is_broken(run(2, 5).with(&run(1, 2), false)));
        assert!((0..9).all(|n| run(2, 5).has(n) == (2..5).contains(&n)));
    }
}
