//! Random kernels.
//!
//! A kernel is a sequence of *phases*, each a nest of one to three inames with one to three
//! instructions, possibly all inside one common iname. Every read is in bounds for all sizes and of
//! an initialised cell: inputs and outputs (which are read and written) are fully initialised, and
//! temporaries are read in later phases only if an earlier one wrote all of them. Inside a phase,
//! what it writes is read again only in the same cell, except for recurrences, whose inames are
//! listed in [`Generated::carried`]: their order may matter.

mod shapes;

use std::fmt::Write;

use crate::{linear::Linear, rng::Rng};

/// A random kernel, with what moves have to know about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// The text of the kernel.
    pub text: String,
    /// Inames that carry dependences from iteration to iteration.
    pub carried: Vec<String>,
}

#[derive(Clone, Debug)]
struct Iname {
    name: String,
    /// All values lie in `0..end`.
    end: Linear,
    /// The range is exactly that.
    exact: bool,
}

#[derive(Clone, Debug)]
struct Array {
    name: String,
    dtype: &'static str,
    /// An index of each axis is below this plus 2.
    ends: Vec<Linear>,
    /// Whether other cells than the own one may be read: an input, or written before.
    whole: bool,
    /// Whether it has slack; a temporary has only the cells in `0..end`.
    slack: bool,
    /// The only index at which an axis is read: that of the iteration around all phases.
    fixed: Vec<Option<String>>,
}

struct Maker {
    rng: Rng,
    dtype: &'static str,
    args: Vec<String>,
    temps: Vec<String>,
    facts: Vec<String>,
    domains: Vec<String>,
    instructions: Vec<String>,
    arrays: Vec<Array>,
    carried: Vec<String>,
    count: usize,
    parameters: Vec<&'static str>,
    /// Whether scalars may be written under conditions.
    guards: bool,
}

/// Markers around expressions that may consist of literals alone. They become a cast if the kernel
/// has values of two floating-point types, since the intended one then has to be given; whether
/// there are two is only known at the end.
const OPEN: char = '\u{ab}';
const CLOSE: char = '\u{bb}';

/// A random kernel of this seed.
pub fn kernel(seed: u64) -> Generated {
    let mut rng = Rng::new(seed);
    let dtype = rng.pick(&["i32", "i32", "i32", "f32", "f32", "f32", "i64", "f64", "u32"]);
    let mut maker = Maker {
        rng,
        dtype,
        args: Vec::new(),
        temps: Vec::new(),
        facts: Vec::new(),
        domains: Vec::new(),
        instructions: Vec::new(),
        arrays: Vec::new(),
        carried: Vec::new(),
        count: 0,
        parameters: vec!["n", "m"],
        guards: seed % 8 == 5,
    };
    match maker.rng.below(12) {
        0 => maker.ragged(),
        1 => maker.steps(),
        _ => maker.phases(),
    }
    maker.finish()
}

impl Maker {
    fn fresh(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("{prefix}{}", self.count)
    }

    fn finish(self) -> Generated {
        let mut text = String::new();
        let scalars = self.parameters.iter().map(|p| format!("{p}: i32"));
        let args: Vec<String> = self.args.iter().cloned().chain(scalars).collect();
        let _ = writeln!(text, "kernel random({})", args.join(", "));
        let other = if self.dtype == "f64" { [": f32", ": f16", ": bf16"].as_slice() } else { &[": f64"] };
        let mixed = self.args.iter().any(|a| other.iter().any(|t| a.contains(t)));
        for p in &self.parameters {
            let _ = writeln!(text, "assume 0 <= {p}");
        }
        for line in self.facts.iter().chain(&self.domains).chain(&self.temps).chain(&self.instructions) {
            let line = match mixed {
                true => line.replace(OPEN, &format!("cast({}, ", self.dtype)),
                false => line.replace(OPEN, ""),
            };
            let _ = writeln!(text, "{}", line.replace(CLOSE, if mixed { ")" } else { "" }));
        }
        Generated { text, carried: self.carried }
    }

    /// The end of a range: a parameter or a constant.
    fn end(&mut self, constant: bool) -> Linear {
        if constant || self.rng.chance(30) {
            Linear::constant(self.rng.pick(&[1, 2, 3, 4, 5, 8, 16, 32, 33]))
        } else {
            Linear::parameter(self.rng.pick(&["n", "m"]))
        }
    }

