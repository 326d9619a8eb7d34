//! Random kernels full of dependences, for the verdicts on steps.
//!
//! All arrays hold integers that wrap, and every statement multiplies what it reads by its own odd
//! numbers and adds one: a value identifies its origin, so another order or another cell shows in
//! the result. Most statements read the cell that they write, so that no earlier write is lost.
//! Subscripts and bounds are affine, except in the few kernels that scatter through an index array.
//!
//! A kernel is one to three *phases*, possibly inside one common loop, over a few shared arrays:
//!
//! | phase | for |
//! |---|---|
//! | nest | orders of loops, tags, fusion, distribution, prefetches: stencils and mirrors in nests of one to three loops |
//! | scalars | private temporaries, written before they are read or carried from iteration to iteration |
//! | arrays | temporary arrays, written in one loop or in several, and read in the same one or in a later one |
//! | sums | reductions |
//! | scans | reductions whose range grows with the loop around them |
//! | kept | values used both before and after cells of neighbours are read: on blocks, a kernel boundary is needed in between |
//! | segments | sums of segments between neighbouring offsets, of any length |
//! | updates | cells that an inner loop reads and writes repeatedly, for buffers |
//! | combined | cells to which several iterations add (`+=`), in any order |
//! | gathered | sums into one cell, for `recognize_reduction`; short arrays, for private copies |

use crate::{products, rng::Rng};

/// One kernel in this number is a product for hardware instructions ([`products`]).
const PRODUCTS: u64 = 16;

/// Added to a reduction that may have no points.
const ALONE: i64 = 7919;

#[derive(Clone, Debug)]
struct Loop {
    name: String,
    /// All values lie in `0..=end`.
    end: String,
}

/// A random kernel whose subscripts are affine, or read from data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Affine {
    /// The text of the kernel.
    pub text: String,
    /// Whether subscripts are read from data.
    pub data: bool,
}

struct Maker {
    rng: Rng,
    dtype: &'static str,
    rank: usize,
    /// Whether subscripts are an iname plus a constant, so that footprints are boxes.
    smooth: bool,
    domains: Vec<String>,
    temps: Vec<String>,
    body: Vec<String>,
    count: usize,
    last_end: Option<String>,
    scatters: bool,
    combines: bool,
    segments: bool,
    /// A generator of its own for reads of constant tables, in the kernels that have them: other
    /// kernels are as they would be without tables.
    tables: Option<Rng>,
}

/// One kernel in this number ends with a phase of gathered values.
const GATHERED: u64 = 5;

/// One kernel in this number has constant tables.
const TABLES: u64 = 8;

/// An operator of the kernel's own, by which elements are updated. It does not commute with sums,
/// and products of odd numbers never become zero, so that another order of the two shows.
const SCALED: &str = "reduction scaled(e) { state v: like e = 1; lift v = 2*e + 1; combine v = a.v*b.v; \
                      result v; commutes }\n";

/// A random kernel of this seed.
pub fn kernel(seed: u64) -> Affine {
    let mut rng = Rng::new(seed ^ 0x2545_f491_4f6c_dd1d);
    if seed % PRODUCTS == PRODUCTS / 2 {
        return Affine { text: products::kernel(&mut rng), data: false };
    }
    let dtype = rng.pick(&["i64", "i64", "i32"]);
    let rank = if rng.chance(45) { 2 } else { 1 };
    let smooth = rng.chance(60);
    let mut maker = Maker {
        rng,
        dtype,
        rank,
        smooth,
        domains: Vec::new(),
        temps: Vec::new(),
        body: Vec::new(),
        count: 0,
        last_end: None,
        scatters: false,
        combines: false,
        segments: false,
        tables: (seed % TABLES == 3).then(|| Rng::new(seed ^ 0x5851_f42d_4c95_7f2d)),
    };
    let around = match maker.rng.chance(30) {
        true => vec![maker.steps()],
        false => Vec::new(),
    };
    for _ in 0..1 + maker.rng.below(3) {
        match maker.rng.below(26) {
            0..=6 => maker.nest(&around),
            7..=9 => maker.scalars(&around),
            10..=13 => maker.arrays(&around),
            14..=17 => maker.sums(&around),
            18 | 19 => maker.scans(&around),
            20..=22 => maker.kept(&around),
            23 => maker.updates(&around),
            25 if around.is_empty() && !maker.segments => maker.segments(),
            _ if maker.rng.chance(25) => maker.scatter(&around),
            _ => maker.updates(&around),
        }
    }
    if maker.rng.chance(12) {
        maker.combined(&around);
    }
    if seed % GATHERED == 2 {
        // By a generator of its own: other kernels are as they would be without the phase.
        maker.rng = Rng::new(seed ^ 0x6a09_e667_f3bc_c909);
        maker.gathered();
    }
    maker.finish()
}

