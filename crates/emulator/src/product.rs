//! Products of fragments: the meaning of an atom, run for a warp.
//!
//! All lanes take part, and each has to hold its elements. The tiles are gathered by the placements
//! of the atom, multiplied by its meaning, `d[m, n] += a[m, k] * b[n, k]` with `k` ascending, and
//! each lane's elements of `d` are written back; of several copies of a factor each lane uses its
//! own. Floating-point products are added in the type of
//! the accumulator, one after another.

use loopwright_atom::Operand;
use loopwright_kernel_ir::{DType, Name, Number, arithmetic};
use loopwright_program::{MemRef, Memory, Stmt};

use crate::{
    block::{Block, Outcome},
    bytecode::{Access, Inst, Product},
    compile::Compiler,
    fault::{Fault, FaultKind},
    warp::Warp,
    words::lowest_lanes,
};

impl<'a> Compiler<'a> {
    /// A product of the elements that begin at `a` and `b`, added to `d`.
    pub fn mma(&mut self, atom: &Name, d: &'a [MemRef], a: &'a MemRef, b: &'a MemRef) -> Result<(), Fault> {
        self.speak_of(None, "a product of fragments")?;
        let Some(atom) = self.program.atom(atom).cloned() else {
            return self.invalid(format!("there is no atom `{atom}`"));
        };
        if i64::from(self.program.target.warp_size) != atom.lanes()
            || usize::try_from(atom.operand(Operand::D).elements()).ok() != Some(d.len())
        {
            return self.invalid(format!("a product by `{}` with other lanes or elements", atom.name()));
        }
        let mut accesses = Vec::new();
        for (element, operand) in d.iter().map(|d| (d, Operand::D)).chain([(a, Operand::A), (b, Operand::B)])
        {
            if !matches!(element.memory, Memory::Private(_)) {
                return self.invalid("a fragment is not in private memory");
            }
            let access = self.access(element, atom.operand(operand).dtype, operand == Operand::D)?;
            // Its other elements follow that offset.
            self.code.accesses[access as usize].constant = None;
            accesses.push(access);
        }
        let (Some(b), Some(a)) = (accesses.pop(), accesses.pop()) else {
            return self.invalid("a product without factors");
        };
        let number = self.code.products.len() as u32;
        let site = self.own_site();
        self.code.products.push(Product { atom, d: accesses, a, b, site });
        self.emit(Inst::Product { number });
        Ok(())
    }
}

impl<'a> Compiler<'a> {
    /// The load of matrices from shared to private memory.
    pub fn matrices(
        &mut self,
        to: &'a MemRef,
        from: &'a MemRef,
        (count, row): (u8, u8),
        transposed: bool,
    ) -> Result<(), Fault> {
        self.speak_of(None, "a load of matrices")?;
        let dtype = match from.memory {
            Memory::Shared(n) => self.kernel.shared.get(n).map(|array| array.dtype),
            _ => None,
        };
        let whole = |t: &DType| t.bytes() * usize::from(row) == Stmt::ROW_BYTES && row >= 4;
        let counts = matches!(count, 1 | 2 | 4) && (row == 8 || !transposed);
        let Some(dtype) = dtype.filter(|t| whole(t) && counts) else {
            return self
                .invalid(format!("a load of {count} matrices with rows of {row} elements in shared memory"));
        };
        if !matches!(to.memory, Memory::Private(_)) || self.program.target.warp_size != Stmt::LANES_OF_MATRIX
        {
            return self.invalid("matrices are not loaded into the private memory of a warp");
        }
        let from = self.access(from, dtype, false)?;
        let to = self.access(to, dtype, true)?;
        for access in [from, to] {
            // Its other elements follow that offset.
            self.code.accesses[access as usize].constant = None;
        }
        let site = self.own_site();
        self.emit(Inst::Matrices { to, from, count, row, transposed, site });
        Ok(())
    }
}

impl<'a> Compiler<'a> {
    /// The store of matrices from private to shared memory.
    pub fn store_matrices(
        &mut self,
        to: &'a MemRef,
        from: &'a MemRef,
        count: u8,
        transposed: bool,
    ) -> Result<(), Fault> {
        self.speak_of(None, "a store of matrices")?;
        let dtype = match to.memory {
            Memory::Shared(n) => self.kernel.shared.get(n).map(|array| array.dtype),
            _ => None,
        };
        let whole = |t: &DType| t.bytes() * usize::from(Stmt::STORED_ROW) == Stmt::ROW_BYTES;
        let Some(dtype) = dtype.filter(|t| whole(t) && matches!(count, 1 | 2 | 4)) else {
            return self.invalid(format!("a store of {count} matrices of elements of two bytes"));
        };
        if !matches!(from.memory, Memory::Private(_))
            || self.program.target.warp_size != Stmt::LANES_OF_MATRIX
        {
            return self.invalid("matrices are not stored from the private memory of a warp");
        }
        let from = self.access(from, dtype, false)?;
        let to = self.access(to, dtype, true)?;
        for access in [from, to] {
            // Its other elements follow that offset.
            self.code.accesses[access as usize].constant = None;
        }
        let site = self.own_site();
        self.emit(Inst::StoreMatrices { to, from, count, transposed, site });
        Ok(())
    }
}

