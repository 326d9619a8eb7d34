//! Structs of scalars as elements of arrays.
//!
//! A [`Struct`] is laid out as in C: each field at the next multiple of its size, the whole of a
//! multiple of its largest field. An argument whose elements are structs is a [`Record`]; for
//! everything but its declaration it is its fields, one array each (`p_x` of `p: particle[n]`), so
//! that steps, proofs and programs see ordinary arrays. Arrays of different fields have no cell in
//! common.
//!
//! The size of a struct is a multiple of the size of each of its fields, and so is each offset.
//! A field is therefore an array of its own type with a stride: `p_x` has `strides(6)` where a
//! struct has 24 bytes, and what is known about strided arrays (checks of launches, vectors that
//! need neighbours, counts of sectors) holds for it.

use loopwright_poly::Name;
use serde::{Deserialize, Serialize};

use crate::{Arg, Array, BinaryOp, DType, Diagnostic, Expr, KernelData, Type};

/// A field of a struct.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Field {
    /// Its name, unique in the struct.
    pub name: Name,
    /// Its type.
    pub dtype: DType,
}

/// Scalars that are one element of an array.
///
/// ```
/// use loopwright_kernel_ir::{DType::{F32, F64, I32}, Struct};
///
/// let particle = Struct::new("particle", [("x", F32), ("y", F32), ("mass", F64), ("kind", I32)]);
/// assert_eq!(particle.offsets(), [0, 4, 8, 16]);
/// assert_eq!((particle.bytes(), particle.alignment()), (24, 8));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Struct {
    /// The name of the type.
    pub name: Name,
    /// Its fields, in the order in which they lie.
    pub fields: Vec<Field>,
}

impl Struct {
    /// A struct of these fields. Validation of the kernel checks it.
    pub fn new<N: Into<Name>>(name: impl Into<Name>, fields: impl IntoIterator<Item = (N, DType)>) -> Struct {
        let fields = fields.into_iter().map(|(name, dtype)| Field { name: name.into(), dtype });
        Struct { name: name.into(), fields: fields.collect() }
    }

    /// The offset of each field, in bytes.
    pub fn offsets(&self) -> Vec<usize> {
        let mut end = 0usize;
        let mut offsets = Vec::with_capacity(self.fields.len());
        for field in &self.fields {
            let offset = end.next_multiple_of(field.dtype.bytes());
            offsets.push(offset);
            end = offset + field.dtype.bytes();
        }
        offsets
    }

    /// The alignment of an element in bytes: that of its largest field.
    pub fn alignment(&self) -> usize {
        self.fields.iter().map(|f| f.dtype.bytes()).max().unwrap_or(1)
    }

    /// The size of an element in bytes, including what is left free after its last field.
    pub fn bytes(&self) -> usize {
        let last = self.offsets().last().copied().unwrap_or(0);
        let end = last + self.fields.last().map_or(0, |f| f.dtype.bytes());
        end.next_multiple_of(self.alignment())
    }

    /// The number of the field of this name.
    pub fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|f| *f.name == *name)
    }
}

/// An argument that is an array of structs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Record {
    /// The array as it was declared. Its type is the name of the struct, its strides are in
    /// elements.
    pub array: Array,
}

impl Record {
    /// The name of its struct.
    pub fn of(&self) -> &Name {
        match &self.array.dtype {
            Type::Open(name) => name,
            // No struct has this name, which validation reports.
            Type::Known(_) => &self.array.name,
        }
    }

    /// The name of the array of a field.
    pub fn field_name(&self, field: &str) -> Name {
        Name::new(format!("{}_{field}", self.array.name))
    }

    /// The arrays of its fields, in the order of the struct.
    pub fn fields(&self, of: &Struct) -> Vec<Array> {
        of.fields
            .iter()
            .map(|field| {
                let width = of.bytes() / field.dtype.bytes();
                let mut array = self.array.clone();
                array.name = self.field_name(&field.name);
                array.dtype = Type::Known(field.dtype);
                // What lies further in than an axis decides its stride, as in `Axis::stride`.
                let mut dense = Expr::Int(i64::try_from(width).unwrap_or(i64::MAX));
                for axis in self.array.storage_order().into_iter().rev() {
                    let Some(axis) = array.axes.get_mut(axis) else { continue };
                    axis.stride = Some(match axis.stride.take() {
                        Some(stride) => product(Expr::Int(i64::try_from(width).unwrap_or(i64::MAX)), stride),
                        None => {
                            let stride = dense.clone();
                            dense = product(dense, axis.length.clone());
                            stride
                        }
                    });
                }
                array
            })
            .collect()
    }
}

fn product(a: Expr, b: Expr) -> Expr {
    let product = Expr::binary(BinaryOp::Mul, a, b);
    product.to_aff().map_or(product, |aff| Expr::from_aff(&aff))
}

impl KernelData {
    /// The struct of this name.
    pub fn structure(&self, name: &str) -> Option<&Struct> {
        self.structs.iter().find(|s| *s.name == *name)
    }

    /// The record of which an argument is a field, with the number of the field.
    pub fn record_of(&self, array: &str) -> Option<(&Record, usize)> {
        self.records.iter().find_map(|record| {
            let field = array.strip_prefix(&*record.array.name)?.strip_prefix('_')?;
            Some((record, self.structure(record.of())?.field(field)?))
        })
    }

    /// The refusal of a field whose array is not where the struct has it, if there is one.
    pub(crate) fn misplaced_field(&self, record: &Record, of: &Struct) -> Option<Diagnostic> {
        let fields = record.fields(of);
        let first = fields.first().and_then(|f| self.args.iter().position(|a| *a.name() == f.name));
        let stands = |k: usize| match first.and_then(|first| self.args.get(first + k)) {
            Some(Arg::Array(array)) => Some(array),
            _ => None,
        };
        let (_, wrong) = fields.iter().enumerate().find(|(k, field)| stands(*k) != Some(*field))?;
        let message = format!(
            "`{}` is not where `{}` has this field: the storage of `{}` is that of an array of structs",
            wrong.name, of.name, record.array.name
        );
        Some(Diagnostic::new("struct-layout", message).help(format!(
            "leave its axes, strides and hints as they are; a copy of the field may have others, as \
             `pack_array({}, ...)` makes",
            wrong.name
        )))
    }

    /// Requires that the fields of all records are where their structs have them, which steps on
    /// the storage of arrays may have changed.
    pub fn check_records(&self) -> Result<(), Diagnostic> {
        let wrong = |record| self.misplaced_field(record, self.structure(record.of())?);
        self.records.iter().find_map(wrong).map_or(Ok(()), Err)
    }

    /// Gives the arrays of all fields the shapes and strides of their records, after these have
    /// changed.
    pub fn lay_out_records(&mut self) {
        for record in &self.records {
            let Some(of) = self.structs.iter().find(|s| s.name == *record.of()) else { continue };
            for field in record.fields(of) {
                for arg in &mut self.args {
                    if let Arg::Array(array) = arg
                        && array.name == field.name
                    {
                        *array = field.clone();
                    }
                }
            }
        }
    }
}