impl Maker {
    fn finish(self) -> Affine {
        let shape = if self.rank == 1 { "2*n + 2*m + 24" } else { "n + m + 14, n + m + 14" };
        let mut args: Vec<String> =
            ["a", "b", "c"].iter().map(|name| format!("{name}: {}[{shape}]", self.dtype)).collect();
        if self.scatters {
            args.push("idx: i32[n + m + 24]".into());
        }
        if self.segments {
            args.push("offsets: i32[m + 1]".into());
        }
        let mut text =
            format!("kernel random({}, n: i32, m: i32)\nassume 0 <= n and 0 <= m\n", args.join(", "));
        if self.scatters {
            text += "fact 0 <= idx <= n\n";
        }
        if self.segments {
            text += "fact monotone(offsets)\nfact 0 <= offsets <= n\n";
        }
        if self.combines {
            text += SCALED;
        }
        if self.tables.is_some() {
            // Subscripts that are read from the second one are data.
            text += &format!("constant odds: {}[4] = [5, -7, 11, 2003]\n", self.dtype);
            text += "constant place: i32[3] = [2, 0, 3]\n";
        }
        for line in self.domains.iter().chain(&self.temps).chain(&self.body) {
            text += line;
            text.push('\n');
        }
        let data = self.scatters || self.segments || text.contains("place[");
        Affine { text, data }
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("{prefix}{}", self.count)
    }

    /// A loop around everything.
    fn steps(&mut self) -> Loop {
        let name = self.fresh("t");
        let end = self.rng.pick(&["2", "3", "n"]).to_string();
        self.domains.push(format!("domain {{ [{name}] : 0 <= {name} < {end} }}"));
        Loop { name, end }
    }

    fn end(&mut self) -> String {
        if let Some(end) = &self.last_end
            && self.rng.chance(50)
        {
            return end.clone();
        }
        let end = self.rng.pick(&["n", "n", "n", "m", "m", "2", "3", "4", "4", "6", "8"]).to_string();
        self.last_end = Some(end.clone());
        end
    }

    fn new_loop(&mut self, outer: &[Loop]) -> Loop {
        let (name, end) = (self.fresh("i"), self.end());
        let plain = format!("0 <= {name} < {end}");
        let (range, end) = match (self.rng.below(20), outer.last()) {
            (0 | 1, _) => (format!("1 <= {name} <= {end}"), end),
            (2, Some(o)) => (format!("0 <= {name} <= {}", o.name), o.end.clone()),
            (3, Some(o)) => (format!("{} <= {name} <= {}", o.name, o.end), o.end.clone()),
            (4, Some(o)) => (format!("0 <= {name} < {end} and {name} <= {} + 1", o.name), end),
            (5, _) if end.len() == 1 && end != "2" => (format!("0 <= 2*{name} <= {end}"), end),
            _ => (plain, end),
        };
        self.domains.push(format!("domain {{ [{name}] : {range} }}"));
        Loop { name, end }
    }

    fn nest_of(&mut self, around: &[Loop], depth: usize) -> Vec<Loop> {
        let mut loops = around.to_vec();
        for _ in 0..depth {
            let new = self.new_loop(&loops[around.len()..]);
            loops.push(new);
        }
        loops
    }

    fn within(loops: &[Loop]) -> String {
        if loops.is_empty() {
            return String::new();
        }
        let names: Vec<&str> = loops.iter().map(|l| l.name.as_str()).collect();
        format!(", inames={}", names.join(":"))
    }

