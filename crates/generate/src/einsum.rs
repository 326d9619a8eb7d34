//! Sums of products in einsum's notation.

use std::{ops::Range, sync::Arc};

use loopwright_kernel_ir::{
    Arg, ArrayRef, DType, Diagnostic, Diagnostics, Expr, LoopKernel, Name, Place, Scalar, array, reduce, var,
};

use crate::{
    Generator, Kind,
    shape::{self, Axis, Length},
    types::Sums,
};

/// The kernel of an einsum: `einsum("ik,kj->ij", [F32, F32])` is a product of matrices. See
/// [`Generator::einsum`].
pub fn einsum(spec: &str, types: impl AsRef<[DType]>) -> Result<LoopKernel, Diagnostics> {
    Generator::new().einsum(spec, types)
}

impl Generator {
    /// Sums of products of operands' elements. A letter names an axis; axes with the same letter
    /// run together, and those that the result does not have are summed over.
    ///
    /// | | |
    /// |---|---|
    /// | `ik,kj->ij` | a product of matrices |
    /// | `bik,bkj->bij` | a product of matrices for each `b` |
    /// | `ij->ji` | a transpose |
    /// | `ii->i`, `ii->` | the diagonal, the trace |
    /// | `i,j->ij` | an outer product |
    /// | `,i->i` | a number times a vector: an operand without letters is a scalar |
    /// | `ik,kj` | without an arrow, the result has the letters that occur once, in alphabetical order |
    ///
    /// Operands are called `a`, `b`, ..., the result `out`; there is one type for each operand. The
    /// letters are the inames, and `n_i` the length along `i`; if the letter `b` is also the name
    /// of an operand, its iname is `i_b`. A result without letters is `out[0]`. Spaces are ignored.
    /// Of truth values alone, unless an accumulator is given, the sum is `any` and the product
    /// `and`.
    ///
    /// Errors: a text that is not a specification (`einsum-syntax`), a result whose letters are not
    /// those of the operands or that stand twice (`einsum-output`), another number of types than of
    /// operands (`einsum-operands`), types that do not meet (`generate-types`), more than 32
    /// operands, letters, or axes of an operand (`generate-limit`).
    ///
    /// ```
    /// use loopwright_generate::einsum;
    /// use loopwright_kernel_ir::DType::BF16;
    ///
    /// assert_eq!(einsum("bik,bjk->bij", [BF16, BF16])?.to_string(), "\
    /// kernel einsum(
    ///     a: bf16[n_b, n_i, n_k],
    ///     b: bf16[n_b, n_j, n_k],
    ///     out: bf16[n_b, n_i, n_j],
    ///     n_b: i32,
    ///     n_i: i32,
    ///     n_k: i32,
    ///     n_j: i32,
    /// )
    /// assume 0 <= n_b and 0 <= n_i and 0 <= n_k and 0 <= n_j
    /// domain { [i_b, i, j] : 0 <= i_b < n_b and 0 <= i < n_i and 0 <= j < n_j }
    /// domain { [k] : 0 <= k < n_k }
    /// out[i_b, i, j] = cast(bf16, sum(k, cast(f32, a[i_b, i, k]) * cast(f32, b[i_b, j, k]))) {id=product}
    /// ");
    /// # Ok::<(), loopwright_kernel_ir::Diagnostics>(())
    /// ```
    pub fn einsum(&self, spec: &str, types: impl AsRef<[DType]>) -> Result<LoopKernel, Diagnostics> {
        self.check(Kind::Einsum)?;
        let (spec, types) = (Spec::parse(spec)?, types.as_ref());
        if types.len() != spec.operands.len() {
            let operands: Vec<String> = (0..spec.operands.len()).map(operand).collect();
            let plural = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
            return Err(Diagnostic::new(
                "einsum-operands",
                format!(
                    "`{}` has {}, but {} given",
                    spec.text,
                    plural(operands.len(), "operand"),
                    plural(types.len(), "type") + if types.len() == 1 { " is" } else { " are" },
                ),
            )
            .help(match operands.as_slice() {
                [only] => format!("give the type of {only}"),
                all => format!("give the types of {}, in this order", all.join(", ")),
            })
            .into());
        }
        let logical = self.acc.is_none() && types.iter().all(|t| *t == DType::Bool);
        let sums = match logical {
            true => Sums { acc: DType::Bool, out: self.out.unwrap_or(DType::Bool) },
            false => Sums::of(types, None, self)?,
        };
        let letters = spec.letters();
        shape::limit(letters.len(), "letters")?;
        let axes = spec.axes(&letters);
        let of = |list: &[char]| list.iter().filter_map(|c| axis_of(&letters, &axes, *c)).collect::<Vec<_>>();
        let mut kernel = LoopKernel::build(self.named("einsum"));
        let mut factors = Vec::new();
        for (k, (own, dtype)) in spec.operands.iter().zip(types).enumerate() {
            let (name, own) = (operand(k), of(own));
            let value = if own.is_empty() {
                kernel = kernel.arg(Arg::Scalar(Scalar { name: Name::new(&name), dtype: (*dtype).into() }));
                var(name)
            } else {
                kernel = kernel.array(name.as_str(), *dtype, shape::lengths(own.iter().copied()));
                array(name).at(own.iter().map(|axis| axis.index()))
            };
            factors.push(sums.operand(value, *dtype));
        }
        let kept = of(&spec.output);
        let summed: Vec<&Axis> =
            letters.iter().zip(&axes).filter(|(c, _)| !spec.output.contains(c)).map(|(_, a)| a).collect();
        kernel = kernel.array("out", sums.out, shape::lengths(kept.iter().copied()));
        let all: Vec<Length> = axes.iter().map(|axis| axis.length.clone()).collect();
        kernel = shape::declare(kernel, &all, |_| 0);
        kernel = shape::domain(kernel, kept.iter().copied());
        kernel = shape::domain(kernel, summed.iter().copied());
        let product = factors.into_iter().reduce(|a, b| if logical { a.and(b) } else { a * b });
        let product = product.unwrap_or(Expr::Int(1));
        let value = match summed.is_empty() {
            true => product,
            false => {
                let op = if logical { "any" } else { "sum" };
                reduce(op, summed.iter().map(|axis| axis.iname.clone()), [product])
            }
        };
        let out: ArrayRef = array("out");
        kernel.assign(out.at(shape::index(kept)), sums.result(value)).id("product").finish()
    }
}

