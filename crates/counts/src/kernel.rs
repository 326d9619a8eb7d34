//! The counts of a kernel.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{
    Access, AddressSpace, AxisSet, DType, Diagnostic, Expr, HardwareAxis, Instruction, KernelData, Lookup,
    Name, Part, PartRef,
};

use crate::{
    Along, Direction, Operation, Refusal, Stride, Total,
    accesses::{along, stride},
    domain::{Domain, Domains, Guard},
    footprint::Cells,
    operations::{of_part, of_predicate},
};

/// How often a part of an instruction runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartCount {
    /// The part of an instruction that runs.
    pub part: PartRef,
    /// The axes along which each coordinate runs a copy of its own, such as the blocks of a row of
    /// tiles that all fetch one tile. The total counts the copies of one coordinate.
    pub copies: AxisSet,
    /// The number of its executions.
    pub total: Total,
}

/// The operations of one kind and type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationCount {
    /// The kind of operation.
    pub operation: Operation,
    /// The type in which it is done.
    pub dtype: DType,
    /// The axes along which each coordinate does them, as in [`PartCount::copies`].
    pub copies: AxisSet,
    /// How often it is done.
    pub total: Total,
}

/// The accesses of an array in one direction with one stride.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessCount {
    /// The name of the array.
    pub array: Name,
    /// The address space of the array.
    pub space: AddressSpace,
    /// The type of its elements.
    pub dtype: DType,
    /// Whether elements are read or written.
    pub direction: Direction,
    /// Which executions are neighbours.
    pub along: Along,
    /// The distance of what these access.
    pub stride: Stride,
    /// The axes along which each coordinate does them, as in [`PartCount::copies`].
    pub copies: AxisSet,
    /// The number of accesses: one for each execution, however lanes share them.
    pub total: Total,
}

/// The distinct elements of an array in global memory that are accessed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// The name of the array, which is in global memory.
    pub array: Name,
    /// The type of its elements.
    pub dtype: DType,
    /// Whether these are elements read or written.
    pub direction: Direction,
    /// The number of distinct elements.
    pub total: Total,
}

/// What a kernel does, as formulas of its parameters. See [`count`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// By part, in text order.
    pub parts: Vec<PartCount>,
    /// By kind and type.
    pub operations: Vec<OperationCount>,
    /// By array, direction and stride.
    pub accesses: Vec<AccessCount>,
    /// By array and direction, of arrays in global memory.
    pub footprints: Vec<Footprint>,
}

/// Where an access is found, as a key: totals are kept by it.
type AccessKey = (Name, Direction, Along, Stride, AxisSet);

/// The walk over a kernel.
struct Walk<'l, 'k> {
    domains: Domains<'l, 'k>,
    operations: BTreeMap<(Operation, DType, AxisSet), Total>,
    accesses: BTreeMap<AccessKey, Total>,
    cells: BTreeMap<(Name, Direction), (Result<Cells, Diagnostic>, bool)>,
}

/// What the instructions of a kernel do, as formulas of its parameters: numbers of executions,
/// operations by kind and type, accesses by array, direction and stride, and distinct elements.
///
/// Counted is what the kernel says, for all its executions together: for a transformed kernel its
/// copies too, but nothing that lowering adds (how threads join a reduction, barriers, index
/// arithmetic, elements that lanes load once for all). What each coordinate of an axis does for
/// itself is counted once, and has that axis in `copies`. A formula is exact wherever the kernel's
/// assumptions hold and no argument has a negative length, unless its [`Total`] says *at most*:
/// conditions that are not affine count as if they always held. A count without a formula has the
/// reason in its place; the others stand.
///
/// ```
/// use loopwright_counts::count;
/// use loopwright_kernel_ir::LoopKernel;
///
/// let kernel = LoopKernel::parse(
///     "kernel below(a: f32[n, n], x: f32[n], y: f32[n], n: i32)
///      domain { [i, j] : 0 <= i < n and 0 <= j < i }
///      y[i] = sum(j, a[i, j]*x[j])",
/// )?;
/// let counts = count(&kernel)?;
/// let loads = counts.accesses.iter().find(|a| *a.array == *"a").unwrap();
/// assert_eq!(loads.total.formula.as_ref().unwrap().to_string(), "(n^2 - n)/2");
/// assert_eq!(loads.stride.to_string(), "1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Errors: open types that are not bound, and whatever validation would refuse.
pub fn count(kernel: &KernelData) -> Result<Counts, Diagnostic> {
    let lookup = Lookup::new(kernel);
    let domains = Domains::new(&lookup).map_err(|r| r.about("the kernel"))?;
    let mut walk =
        Walk { domains, operations: BTreeMap::new(), accesses: BTreeMap::new(), cells: BTreeMap::new() };
    let mut parts = Vec::new();
    for instruction in &kernel.instructions {
        for part in kernel.parts(instruction) {
            let copies = walk.domains.copies(instruction, part.part);
            let total = walk.part(instruction, &part)?;
            parts.push(PartCount { part, copies, total });
        }
    }
    walk.finish(parts)
}