    /// A subscript over one of the loops, preferably the one at this position from the end.
    fn subscript(&mut self, loops: &[Loop], axis: usize) -> String {
        if loops.is_empty() {
            return self.rng.below(3).to_string();
        }
        let natural = loops.len().saturating_sub(self.rank) + axis;
        let l = match natural < loops.len() && self.rng.chance(if self.smooth { 95 } else { 80 }) {
            true => loops[natural].clone(),
            false => self.rng.pick(loops),
        };
        let name = &l.name;
        match self.rng.below(if self.smooth { 9 } else { 14 }) {
            0..=3 => name.clone(),
            4..=6 => format!("{name} + 1"),
            7 => format!("{name} + 2"),
            8 if self.smooth => name.clone(),
            8 => self.rng.below(3).to_string(),
            9 | 10 => format!("{} - {name} + {}", l.end, self.rng.below(2)),
            11 if self.rank == 1 => format!("{name} + {}", self.rng.pick(loops).name),
            12 => format!("{name} // 2"),
            _ => name.clone(),
        }
    }

    fn cell_of(&mut self, array: &str, loops: &[Loop]) -> String {
        let index: Vec<String> = (0..self.rank).map(|axis| self.subscript(loops, axis)).collect();
        format!("{array}[{}]", index.join(", "))
    }

    fn cell(&mut self, loops: &[Loop]) -> String {
        let array = self.rng.pick(&["a", "a", "b", "c"]);
        self.cell_of(array, loops)
    }

    fn odd(&mut self) -> usize {
        2 * self.rng.below(16_000) + 3
    }

    /// Combines some values: instances that read the same values seldom compute the same one.
    fn mix(&mut self, values: &[String], loops: &[Loop]) -> String {
        let mut terms = Vec::new();
        if !self.rng.chance(2) {
            for l in loops {
                let factor = self.odd();
                terms.push(format!("cast({}, {}) * {factor}", self.dtype, l.name));
            }
        }
        for value in values {
            // An even factor if an array is read a second time: if both reads are of one cell, the
            // sum of two odd factors would lose one of its bits in every iteration. Twice an odd
            // number: a cell whose own value is read so loses no more than that.
            let factor = self.odd();
            let array = |text: &str| text.split(['[', ' ']).next().unwrap_or_default().to_string();
            let again = terms.iter().any(|t| array(t) == array(value));
            terms.push(format!("{value} * {}", if again { factor / 4 * 4 + 2 } else { factor }));
        }
        if let (Some(rng), Some(l)) = (&mut self.tables, loops.last()) {
            match rng.below(6) {
                0 => terms.push(format!("odds[{}]", rng.below(4))),
                1 => terms.push(format!("odds[{} % 4] * {}", l.name, 2 * rng.below(16_000) + 3)),
                2 if rng.chance(40) => {
                    // Of an array that the statement may read: an update may not read its target.
                    let arrays = ["a[", "b[", "c["];
                    let read = arrays.iter().find(|array| values.iter().any(|v| v.starts_with(**array)));
                    let index = vec![format!("place[{} % 3]", l.name); self.rank];
                    if let Some(array) = read {
                        let factor = 4 * rng.below(8_000) + 2;
                        terms.push(format!("{array}{}] * {factor}", index.join(", ")));
                    }
                }
                _ => {}
            }
        }
        terms.push(self.odd().to_string());
        terms.join(" + ")
    }

    fn statement(&mut self, target: &str, value: &str, loops: &[Loop]) {
        let id = self.fresh("s");
        let condition = match loops.last() {
            Some(l) if self.rng.chance(6) => format!(" if {} % 2 == 0", l.name),
            _ => String::new(),
        };
        self.body.push(format!("{target} = {value}{condition} {{id={id}{}}}", Self::within(loops)));
    }

    /// A statement without a condition.
    fn plain(&mut self, target: &str, value: &str, loops: &[Loop]) {
        let id = self.fresh("s");
        self.body.push(format!("{target} = {value} {{id={id}{}}}", Self::within(loops)));
    }

    /// A statement on the arrays that also reads some further values.
    fn store(&mut self, loops: &[Loop], more: &[String]) {
        let target = self.cell(loops);
        let mut values = more.to_vec();
        if self.rng.chance(85) {
            values.push(target.clone());
        }
        for _ in 0..1 + self.rng.below(2) {
            values.push(self.cell(loops));
        }
        let value = self.mix(&values, loops);
        self.statement(&target, &value, loops);
    }

    fn nest(&mut self, around: &[Loop]) {
        let depth = 1 + self.rng.below(if around.is_empty() { 3 } else { 2 });
        let loops = self.nest_of(around, depth);
        let outer = around.len() + 1;
        if depth > 1 && self.rng.chance(15) {
            self.store(&loops[..outer], &[]);
        }
        for _ in 0..1 + self.rng.below(3) {
            self.store(&loops, &[]);
        }
        if depth > 1 && self.rng.chance(10) {
            self.store(&loops[..outer], &[]);
        }
    }

