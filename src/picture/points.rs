//! Who runs which instances of a statement, for given sizes.
//!
//! Legality's model says of each part of a kernel at which points it runs, which loops are around
//! it, and who runs it. All points are enumerated, and collected in cells by the values of two
//! inames as they were declared; of a copy that a step has made, by the subscripts of the element
//! that it writes. So a kernel and the kernel that a step makes of it have the same cells, wherever
//! the step has put them.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_kernel_ir::{
    AddressSpace, Aff, AxisSet, Diagnostic, Dim, HardwareAxis, LoopKernel, Name, Part, PartRef, PerDim, Role,
};
use loopwright_legality::{Model, ModelPart, Presence};
use loopwright_poly::System;

use super::svg;

/// The most points that are enumerated.
const MOST_POINTS: usize = 1 << 16;
/// The most cells along a side.
const MOST_CELLS: i64 = 256;

/// The instances of a statement as a grid of cells, in panels: one for a kernel, or several for
/// those on the way through a pipeline.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use loopwright::ir::Name;
/// use loopwright::picture::{Choice, Picture};
/// use loopwright::prelude::*;
///
/// let kernel = LoopKernel::parse(
///     "kernel twice(x: f32[n], y: f32[n], n: i32)
///      domain { [i] : 0 <= i < n }
///      y[i] = 2.0*x[i]",
/// )?;
/// let kernel = kernel.split_iname("i", 4)?.tag_inames("i_outer: block.x, i_inner: thread.x")?;
/// let picture = Picture::of(&kernel, &Choice::default(), &BTreeMap::from([(Name::new("n"), 10)]))?;
/// let sixth = &picture.panels[0].cells[&[0, 6]];
/// let runner = sixth.runners.first().unwrap();
/// assert_eq!((runner.block.x, runner.thread.x), (1, 2));
/// assert!(picture.svg().starts_with("<svg"));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// What is drawn, for which sizes.
    pub title: String,
    /// The panels, in the order of the kernels that they show.
    pub panels: Vec<Panel>,
}

/// What a picture shows of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// The id of a declared statement, of whose first sum the points are drawn, or of a copy that a
    /// step has made; `None` for the first statement.
    pub statement: Option<String>,
    /// The inames of rows and columns, or of columns alone: declared ones, or the kernel's own. If
    /// empty, the outermost declared ones; of a copy, the subscripts of the element that it writes.
    pub axes: Vec<Name>,
}

/// The instances of a statement in one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panel {
    /// The kernel: a text such as the step that made it.
    pub caption: String,
    /// What rows and columns are; those of a single row are nothing.
    pub axes: [String; 2],
    /// The axes of the hardware on which the kernel has an iname.
    pub used: AxisSet,
    /// The axes of which each coordinate runs the statement for itself; the coordinate 0 is shown.
    pub copied: AxisSet,
    /// Whether only the first block is shown: that of a copy into an array that each block has for
    /// itself.
    pub one_block: bool,
    /// Whether data decide which of the instances do something.
    pub conditional: bool,
    /// The cells that have instances, by row and column.
    pub cells: BTreeMap<[i64; 2], Cell>,
}

/// The instances of a statement that agree in the two inames of a picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// The number of instances; at least 1.
    pub instances: usize,
    /// The threads that run them, by coordinates.
    pub runners: BTreeSet<Runner>,
    /// The iterations of the sequential loops around them, with positions in the loop tree: numbers
    /// that are in the order of execution.
    pub times: BTreeSet<Vec<i64>>,
    /// The iterations of the loops that rows and columns are made of, without as many of the
    /// innermost as there are axes: which tile it is in.
    pub tiles: BTreeSet<Vec<i64>>,
}

/// A thread of a block, by coordinates that are 0 on axes without an iname.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Runner {
    /// The coordinates of the block in the grid.
    pub block: PerDim<i64>,
    /// The thread of that block.
    pub thread: PerDim<i64>,
}

/// What is drawn of a kernel: parts, with what rows and columns are.
struct Subject<'k> {
    model: Model<'k>,
    parts: Vec<usize>,
    axes: Vec<Axis>,
}

/// A row or column of the picture.
enum Axis {
    /// The value of an iname, declared or of the kernel.
    Iname(Name),
    /// A subscript of the element that is written.
    Subscript(usize),
}

fn refused(message: impl Into<String>, help: impl Into<String>) -> Diagnostic {
    Diagnostic::new("no-picture", message).help(help)
}

