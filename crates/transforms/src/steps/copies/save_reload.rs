//! Saves private and shared values across the boundaries of device kernels.

use std::fmt;

use loopwright_kernel_ir::{
    Access, AddressSpace, Array, Axis, Diagnostic, Expr, Instruction, KernelData, LoopKernel, Name, Part,
    PartRef, Role, Tag, Tree,
};
use loopwright_legality::{Model, blocks_meet};
use loopwright_poly::{Aff, Constraint, System};

use crate::{
    Transform,
    rewrite::{
        element, extent, fresh, give_own_inames, map_expressions, require_fresh, require_temporary, touches,
        tree,
    },
};

step! {
    /// `save_reload(t)`: saves a private or shared temporary in global memory where a device kernel
    /// ends, and reloads it in later ones.
    ///
    /// # Meaning
    ///
    /// If blocks depend on one another, a device kernel ends and another one begins, and private
    /// and shared values are lost. `t_saved` is a global temporary of the launch with an axis for
    /// each iname that owns the cells of `t` (all parallel inames of the writer for a private
    /// temporary, those on blocks for a shared one), before the axes of `t`. The instruction that
    /// writes `t` is followed by a copy into it; if a device kernel reads the value of an earlier
    /// one, it begins with a copy from `t_saved` into a new temporary, `t_reload`. Readers in the
    /// kernel that writes `t` stay as they are.
    ///
    /// # Legality
    ///
    /// One instruction without a predicate writes `t`, before all that read it. Like any step that
    /// copies, it is legal if every read sees what it is declared to see: with f the declared
    /// definition of a read, `{ r : the last copy before r holds another definition than f(r) }` is
    /// empty. A temporary whose value no later device kernel needs is refused.
    ///
    /// In text: `save_reload(t)`, with `name=t_saved` as the default of its option.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel k(a: f32[n], c: f32[n], d: f32[n], n: i32)
    /// domain { [i] : 1 <= i < n }
    /// temp t: f32 private
    /// t = 2.0 * a[i] {id=load}
    /// c[i] = t {id=store}
    /// d[i] = c[i - 1] + t {id=use}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// tag_inames(i: block.x)
    /// save_reload(t)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel k(a: f32[n], c: f32[n], d: f32[n], n: i32)
    /// domain { [i] : 1 <= i < n }
    /// temp t: f32 private
    /// temp t_saved: f32[n] global
    /// temp t_reload: f32 private
    /// tag i: block.x
    /// t = 2.0 * a[i] {id=load, inames=i}
    /// t_saved[i] = t {id=t_save, inames=i, copies=t, by=save_reload}
    /// c[i] = t {id=store, inames=i}
    /// t_reload = t_saved[i] {id=t_load, inames=i, copies=t_saved, by=save_reload}
    /// d[i] = c[i - 1] + t_reload {id=use, inames=i}
    /// tree {
    ///     load
    ///     t_save
    ///     store
    ///     t_load
    ///     use
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct SaveReload as "save_reload" {
        /// A private or shared temporary, written by one instruction, which does not read it.
        pub temporary: Name = next("the temporary"),
        /// The global temporary; by default the name with the suffix `_saved`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub name: Option<Name> = option(),
    }
    table: "save_reload(t)" => "`save_and_reload_temporaries(k)`",
    methods: {
        /// See [`SaveReload`].
        fn save_reload(&self, temporary: &str) -> Result<Self, Diagnostic> {
            self.step(SaveReload::new(temporary))
        }
    }
}

/// The greatest lower bound up to which the subscripts of saved cells are not shifted.
const FEW: i64 = 32;

/// A child at host level: a unit that one device kernel runs as a whole.
struct Item {
    /// The host loops around, outermost first.
    host: Vec<Name>,
    /// Children between two host loops have the same number: only these can share a device kernel.
    segment: usize,
    leaves: Vec<PartRef>,
}