    fn scalars(&mut self, around: &[Loop]) {
        let depth = 1 + self.rng.below(2);
        let loops = self.nest_of(around, depth);
        let space = self.rng.pick(&["private", "private", "private", "global"]);
        let mut scalars = Vec::new();
        for _ in 0..1 + self.rng.below(2) {
            let name = self.fresh("p");
            self.temps.push(format!("temp {name}: {} {space}", self.dtype));
            scalars.push(name);
        }
        let carried = self.rng.chance(20);
        if carried {
            for p in &scalars {
                let first = self.odd().to_string();
                self.plain(p, &first, around);
            }
        }
        for p in scalars.clone() {
            if carried && self.rng.chance(50) {
                self.store(&loops, std::slice::from_ref(&p));
            }
            let mut values = vec![self.cell(&loops)];
            if carried && self.rng.chance(50) {
                values.push(p.clone());
            }
            let value = self.mix(&values, &loops);
            self.plain(&p, &value, &loops);
            if !carried || self.rng.chance(50) {
                self.store(&loops, std::slice::from_ref(&p));
            }
        }
        if self.rng.chance(40) {
            let some = self.rng.pick(&scalars);
            self.store(&loops, &[some]);
        }
        // One of them is used for another value.
        if self.rng.chance(25) {
            let some = self.rng.pick(&scalars);
            let cell = self.cell(&loops);
            let value = self.mix(&[cell], &loops);
            self.plain(&some, &value, &loops);
            self.store(&loops, &[some]);
        }
    }

    /// Temporary arrays of one shape.
    fn arrays(&mut self, around: &[Loop]) {
        let constant = self.rng.chance(60);
        let end = match constant {
            true => self.rng.pick(&["2", "3", "4", "4", "6", "8"]).to_string(),
            false => self.rng.pick(&["n", "m"]).to_string(),
        };
        let halo = self.rng.below(3);
        let space = match constant {
            true => self.rng.pick(&["shared", "private", "global"]),
            false => "global",
        };
        let mut before: Vec<String> = Vec::new();
        for _ in 0..1 + self.rng.below(2) {
            let name = self.fresh("w");
            self.temps.push(format!("temp {name}: {}[{end} + {halo}] {space}", self.dtype));
            let i = self.fresh("i");
            self.domains.push(format!("domain {{ [{i}] : 0 <= {i} < {end} + {halo} }}"));
            let mut loops = around.to_vec();
            loops.push(Loop { name: i.clone(), end: format!("{end} + {halo}") });
            let mut values = vec![self.cell(&loops)];
            if let Some(b) = before.last()
                && self.rng.chance(70)
            {
                values.push(format!("{b}[{i}]"));
            }
            let mut value = self.mix(&values, &loops);
            // A sum, which whoever recomputes the value takes along.
            if self.rng.chance(20) {
                let k = self.new_loop(&loops[around.len()..]);
                let mut inside = loops.clone();
                inside.push(k.clone());
                let cell = self.cell(&inside);
                let term = self.mix(&[cell], &inside);
                value = format!("{value} + sum({}, {term}) + {ALONE}", k.name);
            }
            self.plain(&format!("{name}[{i}]"), &value, &loops);
            if self.rng.chance(50) {
                self.store(&loops, &[format!("{name}[{i}]")]);
            }
            // A value in two stages, with a separate one at the beginning.
            if self.rng.chance(20) {
                let k = self.fresh("i");
                self.domains.push(format!("domain {{ [{k}] : 0 <= {k} < {end} + {halo} }}"));
                let mut loops = around.to_vec();
                loops.push(Loop { name: k.clone(), end: format!("{end} + {halo}") });
                let cell = self.cell(&loops);
                let value = self.mix(&[format!("{name}[{k}]"), cell], &loops);
                self.plain(&format!("{name}[{k}]"), &value, &loops);
            }
            if (constant || halo > 0) && self.rng.chance(20) {
                let value = self.mix(&[], around);
                self.plain(&format!("{name}[0]"), &value, around);
            }
            before.push(name);
        }
        let last = before.last().cloned().unwrap_or_default();
        if self.rng.chance(75) {
            let j = self.fresh("i");
            self.domains.push(format!("domain {{ [{j}] : 0 <= {j} < {end} }}"));
            let mut loops = around.to_vec();
            loops.push(Loop { name: j.clone(), end: end.clone() });
            let mut values = Vec::new();
            for h in 0..=halo {
                if h == 0 || self.rng.chance(60) {
                    values.push(format!("{last}[{j} + {h}]"));
                }
            }
            if self.rng.chance(25) {
                values.push(format!("{last}[{end} - {j} - 1]"));
            }
            if before.len() > 1 && self.rng.chance(40) {
                values.push(format!("{}[{j}]", before[0]));
            }
            self.store(&loops, &values);
        } else {
            // Every write is read.
            let mut loops = around.to_vec();
            let i = self.fresh("i");
            self.domains.push(format!("domain {{ [{i}] : 0 <= {i} < {end} + {halo} }}"));
            loops.push(Loop { name: i.clone(), end: format!("{end} + {halo}") });
            let values: Vec<String> = before.iter().map(|w| format!("{w}[{i}]")).collect();
            self.store(&loops, &values);
        }
    }