impl Picture {
    /// The picture of a kernel, for these values of its parameters.
    ///
    /// Errors: `no-picture` for an unknown statement or iname, a parameter without a value, and
    /// points that depend on data or are too many.
    pub fn of(
        kernel: &LoopKernel,
        choice: &Choice,
        sizes: &BTreeMap<Name, i64>,
    ) -> Result<Picture, Diagnostic> {
        Picture::of_all([("", kernel)], choice, sizes)
    }

    /// The picture of several kernels with their captions, in a panel each. Left out are kernels
    /// without the statement or a chosen iname, which a later step may make, and those whose panel
    /// would look like the one before.
    ///
    /// Errors: those of [`Picture::of`], of unknown names if no kernel has them.
    pub fn of_all<'k>(
        kernels: impl IntoIterator<Item = (&'k str, &'k LoopKernel)>,
        choice: &Choice,
        sizes: &BTreeMap<Name, i64>,
    ) -> Result<Picture, Diagnostic> {
        let mut picture = Picture { title: String::new(), panels: Vec::new() };
        let mut missing = None;
        for (caption, kernel) in kernels {
            let subject = match Subject::of(kernel, choice) {
                Ok(subject) => subject,
                Err(d) => {
                    missing = Some(d);
                    continue;
                }
            };
            let panel = subject.panel(caption, sizes)?;
            if picture.panels.last().is_some_and(|last| svg::look_alike(last, &panel)) {
                continue;
            }
            picture.title = subject.title(sizes);
            picture.panels.push(panel);
        }
        match missing {
            Some(missing) if picture.panels.is_empty() => Err(missing),
            _ => Ok(picture),
        }
    }

    /// The picture as an SVG document.
    pub fn svg(&self) -> String {
        svg::write(self)
    }
}