/// How often each part of a kernel's instructions runs, in text order: of [`count`], what does not
/// depend on types.
///
/// Errors: whatever validation would refuse.
pub fn executions(kernel: &KernelData) -> Result<Vec<PartCount>, Diagnostic> {
    let lookup = Lookup::new(kernel);
    let mut domains = Domains::new(&lookup).map_err(|r| r.about("the kernel"))?;
    let mut parts = Vec::new();
    for instruction in &kernel.instructions {
        for part in kernel.parts(instruction) {
            let copies = domains.copies(instruction, part.part);
            let total = match domains.of(instruction, part.part) {
                Ok(domain) => total(&mut domains, &domain, &domain.guard, &part),
                Err(refusal) => Total::of(Err(refusal), false, &format!("`{part}`")),
            };
            parts.push(PartCount { part, copies, total });
        }
    }
    Ok(parts)
}

/// How often a part does something that stands under these conditions.
fn total(domains: &mut Domains<'_, '_>, domain: &Domain, guard: &Guard, part: &PartRef) -> Total {
    let formula = domains.count(domain, guard);
    Total::of(formula, guard.at_most, &format!("`{part}`"))
}

impl Walk<'_, '_> {
    /// Adds what a part does; returns how often it runs.
    fn part(&mut self, instruction: &Instruction, part: &PartRef) -> Result<Total, Diagnostic> {
        let domain = match self.domains.of(instruction, part.part) {
            Ok(domain) => domain,
            Err(refusal) => return self.refused(instruction, part, &refusal),
        };
        let start = &domain.guard;
        let runs = self.total(&domain, start, part);
        let mut found = Vec::new();
        let mut note = |operation, dtype, guard: &Guard| found.push((operation, dtype, guard.clone()));
        of_part(&self.domains, instruction, part.part, &domain.inames, start, &mut note)?;
        self.add_operations(&domain, part, found);
        let accesses = accesses_of(&self.domains, instruction, part.part, &domain.inames, start);
        self.add_accesses(&domain, part, instruction, accesses);
        self.predicate(instruction, part, &domain)?;
        Ok(runs)
    }

    /// A predicate that is not affine is evaluated once for each instance of the instruction.
    fn predicate(
        &mut self,
        instruction: &Instruction,
        part: &PartRef,
        domain: &Domain,
    ) -> Result<(), Diagnostic> {
        let (Some(predicate), Part::Whole | Part::Finish) = (&instruction.predicate, part.part) else {
            return Ok(());
        };
        if !domain.guard.at_most {
            return Ok(());
        }
        let mut found = Vec::new();
        let mut note = |operation, dtype, guard: &Guard| found.push((operation, dtype, guard.clone()));
        of_predicate(&self.domains, predicate, &domain.inames, &mut note)?;
        self.add_operations(domain, part, found);
        let mut accesses = Vec::new();
        loads(&self.domains, predicate, &domain.inames, &Guard::always().undecided(), &mut accesses);
        let accesses = accesses.into_iter().map(|(a, g)| (a, Direction::Load, g)).collect();
        self.add_accesses(domain, part, instruction, accesses);
        Ok(())
    }

    fn total(&mut self, domain: &Domain, guard: &Guard, part: &PartRef) -> Total {
        total(&mut self.domains, domain, guard, part)
    }

    fn add_operations(&mut self, domain: &Domain, part: &PartRef, found: Vec<(Operation, DType, Guard)>) {
        for (operation, dtype, guard) in found {
            let total = self.total(domain, &guard, part);
            self.operations
                .entry((operation, dtype, domain.copies))
                .or_insert_with(Total::zero)
                .add(&total, 1);
        }
    }

    fn add_accesses(
        &mut self,
        domain: &Domain,
        part: &PartRef,
        instruction: &Instruction,
        accesses: Vec<(Access, Direction, Guard)>,
    ) {
        let along = along(self.domains.lookup, &domain.inames, part);
        for (access, direction, guard) in accesses {
            let mut total = self.total(domain, &guard, part);
            if direction == Direction::Update && instruction.update.is_none() {
                total.formula = Err(by_blocks(instruction));
            }
            let stride = stride(self.domains.lookup, &access, &along);
            let key = (access.array.clone(), direction, along.clone(), stride, domain.copies);
            self.accesses.entry(key).or_insert_with(Total::zero).add(&total, 1);
            let space = self.domains.lookup.array(&access.array).map(|a| a.space);
            if space == Some(AddressSpace::Global) {
                let side = if direction == Direction::Load { direction } else { Direction::Store };
                let entry = self.cells.entry((access.array.clone(), side));
                let (cells, at_most) = entry.or_insert_with(|| (Ok(Cells::default()), false));
                *at_most |= guard.at_most;
                if let Ok(known) = cells
                    && let Err(refusal) = known.add(&self.domains, domain, &guard, &access)
                {
                    *cells = Err(refusal.about(&format!("the elements of `{}` in `{part}`", access.array)));
                }
            }
        }
    }

