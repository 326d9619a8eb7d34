//! Rows to isl maps and back, without text, and the queries on them.
//!
//! Everything is an `isl_map`; a set is a map without input dimensions. Parameters are named `p0`,
//! `p1`, ... by their position, dimensions not at all, so that no user name reaches isl. A thread
//! makes one query at a time: a new one resets the errors and the budget of its context. No handle
//! outlives a query: what isl caches in an object (a sample point, an emptiness flag) would make
//! the cost of a later query depend on earlier ones.

use std::{ffi::CString, rc::Rc};

use super::{
    context::{Context, Handle},
    ffi::{self, Ptr},
};
use crate::{Error, Result, rows::Rows};

/// The numbers of parameters, inputs and outputs. Columns of rows are in this order, followed by
/// divisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) params: usize,
    pub(crate) ins: usize,
    pub(crate) outs: usize,
}

impl Shape {
    pub(crate) fn width(&self) -> usize {
        1 + self.params + self.ins + self.outs
    }
}

/// The rows of one disjunct: the columns of the shape, then existential columns.
pub(crate) struct Disjunct {
    pub(crate) rows: Rows,
}

/// A division of a returned disjunct: `floor(row / denominator)`, over the columns before it.
pub(crate) struct Division {
    pub(crate) numerator: Vec<i64>,
    pub(crate) denominator: i64,
}

/// A returned disjunct, whose extra columns are the divisions in order.
pub(crate) struct Answer {
    pub(crate) rows: Rows,
    pub(crate) divisions: Vec<Division>,
}

/// An isl map, which lives for one query.
pub(crate) struct IslMap {
    handle: Handle,
    shape: Shape,
}

fn small(value: usize) -> Result<u32> {
    u32::try_from(value).map_err(|_| Error::Overflow)
}

fn int(value: usize) -> Result<i32> {
    i32::try_from(value).map_err(|_| Error::Overflow)
}

fn matrix(context: &Rc<Context>, rows: &Rows, eq: bool) -> Result<Handle> {
    let chosen: Vec<usize> = (0..rows.len()).filter(|&i| rows.is_eq(i) == eq).collect();
    // SAFETY: the context is alive; indices stay below the sizes that were asked for; `set` calls
    // take and give the matrix.
    unsafe {
        let mut mat = ffi::isl_mat_alloc(context.ptr(), small(chosen.len())?, small(rows.width())?);
        for (i, &index) in chosen.iter().enumerate() {
            for (k, &c) in rows.row(index).iter().enumerate() {
                mat = match i32::try_from(c) {
                    Ok(c) => ffi::isl_mat_set_element_si(mat, i as i32, k as i32, c),
                    Err(_) => {
                        let value = ffi::isl_val_int_from_si(context.ptr(), c);
                        ffi::isl_mat_set_element_val(mat, i as i32, k as i32, value)
                    }
                };
            }
        }
        Handle::take(context, mat, ffi::isl_mat_free)
    }
}

pub(super) fn space(context: &Rc<Context>, shape: Shape) -> Result<Ptr> {
    // SAFETY: the context is alive; `set_dim_name` takes and gives the space and copies the name.
    unsafe {
        let mut space =
            ffi::isl_space_alloc(context.ptr(), small(shape.params)?, small(shape.ins)?, small(shape.outs)?);
        for p in 0..shape.params {
            let name = CString::new(format!("p{p}")).map_err(|e| Error::Isl(e.to_string()))?;
            space = ffi::isl_space_set_dim_name(space, ffi::DIM_PARAM, small(p)?, name.as_ptr());
        }
        if space.is_null() { Err(context.failure()) } else { Ok(space) }
    }
}

/// An integer of isl as `i64`.
fn number(context: &Rc<Context>, value: Ptr) -> Result<i64> {
    let value = Handle::take(context, value, ffi::isl_val_free)?;
    // SAFETY: the value is alive. Too large a number sets the error that `check` reads.
    unsafe {
        if ffi::isl_val_is_int(value.keep()) != 1 {
            return Err(Error::Isl("a coefficient is not an integer".into()));
        }
        let number = ffi::isl_val_get_num_si(value.keep());
        context.check()?;
        Ok(number)
    }
}

impl IslMap {
    /// The union of disjuncts. Starts a query: errors are cleared and the budget is full again.
    pub(crate) fn new(shape: Shape, disjuncts: &[Disjunct]) -> Result<Self> {
        Self::within(&Context::start()?, shape, disjuncts)
    }

    /// The union of disjuncts, as a further operand of the query of `self`.
    pub(crate) fn another(&self, shape: Shape, disjuncts: &[Disjunct]) -> Result<Self> {
        Self::within(self.handle.context(), shape, disjuncts)
    }