    /// A domain of new inames inside others.
    fn nest(&mut self, around: &[Iname], count: usize, constant: bool, plain: bool) -> Vec<Iname> {
        let mut inames: Vec<Iname> = Vec::new();
        for _ in 0..count {
            let prefix = self.rng.pick(&["i", "q", "k"]);
            let name = self.fresh(prefix);
            let end = self.end(constant);
            let before: Vec<Iname> = around.iter().chain(&inames).cloned().collect();
            let kind = if plain { 0 } else { self.rng.below(12) };
            // No range may be empty for all sizes.
            let kind = if kind == 6 && end.as_constant().is_some_and(|c| c < 2) { 0 } else { kind };
            let (range, end, exact) = match (kind, before.last()) {
                (6, _) => (format!("1 <= {name} < {end}"), end, false),
                (7, _) => (format!("2 <= {name} <= {end} + 1"), end.plus(2), false),
                (8, _) => (format!("0 <= 2*{name} < {end}"), end, false),
                (9, Some(p)) => (format!("0 <= {name} <= {}", p.name), p.end.clone(), false),
                (10, Some(p)) => (format!("{} <= {name} < {}", p.name, p.end), p.end.clone(), false),
                (11, Some(p)) => (format!("{} <= {name} < {} + 3", p.name, p.name), p.end.plus(2), false),
                _ => (format!("0 <= {name} < {end}"), end, true),
            };
            self.domains.push(format!("domain {{ [{name}] : {range} }}"));
            inames.push(Iname { name, end, exact });
        }
        inames
    }

    /// An index below `end + 2` made of inames, with the end that it needs.
    fn index(&mut self, inames: &[Iname], end: Option<&Linear>, slack: bool) -> Option<(String, Linear)> {
        let fitting: Vec<&Iname> = inames.iter().filter(|i| end.is_none_or(|e| *e == i.end)).collect();
        if fitting.is_empty() {
            return None;
        }
        let i = (self.rng.pick(&fitting)).clone();
        let name = &i.name;
        Some(match self.rng.below(12) {
            0 | 1 if slack => (format!("{name} + 1"), i.end),
            2 if slack => (format!("{name} + 2"), i.end),
            3 | 4 => (format!("{} - {name}", i.end.plus(-1)), i.end),
            5 => (format!("{name} // 2"), i.end),
            6 if end.is_none() => (format!("2*{name} + 1"), i.end.times(2)),
            7 if end.is_none() => {
                let j = self.rng.pick(inames);
                (format!("{name} + {}", j.name), i.end.add(&j.end))
            }
            8 => (format!("{name} % 3"), i.end.clone()),
            _ => (name.clone(), i.end),
        })
    }

    /// A read of some array somewhere, or `None`.
    fn read(&mut self, inames: &[Iname]) -> Option<String> {
        if inames.is_empty() {
            return None;
        }
        if self.rng.chance(5) {
            return Some(self.indirect(inames));
        }
        let known: Vec<Array> = self.arrays.iter().filter(|a| a.whole).cloned().collect();
        if !known.is_empty() && self.rng.chance(65) {
            let array = self.rng.pick(&known);
            let mut index = Vec::new();
            for (end, fixed) in array.ends.iter().zip(&array.fixed) {
                index.push(match fixed {
                    Some(fixed) => fixed.clone(),
                    None => self.index(inames, Some(end), array.slack)?.0,
                });
            }
            // `i % 3` of a temporary may lie beyond its end.
            if !array.slack && index.iter().any(|i| i.contains('%')) {
                return None;
            }
            return Some(self.typed(&array, format!("{}[{}]", array.name, index.join(", "))));
        }
        let rank = 1 + self.rng.below(inames.len().min(2));
        let mut index = Vec::new();
        let mut ends = Vec::new();
        for _ in 0..rank {
            let (i, end) = self.index(inames, None, true)?;
            // `i % 3` needs three cells if the end is smaller.
            ends.push(end);
            index.push(i);
        }
        let dtype = if self.rng.chance(85) {
            self.dtype
        } else {
            self.rng.pick(&["i8", "u8", "i16", "u16", "i32", "f32", "f16", "bf16", "i64"])
        };
        let name = self.fresh("a");
        let fixed = vec![None; ends.len()];
        let array = Array { name: name.clone(), dtype, ends, whole: true, slack: true, fixed };
        self.argument(&array);
        let text = self.typed(&array, format!("{name}[{}]", index.join(", ")));
        self.arrays.push(array);
        Some(text)
    }