/// A number in which products are added up.
trait Sum: Copy + Default {
    fn of(number: Number) -> Self;
    fn add_product(self, a: Self, b: Self) -> Self;
    fn bits(self) -> u64;
}

impl Sum for f32 {
    fn of(number: Number) -> Self {
        match number {
            Number::F32(v) => v,
            other => other.as_f64() as f32,
        }
    }

    fn add_product(self, a: Self, b: Self) -> Self {
        self + a * b
    }

    fn bits(self) -> u64 {
        self.to_bits().into()
    }
}

/// An f16: added to in f32, rounded once for each instruction.
#[derive(Clone, Copy, Default)]
struct Half(f32);

impl Sum for Half {
    fn of(number: Number) -> Self {
        Half(f32::of(number))
    }

    fn add_product(self, a: Self, b: Self) -> Self {
        Half(self.0 + a.0 * b.0)
    }

    fn bits(self) -> u64 {
        Number::F32(self.0).cast(DType::F16).bits()
    }
}

impl Sum for f64 {
    fn of(number: Number) -> Self {
        number.as_f64()
    }

    fn add_product(self, a: Self, b: Self) -> Self {
        self + a * b
    }

    fn bits(self) -> u64 {
        self.to_bits()
    }
}

impl Sum for i32 {
    fn of(number: Number) -> Self {
        number.as_i64().unwrap_or_default() as i32
    }

    fn add_product(self, a: Self, b: Self) -> Self {
        self.wrapping_add(a.wrapping_mul(b))
    }

    fn bits(self) -> u64 {
        (self as u32).into()
    }
}