fn items(
    data: &KernelData,
    trees: &[Tree],
    host: &mut Vec<Name>,
    segment: &mut usize,
    found: &mut Vec<Item>,
) {
    for tree in trees {
        match tree {
            Tree::Loop { iname, body } if data.tag(iname) == Tag::Host => {
                *segment += 1;
                host.push(iname.clone());
                items(data, body, host, segment, found);
                host.pop();
                *segment += 1;
            }
            _ => {
                let leaves = tree.leaves().into_iter().cloned().collect();
                found.push(Item { host: host.clone(), segment: *segment, leaves });
            }
        }
    }
}

impl SaveReload {
    /// Saves a temporary across the boundary of a device kernel.
    pub fn new(temporary: impl Into<Name>) -> Self {
        SaveReload { temporary: temporary.into(), name: None }
    }

    fn refuse(&self, why: impl fmt::Display) -> Diagnostic {
        let t = &self.temporary;
        Diagnostic::new("save-reload", format!("`{t}` cannot be saved: {why}"))
            .help(format!("`set_address_space({t}, global)` keeps all of its values in global memory"))
    }

    /// The one instruction that writes the temporary.
    fn writer<'a>(&self, data: &'a KernelData) -> Result<&'a Instruction, Diagnostic> {
        let t = &self.temporary;
        let writers: Vec<&Instruction> =
            data.instructions.iter().filter(|i| i.targets.iter().any(|w| w.array == *t)).collect();
        let [writer] = writers.as_slice() else {
            return Err(self.refuse(format!("{} instructions write it, not one", writers.len())));
        };
        if writer.predicate.is_some() || writer.targets.len() != 1 {
            return Err(self.refuse(format!("`{}` has a predicate or several targets", writer.id)));
        }
        if writer.update.is_some() || reads(writer, t) {
            return Err(self.refuse(format!("`{}` reads it as well", writer.id)));
        }
        Ok(*writer)
    }
}

/// Whether an instruction reads a temporary that it may write.
fn reads(instruction: &Instruction, t: &Name) -> bool {
    let mut without = instruction.clone();
    without.targets.retain(|w| w.array != *t);
    touches(&without, t) || instruction.targets.iter().flat_map(|w| &w.index).any(|e| e.names().contains(t))
}

/// Whether a device kernel has to end between two items.
fn ends_between(model: &Model<'_>, items: &[Item], first: usize, last: usize) -> Result<bool, Diagnostic> {
    if items[first].segment != items[last].segment {
        return Ok(true);
    }
    let parts = |k: usize| items[k].leaves.iter().filter_map(|leaf| model.numbers.get(leaf).copied());
    for b in first + 1..=last {
        for a in first..b {
            for p in parts(a) {
                for q in parts(b) {
                    if blocks_meet(model, p, q)?.is_some() {
                        return Ok(true);
                    }
                }
            }
        }
    }
    Ok(false)
}

/// The inames, with those of a split replaced by the iname that was split.
fn rejoined(model: &Model<'_>, inames: &[Name]) -> Result<Vec<Name>, Diagnostic> {
    let mut found: Vec<Name> = inames.to_vec();
    for d in &model.kernel.definitions {
        let base = model.lookup.base_of(&d.iname);
        let Some(at) = found.iter().position(|n| base.contains(n)) else { continue };
        let all = base.iter().all(|b| found.contains(b));
        if all && base.len() > 1 && model.is_radix(&model.lookup.expand(&d.value)?) {
            found.insert(at, d.iname.clone());
            found.retain(|n| !base.contains(n));
        }
    }
    Ok(found)
}

/// The least and the greatest value of an iname, which may be defined, in an instruction.
fn bounds_of(
    data: &KernelData,
    writer: &Instruction,
    iname: &Name,
) -> Result<Option<(Aff, Aff)>, Diagnostic> {
    if data.definition(iname).is_none() {
        let range = extent::range(data, iname)?;
        return Ok(range.and_then(|r| Some((r.lower, r.upper?))));
    }
    let mut rows = data.assumptions.clone();
    rows.extend(extent::constraints_of(data, &extent::last_part(data, &writer.id))?);
    rows.push(Constraint::equal(&Aff::var(iname), &data.expand(&Aff::var(iname))?)?);
    let parameter = |n: &Name| !data.is_iname(n) && data.temporary(n).is_none();
    let bounds = System::new(&rows)?.bounds(iname, &parameter)?;
    Ok(match (bounds.lower.as_slice(), bounds.upper.as_slice()) {
        ([low], [high]) if low.denominator == 1 => Some((low.aff.clone(), high.floor()?)),
        _ => None,
    })
}