    /// Everything in a part without a domain is refused with it.
    fn refused(
        &mut self,
        instruction: &Instruction,
        part: &PartRef,
        refusal: &Refusal,
    ) -> Result<Total, Diagnostic> {
        let inames = self.domains.lookup.inames_of(instruction, part.part);
        let total = Total::of(Err(refusal.clone()), false, &format!("`{part}`"));
        let mut found = Vec::new();
        let copies = self.domains.copies(instruction, part.part);
        let mut note = |operation, dtype, _: &Guard| found.push((operation, dtype, copies));
        of_part(&self.domains, instruction, part.part, &inames, &Guard::always(), &mut note)?;
        for key in found {
            self.operations.entry(key).or_insert_with(Total::zero).add(&total, 1);
        }
        let along = along(self.domains.lookup, &inames, part);
        for (access, direction, _) in
            accesses_of(&self.domains, instruction, part.part, &inames, &Guard::always())
        {
            let stride = stride(self.domains.lookup, &access, &along);
            let key = (access.array.clone(), direction, along.clone(), stride, copies);
            self.accesses.entry(key).or_insert_with(Total::zero).add(&total, 1);
            if self.domains.lookup.array(&access.array).is_some_and(|a| a.space == AddressSpace::Global) {
                let side = if direction == Direction::Load { direction } else { Direction::Store };
                let what = format!("the elements of `{}` in `{part}`", access.array);
                self.cells.insert((access.array.clone(), side), (Err(refusal.about(&what)), false));
            }
        }
        Ok(total)
    }

    fn finish(self, parts: Vec<PartCount>) -> Result<Counts, Diagnostic> {
        let lookup = self.domains.lookup;
        let dtype = |array: &Name| {
            let known = lookup.types().element(array).and_then(loopwright_kernel_ir::Type::known);
            known.ok_or_else(|| Diagnostic::new("open-type", format!("the type of `{array}` is open")))
        };
        let operations = self
            .operations
            .into_iter()
            .map(|((operation, dtype, copies), total)| OperationCount { operation, dtype, copies, total });
        let mut accesses = Vec::new();
        for ((array, direction, along, stride, copies), total) in self.accesses {
            let space = lookup.array(&array).map_or(AddressSpace::Global, |a| a.space);
            let dtype = dtype(&array)?;
            accesses.push(AccessCount { array, space, dtype, direction, along, stride, copies, total });
        }
        let mut footprints = Vec::new();
        for ((array, direction), (cells, at_most)) in self.cells {
            let formula = cells.and_then(|cells| {
                cells.count(&self.domains).map_err(|r| r.about(&format!("the elements of `{array}`")))
            });
            let dtype = dtype(&array)?;
            footprints.push(Footprint { array, dtype, direction, total: Total { formula, at_most } });
        }
        Ok(Counts { parts, operations: operations.collect(), accesses, footprints })
    }
}

fn by_blocks(instruction: &Instruction) -> Diagnostic {
    let message = format!(
        "the updates of `{}` cannot be counted: blocks join their results, as lowering decides",
        instruction.id
    );
    Diagnostic::new("count-joined", message).help("see the program: `loopwright check --schedule`")
}

/// The element accesses of one execution of a part. Scalars are left out.
fn accesses_of(
    domains: &Domains<'_, '_>,
    instruction: &Instruction,
    part: Part,
    inames: &[Name],
    start: &Guard,
) -> Vec<(Access, Direction, Guard)> {
    let mut read = Vec::new();
    let mut written = Vec::new();
    match part {
        Part::Init(_) => {}
        Part::Update(n) => {
            for e in instruction.reductions().get(n).iter().flat_map(|r| &r.args) {
                loads(domains, e, inames, start, &mut read);
            }
        }
        Part::Whole | Part::Finish => {
            loads(domains, &instruction.value, inames, start, &mut read);
            let over_blocks = |n: &Name| {
                domains
                    .lookup
                    .base_of(n)
                    .iter()
                    .any(|b| matches!(domains.lookup.kernel().tag(b).axis(), Some(HardwareAxis::Grid(_))))
            };
            let joined = instruction.atomic
                && instruction.reductions().iter().any(|r| r.inames.iter().any(over_blocks));
            for target in &instruction.targets {
                for e in &target.index {
                    loads(domains, e, inames, start, &mut read);
                }
                if !target.index.is_empty() {
                    let updates = joined || instruction.update.is_some();
                    let direction = if updates { Direction::Update } else { Direction::Store };
                    written.push((target.clone(), direction, start.clone()));
                }
            }
        }
    }
    let read = read.into_iter().map(|(access, guard)| (access, Direction::Load, guard));
    read.chain(written).collect()
}

fn loads(
    domains: &Domains<'_, '_>,
    e: &Expr,
    inames: &[Name],
    start: &Guard,
    found: &mut Vec<(Access, Guard)>,
) {
    domains.visit(inames, e, start, &mut |e, guard| {
        if let Expr::Subscript(access) = e
            && !access.index.is_empty()
        {
            found.push((access.clone(), guard.clone()));
        }
    });
}
