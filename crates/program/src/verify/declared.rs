//! Whether the arrays of a program are those that the kernel declares, and each device kernel has
//! the parameters that its text uses.
//!
//! Lengths, strides and sizes are expressions of the scalars on both sides. What the declaration
//! gives, computed here from its axes, their order and their padding, is a function of the scalars
//! or a product of such. A function has to be the same one in the program; products are compared by
//! numbers, at several sizes that the assumptions allow. Whether offsets are those of subscripts
//! and strides is asked in `width`.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_kernel_ir::{AddressSpace, Aff, Arg, Array, Expr, LoopKernel, Name};
use loopwright_poly::System;

use crate::{
    DeviceKernel, Global, Memory, Owner, Param, Program, ProgramArg, Stmt, Value, ValueKind, eval_host,
};

/// The sizes that are tried for each scalar, in turns.
const SIZES: [i64; 8] = [1, 2, 3, 16, 7, 61, 128, 1009];

/// What all sizes of a turn are multiplied by, for assumptions that ask for multiples.
const FACTORS: [i64; 3] = [1, 128, 4096];

/// How many combinations of sizes are tried with each factor.
const TURNS: usize = 64;

/// How many that the assumptions allow are enough.
const ENOUGH: usize = 8;

/// Why a device kernel cannot be what its text uses: a parameter is missing, or one that is written
/// is said to be only read; or a block without threads.
pub(super) fn wrong_parameters(program: &Program) -> Option<String> {
    let mut touched = Touched::default();
    for kernel in &program.kernels {
        if kernel.block.values().any(|threads| *threads == 0) {
            return Some(format!("a block of `{}` has no threads", kernel.name));
        }
        if let Some(why) = in_kernel(program, kernel, &mut touched) {
            return Some(why);
        }
    }
    program.globals.iter().enumerate().find_map(|(number, global)| {
        if touched.written.contains(&number) && !global.written {
            return Some(format!("`{}` is written, and not said to be", global.name));
        }
        (touched.read.contains(&number) && !global.read)
            .then(|| format!("`{}` is read, and not said to be", global.name))
    })
}

/// The arrays of global memory that statements touch, by their numbers.
#[derive(Default)]
struct Touched {
    read: BTreeSet<usize>,
    written: BTreeSet<usize>,
}

impl Touched {
    fn of(kernel: &DeviceKernel) -> Touched {
        let mut touched = Touched::default();
        let global = |memory: Memory| match memory {
            Memory::Global(number) => Some(number),
            Memory::Shared(_) | Memory::Private(_) => None,
        };
        Stmt::visit(&kernel.body, &mut |stmt| {
            touched.written.extend(stmt.written().and_then(|to| global(to.element.memory)));
            touched.written.extend(stmt.published());
            stmt.each_read(&mut |from| touched.read.extend(global(from.element.memory)));
        });
        touched
    }
}

fn in_kernel(program: &Program, kernel: &DeviceKernel, all: &mut Touched) -> Option<String> {
    let touched = Touched::of(kernel);
    let name = |number: usize| program.globals.get(number).map_or("?", |g| g.name.as_str());
    // A launch that begins early waits for what the ones before it have written.
    let is_written = |number: usize| program.globals.get(number).is_some_and(|g| g.written);
    let kept = kernel.params.iter().find_map(|p| match p {
        Param::Global { global, exchanged: false, .. } if kernel.early => {
            (touched.read.contains(global) && is_written(*global)).then_some(*global)
        }
        _ => None,
    });
    if let Some(number) = kept {
        let name = name(number);
        return Some(format!("`{}` may begin before `{name}` is written, and reads it early", kernel.name));
    }
    let is_table = |number: usize| program.globals.get(number).is_some_and(|g| g.table().is_some());
    let parameter = |number: usize| {
        kernel.params.iter().find_map(|p| match p {
            Param::Global { global, written, .. } if *global == number => Some(*written),
            _ => None,
        })
    };
    for number in touched.read.iter().chain(&touched.written) {
        let is_written = touched.written.contains(number);
        match parameter(*number) {
            None if !is_table(*number) => {
                return Some(format!(
                    "`{}` uses `{}`, which is no parameter of it",
                    kernel.name,
                    name(*number)
                ));
            }
            Some(false) if is_written => {
                return Some(format!("`{}` writes `{}`, which it only reads", kernel.name, name(*number)));
            }
            _ => {}
        }
    }
    let has = |scalar: &Name| {
        kernel.params.iter().any(|p| match p {
            Param::Scalar { name, .. } | Param::HostVar(name) => name == scalar,
            Param::Global { .. } => false,
        })
    };
    let mut missing = None;
    Stmt::visit(&kernel.body, &mut |stmt| {
        stmt.visit_values(&mut |value| {
            if let ValueKind::Param(name) = &value.kind
                && !has(name)
            {
                missing = missing.take().or_else(|| Some(name.clone()));
            }
        });
    });
    all.read.extend(touched.read);
    all.written.extend(touched.written);
    missing.map(|scalar| format!("`{}` uses `{scalar}`, which is no parameter of it", kernel.name))
}