    fn sums(&mut self, around: &[Loop]) {
        let loops = self.nest_of(around, 1);
        let k = self.new_loop(&loops[around.len()..]);
        let mut inside = loops.clone();
        inside.push(k.clone());
        let mut points = k.name;
        if self.rng.chance(25) {
            let second = self.new_loop(&inside[around.len()..]);
            points = format!("[{points}, {}]", second.name);
            inside.push(second);
        }
        if self.rng.chance(30) {
            self.store(&loops, &[]);
        }
        let op = self.rng.pick(&["sum", "sum", "sum", "sum", "max"]);
        let read = [self.cell(&inside), self.cell(&inside)];
        let reads = 1 + usize::from(self.rng.chance(40));
        let mut term = self.mix(&read[..reads], &inside);
        // A factor that stands outside of the sum as well.
        if self.rng.chance(35) {
            term = format!("({term}) * {}", self.odd());
        }
        let target = self.cell(&loops);
        let value = match op {
            // The maximum of an empty range is the least number.
            "max" => format!("{target} * {} + max({op}({points}, {term}), 0)", self.odd()),
            _ => format!("{target} * {} + {op}({points}, {term})", self.odd()),
        };
        // Without points, multiplications alone would commute.
        let value = format!("{value} + {ALONE}");
        self.plain(&target, &value, &loops);
        if self.rng.chance(40) {
            self.store(&loops, &[]);
        }
    }

    /// A running total: most ranges have a common beginning and end at the enclosing loop.
    fn scans(&mut self, around: &[Loop]) {
        let rows = usize::from(self.rng.chance(30));
        let mut outer = self.nest_of(around, rows);
        let (name, k) = (self.fresh("i"), self.fresh("i"));
        let end = self.end();
        self.domains.push(format!("domain {{ [{name}] : 0 <= {name} < {end} }}"));
        let range = match self.rng.below(10) {
            0..=2 => format!("0 <= {k} <= {name}"),
            // A scan of reversed loops.
            3 => format!("{name} <= {k} < {end}"),
            4 => match self.rng.below(3) {
                0 => format!("{name} < {k} < {end}"),
                1 => format!("{end} - {name} <= {k} < {end}"),
                _ => format!("0 <= {k} < {end} - {name}"),
            },
            5 | 6 => format!("0 <= {k} < {name}"),
            7 => format!("1 <= {k} <= {name}"),
            8 => format!("0 <= {k} <= {name} + 1"),
            _ => format!("0 <= {k} <= {name} and {k} < 4"),
        };
        self.domains.push(format!("domain {{ [{k}] : {range} }}"));
        let point = Loop { name: k.clone(), end: end.clone() };
        let (target_of, source) =
            self.rng.pick(&[("a", "b"), ("b", "c"), ("c", "a"), ("b", "a"), ("a", "a")]);
        let mut inside = outer.clone();
        inside.push(point);
        outer.push(Loop { name, end });
        if self.rng.chance(20) {
            self.store(&outer, &[]);
        }
        let read = self.cell_of(source, &inside);
        let term = self.mix(&[read], &inside);
        let target = self.cell_of(target_of, &outer);
        let value = match self.rng.below(6) {
            // The maximum of an empty range is the least number.
            0 => format!("{target} * {} + max(max({k}, {term}), 0)", self.odd()),
            1 => format!("{target} * {} + product({k}, 2 * ({term}) + 1)", self.odd()),
            _ => format!("{target} * {} + sum({k}, {term})", self.odd()),
        };
        let value = format!("{value} + {ALONE}");
        self.plain(&target, &value, &outer);
        if self.rng.chance(40) {
            self.store(&outer, &[]);
        }
    }