    pub(super) fn within(context: &Rc<Context>, shape: Shape, disjuncts: &[Disjunct]) -> Result<Self> {
        let mut union: Option<Handle> = None;
        for Disjunct { rows } in disjuncts {
            if rows.width() < shape.width() {
                return Err(Error::Space("rows are shorter than their shape".into()));
            }
            let (equalities, inequalities) = (matrix(context, rows, true)?, matrix(context, rows, false)?);
            // SAFETY: all operands are alive and of one context, and are given away.
            let map = unsafe {
                ffi::isl_map_from_basic_map(ffi::isl_basic_map_from_constraint_matrices(
                    space(context, shape)?,
                    equalities.give(),
                    inequalities.give(),
                    ffi::DIM_CONSTANT,
                    ffi::DIM_PARAM,
                    ffi::DIM_IN,
                    ffi::DIM_OUT,
                    ffi::DIM_DIV,
                ))
            };
            let map = Handle::take(context, map, ffi::isl_map_free)?;
            union = Some(match union {
                None => map,
                // SAFETY: both are alive and of one context, and are given away.
                Some(before) => Handle::take(
                    context,
                    unsafe { ffi::isl_map_union(before.give(), map.give()) },
                    ffi::isl_map_free,
                )?,
            });
        }
        let handle = match union {
            Some(handle) => handle,
            None => {
                let space = space(context, shape)?;
                // SAFETY: the space is given away.
                Handle::take(context, unsafe { ffi::isl_map_empty(space) }, ffi::isl_map_free)?
            }
        };
        Ok(IslMap { handle, shape })
    }

    pub(super) fn into_handle(self) -> Handle {
        self.handle
    }

    pub(super) fn of(handle: Handle, shape: Shape) -> Self {
        IslMap { handle, shape }
    }

    fn unary(self, shape: Shape, f: impl FnOnce(Ptr) -> Ptr) -> Result<Self> {
        let context = self.handle.context().clone();
        let handle = Handle::take(&context, f(self.handle.give()), ffi::isl_map_free)?;
        Ok(IslMap { handle, shape })
    }

    fn binary(self, other: IslMap, shape: Shape, f: unsafe extern "C" fn(Ptr, Ptr) -> Ptr) -> Result<Self> {
        if !Rc::ptr_eq(self.handle.context(), other.handle.context())
            || self.shape.params != other.shape.params
        {
            return Err(Error::Space("operands of one query must share their parameters".into()));
        }
        // SAFETY: both are alive and of one context, and are given away.
        self.unary(shape, |map| unsafe { f(map, other.handle.give()) })
    }

    /// The pairs of points that are in both maps.
    pub(crate) fn intersect(self, other: IslMap) -> Result<Self> {
        let shape = self.shape;
        self.binary(other, shape, ffi::isl_map_intersect)
    }

    /// The points that are not in the other map.
    pub(crate) fn subtract(self, other: IslMap) -> Result<Self> {
        let shape = self.shape;
        self.binary(other, shape, ffi::isl_map_subtract)
    }

    /// First this map, then the other.
    pub(crate) fn then(self, other: IslMap) -> Result<Self> {
        let shape = Shape { outs: other.shape.outs, ..self.shape };
        if self.shape.outs != other.shape.ins {
            return Err(Error::Space("the range and the domain differ in dimension".into()));
        }
        self.binary(other, shape, ffi::isl_map_apply_range)
    }

    /// The same map with fewer, larger disjuncts if isl finds them.
    pub(crate) fn coalesce(self) -> Result<Self> {
        let shape = self.shape;
        // SAFETY: the map is given away.
        self.unary(shape, |map| unsafe { ffi::isl_map_coalesce(map) })
    }

    /// The same map with disjoint disjuncts.
    pub(crate) fn make_disjoint(self) -> Result<Self> {
        let shape = self.shape;
        // SAFETY: the map is given away.
        self.unary(shape, |map| unsafe { ffi::isl_map_make_disjoint(map) })
    }

    /// The lexicographically least output of each input.
    pub(crate) fn lexmin(self) -> Result<Self> {
        let shape = self.shape;
        // SAFETY: the map is given away.
        self.unary(shape, |map| unsafe { ffi::isl_map_lexmin(map) })
    }

    /// The lexicographically greatest output of each input.
    pub(crate) fn lexmax(self) -> Result<Self> {
        let shape = self.shape;
        // SAFETY: the map is given away.
        self.unary(shape, |map| unsafe { ffi::isl_map_lexmax(map) })
    }