impl<'k> Subject<'k> {
    fn of(kernel: &'k LoopKernel, choice: &Choice) -> Result<Subject<'k>, Diagnostic> {
        let model = Model::new(kernel)?;
        let declared = kernel.declared();
        let known = || {
            let ids = declared.instructions.iter().map(|i| &i.id);
            let copies = kernel.instructions.iter().filter(|i| matches!(i.role, Role::Copies { .. }));
            let ids: Vec<String> = ids.chain(copies.map(|i| &i.id)).map(|id| format!("`{id}`")).collect();
            format!("its statements are {}", ids.join(", "))
        };
        let first = declared.instructions.first().map(|i| i.id.to_string());
        let Some(id) = choice.statement.clone().or(first) else {
            return Err(refused(format!("`{}` has no statement", kernel.name), "there is nothing to draw"));
        };
        let does = |p: &ModelPart| match model.does(p) {
            Some(declared) => **declared == *id,
            None => *p.part.instruction == *id,
        };
        let candidates = || (0..model.parts.len()).filter(|k| does(&model.parts[*k]));
        let updates = candidates().any(|k| matches!(model.parts[k].part.part, Part::Update(_)));
        let wanted = |k: &usize| match model.parts[*k].part.part {
            Part::Update(_) => true,
            Part::Whole => !updates,
            Part::Init(_) | Part::Finish => false,
        };
        let mut parts: Vec<usize> = candidates().filter(wanted).collect();
        // Of several sums of a statement, the first.
        let kind = parts.first().map(|k| model.parts[*k].part.part);
        parts.retain(|k| Some(model.parts[*k].part.part) == kind);
        let Some(part) = parts.first().map(|k| &model.parts[*k]) else {
            return Err(refused(format!("`{}` has no statement `{id}`", kernel.name), known()));
        };
        let axes = if !choice.axes.is_empty() {
            choice.axes.iter().take(2).cloned().map(Axis::Iname).collect()
        } else if model.does(part).is_some() {
            let part = PartRef { instruction: Name::new(&id), part: part.part.part };
            declared.part_inames(&part).into_iter().take(2).map(Axis::Iname).collect()
        } else {
            let subscripts = model.instruction(part).targets.first().map_or(0, |t| t.index.len());
            (subscripts.saturating_sub(2)..subscripts).map(Axis::Subscript).collect()
        };
        let subject = Subject { model, parts, axes };
        for number in &subject.parts {
            for axis in &subject.axes {
                subject.place(&subject.model.parts[*number], axis)?;
            }
        }
        Ok(subject)
    }

    /// `c[i, j]` of `kernel`, for n=8
    fn title(&self, sizes: &BTreeMap<Name, i64>) -> String {
        let part = self.parts.first().map(|k| &self.model.parts[*k]);
        let id = part.map(|p| match self.model.does(p) {
            Some(declared) => PartRef { instruction: declared.clone(), part: p.part.part }.to_string(),
            None => p.part.to_string(),
        });
        let sizes: Vec<String> = sizes.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let sizes = if sizes.is_empty() { String::new() } else { format!(", {}", sizes.join(" ")) };
        format!("{} of {}{sizes}", id.unwrap_or_default(), self.model.kernel.name)
    }

    fn panel(&self, caption: &str, sizes: &BTreeMap<Name, i64>) -> Result<Panel, Diagnostic> {
        let mut panel = Panel {
            caption: caption.to_owned(),
            axes: self.headings(),
            used: self.model.lookup.axes_in_use(),
            copied: AxisSet::default(),
            one_block: self.parts.first().is_some_and(|k| self.is_of_a_block(&self.model.parts[*k])),
            conditional: false,
            cells: BTreeMap::new(),
        };
        let mut budget = MOST_POINTS;
        for number in &self.parts {
            self.add(&self.model.parts[*number], sizes, &mut budget, &mut panel)?;
        }
        for side in 0..2 {
            let ends = panel.cells.keys().map(|at| at[side]);
            let length = ends.clone().max().unwrap_or(0) - ends.min().unwrap_or(0);
            if length >= MOST_CELLS {
                return Err(refused(
                    format!("`{}` would have {} cells along a side", panel.axes[side], length + 1),
                    format!("choose sizes that give at most {MOST_CELLS}"),
                ));
            }
        }
        Ok(panel)
    }

    /// Whether a part is a copy into an array of which each block has its own.
    fn is_of_a_block(&self, part: &ModelPart) -> bool {
        let target = self.model.instruction(part).targets.first();
        let spaces = target.and_then(|t| self.model.lookup.array(&t.array)).map(|a| a.space);
        self.model.does(part).is_none() && spaces.is_some_and(|space| space != AddressSpace::Global)
    }

    /// The texts beside the rows and above the columns.
    fn headings(&self) -> [String; 2] {
        let text = |axis: &Axis| match axis {
            Axis::Iname(name) => name.to_string(),
            Axis::Subscript(k) => {
                let target = self.parts.first().map(|p| self.model.instruction(&self.model.parts[*p]));
                let target = target.and_then(|i| i.targets.first());
                target.map_or(String::new(), |t| match t.index.get(*k) {
                    Some(subscript) => format!("{} of {}", subscript, t.array),
                    None => String::new(),
                })
            }
        };
        match &self.axes[..] {
            [row, column] => [text(row), text(column)],
            [column] => [String::new(), text(column)],
            _ => [String::new(), String::new()],
        }
    }

    /// What an axis is at a point of a part, over base inames and parameters.
    fn place(&self, part: &ModelPart, axis: &Axis) -> Result<Aff, Diagnostic> {
        let model = &self.model;
        match axis {
            Axis::Iname(name) => {
                let value = match model.does(part) {
                    Some(_) => model.declared_value(part, name)?,
                    None => model.lookup.expand(&Aff::var(name))?,
                };
                let is_loop = |n: &Name| model.lookup.is_iname(n) || model.kernel.declared().is_iname(n);
                let is_around = |n: &Name| part.inames.contains(n) || model.is_parameter(n);
                let is_its_own = is_loop(name) && value.names().iter().all(is_around);
                match is_its_own {
                    true => Ok(value),
                    false => {
                        let inames: Vec<String> = part.inames.iter().map(|n| format!("`{n}`")).collect();
                        Err(refused(
                            format!("`{name}` is no loop of `{}`", part.part),
                            format!("its loops are {}", inames.join(", ")),
                        ))
                    }
                }
            }
            Axis::Subscript(k) => {
                let target = model.instruction(part).targets.first();
                let subscript = target.and_then(|t| t.index.get(*k)).and_then(|s| s.to_aff());
                match subscript {
                    Some(aff) => Ok(model.lookup.expand(&aff)?),
                    None => Err(refused(
                        format!("the subscripts that `{}` writes to are not affine", part.part),
                        "name loops for rows and columns: `--axes`",
                    )),
                }
            }
        }
    }

    /// Adds the points of a part.
    fn add(
        &self,
        part: &ModelPart,
        sizes: &BTreeMap<Name, i64>,
        budget: &mut usize,
        panel: &mut Panel,
    ) -> Result<(), Diagnostic> {
        let model = &self.model;
        let mut values = model.fixed();
        values.extend(sizes.iter().map(|(n, v)| (n.clone(), *v)));
        let axes = self.axes.iter().map(|axis| self.place(part, axis)).collect::<Result<Vec<_>, _>>()?;
        for name in part.constraints.iter().flat_map(|c| c.names()).chain(axes.iter().flat_map(Aff::names)) {
            if part.inames.contains(&name) || values.contains_key(&name) {
                continue;
            }
            return Err(if model.is_parameter(&name) {
                refused(
                    format!("a picture is one of given sizes, and `{name}` has no value"),
                    format!("give it one: `--set {name}=16`"),
                )
            } else {
                refused(
                    format!("where `{}` runs depends on data: `{name}` is read or computed", part.part),
                    "a statement whose loops have bounds that sizes alone decide can be drawn",
                )
            });
        }
        panel.conditional |= part.may;
        // The least value of an iname is its coordinate 0.
        let mut coordinates: Vec<(HardwareAxis, Name, i64)> = Vec::new();
        for (axis, presence) in part.executor.iter() {
            match presence {
                Presence::At(iname) => {
                    let least = model.lower(iname)?.and_then(|least| least.eval_in(&values));
                    coordinates.push((axis, iname.clone(), least.unwrap_or(0)));
                }
                Presence::Elected => {}
                Presence::Replicated | Presence::Collective => panel.copied.insert(axis),
            }
        }
        let loops = part.loops().count();
        let one_block = panel.one_block;
        let mut tile: Vec<&Name> =
            part.loops().filter(|name| axes.iter().any(|axis| axis.mentions(name))).collect();
        tile.truncate(tile.len().saturating_sub(axes.len()));
        let system = System::new(&part.constraints)?.fix(&values)?;
        let mut point = values;
        each_point(&system, &part.inames, &mut point, budget, &mut |point| {
            let mut at = [0, 0];
            let skip = 2_usize.saturating_sub(axes.len());
            for (side, axis) in at.iter_mut().skip(skip).zip(&axes) {
                *side = axis.eval_in(point).unwrap_or(0);
            }
            let value = |name: &Name| point.get(name).copied().unwrap_or(0);
            let (mut block, mut thread) = (PerDim::all(0), PerDim::all(0));
            for (axis, iname, least) in &coordinates {
                let (side, dim) = match axis {
                    HardwareAxis::Grid(dim) => (&mut block, dim),
                    HardwareAxis::Block(dim) => (&mut thread, dim),
                };
                side[*dim] = value(iname) - least;
            }
            // Every block copies into an array of its own; it is enough to see one.
            if one_block && block != PerDim::all(0) {
                return;
            }
            let mut time = Vec::with_capacity(2 * loops + 1);
            for step in &part.path {
                time.push(i64::try_from(step.position).unwrap_or(i64::MAX));
                time.extend(step.iname.as_ref().map(value));
            }
            let cell = panel.cells.entry(at).or_default();
            cell.instances += 1;
            cell.runners.insert(Runner { block, thread });
            cell.tiles.insert(tile.iter().copied().map(value).collect());
            cell.times.insert(time);
        })
    }
}

/// Calls `f` for each integer point of a system over these names, in lexicographic order.
fn each_point(
    system: &System,
    names: &[Name],
    point: &mut BTreeMap<Name, i64>,
    budget: &mut usize,
    f: &mut dyn FnMut(&BTreeMap<Name, i64>),
) -> Result<(), Diagnostic> {
    let Some((name, rest)) = names.split_first() else {
        if !system.is_empty()? {
            *budget = budget.checked_sub(1).ok_or_else(too_many)?;
            f(point);
        }
        return Ok(());
    };
    let (Some(least), Some(greatest)) = system.constant_range(&Aff::var(name))? else {
        return Err(too_many());
    };
    if greatest.saturating_sub(least) > MOST_POINTS as i64 {
        return Err(too_many());
    }
    for value in least..=greatest {
        let inside = system.fix(&BTreeMap::from([(name.clone(), value)]))?;
        point.insert(name.clone(), value);
        each_point(&inside, rest, point, budget, f)?;
    }
    point.remove(name);
    Ok(())
}

fn too_many() -> Diagnostic {
    refused(format!("there are more than {MOST_POINTS} points"), "choose smaller sizes")
}

impl Panel {
    /// The least and the greatest row, or column, of a cell.
    pub fn ends(&self, side: usize) -> (i64, i64) {
        let of_side = self.cells.keys().map(|at| at[side.min(1)]);
        (of_side.clone().min().unwrap_or(0), of_side.max().unwrap_or(0))
    }

    /// The dimensions of the grid, or of a block, along which the kernel has an iname.
    pub fn dims(&self, of: fn(Dim) -> HardwareAxis) -> Vec<Dim> {
        Dim::ALL.iter().copied().filter(|dim| self.used.contains(of(*dim))).collect()
    }
}