    fn argument(&mut self, array: &Array) {
        let lengths: Vec<String> = array.ends.iter().map(|e| e.plus(3).to_string()).collect();
        self.args.push(format!("{}: {}[{}]", array.name, array.dtype, lengths.join(", ")));
    }

    /// The value in the kernel's type.
    fn typed(&self, array: &Array, text: String) -> String {
        if array.dtype == self.dtype { text } else { format!("cast({}, {text})", self.dtype) }
    }

    /// A read through an index array, as `a[idx[i]]`.
    fn indirect(&mut self, inames: &[Iname]) -> String {
        let i = self.rng.pick(inames);
        let (idx, a) = (self.fresh("idx"), self.fresh("a"));
        self.args.push(format!("{idx}: i32[{}]", i.end.plus(3)));
        self.args.push(format!("{a}: {}[8]", self.dtype));
        self.facts.push(format!("fact 0 <= {idx} < 8"));
        format!("{a}[{idx}[{}]]", i.name)
    }

    fn literal(&mut self) -> String {
        let value = self.rng.below(4);
        match self.dtype {
            "f32" | "f64" if self.rng.chance(50) => format!("{value}.5"),
            _ => value.to_string(),
        }
    }

    /// An expression of the kernel's type over reads, scalars and inames.
    fn value(&mut self, inames: &[Iname], scalars: &[String], depth: usize) -> String {
        let leaf = depth == 0 || self.rng.chance(25);
        if leaf {
            let choice = self.rng.below(10);
            if choice < 6
                && let Some(read) = self.read(inames)
            {
                return read;
            }
            if choice < 8 && !scalars.is_empty() {
                return self.rng.pick(scalars);
            }
            if choice == 8 && !inames.is_empty() {
                let i = self.rng.pick(inames).name.clone();
                return format!("cast({}, {i})", self.dtype);
            }
            return self.literal();
        }
        let floats = self.dtype.starts_with('f');
        let a = self.value(inames, scalars, depth - 1);
        match self.rng.below(12) {
            0..=3 => format!("({a} + {})", self.value(inames, scalars, depth - 1)),
            4 | 5 => format!("({a} - {})", self.value(inames, scalars, depth - 1)),
            6 => format!("{} * {a}", self.literal()),
            7 => format!("max({a}, {})", self.value(inames, scalars, depth - 1)),
            8 => {
                let c = self.condition(inames, scalars);
                format!("if({c}, {a}, {})", self.value(inames, scalars, depth - 1))
            }
            9 if !floats => format!("({a}) // 3"),
            10 if !floats => format!("({a}) % 5"),
            9 => format!("({a}) * 0.25"),
            10 => format!("min({a}, {})", self.value(inames, scalars, depth - 1)),
            _ => format!("({a} + {})", self.literal()),
        }
    }

    /// A value whose type does not follow from its context, such as one that is compared with a
    /// literal.
    fn alone(&self, value: String) -> String {
        if self.dtype.starts_with('f') { format!("{OPEN}{value}{CLOSE}") } else { value }
    }

    fn condition(&mut self, inames: &[Iname], scalars: &[String]) -> String {
        if !inames.is_empty() && self.rng.chance(60) {
            let i = self.rng.pick(inames);
            match self.rng.below(4) {
                0 => format!("{} % 3 == 1", i.name),
                1 => format!("{} + 1 < {}", i.name, i.end),
                2 => format!("{} > 1 and {} != 4", i.name, i.name),
                _ => format!("not {} == 0 or n > 3", i.name),
            }
        } else {
            let a = self.value(inames, scalars, 0);
            format!("{} > {}", self.alone(a), self.literal())
        }
    }

