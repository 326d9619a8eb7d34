//! Whether the elements that a warp accesses are in the array, on each axis.

use loopwright_program::Memory;

use super::Offsets;
use crate::{
    block::{Block, Failure, Outcome},
    bytecode::{Access, Reg},
    fault::{Act, FaultKind},
    warp::Warp,
    words::{active, lanes_of},
};

impl<const W: usize> Block<'_, W> {
    /// The number of elements in the array's storage, and its name.
    pub(super) fn size_of(&self, memory: Memory) -> i64 {
        match memory {
            Memory::Global(n) => self.launch.globals[n].size,
            Memory::Shared(n) => self.shared[n].cells.len() as i64,
            Memory::Private(n) => self.launch.kernel.private[n].elements() as i64,
        }
    }

    /// Length and stride of an axis.
    pub(super) fn axis(&self, access: &Access, axis: usize) -> (i64, i64) {
        match access.memory {
            Memory::Global(n) => {
                let array = &self.launch.globals[n];
                (array.shape[axis], array.strides[axis])
            }
            Memory::Shared(_) | Memory::Private(_) => access.axes[axis],
        }
    }

    /// The element of a private array that all lanes access, if it is known and in bounds.
    #[inline]
    pub(super) fn uniform_cell(&self, warp: &Warp<W>, access: &Access, elements: usize) -> Option<usize> {
        if access.constant.is_some() || !access.uniform {
            return access.constant;
        }
        let at = |reg: Reg| i64::from(warp.narrow[reg as usize][0] as i32);
        let offset = at(access.offset);
        let mut sum = 0i64;
        for (n, (subscript, (length, stride))) in access.subscripts.iter().zip(&access.axes).enumerate() {
            let value = at(*subscript);
            if !(0..*length).contains(&value) {
                return None;
            }
            sum = sum.wrapping_add(match &access.positions {
                Some(positions) => positions.part(n, value),
                None => value.wrapping_mul(*stride),
            });
        }
        if let Some(positions) = &access.positions {
            sum = positions.swizzled(sum);
        }
        let cell = usize::try_from(offset).ok().filter(|c| *c < elements)?;
        (access.subscripts.is_empty() || sum == offset).then_some(cell)
    }

    /// Whether a fast check on 32-bit indices shows that the access is in bounds.
    pub(super) fn surely_in_bounds(&self, warp: &Warp<W>, access: &Access, mask: u64) -> bool {
        let room = self.size_of(access.memory);
        if access.wide_index || room > i64::from(i32::MAX) || access.positions.is_some() {
            return false;
        }
        if mask.is_power_of_two() {
            let at = |reg: Reg| i64::from(warp.narrow[reg as usize][mask.trailing_zeros() as usize] as i32);
            let offset = at(access.offset);
            let (mut bad, mut sum) = (offset < 0 || offset >= room, 0i64);
            for (n, subscript) in access.subscripts.iter().enumerate() {
                let (length, stride) = self.axis(access, n);
                let value = at(*subscript);
                bad |= value < 0 || value >= length;
                sum = sum.wrapping_add(value.wrapping_mul(stride));
            }
            return !bad && (access.subscripts.is_empty() || sum == offset);
        }
        let offset = &warp.narrow[access.offset as usize];
        let (mut bad, mut sum) = ([0u32; W], [0u32; W]);
        for i in 0..W {
            bad[i] = u32::from(offset[i] >= room as u32);
        }
        for (n, subscript) in access.subscripts.iter().enumerate() {
            let (length, stride) = self.axis(access, n);
            let (Ok(length), Ok(stride)) = (i32::try_from(length), i32::try_from(stride)) else {
                return false;
            };
            let subscript = &warp.narrow[*subscript as usize];
            for i in 0..W {
                bad[i] |= u32::from(subscript[i] >= length as u32);
                sum[i] = sum[i].wrapping_add(subscript[i].wrapping_mul(stride as u32));
            }
        }
        if !access.subscripts.is_empty() {
            for i in 0..W {
                bad[i] |= u32::from(sum[i] != offset[i]);
            }
        }
        lanes_of(&bad) & mask == 0
    }

    /// A fault of one access. The cell is identified by its subscripts if they are known, otherwise
    /// by its offset.
    pub fn access_failure(
        &self,
        kind: FaultKind,
        warp: &Warp<W>,
        access: &Access,
        lane: usize,
        offset: i64,
    ) -> Box<Failure> {
        let act = if access.write { Act::Write } else { Act::Read };
        let mut failure = self.failure(kind, warp, lane, access.site, act);
        failure.fault.array = Some(self.array_name(access.memory));
        let own = warp.index(access.wide_index, access.offset)[lane];
        failure.fault.cell = if access.subscripts.is_empty() {
            vec![own]
        } else {
            access.subscripts.iter().map(|s| warp.index(access.wide_index, *s)[lane]).collect()
        };
        // A later element of a vector access.
        if offset != own
            && let Some(last) = failure.fault.cell.last_mut()
        {
            *last += offset - own;
        }
        failure
    }

    /// Faults if the `lanes` elements from an active lane's offset are not all in the array.
    pub fn check_bounds(
        &self,
        warp: &Warp<W>,
        access: &Access,
        offset: &Offsets<W>,
        mask: u64,
        lanes: i64,
    ) -> Outcome<()> {
        if lanes == 1 && self.surely_in_bounds(warp, access, mask) {
            return Ok(());
        }
        let room = self.size_of(access.memory) - (lanes - 1);
        let mut bad = [false; W];
        let mut sum = [0i64; W];
        for i in 0..W {
            bad[i] = offset[i] < 0 || offset[i] >= room;
        }
        for (n, subscript) in access.subscripts.iter().enumerate() {
            let (mut length, stride) = self.axis(access, n);
            if stride == 1 && length > 1 && matches!(access.memory, Memory::Global(_)) {
                length -= lanes - 1;
            }
            let subscript = warp.index(access.wide_index, *subscript);
            for i in 0..W {
                bad[i] |= subscript[i] < 0 || subscript[i] >= length;
                sum[i] = sum[i].wrapping_add(match &access.positions {
                    Some(positions) => positions.part(n, subscript[i]),
                    None => subscript[i].wrapping_mul(stride),
                });
            }
        }
        if let Some(positions) = &access.positions {
            sum.iter_mut().for_each(|sum| *sum = positions.swizzled(*sum));
        }
        let Some(lane) = active(mask).find(|lane| bad[*lane]) else {
            if !access.subscripts.is_empty()
                && let Some(lane) = active(mask).find(|lane| sum[*lane] != offset[*lane])
            {
                let mut failure =
                    self.access_failure(FaultKind::InvalidProgram, warp, access, lane, offset[lane]);
                failure.fault.detail =
                    format!("the offset is {}, the subscripts say {}", offset[lane], sum[lane]);
                return Err(failure);
            }
            return Ok(());
        };
        let mut failure = self.access_failure(FaultKind::OutOfBounds, warp, access, lane, offset[lane]);
        let axes = access.subscripts.len();
        let lengths: Vec<_> = (0..axes).map(|n| self.axis(access, n).0.to_string()).collect();
        failure.fault.detail = if axes == 0 {
            format!("the storage has {} elements", self.size_of(access.memory))
        } else {
            format!("the array is [{}]", lengths.join(", "))
        };
        Err(failure)
    }
}
