//! A device kernel: its signature, the storage of its arrays, its body.

use std::collections::BTreeSet;

use loopwright_program::{LocalArray, Memory, Param, RecordArg, Stmt};

use crate::{
    context::Context,
    helpers::WAIT,
    stmt::Lines,
    wrap::{WIDTH, wrap},
};

impl Context<'_> {
    /// The whole kernel: its head, its storage and its body.
    pub(crate) fn kernel(&self, out: &mut Lines) {
        // The body first: it determines which constants are declared at the start.
        let mut body = Lines::default();
        self.body(&self.kernel.body, 4, &mut body);
        self.head(out);
        self.shared(out);
        let accessed = self.accessed();
        self.tables(&accessed, out);
        for (p, array) in self.kernel.private.iter().enumerate() {
            if !accessed.contains(&Memory::Private(p)) {
                continue;
            }
            let align = self.alignment(Memory::Private(p));
            out.noted(&format!("{align}{};", self.declarator(array)), &array.note, 4, None);
        }
        for declaration in self.constants.borrow().values() {
            out.push(declaration, 4, None);
        }
        if self.kernel.early && self.needs.dialect.hints {
            out.push(&format!("{WAIT}();"), 4, None);
        }
        self.number_block(out);
        out.0.append(&mut body.0);
        out.push("}", 0, None);
    }

    /// The memory that statements access which run: contracts of atoms also name arrays that stand
    /// for fragments.
    fn accessed(&self) -> BTreeSet<Memory> {
        fn walk(body: &[Stmt], found: &mut BTreeSet<Memory>) {
            for stmt in body {
                found.extend(stmt.written().map(|accessed| accessed.element.memory));
                stmt.each_read(&mut |accessed| {
                    found.insert(accessed.element.memory);
                });
                stmt.running().for_each(|body| walk(body, found));
            }
        }
        let mut found = BTreeSet::new();
        walk(&self.kernel.body, &mut found);
        found
    }

    fn head(&self, out: &mut Lines) {
        for note in &self.kernel.notes {
            out.comment(&note.text, 0, None);
        }
        let params: Vec<String> = self.program.passed(self.kernel).map(|p| self.param(p)).collect();
        let blocks = self.kernel.min_blocks_per_multiprocessor.filter(|_| self.needs.dialect.hints);
        let blocks = blocks.map_or_else(String::new, |blocks| format!(", {blocks}"));
        let threads = self.kernel.threads();
        let qualifiers = format!("extern \"C\" __global__ void __launch_bounds__({threads}{blocks})");
        let signature = format!("{}({}) {{", self.kernel.name, params.join(", "));
        if qualifiers.len() + 1 + signature.len() <= WIDTH {
            out.push(&format!("{qualifiers} {signature}"), 0, None);
        } else {
            out.push(&qualifiers, 0, None);
            out.0.extend(wrap(&signature, 0).into_iter().map(|line| (line, None)));
        }
    }

    fn param(&self, param: &Param) -> String {
        if let Some(record) = self.program.record_of_param(param) {
            return self.record_param(record);
        }
        match param {
            Param::Global { global, written, exchanged } => {
                let (name, dtype) = self.array(Memory::Global(*global));
                let constant = if *written { "" } else { "const " };
                let alone = if *exchanged { "" } else { "__restrict__ " };
                format!("{constant}{} *{alone}{name}", self.needs.c_type(dtype))
            }
            Param::Scalar { name, dtype } => format!("const {} {name}", self.needs.c_type(*dtype)),
            Param::HostVar(name) => format!("const {} {name}", self.needs.c_type(self.program.index)),
        }
    }

    /// The one parameter of a record: const if none of its fields is written here, and alone if no
    /// thread exchanges values through one.
    fn record_param(&self, record: &RecordArg) -> String {
        self.needs.structs.borrow_mut().insert(record.of.name.clone());
        record.of.fields.iter().for_each(|field| self.needs.note(field.dtype));
        let (mut is_written, mut is_exchanged) = (false, false);
        for param in &self.kernel.params {
            if let Param::Global { written, exchanged, .. } = param
                && self.program.record_of_param(param) == Some(record)
            {
                is_written |= *written;
                is_exchanged |= *exchanged;
            }
        }
        let constant = if is_written { "" } else { "const " };
        let alone = if is_exchanged { "" } else { "__restrict__ " };
        format!("{constant}{} *{alone}{}", record.of.name, record.name)
    }

    /// A declarator such as `float tile[16][17]`.
    fn declarator(&self, array: &LocalArray) -> String {
        format!("{} {}{}", self.needs.c_type(array.dtype), array.name, dims(&lengths(array)))
    }

    fn shared(&self, out: &mut Lines) {
        if !self.uses_dynamic_shared() {
            for (s, array) in self.kernel.shared.iter().enumerate() {
                let align = self.alignment(Memory::Shared(s));
                out.noted(&format!("__shared__ {align}{};", self.declarator(array)), &array.note, 4, None);
            }
            return;
        }
        let note = format!("{} bytes, asked for at the launch", self.kernel.shared_bytes());
        out.noted("extern __shared__ __align__(16) unsigned char shared_memory[];", &note, 4, None);
        let mut offset = 0;
        for array in &self.kernel.shared {
            let t = self.needs.c_type(array.dtype);
            let name = &array.name;
            let place =
                if offset == 0 { "shared_memory".into() } else { format!("shared_memory + {offset}") };
            let view = match &lengths(array)[..] {
                [] => format!("{t} &{name} = *reinterpret_cast<{t} *>({place});"),
                [_] => format!("{t} *const {name} = reinterpret_cast<{t} *>({place});"),
                [_, rows @ ..] => {
                    let rows = dims(rows);
                    format!("{t} (*const {name}){rows} = reinterpret_cast<{t} (*){rows}>({place});")
                }
            };
            out.noted(&view, &array.note, 4, None);
            offset += array.bytes().next_multiple_of(16);
        }
    }

    /// Whether the kernel's shared memory exceeds what constant sizes may declare.
    pub(crate) fn uses_dynamic_shared(&self) -> bool {
        self.kernel.shared_bytes() > self.program.target.static_shared
    }
}

/// The dimensions of an array of C: one where a layout takes rows apart.
fn lengths(array: &LocalArray) -> Vec<u64> {
    if array.layout.is_some() && !array.is_swizzled_in_rows() {
        return vec![array.elements()];
    }
    array.dims.clone()
}

fn dims(lengths: &[u64]) -> String {
    lengths.iter().map(|d| format!("[{d}]")).collect()
}
