//! Updates that hardware instructions do.
//!
//! An instruction with an atom has its updates in a loop over the atom's `k`, and nothing else in
//! it. That loop and the lanes around it become one node: the statements that the atom stands for
//! (the *contract*: what would be written without it), the lanes that are numbers of registers, and
//! what each lane loads of the two factors. The subscripts of a fragment's element are those of the
//! factor, with `m` or `n`, and `k`, as functions of the lane by the atom's placement. Elements
//! that are neighbours in memory are loaded by words of four bytes; a factor in shared memory, of
//! which rows of 16 bytes are aligned neighbours, by matrices of eight such rows: four at once, of
//! several fragments if one has fewer. Only elements of two bytes can be transposed on the way.
//!
//! All instances of a box run together, so that no guard may be left that the place does not imply.
//! Those of partial tiles have been dropped; a factor in global memory is then loaded by elements,
//! zeros where one does not exist (`analyse::accumulate`).
//!
//! A factor may also be a private array, which copies fill whose loops run over its elements: their
//! fragments are loaded where the copies stand (`fragments`).

use loopwright_atom::{Atom, Digit, Factors, Operand, Placement, Subscript, matching};
use loopwright_kernel_ir::{
    Access, AddressSpace, Aff, Array, AtomUse, Constraint, DType, Diagnostic, Expr, Name, Part, Tag,
    WarpLanes,
};
use loopwright_poly::Bound;

use super::{
    AtomPlan, Counter, Factor, Fragment, FragmentLoads, Held, Loop, Node, Product, Which, place::Place,
    planner::Planner,
};
use crate::{
    analyse::{
        analysis::{Guard, PartInfo},
        arrays::{dense_axis, known, storage_order},
    },
    program::Note,
    schedule::{
        guards::irredundant,
        items::Item,
        lanes::Context,
        loop_bounds::{LoopBounds, LoopEnd},
    },
};

/// Bytes of the words in which neighbouring elements of a fragment are loaded.
const WORD: i64 = 4;

impl Planner<'_, '_> {
    /// The updates in a loop, if it is that over the `k` of an atom; the load of fragments, if it
    /// is the outermost loop of one.
    pub fn atom(
        &mut self,
        iname: &Name,
        items: &[Item],
        place: &Place,
    ) -> Result<Option<Vec<Node>>, Diagnostic> {
        if let Some(plan) = self.load_of_fragments(iname, items, place)? {
            return Ok(Some(vec![Node::Atom(Box::new(plan))]));
        }
        let [Item::Leaf(part)] = items else { return Ok(None) };
        let of = self.which(*part);
        let info = of.info(self.analysis);
        let instruction = self.analysis.instruction(info);
        let (Some(used), Part::Update(0)) = (&instruction.atom, info.execution.part.part) else {
            return Ok(None);
        };
        if used.axes[2] != *iname {
            return Ok(None);
        }
        let plan = self.plan(&of, used, place)?;
        Ok(Some(vec![Node::Atom(Box::new(plan))]))
    }

    /// Refuses an update that an atom is to do, where it is not in the atom's loop, and what
    /// accesses the elements of fragments, which no thread has.
    pub fn outside_of_atom(&self, info: &PartInfo) -> Result<(), Diagnostic> {
        let instruction = self.analysis.instruction(info);
        if instruction.atom.is_none() && !self.loads_fragments {
            let written = instruction.targets.iter().map(|target| target.array.clone());
            let of_fragments = |name: &Name| self.analysis.fragment(name).is_some();
            if let Some(array) = written.chain(instruction.reads()).find(of_fragments) {
                return Err(Diagnostic::new(
                    "atom-operand",
                    format!(
                        "`{}` accesses single elements of `{array}`, which the lanes of a warp hold as \
                         fragments",
                        instruction.id
                    ),
                )
                .help(
                    "fill the array by copies from shared or global memory alone, each in loops of its \
                     own, and read it in products alone",
                ));
            }
        }
        match (&instruction.atom, info.execution.part.part) {
            (Some(used), Part::Update(_)) => Err(Diagnostic::new(
                "atom-loop",
                format!(
                    "`{}` does the updates of `{}` in the loop over `{}`, which has to be the innermost \
                     one, with nothing else in it",
                    used.name, instruction.id, used.axes[2]
                ),
            )
            .help("move other instructions out of the loop, and the loop inside of the others")),
            _ => Ok(()),
        }
    }

