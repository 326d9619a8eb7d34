//! The shapes of which random kernels are made: nests with instructions, scalars under conditions,
//! recurrences, time steps, ranges that are read from data.

use super::{Array, Iname, Maker};

impl Maker {
    pub(super) fn phases(&mut self) {
        let around = if self.rng.chance(40) { self.nest(&[], 1, false, false) } else { Vec::new() };
        let phases = 1 + self.rng.below(3);
        for _ in 0..phases {
            self.phase(&around);
        }
    }

    fn phase(&mut self, around: &[Iname]) {
        if around.is_empty() && self.rng.chance(8) {
            return self.recurrence();
        }
        let count = if around.is_empty() { 1 + self.rng.below(2) } else { self.rng.below(3) };
        let constant = self.rng.chance(35);
        let plain = self.rng.chance(50);
        let own = self.nest(around, count, constant, plain);
        let inames: Vec<Iname> = around.iter().chain(&own).cloned().collect();
        let within = if inames.is_empty() {
            String::new()
        } else {
            let names: Vec<&str> = inames.iter().map(|i| i.name.as_str()).collect();
            format!(", inames={}", names.join(":"))
        };
        let mut scalars = Vec::new();
        let mut written: Vec<(Array, String)> = Vec::new();
        let statements = 1 + self.rng.below(3);
        for k in 0..statements {
            if self.guards && !inames.is_empty() && self.rng.chance(30) {
                written.push(self.guarded(&inames, &scalars, around.len(), &within));
                continue;
            }
            let id = self.fresh("s");
            let mut visible = scalars.clone();
            visible.extend(written.iter().map(|(_, access)| access.clone()));
            let value = if self.rng.chance(35) {
                let reduction = self.reduction(&inames, &visible, 1);
                if self.rng.chance(30) {
                    format!("{reduction} + {}", self.value(&inames, &visible, 1))
                } else {
                    reduction
                }
            } else {
                self.value(&inames, &visible, 3)
            };
            if k + 1 < statements && self.rng.chance(35) {
                let t = self.fresh("t");
                let space = if self.rng.chance(90) { "private" } else { "shared" };
                self.temps.push(format!("temp {t}: {} {space}", self.dtype));
                self.instructions.push(format!("{t} = {value} {{id={id}{within}}}"));
                scalars.push(t);
                continue;
            }
            if self.rng.chance(30)
                && let Some((array, access)) = self.temporary(&inames, around.len())
            {
                self.instructions.push(format!("{access} = {value} {{id={id}{within}}}"));
                written.push((array, access));
                continue;
            }
            if self.rng.chance(8) && !inames.is_empty() {
                let r = self.nest(&inames, 1, false, false);
                let inside: Vec<Iname> = inames.iter().chain(&r).cloned().collect();
                let value = self.value(&inside, &visible, 1);
                let arg = format!("cast({}, {value})", self.dtype);
                let (v, access) = self.output(&inames, around.len());
                let name = self.fresh("arg");
                let lengths: Vec<String> = v.ends.iter().map(|e| e.plus(3).to_string()).collect();
                self.args.push(format!("{name}: i32[{}]", lengths.join(", ")));
                let place = access[v.name.len()..].to_string();
                let op = self.rng.pick(&["argmax", "argmin"]);
                self.instructions.push(format!(
                    "{access}, {name}{place} = {op}({0}, {arg}, {0}) {{id={id}{within}}}",
                    r[0].name
                ));
                continue;
            }
            let (array, access) = self.output(&inames, around.len());
            let own_value = if self.rng.chance(15) { format!("{value} + {access}") } else { value };
            let predicate = if self.rng.chance(20) {
                let condition = self.condition(&inames, &scalars);
                match self.rng.chance(20) {
                    true => {
                        let sum = self.reduction(&inames, &scalars, 0);
                        format!(" if {condition} and {} > {}", self.alone(sum), self.literal())
                    }
                    false => format!(" if {condition}"),
                }
            } else {
                String::new()
            };
            self.instructions.push(format!("{access} = {own_value}{predicate} {{id={id}{within}}}"));
            written.push((array, access));
        }
        // Every temporary that is written is read.
        let text = self.instructions.join("\n");
        let mentions = |name: &str| {
            text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| *word == name).count()
        };
        let idle: Vec<String> = scalars
            .iter()
            .filter(|t| mentions(t) < 2)
            .cloned()
            .chain(written.iter().filter(|(a, _)| !a.slack && mentions(&a.name) < 2).map(|(_, w)| w.clone()))
            .collect();
        if !idle.is_empty() {
            let id = self.fresh("s");
            let (_, access) = self.output(&inames, around.len());
            self.instructions.push(format!("{access} = {} {{id={id}{within}}}", idle.join(" + ")));
        }
        for (mut array, _) in written {
            array.whole = true;
            self.arrays.push(array);
        }
    }

    /// A scalar that is written under a condition, and read under the same one, or under more;
    /// under any if it has a value before. Between the two, sometimes, the condition changes.
    fn guarded(
        &mut self,
        inames: &[Iname],
        scalars: &[String],
        around: usize,
        within: &str,
    ) -> (Array, String) {
        let (t, write, read) = (self.fresh("g"), self.fresh("s"), self.fresh("s"));
        self.temps.push(format!("temp {t}: {} private", self.dtype));
        let mut condition = self.condition(inames, scalars);
        let is_given = self.rng.chance(50);
        if is_given {
            let (first, value) = (self.fresh("s"), self.value(inames, scalars, 1));
            self.instructions.push(format!("{t} = {value} {{id={first}{within}}}"));
        }
        let named = self.rng.chance(30).then(|| (self.fresh("c"), self.fresh("s")));
        if let Some((name, id)) = &named {
            self.temps.push(format!("temp {name}: bool private"));
            self.instructions.push(format!("{name} = {condition} {{id={id}{within}}}"));
            condition = name.clone();
        }
        let value = self.value(inames, scalars, 2);
        self.instructions.push(format!("{t} = {value} if {condition} {{id={write}{within}}}"));
        if let Some((name, _)) = named.filter(|_| is_given && self.rng.chance(30)) {
            let (id, other) = (self.fresh("s"), self.condition(inames, scalars));
            self.instructions.push(format!("{name} = {other} {{id={id}{within}}}"));
        }
        let under = match self.rng.below(4) {
            0 => format!("({condition}) and ({})", self.condition(inames, scalars)),
            1 if is_given => self.condition(inames, scalars),
            2 if is_given => format!("not ({condition})"),
            _ => condition,
        };
        let (array, access) = self.output(inames, around);
        let value = self.value(inames, scalars, 1);
        self.instructions.push(format!("{access} = {t} + {value} if {under} {{id={read}{within}}}"));
        (array, access)
    }

    /// A loop whose iterations depend on those before, as `x[i + 1] = x[i] + e`.
    fn recurrence(&mut self) {
        let constant = self.rng.chance(50);
        let own = self.nest(&[], 1, constant, true);
        let i = own[0].clone();
        let (x, id) = (self.fresh("x"), self.fresh("s"));
        let array = Array {
            name: x.clone(),
            dtype: self.dtype,
            ends: vec![i.end.clone()],
            whole: false,
            slack: true,
            fixed: vec![None],
        };
        self.argument(&array);
        let value = self.value(&own, &[], 1);
        self.instructions.push(format!("{x}[{0} + 1] = {x}[{0}] + {value} {{id={id}}}", i.name));
        self.carried.push(i.name.clone());
        self.arrays.push(Array { whole: true, ..array });
    }

    /// Sweeps between two arrays, in steps.
    pub(super) fn steps(&mut self) {
        let constant = self.rng.chance(30);
        let t = self.fresh("t");
        self.domains.push(format!("domain {{ [{t}] : 0 <= {t} < {} }}", 1 + self.rng.below(4)));
        let i = self.nest(&[], 1, constant, true)[0].clone();
        let j = self.fresh("q");
        self.domains.push(format!("domain {{ [{j}] : 0 <= {j} < {} }}", i.end));
        let (u, v) = (self.fresh("u"), self.fresh("v"));
        for name in [&u, &v] {
            self.args.push(format!("{name}: {}[{}]", self.dtype, i.end.plus(3)));
        }
        let (s1, s2) = (self.fresh("s"), self.fresh("s"));
        let back = if self.rng.chance(50) { format!("{} - {j}", i.end.plus(-1)) } else { format!("{j} + 1") };
        self.instructions
            .push(format!("{v}[{0}] = {u}[{0}] - {u}[{0} + 2] {{id={s1}, inames={t}:{0}}}", i.name));
        self.instructions.push(format!("{u}[{j} + 1] = {v}[{back}] + 1 {{id={s2}, inames={t}:{j}}}"));
        self.carried.push(t);
    }

    /// Reductions over ranges that are read from data.
    pub(super) fn ragged(&mut self) {
        let nested = self.rng.chance(25);
        self.args.push("offsets: i32[n + 1]".into());
        self.args.push(format!("x: {}[m]", self.dtype));
        self.args.push(format!("out: {}[{}]", self.dtype, if nested { "m" } else { "n" }));
        self.facts.push("fact monotone(offsets)".into());
        self.facts.push("fact 0 <= offsets <= m".into());
        if nested {
            self.domains.push("domain { [t] : 0 <= t < m }".into());
        }
        self.domains.push("domain { [s] : 0 <= s < n }".into());
        self.domains.push("domain { [i] : lo <= i < hi }".into());
        self.temps.push("temp lo: i32 private".into());
        self.temps.push("temp hi: i32 private".into());
        let around = if nested { ", inames=t:s" } else { "" };
        self.instructions.push(format!("lo = offsets[s] {{id=load_lo{around}}}"));
        self.instructions.push(format!("hi = offsets[s + 1] {{id=load_hi{around}}}"));
        let op = self.rng.pick(&["sum", "max", "min"]);
        let value = self.rng.pick(&["x[i]", "x[i] + 1", "x[i] * x[i]", "if(i % 2 == 0, x[i], 2)"]);
        if nested {
            // The lengths of inner sums are read in the loop of the outer one.
            let term = format!("{op}(i, if(i > t, {value}, x[t]))");
            let outer = self.rng.pick(&["sum", "max"]);
            return self.instructions.push(format!("out[t] = {outer}(s, {term}) {{id=total, inames=t}}"));
        }
        match self.rng.below(4) {
            0 => {
                self.args.push(format!("y: {}[m]", self.dtype));
                self.instructions.push("y[i] = x[i] * 2 {id=scale, inames=s:i}".into());
            }
            1 => {
                self.args.push(format!("y: {}[m]", self.dtype));
                self.domains.push("domain { [k] : lo <= k < hi }".into());
                self.temps.push(format!("temp mean: {} private", self.dtype));
                self.instructions.push(format!("mean = {op}(i, {value}) {{id=mean, inames=s}}"));
                self.instructions.push("y[k] = x[k] - mean {id=centre, inames=s:k}".into());
                self.instructions.push("out[s] = mean {id=keep}".into());
            }
            _ => self.instructions.push(format!("out[s] = {op}(i, {value}) {{id=total}}")),
        }
    }
}