impl<const W: usize> Block<'_, W> {
    /// Runs the product of this number for a whole warp.
    pub fn product(&mut self, warp: &mut Warp<W>, number: u32) -> Outcome<()> {
        let code = self.launch.code;
        let Some(product) = code.products.get(number as usize) else { return Ok(()) };
        if warp.mask != warp.exists || warp.mask != lowest_lanes(W) {
            return Err(self.divergent(FaultKind::DivergentShuffle, warp, product.site));
        }
        match product.atom.operand(Operand::D).dtype {
            DType::F32 => self.product_in::<f32>(warp, product),
            DType::F64 => self.product_in::<f64>(warp, product),
            DType::F16 => self.product_in::<Half>(warp, product),
            _ => self.product_in::<i32>(warp, product),
        }
    }

    fn product_in<S: Sum>(&mut self, warp: &mut Warp<W>, product: &Product) -> Outcome<()> {
        let atom = &product.atom;
        // A function of f32 gives an f32.
        let converted = |number: Number| match atom.conversion() {
            Some(function) => arithmetic::math(function, &[number]).unwrap_or(number),
            None => number,
        };
        let [m, n, k] = atom.shape().map(|extent| extent as usize);
        let copies = [Operand::A, Operand::B].map(|operand| atom.operand(operand).copies() as usize);
        // Where the copy of a factor begins that a lane holds and uses.
        let copy = |operand: Operand, lane: i64| {
            let rows = if operand == Operand::A { m } else { n };
            atom.operand(operand).copy(lane) as usize * rows * k
        };
        let mut tiles = [vec![S::default(); m * k * copies[0]], vec![S::default(); n * k * copies[1]]];
        for ((operand, access), tile) in
            [(Operand::A, product.a), (Operand::B, product.b)].into_iter().zip(&mut tiles)
        {
            for element in 0..atom.operand(operand).elements() {
                let numbers = self.elements(warp, access, element)?;
                for (lane, number) in (0..).zip(numbers) {
                    let (row, column) = atom.position(operand, lane, element);
                    let at = copy(operand, lane) + row as usize * k + column as usize;
                    tile[at] = S::of(converted(number));
                }
            }
        }
        let [a, b] = &tiles;
        for (element, access) in (0..).zip(&product.d) {
            let mut sums = [S::default(); W];
            for ((lane, number), sum) in (0..).zip(self.elements(warp, *access, 0)?).zip(&mut sums) {
                let (row, column) = atom.position(Operand::D, lane, element);
                let row = copy(Operand::A, lane) + row as usize * k;
                let column = copy(Operand::B, lane) + column as usize * k;
                let factors = a[row..row + k].iter().zip(&b[column..column + k]);
                *sum = factors.fold(S::of(number), |sum, (a, b)| sum.add_product(*a, *b));
            }
            let access = &self.launch.code.accesses[*access as usize];
            let Memory::Private(array) = access.memory else { continue };
            let offset = warp.index(access.wide_index, access.offset);
            let array = &mut warp.private[array];
            for (lane, sum) in sums.iter().enumerate() {
                let cell = offset[lane] as usize;
                match array.wide.get_mut(cell) {
                    Some(wide) => wide[lane] = sum.bits(),
                    None => array.narrow[cell][lane] = sum.bits() as u32,
                }
            }
        }
        Ok(())
    }

    /// Loads matrices: the rows whose addresses lanes give, and what each lane gets of them.
    pub fn matrices(
        &mut self,
        warp: &mut Warp<W>,
        (to, from): (u32, u32),
        (count, row): (u8, u8),
        transposed: bool,
        site: u32,
    ) -> Outcome<()> {
        if warp.mask != warp.exists || warp.mask != lowest_lanes(W) {
            return Err(self.divergent(FaultKind::DivergentShuffle, warp, site));
        }
        let code = self.launch.code;
        let (to, from) = (&code.accesses[to as usize], &code.accesses[from as usize]);
        let rows = self.rows(warp, from, lowest_lanes(8 * usize::from(count)), row.into())?;
        let each = usize::from(row / 4);
        let offset = warp.index(to.wide_index, to.offset);
        let Memory::Private(array) = to.memory else { return Ok(()) };
        for k in 0..each * usize::from(count) {
            for (lane, first) in offset.iter().enumerate() {
                let (mut row, mut column) = (lane / 4, lane % 4 * each + k % each);
                if transposed {
                    (row, column) = (column, row);
                }
                let value = rows[8 * (k / each) + row][column];
                let at = first.wrapping_add(k as i64);
                let elements = &mut warp.private[array];
                match usize::try_from(at).ok().filter(|cell| *cell < elements.narrow.len()) {
                    Some(cell) => {
                        elements.narrow[cell][lane] = value;
                        elements.valued[cell] |= 1 << lane;
                    }
                    None => return Err(self.access_failure(FaultKind::OutOfBounds, warp, to, lane, at)),
                }
            }
        }
        Ok(())
    }

    /// Stores matrices: what each lane holds of them goes to the rows whose addresses lanes give.
    pub fn store_matrices(
        &mut self,
        warp: &mut Warp<W>,
        (to, from): (u32, u32),
        count: u8,
        transposed: bool,
        site: u32,
    ) -> Outcome<()> {
        if warp.mask != warp.exists || warp.mask != lowest_lanes(W) {
            return Err(self.divergent(FaultKind::DivergentShuffle, warp, site));
        }
        let mut rows = vec![[0; 8]; 8 * usize::from(count)];
        for k in 0..2 * usize::from(count) {
            for (lane, number) in self.elements(warp, from, k as i64)?.into_iter().enumerate() {
                let (mut row, mut column) = (lane / 4, lane % 4 * 2 + k % 2);
                if transposed {
                    (row, column) = (column, row);
                }
                rows[8 * (k / 2) + row][column] = number.bits() as u32;
            }
        }
        let to = &self.launch.code.accesses[to as usize];
        self.write_rows(warp, to, lowest_lanes(rows.len()), &rows)
    }

    /// The values of all lanes of the element that comes this many behind an access.
    fn elements(&self, warp: &Warp<W>, access: u32, behind: i64) -> Outcome<Vec<Number>> {
        let access: &Access = &self.launch.code.accesses[access as usize];
        let Memory::Private(array) = access.memory else { return Ok(Vec::new()) };
        let offset = warp.index(access.wide_index, access.offset);
        let array = &warp.private[array];
        let mut numbers = Vec::with_capacity(W);
        for (lane, first) in offset.iter().enumerate() {
            let at = first.wrapping_add(behind);
            let cell = usize::try_from(at).ok().filter(|cell| *cell < array.valued.len());
            let Some(cell) = cell else {
                return Err(self.access_failure(FaultKind::OutOfBounds, warp, access, lane, at));
            };
            if array.valued[cell] >> lane & 1 == 0 {
                return Err(self.access_failure(FaultKind::Uninitialised, warp, access, lane, at));
            }
            let bits = match array.wide.get(cell) {
                Some(wide) => wide[lane],
                None => array.narrow[cell][lane].into(),
            };
            numbers.push(Number::from_bits(access.dtype, bits));
        }
        Ok(numbers)
    }
}