/// Replaces the reads of one temporary by reads of another.
fn read_instead(instruction: &mut Instruction, old: &Name, new: &Name) {
    fn renamed(e: &Expr, old: &Name, new: &Name) -> Expr {
        match e {
            Expr::Name(n) if n == old => Expr::Name(new.clone()),
            Expr::Subscript(a) if a.array == *old => Expr::Subscript(Access {
                array: new.clone(),
                index: a.index.iter().map(|e| renamed(e, old, new)).collect(),
            }),
            _ => e.map_children(&mut |child| renamed(child, old, new)),
        }
    }
    map_expressions(instruction, &mut |e| renamed(e, old, new));
}

impl Transform for SaveReload {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let t = &self.temporary;
        require_temporary(kernel, t)?;
        let Some(array) = kernel.temporary(t).filter(|a| a.space != AddressSpace::Global).cloned() else {
            return Err(Diagnostic::new(
                "save-reload",
                format!("`{t}` is global and outlives every device kernel"),
            )
            .help("leave the step out"));
        };
        let writer = self.writer(kernel)?.clone();
        let mut all = Vec::new();
        items(kernel, &kernel.tree, &mut Vec::new(), &mut 0, &mut all);
        let last = extent::last_part(kernel, &writer.id);
        let home = |part: &PartRef| all.iter().position(|i| i.leaves.contains(part));
        let written = home(&last).unwrap_or(0);
        // Each reader with its first and its last item, between which no device kernel ends.
        let mut readers: Vec<(usize, usize, Name)> = Vec::new();
        for i in kernel.instructions.iter().filter(|i| reads(i, t)) {
            let homes: Vec<usize> = kernel.parts(i).iter().filter_map(home).collect();
            let (Some(first), Some(last)) = (homes.iter().min(), homes.iter().max()) else { continue };
            if *first < written {
                return Err(self.refuse(format!("`{}` begins before `{}` writes it", i.id, writer.id)));
            }
            readers.push((*first, *last, i.id.clone()));
        }
        readers.sort();
        // The device kernels that read the value of an earlier one: each with its first item, and
        // who reads.
        let model = Model::new(kernel)?;
        let mut reloads: Vec<(usize, Vec<Name>)> = Vec::new();
        let mut from = written;
        for (first, last, id) in readers {
            if first != from && ends_between(&model, &all, from, last)? {
                reloads.push((first, Vec::new()));
                from = first;
            }
            if let Some((_, ids)) = reloads.last_mut() {
                ids.push(id);
            }
        }
        if reloads.is_empty() {
            return Err(Diagnostic::new(
                "save-reload",
                format!("no device kernel reads a value of `{t}` that another one wrote"),
            )
            .help("leave the step out, or apply it after mapping the inames to blocks"));
        }
        // The inames that own a cell, with an axis for each.
        let parallel: Vec<Name> =
            writer.within.iter().filter(|n| kernel.tag(n).is_parallel()).cloned().collect();
        let owners: Vec<Name> = match array.space {
            AddressSpace::Private => parallel.clone(),
            _ => parallel.iter().filter(|n| kernel.tag(n).is_over_blocks()).cloned().collect(),
        };
        let mut axes = Vec::new();
        let mut place_of = Vec::new();
        for iname in rejoined(&model, &owners)? {
            let Some((lower, upper)) = bounds_of(kernel, &writer, &iname)? else {
                return Err(
                    self.refuse(format!("the range of `{iname}` is not a function of the parameters"))
                );
            };
            // A few unused cells at the beginning cost less than a shift in every subscript.
            let lower = match lower.as_constant() {
                Some(0..=FEW) => Aff::constant(0),
                _ => lower,
            };
            let length = upper.sub(&lower)?.add_constant(1)?;
            if !System::new(&model.context)?.implies(&Constraint::nonneg(length.clone()))? {
                return Err(Diagnostic::new(
                    "save-reload",
                    format!(
                        "`{t}` cannot be saved: the number of values of `{iname}`, {length}, may \
                         be negative"
                    ),
                )
                .help(format!("`assume({length} >= 0)` before")));
            }
            axes.push(Axis::new(Expr::from_aff(&length)));
            place_of.push(Expr::from_aff(&Aff::var(&iname).sub(&lower)?));
        }
        axes.extend(array.axes.iter().map(|a| Axis::new(a.length.clone())));
        let own = writer.targets[0].index.clone();
        let cell: Vec<Expr> = place_of.into_iter().chain(own.iter().cloned()).collect();
        // The loops of a reload: those that distinguish the cells of one owner. Host loops around
        // it determine the cell directly.
        let looped = |host: &[Name]| -> Vec<Name> {
            let tells = |n: &Name| own.iter().flat_map(Expr::names).any(|m| kernel.base_of(&m).contains(n));
            let loops = writer.within.iter().filter(|n| !kernel.tag(n).is_parallel() && !host.contains(n));
            loops.filter(|n| tells(n)).cloned().collect()
        };
        kernel.edit(|data| {
            let saved = match &self.name {
                Some(name) => {
                    require_fresh(data, name, "name")?;
                    name.clone()
                }
                None => fresh(data, &format!("{t}_saved")),
            };
            data.temporaries.push(Array::new(&saved, array.dtype.clone(), axes, AddressSpace::Global));
            let copy = |id: Name, to: Access, from: Expr, source: &Name, within: Vec<Name>| Instruction {
                within,
                made_by: Some(Name::new("save_reload")),
                ..Instruction::new(id, vec![to], from, Role::Copies { source: source.clone() })
            };
            let to = Access { array: saved.clone(), index: cell.clone() };
            let save = copy(
                fresh(data, &format!("{t}_save")),
                to,
                element(t, own.clone()),
                t,
                writer.within.clone(),
            );
            let leaf = |i: &Instruction| Tree::Leaf(PartRef { instruction: i.id.clone(), part: Part::Whole });
            data.tree = tree::replace_leaf(&data.tree, &last, &[Tree::Leaf(last.clone()), leaf(&save)]);
            let at = data.instructions.iter().position(|i| i.id == writer.id).map_or(0, |k| k + 1);
            data.instructions.insert(at, save);
            for (k, ids) in &reloads {
                let item = &all[*k];
                let looped = looped(&item.host);
                let name = fresh(data, &format!("{t}_reload"));
                data.temporaries.push(Array { name: name.clone(), ..array.clone() });
                let mut within = item.host.clone();
                within.extend(
                    writer.within.iter().filter(|n| parallel.contains(n) || looped.contains(n)).cloned(),
                );
                let to = Access { array: name.clone(), index: own.clone() };
                let id = fresh(data, &format!("{t}_load"));
                let load = copy(id.clone(), to, element(&saved, cell.clone()), &saved, within);
                let first = data.instructions.iter().position(|i| ids.contains(&i.id)).unwrap_or(0);
                let part = leaf(&load);
                data.instructions.insert(first, load);
                let pairs: Vec<(Name, Name)> =
                    looped.iter().map(|n| (n.clone(), fresh(data, &format!("{n}_reload")))).collect();
                if !pairs.is_empty() {
                    give_own_inames(data, std::slice::from_ref(&id), &pairs)?;
                    for (old, new) in &pairs {
                        if !matches!(data.tag(old), Tag::Seq | Tag::Host) {
                            data.copy_tag(old, new);
                        }
                    }
                }
                let loops: Vec<Name> = pairs.into_iter().map(|(_, new)| new).collect();
                for tree in tree::nest(&loops, vec![part]) {
                    tree::insert_before(&mut data.tree, &item.host, &item.leaves, tree)?;
                }
                for i in data.instructions.iter_mut().filter(|i| ids.contains(&i.id)) {
                    read_instead(i, t, &name);
                }
            }
            Ok(())
        })
    }
}