    /// A reduction over new inames.
    fn reduction(&mut self, inames: &[Iname], scalars: &[String], depth: usize) -> String {
        let op = self.rng.pick(&["sum", "sum", "sum", "max", "min", "product", "any"]);
        let count = if self.rng.chance(20) { 2 } else { 1 };
        let reduced = self.nest(inames, count, false, false);
        let inside: Vec<Iname> = inames.iter().chain(&reduced).cloned().collect();
        let names: Vec<&str> = reduced.iter().map(|i| i.name.as_str()).collect();
        let over = if count == 1 { names[0].to_string() } else { format!("[{}]", names.join(", ")) };
        let body = if depth > 0 && self.rng.chance(15) {
            self.reduction(&inside, scalars, depth - 1)
        } else {
            self.value(&inside, scalars, 1)
        };
        let body = if self.dtype == "u32" { format!("cast(u32, {body})") } else { body };
        match op {
            "product" => {
                format!("product({over}, if({} > 2, {}, {}))", self.alone(body), self.two(), self.one())
            }
            "any" => format!("if(any({over}, {} > 1), {}, {})", self.alone(body), self.one(), self.two()),
            // An empty range gives the end of the type's range.
            "max" | "min" => format!("min(max({op}({over}, {body}), {}), {})", self.low(), self.high()),
            _ => format!("{op}({over}, {body})"),
        }
    }

    fn one(&self) -> &'static str {
        match self.dtype {
            "f32" | "f64" => "1.0",
            // A literal without context is i32, which does not meet u32.
            "u32" => "cast(u32, 1)",
            _ => "1",
        }
    }

    fn two(&self) -> &'static str {
        match self.dtype {
            "f32" | "f64" => "2.0",
            "u32" => "cast(u32, 2)",
            _ => "2",
        }
    }

    fn low(&self) -> &'static str {
        match self.dtype {
            // With integers alone, nothing else decides the type.
            "f32" => "cast(f32, -9.0)",
            "f64" => "cast(f64, -9.0)",
            "u32" => "1",
            _ => "-9",
        }
    }

    fn high(&self) -> &'static str {
        if self.dtype.starts_with('f') { "99.0" } else { "99" }
    }

    /// A new output with a cell for each point of these inames, and its access.
    fn output(&mut self, inames: &[Iname], around: usize) -> (Array, String) {
        let name = self.fresh("out");
        let mut order: Vec<&Iname> = inames.iter().collect();
        if order.len() > 1 && self.rng.chance(30) {
            order.reverse();
        }
        let ends: Vec<Linear> = order.iter().map(|i| i.end.clone()).collect();
        let mut index: Vec<String> = order.iter().map(|i| i.name.clone()).collect();
        if let Some(first) = index.first_mut()
            && self.rng.chance(25)
        {
            first.push_str(" + 1");
        }
        if index.is_empty() {
            let array = Array {
                name: name.clone(),
                dtype: self.dtype,
                ends: vec![Linear::constant(1)],
                whole: false,
                slack: true,
                fixed: vec![None],
            };
            self.argument(&array);
            return (array, format!("{name}[0]"));
        }
        let is_around = |i: &Iname| inames[..around].iter().any(|a| a.name == i.name);
        let fixed = order.iter().zip(&index).map(|(i, text)| is_around(i).then(|| text.clone())).collect();
        let array = Array { name: name.clone(), dtype: self.dtype, ends, whole: false, slack: true, fixed };
        self.argument(&array);
        (array, format!("{name}[{}]", index.join(", ")))
    }

    /// A temporary array for all points of exact inames.
    fn temporary(&mut self, inames: &[Iname], around: usize) -> Option<(Array, String)> {
        let own = &inames[around..];
        if own.is_empty() || !own.iter().all(|i| i.exact) {
            return None;
        }
        let constant = own.iter().all(|i| i.end.as_constant().is_some());
        let space =
            if constant { self.rng.pick(&["shared", "shared", "private", "global"]) } else { "global" };
        // In global memory, optionally a cell for each iteration of the enclosing loops.
        let all = around == 0 || (space == "global" && inames.iter().all(|i| i.exact) && self.rng.chance(70));
        let over = if all { inames } else { own };
        let name = self.fresh("w");
        let ends: Vec<Linear> = over.iter().map(|i| i.end.clone()).collect();
        let lengths: Vec<String> = ends.iter().map(Linear::to_string).collect();
        self.temps.push(format!("temp {name}: {}[{}] {space}", self.dtype, lengths.join(", ")));
        let index: Vec<String> = over.iter().map(|i| i.name.clone()).collect();
        let fixed = (0..over.len()).map(|k| (all && k < around).then(|| index[k].clone())).collect();
        let array = Array { name: name.clone(), dtype: self.dtype, ends, whole: false, slack: false, fixed };
        Some((array, format!("{name}[{}]", index.join(", "))))
    }
}