/// The name of an operand: a to z, a1 to z1, ...
fn operand(number: usize) -> String {
    let letter = char::from(b'a' + (number % 26) as u8);
    match number / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    }
}

fn axis_of<'a>(letters: &[char], axes: &'a [Axis], letter: char) -> Option<&'a Axis> {
    letters.iter().position(|c| *c == letter).and_then(|k| axes.get(k))
}

/// A specification: the letters of each operand, and those of the result.
struct Spec {
    text: String,
    operands: Vec<Vec<char>>,
    output: Vec<char>,
}

const FORM: &str = "write the letters of each operand, `->`, and those of the result: `ik,kj->ij`";

impl Spec {
    fn parse(text: &str) -> Result<Spec, Diagnostic> {
        let refuse = |code, message: String, span: Range<usize>, help: String| {
            let place = Place { origin: Arc::from("<einsum>"), text: Arc::from(text), span };
            Diagnostic::new(code, message).at(Some(place)).help(help)
        };
        let mut parts: Vec<Vec<(usize, char)>> = vec![Vec::new()];
        let mut arrow: Option<usize> = None;
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let span = at..at + c.len_utf8();
            match c {
                ' ' | '\t' => {}
                '.' => {
                    return Err(refuse(
                        "einsum-syntax",
                        "`...` stands for axes that the operands decide, which a declared kernel has to name".into(),
                        span,
                        "write a letter for each of these axes: `bik,bkj->bij` instead of `...ik,...kj->...ij`"
                            .into(),
                    ));
                }
                ',' if arrow.is_some() => {
                    let message = "there is one result, so that no `,` follows `->`".to_string();
                    return Err(refuse("einsum-syntax", message, span, FORM.into()));
                }
                ',' => parts.push(Vec::new()),
                '-' if chars.peek().is_some_and(|(_, next)| *next == '>') && arrow.is_none() => {
                    chars.next();
                    arrow = Some(parts.len());
                    parts.push(Vec::new());
                }
                c if c.is_ascii_alphabetic() => {
                    if let Some(part) = parts.last_mut() {
                        part.push((at, c));
                    }
                }
                c => {
                    let message = format!("`{c}` is not the letter of an axis");
                    return Err(refuse("einsum-syntax", message, span, FORM.into()));
                }
            }
        }
        let result = arrow.map(|k| parts.split_off(k)).and_then(|rest| rest.into_iter().next());
        let operands: Vec<Vec<char>> =
            parts.iter().map(|part| part.iter().map(|(_, c)| *c).collect()).collect();
        shape::limit(operands.len(), "operands")?;
        for own in &operands {
            shape::limit(own.len(), "axes of an operand")?;
        }
        let known: Vec<char> = operands.concat();
        let mut output = Vec::new();
        match result {
            Some(result) => {
                for (at, c) in result {
                    let span = at..at + c.len_utf8();
                    if !known.contains(&c) {
                        return Err(refuse(
                            "einsum-output",
                            format!("the result has an axis `{c}` that no operand has"),
                            span,
                            format!("give `{c}` to an operand, or leave it out behind `->`"),
                        ));
                    }
                    if output.contains(&c) {
                        return Err(refuse(
                            "einsum-output",
                            format!("the result has the axis `{c}` twice"),
                            span,
                            format!("write `{c}` once behind `->`; two axes of the result have two letters"),
                        ));
                    }
                    output.push(c);
                }
            }
            None => {
                output =
                    known.iter().copied().filter(|c| known.iter().filter(|k| *k == c).count() == 1).collect();
                output.sort_unstable();
            }
        }
        Ok(Spec { text: text.to_owned(), operands, output })
    }

    /// All letters, in the order in which they first occur.
    fn letters(&self) -> Vec<char> {
        let mut letters = Vec::new();
        for c in self.operands.iter().flatten() {
            if !letters.contains(c) {
                letters.push(*c);
            }
        }
        letters
    }

    /// The axes of the letters. An iname must not be the name of an operand; a name of more than
    /// one letter never is.
    fn axes(&self, letters: &[char]) -> Vec<Axis> {
        let operands: Vec<String> = (0..self.operands.len()).map(operand).collect();
        let iname = |c: &char| match operands.contains(&c.to_string()) {
            true => format!("i_{c}"),
            false => c.to_string(),
        };
        let axis =
            |c: &char| Axis { iname: Name::new(iname(c)), length: Length::Size(Name::new(format!("n_{c}"))) };
        letters.iter().map(axis).collect()
    }
}