    /// A private value, or a few shared or private ones, read before and after the cell of a
    /// neighbour with its own value: nearly always the previous neighbour, so that the loop can be
    /// spread over blocks, with a kernel boundary in between.
    fn kept(&mut self, around: &[Loop]) {
        let loops = self.nest_of(around, 1);
        let i = loops[around.len()].name.clone();
        let p = self.fresh("p");
        let array = self.rng.chance(35);
        let (written, read, source) =
            self.rng.pick(&[("a", "b", "c"), ("b", "c", "a"), ("c", "a", "b"), ("a", "c", "b")]);
        let rest = if self.rank == 2 { format!(", {i}") } else { String::new() };
        let (ahead, behind) = if self.rng.chance(85) { (1, 0) } else { (0, 1) };
        let here = format!("{written}[{i} + {ahead}{rest}]");
        let there = format!("{written}[{i} + {behind}{rest}]");
        let last = format!("{read}[{i}{rest}]");
        if array {
            let length = self.rng.pick(&["2", "3", "4"]);
            let space = self.rng.pick(&["shared", "private"]);
            self.temps.push(format!("temp {p}: {}[{length}] {space}", self.dtype));
            let mut inner = Vec::new();
            for _ in 0..3 {
                let name = self.fresh("i");
                self.domains.push(format!("domain {{ [{name}] : 0 <= {name} < {length} }}"));
                let mut of = loops.clone();
                of.push(Loop { name, end: length.to_string() });
                inner.push(of);
            }
            let value = |k: usize| format!("{p}[{}]", inner[k][loops.len()].name);
            let cell = self.cell_of(source, &inner[0]);
            let first = self.mix(&[cell], &inner[0]);
            self.plain(&value(0), &first, &inner[0]);
            let second = self.mix(&[here.clone(), value(1)], &inner[1]);
            self.plain(&here, &second, &inner[1]);
            let third = self.mix(&[last.clone(), there, value(2)], &inner[2]);
            self.plain(&last, &third, &inner[2]);
            return;
        }
        self.temps.push(format!("temp {p}: {} private", self.dtype));
        let cell = self.cell_of(source, &loops);
        let first = self.mix(&[cell], &loops);
        self.plain(&p, &first, &loops);
        let second = self.mix(&[here.clone(), p.clone()], &loops);
        self.plain(&here, &second, &loops);
        let third = self.mix(&[last.clone(), there, p], &loops);
        self.plain(&last, &third, &loops);
    }

    /// Sums of segments, whose points and results are different arrays.
    fn segments(&mut self) {
        self.segments = true;
        let (s, i) = (self.fresh("i"), self.fresh("i"));
        self.domains.push(format!("domain {{ [{s}] : 0 <= {s} < m }}"));
        self.domains.push(format!("domain {{ [{i}] : lo <= {i} < hi }}"));
        self.temps.extend(["temp lo: i32 private".into(), "temp hi: i32 private".into()]);
        let outer = [Loop { name: s.clone(), end: "m".into() }];
        let inside = [outer[0].clone(), Loop { name: i.clone(), end: "n".into() }];
        self.plain("lo", &format!("offsets[{s}]"), &outer);
        self.plain("hi", &format!("offsets[{s} + 1]"), &outer);
        let rest = if self.rank == 2 { ", 1" } else { "" };
        let (target, source) = self.rng.pick(&[("a", "b"), ("b", "c"), ("c", "a")]);
        let term = self.mix(&[format!("{source}[{i}{rest}]")], &inside[1..]);
        self.plain(&format!("{target}[{s}{rest}]"), &format!("sum({i}, {term})"), &outer);
    }

    fn updates(&mut self, around: &[Loop]) {
        let loops = self.nest_of(around, 1);
        let k = self.new_loop(&loops[around.len()..]);
        let mut inside = loops.clone();
        inside.push(k);
        let array = self.rng.pick(&["a", "b", "c"]);
        let target = match self.rng.chance(70) {
            true => self.cell_of(array, &loops),
            false => self.cell_of(array, &inside),
        };
        let read = self.cell(&inside);
        let value = self.mix(&[target.clone(), read], &inside);
        self.plain(&target, &value, &inside);
        if self.rng.chance(40) {
            let value = self.mix(&[target], &inside);
            let other = self.cell(&inside);
            self.plain(&other, &value, &inside);
        }
    }

