//! Device kernels from text.

use loopwright_kernel_ir::{ArrayLayout, PerDim, syntax::Parse};
use loopwright_layout::{ComposedLayout, Int, Swizzle};

use super::{note, read::Reader};
use crate::{DeviceKernel, InOrder, LocalArray, Memory, Param, Program, Value, Var, local_layout::row_major};

impl Reader {
    /// A kernel, after its keyword. Its names are in scope only inside it.
    pub(super) fn kernel(&mut self, program: &Program) -> Parse<DeviceKernel> {
        let outside = self.names.clone();
        let kernel = self.kernel_inside(program);
        self.names = outside;
        kernel
    }

    fn kernel_inside(&mut self, program: &Program) -> Parse<DeviceKernel> {
        let start = self.p.span().start;
        let name = self.p.name("the name of the kernel")?;
        let params = self.in_parentheses(&mut |this| this.param(program))?;
        let end = self.p.last_end();
        let mut kernel = DeviceKernel {
            name,
            params,
            grid: PerDim::from_fn(|_| Value::int(self.names.index, 1)),
            block: PerDim::all(1),
            min_blocks_per_multiprocessor: None,
            early: false,
            in_order: None,
            vars: Vec::new(),
            shared: Vec::new(),
            private: Vec::new(),
            body: Vec::new(),
            notes: Vec::new(),
        };
        self.p.expect("{")?;
        self.p.enter()?;
        let (mut has_grid, mut has_block) = (false, false);
        loop {
            self.p.begin_statement();
            let span = self.p.span();
            if self.p.eat_word("grid") {
                let values = self.values("(", ")")?;
                kernel.grid = <[Value; 3]>::try_from(values).map(PerDim::from).map_err(|_| {
                    let message = "a grid has three numbers of blocks";
                    self.p.error_at(span.start..self.p.last_end(), "syntax", message)
                })?;
                self.once(&mut has_grid, span.start)?;
            } else if self.p.eat_word("block") {
                kernel.block = self.block()?;
                self.once(&mut has_block, span.start)?;
            } else if self.p.eat_word("min_blocks_per_multiprocessor") || self.p.eat_word("resident") {
                kernel.min_blocks_per_multiprocessor = Some(self.number("a number of blocks")?);
            } else if self.p.eat_word("early") {
                kernel.early = true;
            } else if self.p.eat_word("in_order") {
                kernel.in_order = Some(self.in_order()?);
            } else if self.p.eat_word("note") {
                kernel.notes.push(note::read(&mut self.p)?);
            } else if self.p.eat_word("var") {
                let var = self.variable()?;
                self.names.variable(var.name.clone(), var.dtype);
                kernel.vars.push(var);
            } else if self.p.eat_word("shared") {
                let array = self.local()?;
                self.names.local(Memory::Shared(kernel.shared.len()), &array);
                kernel.shared.push(array);
            } else if self.p.eat_word("private") {
                let array = self.local()?;
                self.names.local(Memory::Private(kernel.private.len()), &array);
                kernel.private.push(array);
            } else {
                break;
            }
            self.p.end_statement()?;
        }
        if !(has_grid && has_block) {
            return Err(self
                .p
                .diagnostic(
                    start..end,
                    "syntax",
                    format!("the kernel `{}` has no grid or no block", kernel.name),
                )
                .help(
                    "write `grid(1, 1, 1)` and `block(128, 1, 1)`, each on its own line, before \
                     its statements",
                )
                .into());
        }
        kernel.body = self.statements()?;
        self.p.leave();
        Ok(kernel)
    }

    /// `started number`, after the keyword: a counter in global memory, and an array of the block.
    fn in_order(&mut self) -> Parse<InOrder> {
        let span = self.p.span();
        let name = self.p.name("the counter of blocks")?;
        let Some(Memory::Global(counter)) = self.names.memory_of(&name) else {
            return Err(self.unknown(&name, span, "array in global memory", &self.names.array_names()));
        };
        let span = self.p.span();
        let name = self.p.name("the array of the block that holds its number")?;
        let Some(Memory::Shared(number)) = self.names.memory_of(&name) else {
            return Err(self.unknown(&name, span, "array in shared memory", &self.names.array_names()));
        };
        Ok(InOrder { counter, number })
    }

