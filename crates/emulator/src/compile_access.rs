//! Compiles a device kernel to flat code: memory accesses.
//!
//! An access consists of its offset and, if bounds are checked, the subscripts that the offset
//! comes from. The subscripts are computed only for the check and are not counted. A value that
//! occurs several times in one access is computed once. Offsets that are constant or equal in all
//! lanes are marked, since the interpreter has faster paths for them.

use std::sync::Arc;

use loopwright_kernel_ir::DType;
use loopwright_program::{AsyncCopy, MemRef, Memory, Positions};

use crate::{
    bytecode::{Access, Inst, is_wide},
    compile::Compiler,
    fault::Fault,
};

impl<'a> Compiler<'a> {
    pub fn vector_copy(&mut self, to: &'a MemRef, from: &'a MemRef, lanes: u8) -> Result<(), Fault> {
        let (dtype, _) = self.array(from.memory)?;
        if !matches!(lanes, 2 | 4 | 8 | 16) || usize::from(lanes) * dtype.bytes() > 16 {
            return self.invalid(format!("a vector copy of {lanes} elements of {dtype}"));
        }
        let from = self.access(from, dtype, false)?;
        let to = self.access(to, dtype, true)?;
        for access in [from, to] {
            // Its other elements follow that offset.
            self.code.accesses[access as usize].constant = None;
        }
        self.emit(Inst::VectorCopy { to, from, lanes });
        Ok(())
    }

    pub fn async_copy(&mut self, copy: &'a AsyncCopy) -> Result<(), Fault> {
        let AsyncCopy { to, from, lanes, when, .. } = copy;
        if !matches!((to.memory, from.memory), (Memory::Shared(_), Memory::Global(_))) {
            return self.invalid("an asynchronous copy is from global to shared memory");
        }
        let (dtype, _) = self.array(from.memory)?;
        if !AsyncCopy::BYTES.contains(&(usize::from(*lanes) * dtype.bytes())) {
            return self.invalid(format!("an asynchronous copy of {lanes} elements of {dtype}"));
        }
        let to = self.access(to, dtype, true)?;
        // The address of an element that is not read is not computed.
        let (from, when) = match when {
            None => (self.access(from, dtype, false)?, None),
            Some(when) => {
                self.index = true;
                let cond = self.typed(when, DType::Bool, None)?;
                self.index = false;
                let slot = self.enter();
                let begin = self.emit(Inst::If { cond, slot, other: 0 });
                let from = self.access(from, dtype, false)?;
                self.otherwise(begin, slot, |_| Ok(()), false)?;
                self.leave();
                (from, Some(cond))
            }
        };
        for access in [from, to] {
            // Its other elements follow that offset.
            self.code.accesses[access as usize].constant = None;
        }
        self.emit(Inst::AsyncCopy { to, from, lanes: *lanes, when });
        Ok(())
    }

    /// The type of an array and the number of its axes.
    fn array(&self, memory: Memory) -> Result<(DType, usize), Fault> {
        let found = match memory {
            Memory::Global(n) => self.program.globals.get(n).map(|g| (g.dtype, g.shape.len())),
            Memory::Shared(n) => self.kernel.shared.get(n).map(|a| (a.dtype, a.dims.len())),
            Memory::Private(n) => self.kernel.private.get(n).map(|a| (a.dtype, a.dims.len())),
        };
        match found {
            Some(found) => Ok(found),
            None => self.invalid(format!("there is no array {memory:?}")),
        }
    }

    /// Length and stride of each axis of a shared or private array.
    fn local_axes(&self, memory: Memory) -> Vec<(i64, i64)> {
        let array = match memory {
            Memory::Global(_) => None,
            Memory::Shared(n) => self.kernel.shared.get(n),
            Memory::Private(n) => self.kernel.private.get(n),
        };
        let mut axes = Vec::new();
        let mut stride = 1i64;
        for length in array.iter().flat_map(|a| a.dims.iter().rev()) {
            let length = i64::try_from(*length).unwrap_or(i64::MAX);
            axes.push((length, stride));
            stride = stride.saturating_mul(length);
        }
        axes.reverse();
        axes
    }