/// The first array of a program that is not what the kernel declares, or an argument of the kernel
/// that is none of the program's.
pub(super) fn wrong_array(kernel: &LoopKernel, program: &Program) -> Option<String> {
    let given: Vec<&Name> = program
        .args
        .iter()
        .filter_map(|arg| match arg {
            ProgramArg::Array(number) => program.globals.get(*number).map(|g| &g.name),
            ProgramArg::Scalar(scalar) => Some(&scalar.name),
        })
        .collect();
    if !given.iter().copied().eq(kernel.args.iter().map(Arg::name)) {
        return Some("the arguments are not those of the kernel".into());
    }
    let arrays = kernel.args.iter().filter_map(|arg| match arg {
        Arg::Array(array) => Some((array, Owner::Caller)),
        Arg::Scalar(_) => None,
    });
    let temporaries = kernel.temporaries.iter().filter(|t| t.space == AddressSpace::Global);
    let tried = allowed_sizes(program);
    for (array, owner) in arrays.chain(temporaries.map(|t| (t, Owner::Launch))) {
        let Some(global) = program.globals.iter().find(|g| g.name == array.name) else {
            return Some(format!("the program has no array `{}`", array.name));
        };
        if global.owner != owner {
            let whose = if owner == Owner::Caller { "an argument" } else { "a temporary" };
            return Some(format!("`{}` is {whose} of the kernel, and none of the program", array.name));
        }
        if array.dtype.known() != Some(global.dtype) {
            return Some(format!("`{}` has elements of another type than in the kernel", array.name));
        }
        if let Some(at) = other_layout(&tried, array, global) {
            return Some(format!("`{}` does not lie as in the kernel{at}", array.name));
        }
    }
    let declared = |name: &Name| kernel.args.iter().any(|arg| arg.name() == name);
    let stray = program.globals.iter().find(|g| g.owner == Owner::Caller && !declared(&g.name))?;
    Some(format!("the kernel has no argument `{}`", stray.name))
}

/// Different sizes of the integer scalars that the assumptions allow.
fn allowed_sizes(program: &Program) -> Vec<BTreeMap<Name, i64>> {
    let scalars: Vec<&Name> = program.scalars().filter(|s| s.dtype.is_integer()).map(|s| &s.name).collect();
    let size = |turn: usize, k: usize| {
        let number = turn % TURNS;
        FACTORS[turn / TURNS] * SIZES[(number * (k + 1) + number / SIZES.len() + k) % SIZES.len()]
    };
    let turns = (0..TURNS * FACTORS.len())
        .map(|turn| scalars.iter().enumerate().map(|(k, n)| ((*n).clone(), size(turn, k))).collect());
    let holds = |sizes: &BTreeMap<Name, i64>| {
        program.assumptions.iter().all(|a| a.holds(&|name| sizes.get(name).copied()) == Some(true))
    };
    let mut tried: Vec<BTreeMap<Name, i64>> = Vec::new();
    for sizes in turns.filter(holds) {
        if !tried.contains(&sizes) {
            tried.push(sizes);
        }
        if tried.len() == ENOUGH {
            break;
        }
    }
    if tried.is_empty() {
        // Assumptions that leave none of these leave others.
        let one = System::new(&program.assumptions).and_then(|system| system.sample(&BTreeMap::new()));
        tried.extend(one.ok().flatten());
    }
    tried
}