    /// Refuses a line that occurs a second time.
    fn once(&self, seen: &mut bool, start: usize) -> Parse<()> {
        match std::mem::replace(seen, true) {
            false => Ok(()),
            true => {
                Err(self.p.error_at(start..self.p.last_end(), "duplicate-name", "this occurs a second time"))
            }
        }
    }

    /// `x`, `y written exchanged`, `n: i32`, `t host`
    fn param(&mut self, program: &Program) -> Parse<Param> {
        let span = self.p.span();
        let name = self.p.name("a parameter")?;
        if self.p.eat(":") {
            let dtype = self.dtype()?;
            self.names.scalar(name.clone(), dtype);
            return Ok(Param::Scalar { name, dtype });
        }
        if self.p.eat_word("host") {
            self.names.scalar(name.clone(), self.names.index);
            return Ok(Param::HostVar(name));
        }
        let (written, exchanged) = (self.p.eat_word("written"), self.p.eat_word("exchanged"));
        match program.globals.iter().position(|g| g.name == name) {
            Some(global) => Ok(Param::Global { global, written, exchanged }),
            None => Err(self.unknown(&name, span, "array", &self.names.array_names())),
        }
    }

    /// The shape of a block, as `(128, 1, 1)`: threads along x, y and z.
    fn block(&mut self) -> Parse<PerDim<u32>> {
        self.p.open("(")?;
        let x = self.number("a number of threads")?;
        self.p.expect(",")?;
        let y = self.number("a number of threads")?;
        self.p.expect(",")?;
        let z = self.number("a number of threads")?;
        self.p.close(")")?;
        Ok(PerDim { x, y, z })
    }

    /// `i: i32 mutable index within(0, 31) means thread.x`
    fn variable(&mut self) -> Parse<Var> {
        let start = self.p.span().start;
        let (name, number) = self.label("a variable")?;
        let known = self.names.variables_of(&name).len();
        if number != known {
            let span = start..self.p.last_end();
            let remedy = match known {
                0 => format!("the first one is `{name}`"),
                known => format!("the next one of this name is `{name}.{known}`"),
            };
            let message = match number {
                0 => format!("there is already a variable `{name}`"),
                number => format!("there are fewer than {number} variables `{name}` above"),
            };
            return Err(self.p.diagnostic(span, "duplicate-name", message).help(remedy).into());
        }
        self.p.expect(":")?;
        let dtype = self.dtype()?;
        let (mutable, index) = (self.p.eat_word("mutable"), self.p.eat_word("index"));
        let within = match self.p.eat_word("within") {
            true => {
                self.p.open("(")?;
                let least = self.integer()?;
                self.p.expect(",")?;
                let most = self.integer()?;
                self.p.close(")")?;
                Some((least, most))
            }
            false => None,
        };
        let meaning = if self.p.eat_word("means") { Some(self.p.aff()?) } else { None };
        Ok(Var { name, dtype, mutable, meaning, within, index })
    }

    /// `row: f32[8, 33] "what it holds"`
    fn local(&mut self) -> Parse<LocalArray> {
        let span = self.p.span();
        let name = self.p.name("an array")?;
        self.unused(&name, span)?;
        self.p.expect(":")?;
        let dtype = self.dtype()?;
        let mut dims = Vec::new();
        self.p.open("[")?;
        while !self.p.at("]") {
            dims.push(self.p.number("a number of elements")?);
            if !self.p.eat(",") {
                break;
            }
        }
        self.p.close("]")?;
        let layout = self.local_layout(&dims)?;
        let note = note::read(&mut self.p)?.text;
        Ok(LocalArray { name, dtype, dims, layout, note })
    }

    /// `layout((8,32):(33,1)) swizzle(1, 2, 3)`, each if it is set. Without modes, a swizzled array
    /// is row-major before.
    fn local_layout(&mut self, dims: &[u64]) -> Parse<Option<ComposedLayout>> {
        let span = self.p.span();
        let mut set = ArrayLayout::default();
        while self.p.array_layout(&mut set)? {}
        if set.is_default() {
            return Ok(None);
        }
        let span = span.start..self.p.last_end();
        let swizzle = set.swizzle.or_else(|| Swizzle::new(0, 0, 0).ok());
        let modes = set.modes.or_else(|| row_major(dims));
        match modes.zip(swizzle) {
            Some((layout, swizzle)) => Ok(Some(ComposedLayout { swizzle, offset: Int::ZERO, layout })),
            None => {
                Err(self.p.diagnostic(span, "wrong-layout", "the array is too large for a layout").into())
            }
        }
    }
}
