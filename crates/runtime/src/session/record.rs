//! Arrays of structs as arguments: bytes for the caller, fields for the kernel.
//!
//! A caller passes `p: particle[n]` as bytes, `u8[n, 24]`, which is what memory of C or of a NumPy
//! array with `align=True` is. A host array of them is taken apart, and each field is an argument
//! like others. An array of a device stays one piece of memory, in which the fields are views.

use std::borrow::Cow;

use indexmap::IndexMap;
use loopwright_kernel_ir::{Buffer, DType, Diagnostic, LoopKernel, Name, Record, Struct};
use loopwright_program::{Program, RecordArg};

use super::args::ArrayArg;
use super::layout::Layout;
use super::{Args, DeviceTensor, Tensor};

impl Args {
    /// These arguments with the fields of each array of structs in its place, under the names that
    /// the kernel has for them.
    ///
    /// Errors: bytes that are no elements of the struct (`argument-type`); a field that was given
    /// too (`argument-twice`).
    pub fn with_fields(&self, kernel: &LoopKernel) -> Result<Cow<'_, Args>, Diagnostic> {
        let mut args = Cow::Borrowed(self);
        for record in &kernel.records {
            let name = &record.array.name;
            let (Some(given), Some(of)) = (self.arrays.get(name), kernel.structure(record.of())) else {
                continue;
            };
            check_bytes(record, of, given)?;
            let fields: Vec<(Name, ArrayArg)> = of
                .fields
                .iter()
                .enumerate()
                .map(|(k, field)| {
                    let array = match given {
                        ArrayArg::Host(bytes) => ArrayArg::Host(field_of(bytes, of, k)?),
                        ArrayArg::Device(bytes) => ArrayArg::Device(bytes.field(of, k)?),
                    };
                    Ok((record.field_name(&field.name), array))
                })
                .collect::<Result<_, Diagnostic>>()?;
            let args = args.to_mut();
            args.arrays.shift_remove(name);
            for (field, array) in fields {
                if args.arrays.insert(field.clone(), array).is_some() {
                    let message = format!("`{field}` is a field of `{name}`, which was given too");
                    return Err(Diagnostic::new("argument-twice", message).help("give one of the two"));
                }
            }
        }
        Ok(args)
    }
}

fn check_bytes(record: &Record, of: &Struct, given: &ArrayArg) -> Result<(), Diagnostic> {
    let name = &record.array.name;
    let size = of.bytes();
    let fits = given.dtype() == DType::U8
        && given.shape().len() == record.array.axes.len() + 1
        && given.shape().last() == Some(&size);
    if fits {
        return Ok(());
    }
    let axes = vec!["_"; record.array.axes.len()].join(", ");
    let message = format!(
        "`{name}` is an array of `{}`, of {size} bytes each, but {}{:?} was given",
        of.name,
        given.dtype(),
        given.shape()
    );
    Err(Diagnostic::new("argument-type", message)
        .help(format!("pass the bytes of its elements, as an array u8[{axes}, {size}]")))
}

/// A field of each element of an array of bytes.
fn field_of(bytes: &Tensor, of: &Struct, field: usize) -> Result<Tensor, Diagnostic> {
    let dtype = of.fields[field].dtype;
    let shape = &bytes.shape()[..bytes.shape().len() - 1];
    if !bytes.is_initialised() {
        return Tensor::uninit(shape, dtype);
    }
    let (offset, size) = (of.offsets()[field], dtype.bytes());
    let elements = bytes.buffer().bytes().chunks_exact(of.bytes());
    let values: Vec<u8> = elements.flat_map(|e| e[offset..offset + size].iter().copied()).collect();
    let buffer = Buffer::from_bytes(dtype, values).ok_or_else(|| {
        let message = format!("a truth value in the field `{}` is neither 0 nor 1", of.fields[field].name);
        Diagnostic::new("tensor-bool", message).help("write 0 or 1 to every byte of it")
    })?;
    Tensor::from_buffer(shape, buffer)
}

/// The bytes of elements with these fields; zero where there are none.
pub(super) fn bytes_of(
    of: &Struct,
    shape: &[usize],
    fields: &[Option<&Tensor>],
) -> Result<Tensor, Diagnostic> {
    let size = of.bytes();
    let whole: Vec<usize> = shape.iter().copied().chain([size]).collect();
    let given = || fields.iter().enumerate().filter_map(|(k, f)| Some((k, (*f)?)));
    if !given().any(|(_, f)| f.is_initialised()) {
        return Tensor::uninit(&whole, DType::U8);
    }
    let mut bytes = vec![0u8; super::tensor::elements(&whole, DType::U8)?];
    for (k, field) in given() {
        let (offset, width) = (of.offsets()[k], of.fields[k].dtype.bytes());
        let values = field.buffer().bytes().chunks_exact(width);
        for (element, value) in bytes.chunks_exact_mut(size).zip(values) {
            element[offset..offset + width].copy_from_slice(value);
        }
    }
    Tensor::from_vec(&whole, bytes)
}

/// The layout of the bytes of a record, from that of one of its fields.
pub(super) fn layout_of(of: &Struct, field: usize, layout: &Layout) -> Layout {
    let (width, size) = (of.fields[field].dtype.bytes(), of.bytes());
    let shape: Vec<usize> = layout.shape.iter().copied().chain([size]).collect();
    let strides: Vec<usize> = layout.strides.iter().map(|s| s * width).chain([1]).collect();
    let reach = layout.shape.iter().zip(&strides).map(|(n, s)| n.saturating_sub(1).saturating_mul(*s));
    let last = reach.fold(size, usize::saturating_add);
    Layout { size: if shape.contains(&0) { 0 } else { last }, shape, strides }
}

/// The bytes of each array of structs that a program writes a field of.
pub(super) fn written(program: &Program) -> impl Iterator<Item = &RecordArg> {
    program.records.iter().filter(|r| r.fields.iter().any(|g| program.globals[*g].written))
}

/// The record of this name among the arrays of a program, by one of its views.
pub(super) fn whole<'a>(
    program: &Program,
    arrays: &'a IndexMap<Name, DeviceTensor>,
    name: &str,
) -> Option<&'a DeviceTensor> {
    let record = program.records.iter().find(|r| *r.name == *name)?;
    arrays.get(&program.globals.get(*record.fields.first()?)?.name)?.whole()
}
