//! Whether blocks that look back find what they wait for.
//!
//! A look-back ([`crate::LookBack`]) waits until the blocks before its own have published. That
//! they do so, and that it sees nothing else, rests on four things:
//!
//! 1. *All blocks come to it, once*: it stands in a collective, in no loop, and that in the body of
//!    the kernel, under no condition. Which threads of the block run it is asked in `joins`.
//! 2. *Blocks before it have started*: the kernel numbers its blocks in the order in which they
//!    start ([`crate::InOrder`]), and blocks with lower coordinates have lower numbers.
//! 3. *Words are 0 at first*: every launch of the kernel comes directly behind one of the kernel
//!    that resets its words and its counter ([`reset_of`]).
//! 4. *Nobody else writes them*: each look-back has an array of its own, with the words of all
//!    tiles, whose word is that of the block; no other statement of the kernel accesses it, nor the
//!    counter and the array of the block that holds its number.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{DType, Diagnostic, Name};

use crate::{
    DeclaredLookBack, DeviceKernel, HostStmt, InOrder, LookBack, MemRef, Memory, Owner, Param, Program, Stmt,
    Value, reset_of,
};

/// The first look-back of a program that may wait for ever, or read something else.
pub(super) fn wrong_look_back(program: &Program) -> Option<Diagnostic> {
    let of_kernel = |kernel| in_kernel(program, kernel).err().map(|why| refuse(&kernel.name, &why));
    program.kernels.iter().find_map(of_kernel).or_else(|| not_reset(program, &program.host, None))
}

fn refuse(kernel: &Name, why: &str) -> Diagnostic {
    Diagnostic::new("look-back", format!("the blocks of `{kernel}` cannot look back: {why}"))
}

/// The first launch of a kernel whose words are not reset before it. `before` is the kernel that is
/// launched before these statements.
fn not_reset<'p>(
    program: &'p Program,
    body: &'p [HostStmt],
    mut before: Option<&'p DeviceKernel>,
) -> Option<Diagnostic> {
    for stmt in body {
        match stmt {
            HostStmt::For { body, .. } => {
                if let Some(wrong) = not_reset(program, body, None) {
                    return Some(wrong);
                }
                before = None;
            }
            HostStmt::Launch(number) => {
                let kernel = program.kernels.get(*number)?;
                if kernel.in_order.is_some() {
                    let wanted = before.and_then(|other| reset_of(program, kernel, other.name.clone()));
                    let is_reset = wanted.zip(before).is_some_and(|(wanted, other)| {
                        wanted == DeviceKernel { early: false, notes: wanted.notes.clone(), ..other.clone() }
                    });
                    if !is_reset {
                        let why = "the launch before does not set its words and its counter to 0";
                        return Some(refuse(&kernel.name, why));
                    }
                }
                before = Some(kernel);
            }
        }
    }
    None
}

fn in_kernel(program: &Program, kernel: &DeviceKernel) -> Result<(), String> {
    let mut found = Vec::new();
    for stmt in &kernel.body {
        if let Stmt::Collective { body, .. } = stmt {
            under_choices(body, &mut found);
        }
    }
    let mut all = 0;
    Stmt::visit(&kernel.body, &mut |stmt| all += usize::from(matches!(stmt, Stmt::LookBack(_))));
    if all != found.len() {
        return Err("one of them does so in a loop, under a condition, or in no collective".into());
    }
    let Some(InOrder { counter, number }) = kernel.in_order else {
        return match all {
            0 => Ok(()),
            _ => Err("they are not numbered in the order in which they start".into()),
        };
    };
    if all == 0 {
        return Err("they are numbered, and none of them looks back".into());
    }
    let mut own = BTreeSet::from([Memory::Global(counter), Memory::Shared(number)]);
    is_words(program, kernel, counter, DType::U32, &Value::int(program.index, 1), false)?;
    match kernel.shared.get(number) {
        Some(array) if array.dtype == DType::U32 && array.dims == [1] && array.layout.is_none() => {}
        _ => return Err("no array of one u32 in shared memory holds the number of a block".into()),
    }
    for look_back in found {
        let LookBack { by, axis, total, before, word } = look_back;
        let Some(of) = program.look_backs.get(*by) else {
            return Err("what they join is not declared".into());
        };
        let is_state = |values: &[Value]| values.iter().map(|v| v.dtype).eq(of.state.iter().copied());
        let vars = before.iter().map(|var| kernel.vars.get(var.0).map(|var| var.dtype));
        if !of.state.iter().all(|dtype| DeclaredLookBack::takes(*dtype))
            || !(1..=DeclaredLookBack::MOST_VALUES).contains(&of.state.len())
            || [total, &of.neutral, &of.combined].into_iter().any(|values| !is_state(values))
            || !vars.eq(of.state.iter().map(|dtype| Some(*dtype)))
        {
            return Err(format!("the values of `{}` are not of its types, of 32 or 64 bits", of.name));
        }
        let first = LookBack::word_of(&kernel.grid, *axis, of.words(), program.index);
        let MemRef { memory: Memory::Global(array), subscripts, offset } = word else {
            return Err("their words are not in global memory".into());
        };
        if subscripts.as_slice() != [first.clone()] || **offset != first {
            return Err("a word is not that of the block".into());
        }
        let size = LookBack::words_of(&kernel.grid, *axis, of.words(), program.index);
        is_words(program, kernel, *array, DType::U64, &size, true)?;
        if !own.insert(word.memory) {
            return Err("two of their arrays are one".into());
        }
    }
    let mut other = None;
    let mut note = |memory: Memory| {
        if own.contains(&memory) {
            other = Some(memory);
        }
    };
    Stmt::visit(&kernel.body, &mut |stmt| {
        stmt.each_read(&mut |from| note(from.element.memory));
        if !matches!(stmt, Stmt::LookBack(_)) {
            stmt.each_element(&mut |element| note(element.memory));
        }
    });
    match other {
        Some(_) => Err("another statement accesses what they count or publish".into()),
        None => Ok(()),
    }
}

/// The look-backs of a body, those under conditions too, but none in a loop or a further
/// collective.
fn under_choices<'p>(body: &'p [Stmt], found: &mut Vec<&'p LookBack>) {
    for stmt in body {
        match stmt {
            Stmt::LookBack(stmt) => found.push(stmt),
            Stmt::If { body, otherwise, .. } => {
                under_choices(body, found);
                under_choices(otherwise, found);
            }
            _ => {}
        }
    }
}

/// Requires that an array in global memory is the launch's own, of this type and size, and that the
/// kernel writes it.
fn is_words(
    program: &Program,
    kernel: &DeviceKernel,
    array: usize,
    dtype: DType,
    size: &Value,
    shared: bool,
) -> Result<(), String> {
    let Some(global) = program.globals.get(array) else {
        return Err("one of their arrays does not exist".into());
    };
    let fits = global.dtype == dtype
        && global.owner == Owner::Launch
        && global.shape == [size.clone()]
        && global.strides == [Value::int(program.index, 1)]
        && global.size == *size;
    let passed = kernel.params.iter().any(|param| {
        matches!(param, Param::Global { global, written: true, exchanged } if *global == array && (*exchanged || !shared))
    });
    match fits && passed {
        true => Ok(()),
        false => Err(format!("`{}` is not an array of the launch with a word for each tile", global.name)),
    }
}