/// Sizes, of those that are tried, for which an array of the program has another length, stride or
/// size than the declared one, as text.
fn other_layout(tried: &[BTreeMap<Name, i64>], array: &Array, global: &Global) -> Option<String> {
    if array.axes.len() != global.shape.len() || array.axes.len() != global.strides.len() {
        return Some(String::new());
    }
    for sizes in tried {
        let lookup = |name: &Name| sizes.get(name).copied();
        let of = |value: &Value| eval_host(value, &lookup);
        let found: Option<Vec<i64>> =
            global.shape.iter().chain(&global.strides).chain([&global.size]).map(of).collect();
        if let (Some(wanted), Some(found)) = (numbers(array, &|e| e.to_integer(&lookup)), found)
            && wanted != found
        {
            let at: Vec<String> = sizes.iter().map(|(name, size)| format!("{name}={size}")).collect();
            return Some(format!(", where {}", at.join(", ")));
        }
    }
    // At other sizes.
    let found = global.shape.iter().chain(&global.strides).chain([&global.size]);
    for (wanted, found) in functions(array).into_iter().zip(found) {
        let affine = |value: &Value| value.affine(&mut |_| Ok::<_, ()>(None)).ok().flatten();
        if wanted.is_some_and(|wanted| affine(found) != Some(wanted)) {
            return Some(String::new());
        }
    }
    None
}

/// As [`numbers`], those that are functions of the scalars.
fn functions(array: &Array) -> Vec<Option<Aff>> {
    let product = |a: &Aff, b: &Aff| match (a.as_constant(), b.as_constant()) {
        (Some(k), _) => b.scale(k).ok(),
        (_, Some(k)) => a.scale(k).ok(),
        _ => None,
    };
    let lengths: Vec<Option<Aff>> = array.axes.iter().map(|a| a.length.to_aff()).collect();
    let mut strides = vec![None; lengths.len()];
    let mut dense = Some(Aff::constant(1));
    for k in array.storage_order().into_iter().rev() {
        let axis = &array.axes[k];
        match &axis.stride {
            Some(stride) => strides[k] = stride.to_aff(),
            None => {
                strides[k].clone_from(&dense);
                let padded = lengths[k].as_ref().and_then(|n| n.add_constant(axis.padding.into()).ok());
                dense = dense.zip(padded).and_then(|(dense, padded)| product(&dense, &padded));
            }
        }
    }
    let size = dense.filter(|_| array.axes.iter().all(|axis| axis.stride.is_none()));
    lengths.into_iter().chain(strides).chain([size]).collect()
}

/// The lengths of the axes, their strides and the number of elements, as the array is declared.
fn numbers(array: &Array, of: &dyn Fn(&Expr) -> Option<i64>) -> Option<Vec<i64>> {
    let lengths: Vec<i64> = array.axes.iter().map(|a| of(&a.length)).collect::<Option<_>>()?;
    let mut strides = vec![1; lengths.len()];
    let (mut dense, mut last) = (1i64, 0i64);
    for k in array.storage_order().into_iter().rev() {
        let axis = &array.axes[k];
        strides[k] = match &axis.stride {
            Some(stride) => of(stride)?,
            None => {
                let stride = dense;
                dense = dense.checked_mul(lengths[k].checked_add(i64::from(axis.padding))?)?;
                stride
            }
        };
        last = last.checked_add(strides[k].checked_mul(lengths[k].checked_sub(1)?)?)?;
    }
    let is_explicit = array.axes.iter().any(|axis| axis.stride.is_some());
    let size = if is_explicit { last.checked_add(1)? } else { dense };
    Some(lengths.into_iter().chain(strides).chain([size]).collect())
}