    fn truth(&self, answer: i32) -> Result<bool> {
        match answer {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.handle.context().failure()),
        }
    }

    /// Whether there is no integer point.
    pub(crate) fn is_empty(&self) -> Result<bool> {
        // SAFETY: the map is alive.
        self.truth(unsafe { ffi::isl_map_is_empty(self.handle.keep()) })
    }

    /// Whether the other map contains every point.
    pub(crate) fn is_subset(&self, other: &IslMap) -> Result<bool> {
        // SAFETY: both are alive and of one context.
        self.truth(unsafe { ffi::isl_map_is_subset(self.handle.keep(), other.handle.keep()) })
    }

    /// The rows of every disjunct, in isl's order.
    pub(crate) fn answer(self) -> Result<Vec<Answer>> {
        let context = self.handle.context().clone();
        let shape = self.shape;
        let mut answers = Vec::new();
        // SAFETY: each object is owned by a handle as soon as isl gives it; kept pointers come from
        // live handles.
        unsafe {
            let map =
                Handle::take(&context, ffi::isl_map_compute_divs(self.handle.give()), ffi::isl_map_free)?;
            let set = Handle::take(&context, ffi::isl_map_wrap(map.give()), ffi::isl_set_free)?;
            let list = Handle::take(
                &context,
                ffi::isl_set_get_basic_set_list(set.keep()),
                ffi::isl_basic_set_list_free,
            )?;
            for i in 0..ffi::isl_basic_set_list_n_basic_set(list.keep()) {
                let basic = ffi::isl_basic_set_list_get_basic_set(list.keep(), i);
                let basic = Handle::take(&context, basic, ffi::isl_basic_set_free)?;
                answers.push(read(&context, shape, &basic)?);
            }
        }
        context.check()?;
        Ok(answers)
    }
}

/// The rows and divisions of a basic set whose dimensions are the inputs and the outputs.
///
/// # Safety
/// `basic` is a basic set of `context`.
unsafe fn read(context: &Rc<Context>, shape: Shape, basic: &Handle) -> Result<Answer> {
    // SAFETY: as in the caller; indices stay below the sizes that isl reports.
    unsafe {
        let divs = ffi::isl_basic_set_dim(basic.keep(), ffi::DIM_DIV);
        let count = usize::try_from(divs).map_err(|_| context.failure())?;
        let width = shape.width() + count;
        let mut rows = Rows::new(width);
        for eq in [true, false] {
            let get = match eq {
                true => ffi::isl_basic_set_equalities_matrix,
                false => ffi::isl_basic_set_inequalities_matrix,
            };
            let mat = get(basic.keep(), ffi::DIM_CONSTANT, ffi::DIM_PARAM, ffi::DIM_OUT, ffi::DIM_DIV);
            let mat = Handle::take(context, mat, ffi::isl_mat_free)?;
            if ffi::isl_mat_cols(mat.keep()) != int(width)? {
                return Err(Error::Isl("a matrix of unexpected width".into()));
            }
            for i in 0..ffi::isl_mat_rows(mat.keep()) {
                let mut row = Vec::with_capacity(width);
                for k in 0..int(width)? {
                    row.push(number(context, ffi::isl_mat_get_element_val(mat.keep(), i, k))?);
                }
                rows.push(eq, &row);
            }
        }
        let mut divisions = Vec::with_capacity(count);
        if count > 0 {
            let local = ffi::isl_basic_set_get_local_space(basic.keep());
            let local = Handle::take(context, local, ffi::isl_local_space_free)?;
            for d in 0..divs {
                let aff = ffi::isl_local_space_get_div(local.keep(), d);
                let aff = Handle::take(context, aff, ffi::isl_aff_free)?;
                divisions.push(division(context, shape, &aff, count)?);
            }
        }
        Ok(Answer { rows, divisions })
    }
}

/// # Safety
/// `aff` is a function of `context` over the parameters, dimensions and divisions of a basic set of
/// this shape.
unsafe fn division(context: &Rc<Context>, shape: Shape, aff: &Handle, divs: usize) -> Result<Division> {
    // SAFETY: as in the caller; indices stay below the sizes of the shape.
    unsafe {
        let denominator_val =
            Handle::take(context, ffi::isl_aff_get_denominator_val(aff.keep()), ffi::isl_val_free)?;
        let denominator = number(context, ffi::isl_val_copy(denominator_val.keep()))?;
        // isl gives coefficients as rationals over the denominator.
        let scaled =
            |value: Ptr| number(context, ffi::isl_val_mul(value, ffi::isl_val_copy(denominator_val.keep())));
        let mut numerator = Vec::with_capacity(shape.width() + divs);
        numerator.push(scaled(ffi::isl_aff_get_constant_val(aff.keep()))?);
        for p in 0..int(shape.params)? {
            numerator.push(scaled(ffi::isl_aff_get_coefficient_val(aff.keep(), ffi::DIM_PARAM, p))?);
        }
        for k in 0..int(shape.ins + shape.outs)? {
            numerator.push(scaled(ffi::isl_aff_get_coefficient_val(aff.keep(), ffi::DIM_IN, k))?);
        }
        for d in 0..ffi::isl_aff_dim(aff.keep(), ffi::DIM_DIV).min(int(divs)?) {
            numerator.push(scaled(ffi::isl_aff_get_coefficient_val(aff.keep(), ffi::DIM_DIV, d))?);
        }
        numerator.resize(shape.width() + divs, 0);
        Ok(Division { numerator, denominator })
    }
}