    /// Where the elements of an array lie whose layout is set.
    fn positions(&mut self, memory: Memory) -> Result<Option<Arc<Positions>>, Fault> {
        let array = match memory {
            Memory::Global(_) => None,
            Memory::Shared(n) => self.kernel.shared.get(n),
            Memory::Private(n) => self.kernel.private.get(n),
        };
        let Some(array) = array.filter(|a| a.layout.is_some()) else { return Ok(None) };
        if let Some(known) = self.positions.get(&memory) {
            return Ok(Some(known.clone()));
        }
        let Some(found) = array.positions() else {
            return self.invalid(format!("the layout of `{}` has not a mode for each axis", array.name));
        };
        let found = Arc::new(found);
        self.positions.insert(memory, found.clone());
        Ok(Some(found))
    }

    /// The index of a new access. Its registers stay allocated until the end of the statement.
    pub fn access(&mut self, to: &'a MemRef, dtype: DType, write: bool) -> Result<u32, Fault> {
        let (element, axes) = self.array(to.memory)?;
        if element != dtype {
            return self.invalid(format!("an access as {dtype} to an array of {element}, in {}", self.what));
        }
        if to.subscripts.len() != axes {
            return self.invalid(format!(
                "{} subscripts for {axes} axes of {:?}, in {}",
                to.subscripts.len(),
                to.memory,
                self.what
            ));
        }
        if let Memory::Global(n) = to.memory {
            if write {
                self.code.writes[n] = true;
            } else {
                self.code.reads[n] = true;
            }
        }
        let index = self.program.index;
        let was = (self.exact, self.index, self.counted, std::mem::take(&mut self.memo), self.memo_at);
        (self.exact, self.index) = (self.options.checks.overflow, true);
        self.memo_at = Some(self.lazy);
        let offset = self.typed(&to.offset, index, None)?;
        self.counted = false;
        let mut subscripts = Vec::with_capacity(axes);
        if self.options.checks.bounds {
            for subscript in &to.subscripts {
                subscripts.push(self.typed(subscript, index, None)?);
            }
        }
        (self.exact, self.index, self.counted, self.memo, self.memo_at) = was;
        let site = self.site(None);
        let wide_index = is_wide(index);
        let memory = to.memory;
        let axes = self.local_axes(memory);
        let positions = self.positions(memory)?;
        let constant = constant_offset(to, &axes, positions.as_deref());
        let uniform = !wide_index
            && self.is_uniform(index, offset)
            && subscripts.iter().all(|s| self.is_uniform(index, *s));
        let number = self.code.accesses.len();
        let access = Access {
            number,
            memory,
            dtype,
            wide_index,
            offset,
            subscripts,
            axes,
            positions,
            constant,
            uniform,
            write,
            in_loop: self.in_loop,
            atomic: None,
            in_block: false,
            site,
        };
        self.code.accesses.push(access);
        Ok(self.code.accesses.len() as u32 - 1)
    }
}

/// The offset of an element of an array with these axes, if the offset and the subscripts are
/// constant, consistent and in bounds.
fn constant_offset(to: &MemRef, axes: &[(i64, i64)], positions: Option<&Positions>) -> Option<usize> {
    if let Some(positions) = positions {
        let subscripts: Option<Vec<i64>> = to.subscripts.iter().map(|s| s.as_int()).collect();
        let place = positions.at(&subscripts?).filter(|p| to.offset.as_int() == Some(*p))?;
        return usize::try_from(place).ok();
    }
    let mut sum = 0i64;
    for (subscript, (length, stride)) in to.subscripts.iter().zip(axes) {
        let value = subscript.as_int().filter(|v| (0..*length).contains(v))?;
        sum = sum.checked_add(value.checked_mul(*stride)?)?;
    }
    let local = !matches!(to.memory, Memory::Global(_)) && axes.len() == to.subscripts.len();
    (local && to.offset.as_int() == Some(sum)).then_some(usize::try_from(sum).ok()?)
}
