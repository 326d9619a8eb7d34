//! Results that the lanes of a warp store together, as matrices.
//!
//! An instruction that asks for it (`via=stmatrix`) writes results that lie in the lanes of a warp
//! as an atom's placement says, or what is computed of each. What a lane stores is first computed
//! into an array of the thread. Then the warp stores it by matrices of eight rows of 16 bytes: lane
//! `8*i + r` gives the address of row `r` of matrix `i`. Which elements of a matrix a lane has is
//! the same as where matrices are loaded as fragments, so that the rows are found as theirs
//! (`Planner::matrices`), with the placement of the results.
//!
//! All results of a box are stored together, so that no guard may be left that the place does not
//! imply. Those of partial tiles have been dropped where nothing reads what is stored beyond the
//! end (`analyse::whole_boxes`).

use std::sync::Arc;

use loopwright_atom::{Atom, Operand, Placement, Subscript};
use loopwright_kernel_ir::{Access, AddressSpace, AtomUse, Diagnostic, Instruction, Name, Part, Via};

use super::{Node, StorePlan, Which, lanes::Context, place::Place, planner::Planner};
use crate::{analyse::arrays::known, program::Stmt};

impl Planner<'_, '_> {
    /// The stores of matrices by which a part writes its results, if its instruction asks for them.
    pub fn stored_matrices(&mut self, of: &Which, place: &Place) -> Result<Option<Vec<Node>>, Diagnostic> {
        let analysis = self.analysis;
        let info = of.info(analysis);
        let instruction = analysis.instruction(info);
        if instruction.via != Via::Matrices || !matches!(info.execution.part.part, Part::Whole | Part::Finish)
        {
            return Ok(None);
        }
        let refuse = |why: String| refusal(instruction, why);
        let whole = "let it be a shared temporary of elements of two bytes";
        let ([target], None, None, None) = (
            instruction.targets.as_slice(),
            &instruction.predicate,
            &instruction.update,
            analysis.update(info),
        ) else {
            return Err(refuse("it has several targets or a predicate, or updates its target".into()));
        };
        // Some lanes would store before others have read.
        if info.execution.accesses.iter().any(|access| !access.write && access.array == target.array) {
            let why = format!("what it stores is computed of elements of `{}` itself", target.array);
            return Err(
                refuse(why).help("let the array that is read be another one than the one it stores to")
            );
        }
        let Some(array) = analysis.lookup.array(&target.array) else { return Ok(None) };
        let dtype = known(&array.dtype, &target.array)?;
        if array.space != AddressSpace::Shared
            || dtype.bytes() * usize::from(Stmt::STORED_ROW) != Stmt::ROW_BYTES
        {
            let why = format!("`{}` is {} and of {dtype}", target.array, array.space);
            return Err(refuse(why).help(whole));
        }
        let Some((atom, used, registers)) = self.distributed(instruction, &info.lanes) else {
            let why = "its results do not lie in the lanes of a warp as those of a product by an atom";
            return Err(refuse(why.into()).help("distribute them by `tensorize`"));
        };
        let warp = self.warp_lanes(&atom).map_err(refuse)?;
        let all = info.lanes.clone();
        let mut lanes: Vec<Name> = all.iter().filter(|lane| !registers.contains(lane)).cloned().collect();
        let mut inside = place.clone();
        for lane in &lanes {
            inside = self.in_lane(lane, &inside)?;
        }
        let over = self.over(target, &used)?;
        let of_results = atom.operand(Operand::D);
        let placement = Placement { dtype, ..of_results.clone() };
        let rows = self.matrices((Operand::D, &warp), &placement, array, (&over, &used), &inside)?;
        let Some((row, transposed)) = rows else {
            let why = format!(
                "eight neighbours of a row of `{}` are not what four lanes hold two by two, at a multiple of \
                 16 bytes",
                target.array
            );
            return Err(refuse(why).help(
                "let the rows of the array be those of the results, or its columns, pad them to multiples of \
                 8 elements, and keep these together (a swizzle from bit 3 on)",
            ));
        };
        let of_box = placement.elements() / 2;
        let (row, together) = self.together(row, &mut lanes, None, of_box, &warp)?;
        let values = match self.shared_loads(of, &all, place)? {
            Some(nodes) => nodes,
            None => self.lanes(of, &all, &Context::default(), place)?,
        };
        let mut cut = None;
        Node::visit(&values, &mut |node| {
            if let Node::Guard(guarded) = node {
                cut = cut.take().or(guarded.guards.first().map(|guard| guard.declared.clone()));
            }
        });
        if let Some(guard) = cut {
            let why = format!("it stores whole boxes, which `{guard}` may cut");
            return Err(refuse(why).help("assume whole tiles, or leave out `store_matrices`"));
        }
        let order = lanes.iter().chain(registers.iter().rev()).cloned().collect();
        let matrices = u8::try_from(of_box * together).unwrap_or(u8::MAX);
        let (of, target) = (of.clone(), target.clone());
        let plan = StorePlan {
            of,
            target,
            dtype,
            values,
            all,
            order,
            lanes,
            row,
            transposed,
            matrices,
            together,
            inside,
        };
        Ok(Some(vec![Node::StoreMatrices(Box::new(plan))]))
    }

    /// The atom as whose results those of an instruction are distributed, and the lanes of the
    /// thread that are the digits of an element's number: that of the instruction, or that of
    /// another one with the same lanes.
    fn distributed(
        &self,
        instruction: &Instruction,
        lanes: &[Name],
    ) -> Option<(Arc<Atom>, AtomUse, Vec<Name>)> {
        let kernel = self.analysis.kernel;
        let own = instruction.atom.iter();
        own.chain(kernel.instructions.iter().filter_map(|other| other.atom.as_ref())).find_map(|used| {
            let atom = loopwright_atom::named(&kernel.atoms, &used.name)?.clone();
            let registers = self.registers(&atom, used)?;
            let around = [0, 1].iter().all(|axis| {
                let of_axis = self.analysis.lookup.base_of(&used.axes[*axis]);
                of_axis.iter().all(|base| lanes.contains(base) || instruction.within.contains(base))
            });
            (around && registers.iter().all(|lane| lanes.contains(lane)))
                .then(|| (atom, used.clone(), registers))
        })
    }

    /// The subscripts of a target as functions of `m` and `n`.
    fn over(&self, target: &Access, used: &AtomUse) -> Result<Vec<Subscript>, Diagnostic> {
        let of = |e: &loopwright_kernel_ir::Expr| {
            let subscript = match e.to_aff() {
                Some(aff) => Subscript::of(&self.analysis.lookup, &aff, used)?,
                None => None,
            };
            subscript.ok_or_else(|| {
                let message = format!("`{e}` in `{target}` is not a linear function of `m` and `n`");
                Diagnostic::new("matrix-store", message)
            })
        };
        target.index.iter().map(of).collect()
    }
}

/// The refusal of stores of matrices.
fn refusal(instruction: &Instruction, why: String) -> Diagnostic {
    Diagnostic::new("matrix-store", format!("`{}` cannot store matrices: {why}", instruction.id))
}