    /// Sums into cells that several iterations have in common, by a sign or an operator of the
    /// kernel's own; perhaps with a first value before them, or a read of what they have left, in
    /// the same loop or behind. Of the greatest value, or of bits that add up, another order would
    /// not show.
    fn combined(&mut self, around: &[Loop]) {
        let depth = 1 + self.rng.below(2);
        let loops = self.nest_of(around, depth);
        let (array, source) = self.rng.pick(&[("a", "b"), ("b", "c"), ("c", "a")]);
        let outer = loops[..around.len() + 1].to_vec();
        if depth > 1 && self.rng.chance(30) {
            let first = self.odd().to_string();
            let target = self.cell_of(array, &outer);
            self.plain(&target, &first, &outer);
        }
        for _ in 0..1 + self.rng.below(2) {
            let target = match self.rng.chance(15) {
                true => {
                    self.scatters = true;
                    let i = &loops[around.len()].name;
                    format!("{array}[idx[{i}]{}]", if self.rank == 2 { ", 1" } else { "" })
                }
                false => self.cell_of(array, &outer),
            };
            let read = self.cell_of(source, &loops);
            let value = self.mix(&[read], &loops);
            let id = self.fresh("s");
            let sign = match self.rng.chance(30) {
                true => {
                    self.combines = true;
                    "scaled="
                }
                false => "+=",
            };
            self.body.push(format!("{target} {sign} {value} {{id={id}{}}}", Self::within(&loops)));
        }
        if self.rng.chance(50) {
            let behind = if self.rng.chance(50) { loops } else { self.nest_of(around, 1) };
            let read = self.cell_of(array, &behind);
            let target = self.cell_of(source, &behind);
            let value = self.mix(&[target.clone(), read], &behind);
            self.plain(&target, &value, &behind);
        }
    }

    /// A cell to which a loop adds, or cells of a short array to which it adds in any order, by
    /// subscripts that repeat; then what they hold.
    fn gathered(&mut self) {
        let loops = self.nest_of(&[], 1);
        let (array, source) = self.rng.pick(&[("a", "b"), ("b", "c"), ("c", "a")]);
        if self.rng.chance(50) {
            let k = self.new_loop(&loops);
            let inside = [loops[0].clone(), k];
            let target = self.cell_of(array, &loops);
            let read = self.cell_of(source, &inside);
            let value = self.mix(&[read], &inside);
            return self.plain(&target, &format!("{target} + ({value})"), &inside);
        }
        let (short, length) = (self.fresh("w"), 2 + self.rng.below(4));
        self.temps.push(format!("temp {short}: {}[{length}] global", self.dtype));
        let begin = self.fresh("i");
        self.domains.push(format!("domain {{ [{begin}] : 0 <= {begin} < {length} }}"));
        let first = Loop { name: begin.clone(), end: String::new() };
        let value = self.mix(&[], std::slice::from_ref(&first));
        self.plain(&format!("{short}[{begin}]"), &value, std::slice::from_ref(&first));
        let read = self.cell_of(source, &loops);
        let value = self.mix(&[read], &loops);
        let (i, id, offset) = (&loops[0].name, self.fresh("s"), self.rng.below(3));
        let target = format!("{short}[({i} + {offset}) % {length}]");
        self.body.push(format!("{target} += {value} {{id={id}{}}}", Self::within(&loops)));
        let behind = self.nest_of(&[], 1);
        let target = self.cell_of(array, &behind);
        let values = [target.clone(), format!("{short}[{} % {length}]", behind[0].name)];
        let value = self.mix(&values, &behind);
        self.plain(&target, &value, &behind);
    }

    fn scatter(&mut self, around: &[Loop]) {
        let loops = self.nest_of(around, 1);
        let i = &loops[around.len()].name.clone();
        self.scatters = true;
        let rest = if self.rank == 2 { ", 1" } else { "" };
        let cell = format!("a[idx[{i}]{rest}]");
        let read = self.cell_of("b", &loops);
        let value = self.mix(&[cell.clone(), read], &loops);
        self.plain(&cell, &value, &loops);
    }
}
