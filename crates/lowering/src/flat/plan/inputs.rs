//! Which inputs of the operator go through shared memory, and how their points are loaded.
//!
//! An input that is read from memory and does not depend on the segment is *staged*: neighbouring
//! lanes load neighbouring points, whichever segments these belong to, and store the mapped values
//! to shared memory, from where each lane takes the points that it reduces. Other inputs are
//! computed by the lane that reduces a point.
//!
//! Of staged inputs, the elements of global memory are loaded ahead, a tile before they are used:
//! those that are read whatever the values of others, with subscripts that need no read of their
//! own. Where point `i` reads element `i` of an array, the points of a whole tile are loaded by
//! vectors. All inputs share one length of vectors, so that a lane holds the same points of each.
//! At the ends of a chunk single points are loaded, those that belong to it.

use loopwright_kernel_ir::{Access, AddressSpace, DType, Diagnostic, Expr, Name};
use loopwright_legality::FlatNest;
use loopwright_target::Target;

use super::storage::Locals;
use crate::{
    analyse::{
        analysis::Analysis,
        arrays::{dense_axis, known, widest},
    },
    schedule::loads::certain_reads,
};

/// An input of the operator.
pub(crate) struct Input {
    /// Its value, without the scalars of the nest.
    pub value: Expr,
    pub dtype: DType,
    /// Whether it depends on the segment.
    pub of_segment: bool,
    pub staged: bool,
}

/// What is loaded of each point.
pub(crate) struct Loads {
    pub inputs: Vec<Load>,
    /// Number of neighbouring points that a lane loads.
    pub vector: i64,
}

/// An element of global memory that is loaded for each point.
pub(crate) struct Load {
    pub access: Access,
    pub dtype: DType,
    /// The private array that it is loaded to.
    pub private: usize,
    /// Elements per load where all points of a tile belong to the chunk.
    pub vector: i64,
}

/// The inputs of the nest's reduction, of these arguments and types.
pub(crate) fn inputs(
    analysis: &Analysis<'_>,
    nest: &FlatNest,
    args: impl Iterator<Item = (Expr, DType)>,
) -> Vec<Input> {
    let of_segment = |e: &Expr| e.names().iter().any(|n| analysis.lookup.base_of(n).contains(&nest.segment));
    args.map(|(value, dtype)| {
        let mut reads = false;
        value.visit(&mut |e| reads |= matches!(e, Expr::Subscript(_)));
        let of_segment = of_segment(&value);
        let staged = reads && !of_segment && value.reductions().is_empty();
        Input { value, dtype, of_segment, staged }
    })
    .collect()
}

impl Loads {
    /// Decides what is loaded of the staged inputs, and declares the private arrays for it.
    pub fn new(
        analysis: &Analysis<'_>,
        (inputs, point): (&[Input], &Name),
        items: i64,
        target: &Target,
        locals: &mut Locals,
    ) -> Result<Loads, Diagnostic> {
        let mut accesses: Vec<Access> = Vec::new();
        for input in inputs.iter().filter(|input| input.staged) {
            for access in certain_reads(analysis, &input.value) {
                if is_direct(analysis, &access) && !accesses.contains(&access) {
                    accesses.push(access);
                }
            }
        }
        let mut loads = Vec::new();
        for access in accesses {
            let Some(array) = analysis.lookup.array(&access.array) else { continue };
            let dtype = known(&array.dtype, &access.array)?;
            let vector = match is_row(analysis, &access, point) {
                true => widest(dtype, target).min(items),
                false => 1,
            };
            let private = locals.private(&format!("{}_reg", access.array), dtype, items);
            loads.push(Load { access, dtype, private, vector });
        }
        let vector = loads.iter().map(|load| load.vector).filter(|v| *v > 1).min().unwrap_or(1);
        for load in &mut loads {
            load.vector = load.vector.min(vector);
        }
        Ok(Loads { inputs: loads, vector })
    }

    /// The private array that holds an input as it was loaded, if no mapping or conversion is
    /// needed.
    pub fn as_loaded(&self, input: &Input) -> Option<usize> {
        let Expr::Subscript(access) = &input.value else { return None };
        let load = self.inputs.iter().find(|load| load.access == *access)?;
        (load.dtype == input.dtype).then_some(load.private)
    }

    /// Bytes that are loaded of a point.
    pub fn bytes_of_point(&self) -> usize {
        self.inputs.iter().map(|load| load.dtype.bytes()).sum()
    }
}

/// Whether it reads global memory, with subscripts that need no other read.
fn is_direct(analysis: &Analysis<'_>, access: &Access) -> bool {
    let array = analysis.lookup.array(&access.array);
    let mut direct = array.is_some_and(|a| a.space == AddressSpace::Global);
    for s in &access.index {
        s.visit(&mut |e| direct &= !matches!(e, Expr::Subscript(_)));
    }
    direct
}

/// Whether point `i` reads element `i` of an array whose elements are neighbours.
fn is_row(analysis: &Analysis<'_>, access: &Access, point: &Name) -> bool {
    let [Expr::Name(index)] = &access.index[..] else { return false };
    index == point && analysis.lookup.array(&access.array).is_some_and(|a| dense_axis(a) == Some(0))
}