    fn plan(&mut self, of: &Which, used: &AtomUse, place: &Place) -> Result<AtomPlan, Diagnostic> {
        let analysis = self.analysis;
        let info = of.info(analysis);
        let instruction = analysis.instruction(info);
        let Some(atom) = loopwright_atom::named(&analysis.kernel.atoms, &used.name).cloned() else {
            return Err(Diagnostic::new("unknown-atom", format!("there is no atom `{}`", used.name)));
        };
        let refuse = |code: &'static str, why: String| {
            Diagnostic::new(
                code,
                format!("`{}` cannot do the updates of `{}`: {why}", used.name, instruction.id),
            )
        };
        self.warp_lanes(&atom).map_err(|why| {
            refuse("atom-lanes", why).help("let the warps of a block be on axes behind those of the lanes")
        })?;
        let factors = matching(&analysis.lookup, instruction, &atom, used)?;
        let state = analysis.reduction_types(info.instruction)?[0].state.clone();
        if state != [atom.operand(Operand::D).dtype] {
            let found = state.first().map_or_else(String::new, ToString::to_string);
            let why = format!("it adds in {}, and the sum is {found}", atom.operand(Operand::D).dtype);
            let help = format!("convert the factors: `cast({}, ...)`", atom.operand(Operand::D).dtype);
            return Err(refuse("atom-type", why).help(help));
        }
        let registers = self.registers(&atom, used).ok_or_else(|| {
            refuse(
                "atom-lanes",
                format!("`{}` and `{}` are not distributed as its results are", used.axes[0], used.axes[1]),
            )
            .help("let `tensorize` distribute them, and leave the lanes as they are")
        })?;
        // The contract.
        let k = &used.axes[2];
        let body = [Item::Leaf(of.number)];
        let bounds = self.loop_bounds(&body, k, place)?;
        let mut inside = place.clone();
        inside.bound.insert(k.clone());
        bounds.learn(k, &mut inside)?;
        let last = atom.shape()[2] - 1;
        let ends =
            [Constraint::nonneg(Aff::constant(last).sub(&Aff::var(k))?), Constraint::nonneg(Aff::var(k))];
        for end in &ends {
            if !inside.implies(end)? {
                return Err(refuse("atom-length", format!("`{k}`, its `k`, does not go from 0 to {last}")));
            }
        }
        let lanes = info.lanes.clone();
        let known = inside.clone();
        let statement = self.lane_loops(&lanes, &inside, &mut |this, place| {
            let info = of.info(this.analysis);
            if let Some(guard) = irredundant(&info.guards, place)?.first() {
                return Err(Diagnostic::new(
                    "atom-guard",
                    format!(
                        "`{}` runs whole boxes of {}, which `{}` may cut",
                        used.name, info.execution.part, guard.declared
                    ),
                )
                .help(
                    "copy both factors by `add_prefetch`, which fills partial tiles, or assume whole ones",
                ));
            }
            let context = Context::default();
            Ok(vec![Node::Statement(this.statement(of, &context.loaded, place)?)])
        })?;
        // Loops around may have iterations with only some of the points of a box.
        let mut whole = place.clone();
        whole.bound.insert(k.clone());
        whole.learn(&ends)?;
        for (end, sign) in [(&bounds.lower, 1), (&bounds.upper, -1)] {
            for term in end.0.iter().flatten() {
                let inside = Aff::var(k).scale(term.denominator)?.sub(&term.aff)?.scale(sign)?;
                if !whole.implies(&Constraint::nonneg(inside))? {
                    let why =
                        format!("`{k}`, its `k`, does not go from 0 to {last} in each iteration around it");
                    return Err(refuse("atom-length", why)
                        .help("leave the loops around a box as its split made them"));
                }
            }
        }
        // So the bounds are these, whatever they are written as.
        let end = |value| LoopEnd(vec![vec![Bound { aff: Aff::constant(value), denominator: 1 }]]);
        let bounds = LoopBounds { lower: end(0), upper: end(last) };
        let contract = vec![Node::Loop(Loop {
            iname: k.clone(),
            bounds,
            unroll: true,
            counter: Counter::Iname,
            note: Note::default(),
            inside: known,
            body: statement,
        })];
        // The body.
        let lanes: Vec<Name> = lanes.into_iter().filter(|lane| !registers.contains(lane)).collect();
        let mut inside = place.clone();
        for lane in &lanes {
            inside = self.in_lane(lane, &inside)?;
        }
        let Factors { a, b } = &factors;
        let mut fragments = Vec::new();
        let mut factor = |operand: Operand, access: &Access| -> Result<Factor, Diagnostic> {
            if analysis.fragment(&access.array).is_some() {
                return Ok(Factor::Held(self.held(&atom, operand, used, access)?));
            }
            let chosen = info.chosen.iter().find(|(own, guards)| own == access && !guards.is_empty());
            fragments.push(match chosen {
                Some((_, guards)) => self.chosen(&atom, operand, used, (access, guards), &lanes)?,
                None => self.fragment(&atom, operand, used, access, (&lanes, None), &inside)?,
            });
            Ok(Factor::Loaded(fragments.len() - 1))
        };
        let factors = [factor(Operand::A, a)?, factor(Operand::B, b)?];
        let product = Some(Product { registers, lanes, factors });
        let of = of.clone();
        Ok(AtomPlan { of, atom, axes: used.axes.clone(), contract, fragments, product, inside })
    }

    /// The lanes of the block's warps, if they are those of an atom.
    ///
    /// Errors: why they are not.
    pub(super) fn warp_lanes(&self, atom: &Atom) -> Result<WarpLanes, String> {
        let (block, warp) = (self.block, self.target.warp_size);
        if i64::from(warp) != atom.lanes() {
            return Err(format!("its warps have {} lanes, and those of the target {warp}", atom.lanes()));
        }
        WarpLanes::new(block, warp).ok_or_else(|| {
            format!(
                "the first axes of a block of {} x {} x {} threads are not the {warp} lanes of a warp",
                block.x, block.y, block.z
            )
        })
    }

    /// The lanes of the thread that are the digits of an element's number in `d`, if `m` and `n`
    /// are distributed as the placement says.
    pub(super) fn registers(&self, atom: &Atom, used: &AtomUse) -> Option<Vec<Name>> {
        let warp = self.warp_lanes(atom).ok()?;
        let placement = atom.operand(Operand::D);
        let mut registers = vec![None; placement.element.len()];
        for axis in [0, 1] {
            let mut rest = self.analysis.canonical(&Aff::var(&used.axes[axis])).ok()?;
            rest = rest.sub(&coordinate(&placement.lane, &warp, axis).ok()?).ok()?;
            for (slot, digit) in registers.iter_mut().zip(&placement.element).filter(|(_, d)| d.axis == axis)
            {
                let names = rest.names();
                let mut own = names.iter().filter(|name| {
                    let length = self.analysis.extents.get(*name).and_then(|e| e.constant);
                    rest.coefficient(name) == digit.weight
                        && matches!(self.analysis.kernel.tag(name), Tag::Ilp | Tag::Vec)
                        && length == Some(digit.extent)
                });
                let name = own.next()?.clone();
                rest = rest.sub(&Aff::var(&name).scale(digit.weight).ok()?).ok()?;
                *slot = Some(name);
            }
            // Nothing else is in it, but for other ways to write the same digits of the lane.
            let constant = (0..atom.lanes()).all(|lane| {
                let of = |n: &Name| warp.coordinate(n, lane).map(Aff::constant);
                rest.substitute(&of).ok().and_then(|r| r.as_constant()) == Some(0)
            });
            if !constant {
                return None;
            }
        }
        registers.into_iter().collect()
    }

    /// What is loaded of a factor, for the product that follows, or to be held: for these lanes.
    pub(super) fn fragment(
        &self,
        atom: &Atom,
        operand: Operand,
        used: &AtomUse,
        access: &Access,
        (lanes, held): (&[Name], Option<Held>),
        place: &Place,
    ) -> Result<Fragment, Diagnostic> {
        let analysis = self.analysis;
        let array = analysis.lookup.array(&access.array).ok_or_else(|| {
            Diagnostic::new("unknown-name", format!("there is no array `{}`", access.array))
        })?;
        if array.space == AddressSpace::Private {
            return Err(Diagnostic::new(
                "atom-operand",
                format!("`{}` takes `{access}` from shared or global memory", atom.name()),
            )
            .help("prefetch it to shared memory, or leave it where it is"));
        }
        let over = self.over_box(access, used)?;
        let warp = self.warp_lanes(atom).map_err(|why| Diagnostic::new("atom-lanes", why))?;
        let placement = atom.operand(operand);
        let mut elements = Vec::new();
        for element in 0..placement.elements() {
            elements.push(self.subscripts(&over, used, &place_in_box(atom, operand, element, &warp)?)?);
        }
        let is_own =
            |lane: &&Name| held.is_some() || elements.iter().flatten().any(|s: &Aff| s.mentions(lane));
        let mut lanes: Vec<Name> = lanes.iter().filter(is_own).cloned().collect();
        let name = access.array.clone();
        if let Some((row, transposed)) =
            self.matrices((operand, &warp), placement, array, (&over, used), place)?
        {
            let matrices = placement.elements() / in_word(placement.dtype);
            let (row, together) = self.together(row, &mut lanes, held.as_ref(), matrices, &warp)?;
            let loads = FragmentLoads::Matrices { row, transposed, together };
            return Ok(Fragment { lanes, array: name, elements: placement.elements(), loads, held });
        }
        let bytes = i64::try_from(known(&array.dtype, &access.array)?.bytes()).unwrap_or(WORD);
        let word = (WORD / bytes).max(1);
        let word = if word > 1 && self.are_words(array, &elements, word, place)? { word } else { 1 };
        let loads = FragmentLoads::Words(elements, word);
        Ok(Fragment { lanes, array: name, elements: placement.elements(), loads, held })
    }

    /// What is loaded of a factor, by elements, each under these guards of the update.
    fn chosen(
        &self,
        atom: &Atom,
        operand: Operand,
        used: &AtomUse,
        (access, guards): (&Access, &[Guard]),
        lanes: &[Name],
    ) -> Result<Fragment, Diagnostic> {
        let over = self.over_box(access, used)?;
        let mut of_guards = Vec::new();
        for guard in guards {
            let of = Subscript::of(&self.analysis.lookup, &guard.declared.aff, used)?;
            of_guards.push(of.ok_or_else(|| {
                let message = format!("`{}` is not a linear function of `m` and `n`", guard.declared);
                Diagnostic::new("atom-operand", message)
            })?);
        }
        let warp = self.warp_lanes(atom).map_err(|why| Diagnostic::new("atom-lanes", why))?;
        let mut elements = Vec::new();
        for element in 0..atom.operand(operand).elements() {
            let at = place_in_box(atom, operand, element, &warp)?;
            let holds = self.subscripts(&of_guards, used, &at)?.into_iter().map(Constraint::nonneg);
            let holds = holds.map(|c| Guard { declared: c.clone(), canonical: c }).collect();
            elements.push((self.subscripts(&over, used, &at)?, holds));
        }
        let is_own = |lane: &&Name| {
            elements.iter().any(|(subscripts, holds): &(Vec<Aff>, Vec<Guard>)| {
                subscripts.iter().any(|s| s.mentions(lane))
                    || holds.iter().any(|guard| guard.canonical.aff.mentions(lane))
            })
        };
        let lanes: Vec<Name> = lanes.iter().filter(is_own).cloned().collect();
        let (array, count) = (access.array.clone(), atom.operand(operand).elements());
        Ok(Fragment { lanes, array, elements: count, loads: FragmentLoads::Chosen(elements), held: None })
    }

    /// The subscripts of a factor as functions of `m` and `n`.
    fn over_box(&self, access: &Access, used: &AtomUse) -> Result<Vec<Subscript>, Diagnostic> {
        let mut over = Vec::new();
        for e in &access.index {
            let aff = e.to_aff().ok_or_else(|| {
                Diagnostic::new("atom-operand", format!("a subscript of `{access}` is not affine"))
            })?;
            let subscript = Subscript::of(&self.analysis.lookup, &aff, used)?;
            over.push(subscript.ok_or_else(|| {
                let message = format!("`{e}` in `{access}` is not a linear function of `m` and `n`");
                Diagnostic::new("atom-operand", message)
            })?);
        }
        Ok(over)
    }

    /// The subscripts of the row whose address a lane gives, and whether the matrices are
    /// transposed, if the placement of a fragment is made of matrices of eight rows of 16 bytes.
    ///
    /// Lanes hold a word of the rows of a matrix: the lane's digits are 4 along one axis, by words,
    /// and 8 along the other; further digits of an element's number are numbers of matrices. Lane
    /// `8*i + r` gives the address of row `r` of matrix `i`.
    pub(super) fn matrices(
        &self,
        (operand, warp): (Operand, &WarpLanes),
        placement: &Placement,
        array: &Array,
        (over, used): (&[Subscript], &AtomUse),
        place: &Place,
    ) -> Result<Option<(Vec<Aff>, bool)>, Diagnostic> {
        let [row, column] = operand.axes();
        let each = in_word(placement.dtype);
        let lanes =
            [Digit { extent: 4, axis: column, weight: each }, Digit { extent: 8, axis: row, weight: 1 }];
        let word = Digit { extent: each, axis: column, weight: 1 };
        // Further digits of an element's number: of the matrices.
        let further = match each {
            1 => Some(&placement.element[..]),
            _ => placement.element.split_first().filter(|(first, _)| **first == word).map(|(_, rest)| rest),
        };
        let Some(further) = further else { return Ok(None) };
        let fits = array.space == AddressSpace::Shared
            && array.axes.iter().all(|axis| axis.stride.is_none())
            && placement.dtype.bytes() <= 4
            && placement.lane == lanes
            && [each, 2 * each, 4 * each].contains(&placement.elements());
        let Some(dense) = storage_order(array).last().copied().filter(|_| fits) else { return Ok(None) };
        let ways = [(false, column, row), (true, row, column)];
        // Pairs of bytes are what is transposed.
        let ways = if placement.dtype.bytes() == 2 { &ways[..] } else { &ways[..1] };
        for (transposed, along, across) in ways.iter().copied() {
            // The rows of matrices lie along this axis.
            let mut digits = vec![Digit { extent: 8, axis: across, weight: 1 }];
            digits.extend(further);
            let subscripts = self.addressed(&digits, over, used, warp)?;
            let is_row = over.iter().enumerate().all(|(axis, subscript)| {
                let factor = match along {
                    2 => subscript.rest.coefficient(&used.axes[2]),
                    other => subscript.factors[other],
                };
                factor == i64::from(axis == dense)
                    && (along != 2 || {
                        let k = &used.axes[2];
                        let constant = Aff::constant(0);
                        let without = subscript.rest.substitute_one(k, &constant);
                        let other = Aff::var(k).scale(factor).and_then(|own| subscript.rest.sub(&own));
                        without.ok() == other.ok()
                    })
            });
            if is_row && self.is_aligned(array, &subscripts, 4 * each, place)? {
                return Ok(Some((subscripts, transposed)));
            }
        }
        Ok(None)
    }

    /// How many fragments, of this number of matrices each, one load takes, and the subscripts of
    /// the row whose address a lane gives for them. They are neighbours along a lane of the thread,
    /// which becomes the last one, so that their elements follow each other; for fragments that are
    /// held, it has to be the last one already.
    ///
    /// Lane `8*i + r` gives the address of row `r` of matrix `i mod matrices` of fragment
    /// `i div matrices`: the subscripts of its row in the fragment that many places behind.
    pub(super) fn together(
        &self,
        row: Vec<Aff>,
        lanes: &mut Vec<Name>,
        held: Option<&Held>,
        matrices: i64,
        warp: &WarpLanes,
    ) -> Result<(Vec<Aff>, i64), Diagnostic> {
        let length = |lane: &Name| {
            let extent = self.analysis.extents.get(lane)?;
            extent.constant.filter(|_| extent.lower.as_constant() == Some(0))
        };
        for fragments in [4, 2] {
            let divides = |lane: &Name| length(lane).is_some_and(|length| length % fragments == 0);
            let follow = |at: &usize| match held {
                Some(held) => {
                    at + 1 == lanes.len() && held.row.last() == Some(&Expr::Name(lanes[*at].clone()))
                }
                None => true,
            };
            let at = lanes.iter().rposition(divides).filter(|_| fragments * matrices <= 4);
            let Some(at) = at.filter(follow) else { continue };
            let lane = lanes.remove(at);
            // Lanes after the last address repeat the others.
            let behind = Aff::var(&lane).add(&warp.digit(8 * matrices, fragments)?)?;
            let of = |s: &Aff| s.substitute_one(&lane, &behind).map_err(Diagnostic::from);
            let row = row.iter().map(of).collect::<Result<_, _>>()?;
            lanes.push(lane);
            return Ok((row, fragments));
        }
        Ok((row, 1))
    }

    /// Subscripts at the coordinates that a lane's number has by these digits, least significant
    /// first.
    fn addressed(
        &self,
        digits: &[Digit],
        over: &[Subscript],
        used: &AtomUse,
        warp: &WarpLanes,
    ) -> Result<Vec<Aff>, Diagnostic> {
        // Lanes after the last address repeat the others.
        let [m, n, k] = [0, 1, 2].map(|axis| coordinate(digits, warp, axis));
        self.subscripts(over, used, &[m?, n?, k?])
    }

    /// Subscripts at a place of the box.
    fn subscripts(
        &self,
        over: &[Subscript],
        used: &AtomUse,
        [m, n, k]: &[Aff; 3],
    ) -> Result<Vec<Aff>, Diagnostic> {
        let mut subscripts = Vec::new();
        for Subscript { factors, rest } in over {
            let rest = self.analysis.canonical(&rest.substitute_one(&used.axes[2], k)?)?;
            subscripts.push(rest.add(&m.scale(factors[0])?)?.add(&n.scale(factors[1])?)?);
        }
        Ok(subscripts)
    }

    /// Whether elements come in groups of neighbours, each group aligned to its size.
    fn are_words(
        &self,
        array: &Array,
        elements: &[Vec<Aff>],
        word: i64,
        place: &Place,
    ) -> Result<bool, Diagnostic> {
        let Some(dense) = dense_axis(array) else { return Ok(false) };
        for group in elements.chunks(usize::try_from(word).unwrap_or(1)) {
            let Some(first) = group.first() else { continue };
            for (number, other) in (0..).zip(group) {
                let apart = other[dense].sub(&first[dense])?.as_constant();
                let elsewhere = (0..other.len()).any(|axis| axis != dense && other[axis] != first[axis]);
                if apart != Some(number) || elsewhere {
                    return Ok(false);
                }
            }
            if !self.is_aligned(array, first, word, place)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The elements of a type in a word.
fn in_word(dtype: DType) -> i64 {
    (WORD / i64::try_from(dtype.bytes()).unwrap_or(WORD)).max(1)
}

/// Where in the box this element of a lane's fragment is, as a function of the lane.
fn place_in_box(
    atom: &Atom,
    operand: Operand,
    element: i64,
    warp: &WarpLanes,
) -> Result<[Aff; 3], Diagnostic> {
    let mut at: [Aff; 3] = Default::default();
    let [row, column] = operand.axes();
    let of_first_lane = atom.position(operand, 0, element);
    for (axis, of_element) in [(row, of_first_lane.0), (column, of_first_lane.1)] {
        at[axis] = coordinate(&atom.operand(operand).lane, warp, axis)?.add_constant(of_element)?;
    }
    Ok(at)
}

/// The part of an axis's coordinate that follows from a lane's number, by these digits of it.
fn coordinate(digits: &[Digit], warp: &WarpLanes, axis: usize) -> Result<Aff, Diagnostic> {
    let mut sum = Aff::constant(0);
    let mut below = 1;
    for digit in digits {
        if digit.axis == axis {
            sum = sum.add(&warp.digit(below, digit.extent)?.scale(digit.weight)?)?;
        }
        below *= digit.extent;
    }
    Ok(sum)
}
