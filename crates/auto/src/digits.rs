//! The loops that a declared one has become by splits: digits of its number.

use loopwright_kernel_ir::{KernelData, Name};

/// One of the loops that a declared loop has become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Digit {
    /// The loop.
    pub iname: Name,
    /// The number of its values, where splits have made it; that of the outermost is open.
    pub length: Option<i64>,
}

/// The digits of an iname, the outermost first: the iname itself, if it was not split. `None` if it
/// is not a number of digits: if loops were joined, or pieces do not divide each other.
pub(crate) fn digits(kernel: &KernelData, iname: &Name) -> Option<Vec<Digit>> {
    let mut found = Vec::new();
    collect(kernel, iname, None, &mut found)?;
    Some(found)
}

fn collect(kernel: &KernelData, iname: &Name, length: Option<i64>, found: &mut Vec<Digit>) -> Option<()> {
    let Some(value) = kernel.definition(iname) else {
        found.push(Digit { iname: iname.clone(), length });
        return kernel.is_iname(iname).then_some(());
    };
    let names: Vec<Name> = value.names().into_iter().collect();
    let [a, b] = names.as_slice() else { return None };
    let (outer, inner) = if value.coefficient(a) == 1 { (b, a) } else { (a, b) };
    let each = value.coefficient(outer);
    if !value.is_affine() || value.constant_term() != 0 || value.coefficient(inner) != 1 || each < 1 {
        return None;
    }
    let length = match length {
        Some(length) if length % each != 0 => return None,
        length => length.map(|length| length / each),
    };
    collect(kernel, outer, length, found)?;
    collect(kernel, inner, Some(each), found)
}

/// A place in a list of digits: behind so many of them, or within the one with this number, whose
/// inner part then has this length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    Behind(usize),
    Within(usize, i64),
}

/// Where a split into pieces of this length cuts a number of these digits. `None` if pieces and
/// digits do not divide each other.
pub(crate) fn cut(digits: &[Digit], length: i64) -> Option<Cut> {
    let mut inside = 1i64;
    for (k, digit) in digits.iter().enumerate().rev() {
        if inside == length {
            return Some(Cut::Behind(k + 1));
        }
        if length % inside != 0 {
            return None;
        }
        let own = length / inside;
        match digit.length {
            Some(of_digit) if own >= of_digit => inside = inside.checked_mul(of_digit)?,
            Some(of_digit) if of_digit % own != 0 => return None,
            _ => return Some(Cut::Within(k, own)),
        }
    }
    (inside == length).then_some(Cut::Behind(0))
}

#[cfg(test)]
mod tests {
    use loopwright_kernel_ir::LoopKernel;
    use loopwright_transforms::Pipeline;

    use super::*;

    fn of(steps: &str) -> Option<Vec<Digit>> {
        let kernel = LoopKernel::parse(
            "kernel fill(y: f32[n], n: i32)\ndomain { [i] : 0 <= i < n }\ny[i] = 1.0 {id=fill}\n",
        );
        let steps = Pipeline::parse(steps).expect("steps");
        let kernel = steps.apply(&kernel.expect("a kernel")).expect("legal steps");
        digits(&kernel, &Name::new("i"))
    }

    fn shown(steps: &str) -> Option<String> {
        let shown = |d: &Digit| d.length.map_or(d.iname.to_string(), |n| format!("{} {n}", d.iname));
        Some(of(steps)?.iter().map(shown).collect::<Vec<String>>().join(", "))
    }

    #[test]
    fn loops_are_digits_of_the_declared_one() {
        assert_eq!(shown("").as_deref(), Some("i"));
        let both = "split_iname(i, 64)\nsplit_iname(i_inner, 16)\nsplit_iname(i_outer, 8)";
        let digits = "i_outer_outer, i_outer_inner 8, i_inner_outer 4, i_inner_inner 16";
        assert_eq!(shown(both).as_deref(), Some(digits));
        assert_eq!(shown("split_iname(i, 64)\nsplit_iname(i_inner, 24)"), None, "64 is not so many times 24");
        assert_eq!(shown("split_iname(i, 8)\njoin_inames([i_outer, i_inner], w)"), None, "a joined loop");
    }

    #[test]
    fn pieces_are_cut_between_digits_or_within_one() {
        let digits = of("split_iname(i, 64)\nsplit_iname(i_inner, 16)").expect("digits");
        let cuts = [1, 4, 16, 32, 64, 128, 24].map(|length| cut(&digits, length));
        use Cut::{Behind, Within};
        let expected = [Behind(3), Within(2, 4), Behind(2), Within(1, 2), Behind(1), Within(0, 2)];
        assert_eq!(cuts[..6], expected.map(Some));
        assert_eq!(cuts[6], None);
    }
}
