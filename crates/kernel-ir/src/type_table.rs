//! The types of the names of a kernel as declared.
//!
//! A [`TypeTable`] is cheap to clone and to vary: for subscripts, for the parts of an operator, for
//! a temporary whose type is being inferred. The types of expressions are in `types` and `typed`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
};

use crate::{
    Arg, Array, DType, DeviceFunction, Diagnostic, Expr, KernelData, Name, ReductionOp, Type, ValueType,
    types::{TypeError, computing, is_untyped},
};

/// The inames of a kernel that are `i64` as values: a bound of their domain has 64 bits, directly
/// or through another iname.
fn wide_inames(data: &KernelData) -> BTreeSet<Name> {
    let of_64_bits = |t: &Type| t.known().is_some_and(|t| t.is_integer() && t.bytes() == 8);
    let scalars = data.args.iter().filter_map(|a| match a {
        Arg::Scalar(s) => Some((&s.name, &s.dtype)),
        Arg::Array(_) => None,
    });
    let temporaries = data.temporaries.iter().filter(|t| t.axes.is_empty()).map(|t| (&t.name, &t.dtype));
    let long: BTreeSet<&Name> =
        scalars.chain(temporaries).filter(|(_, t)| of_64_bits(t)).map(|(name, _)| name).collect();
    let mut wide: BTreeSet<Name> = BTreeSet::new();
    for domain in &data.domains {
        let is_long = |n: &Name| wide.contains(n) || long.contains(n);
        let is_wide = domain
            .constraints
            .iter()
            .any(|c| i32::try_from(c.aff.constant_term()).is_err() || c.aff.mentions_any(&is_long));
        if is_wide {
            wide.extend(domain.inames.iter().cloned());
        }
    }
    let Some(declared) = &data.declared else { return wide };
    // Transforms may fix a parameter or rename an iname, which changes no value: the declared
    // inames decide, and other inames have the type of those that they are part of.
    let declared_wide = wide_inames(declared);
    wide.retain(|n| !declared.is_iname(n));
    wide.extend(declared_wide.iter().cloned());
    if wide.is_empty() {
        return wide;
    }
    for i in &data.instructions {
        for (iname, value) in &i.map {
            if declared_wide.contains(iname) {
                wide.extend(value.names().into_iter().filter(|n| data.is_iname(n) && !declared.is_iname(n)));
            }
        }
    }
    for d in &data.definitions {
        let names = d.value.names();
        if wide.contains(&d.iname) {
            wide.extend(names.into_iter().filter(|n| data.is_iname(n) && !declared.is_iname(n)));
        } else if !declared.is_iname(&d.iname) && names.iter().any(|n| wide.contains(n)) {
            wide.insert(d.iname.clone());
        }
    }
    wide
}

fn inames_of(data: &KernelData) -> impl Iterator<Item = &Name> {
    data.domains.iter().flat_map(|d| &d.inames).chain(data.definitions.iter().map(|d| &d.iname))
}

/// The floating-point types in which a kernel computes, as it was declared: those of its arguments,
/// temporaries and constant tables.
fn floating_types(data: &KernelData) -> Vec<Type> {
    let data = data.declared.as_deref().unwrap_or(data);
    let mut floats: Vec<Type> = Vec::new();
    let arguments = data.args.iter().map(|arg| match arg {
        Arg::Scalar(s) => &s.dtype,
        Arg::Array(a) => &a.dtype,
    });
    let others = data.temporaries.iter().chain(data.constants.iter().map(|c| &c.array));
    for t in arguments.chain(others.map(|a| &a.dtype)).filter(|t| !is_untyped(t)) {
        let t = computing(t);
        if t.known().is_none_or(DType::is_float) && !floats.contains(&t) {
            floats.push(t);
        }
    }
    floats
}

/// The types of the names of a kernel.
#[derive(Clone, Debug)]
pub struct TypeTable<'a> {
    pub(crate) data: &'a KernelData,
    scalars: Arc<BTreeMap<Name, Type>>,
    arrays: Arc<BTreeMap<Name, Type>>,
    pub(crate) floats: Arc<Vec<Type>>,
    /// All inames, computed on first use.
    all_inames: Arc<OnceLock<Arc<BTreeSet<Name>>>>,
    /// The inames and the type of indices, in a table for subscripts and bounds.
    inames: Option<(Arc<BTreeSet<Name>>, DType)>,
    /// The type of unknown names, if they have one.
    pub(crate) unknown: Option<DType>,
    /// A temporary that takes the floating-point type of what it meets while its own is being
    /// inferred.
    pub(crate) adapting: Option<Name>,
}

impl<'a> TypeTable<'a> {
    /// The table of a kernel. Temporaries whose type is still open are not in it.
    pub fn new(data: &'a KernelData) -> Self {
        let mut table = TypeTable {
            data,
            scalars: Arc::default(),
            arrays: Arc::default(),
            floats: Arc::new(floating_types(data)),
            all_inames: Arc::default(),
            inames: None,
            unknown: None,
            adapting: None,
        };
        let (mut scalars, mut arrays) = (BTreeMap::new(), BTreeMap::new());
        for arg in &data.args {
            match arg {
                Arg::Scalar(s) => scalars.insert(s.name.clone(), s.dtype.clone()),
                Arg::Array(a) => arrays.insert(a.name.clone(), a.dtype.clone()),
            };
        }
        for t in data.temporaries.iter().filter(|t| !is_untyped(&t.dtype)) {
            let names = if t.axes.is_empty() { &mut scalars } else { &mut arrays };
            names.insert(t.name.clone(), t.dtype.clone());
        }
        arrays.extend(data.constants.iter().map(|c| (c.array.name.clone(), c.array.dtype.clone())));
        let wide = wide_inames(data);
        for iname in inames_of(data) {
            let dtype = if wide.contains(iname) { DType::I64 } else { DType::I32 };
            scalars.insert(iname.clone(), dtype.into());
        }
        (table.scalars, table.arrays) = (Arc::new(scalars), Arc::new(arrays));
        table
    }

    /// The table for subscripts and bounds, which are integers of unlimited size: inames, unknown
    /// names and whatever is read have the type in which these are computed, which a launch checks
    /// to be wide enough.
    pub fn of_indices(&self, index: DType) -> TypeTable<'a> {
        let inames = self.all_inames.get_or_init(|| Arc::new(inames_of(self.data).cloned().collect()));
        TypeTable { inames: Some((inames.clone(), index)), unknown: Some(index), ..self.clone() }
    }

    /// The type of subscripts and bounds, in a table for these.
    pub(crate) fn index(&self) -> Option<DType> {
        self.inames.as_ref().map(|(_, index)| *index)
    }

    /// The table in which unknown names have this type.
    pub fn or_else(&self, unknown: DType) -> TypeTable<'a> {
        TypeTable { unknown: Some(unknown), ..self.clone() }
    }

    /// Adds the type of a temporary.
    pub(crate) fn learn(&mut self, temporary: &Array, dtype: Type) {
        let names = if temporary.axes.is_empty() { &mut self.scalars } else { &mut self.arrays };
        Arc::make_mut(names).insert(temporary.name.clone(), dtype);
    }

    /// The table with other scalars: the names that the parts of an operator use.
    pub fn with_scalars(&self, scalars: impl IntoIterator<Item = (Name, Type)>) -> TypeTable<'a> {
        TypeTable {
            data: self.data,
            scalars: Arc::new(scalars.into_iter().collect()),
            arrays: Arc::default(),
            floats: self.floats.clone(),
            all_inames: self.all_inames.clone(),
            inames: None,
            unknown: self.unknown,
            adapting: None,
        }
    }

    /// The table in which a temporary counts as a floating-point value of any type.
    pub(crate) fn adapting(&self, temporary: &Name) -> TypeTable<'a> {
        TypeTable { adapting: Some(temporary.clone()), ..self.clone() }
    }

    /// The kernel whose names these are.
    pub fn data(&self) -> &'a KernelData {
        self.data
    }

    /// The floating-point types in which the declared kernel computes. If there is exactly one, it
    /// is the type of floating-point values that nothing else decides.
    pub fn floats(&self) -> &[Type] {
        &self.floats
    }

    /// The floating-point type that a help suggests: the kernel's only one, or else f32.
    pub(crate) fn suggested_float(&self) -> Type {
        match self.floats() {
            [one] => one.clone(),
            _ => Type::Known(DType::F32),
        }
    }

    /// The user-defined device function of this name.
    pub(crate) fn function(&self, name: &str) -> Option<&'a DeviceFunction> {
        self.data.functions.iter().find(|f| *f.name == *name)
    }

    /// The operator of this name, of the kernel or of the library.
    pub(crate) fn operator(&self, name: &Name) -> Option<ReductionOp> {
        self.data.operator(name)
    }

    /// The type in which the operands of `e` meet.
    pub(crate) fn meet_of(&self, e: &Expr, a: &Expr, b: &Expr) -> std::result::Result<ValueType, Diagnostic> {
        let meet = || {
            let types = (self.infer(a)?, self.infer(b)?);
            if types.0.is_bool() && types.1.is_bool() {
                return Ok(types.0);
            }
            self.meet(e, (a, &types.0), (b, &types.1))
        };
        meet().map_err(|e: Box<TypeError>| e.diagnostic)
    }

    pub(crate) fn scalar_type(&self, name: &Name) -> Option<Type> {
        self.stored_type(name).map(|t| self.as_index(&t))
    }

    /// The type of what a name holds; inames have that of indices in a table for these.
    pub(crate) fn stored_type(&self, name: &Name) -> Option<Type> {
        match &self.inames {
            Some((inames, t)) if inames.contains(name) => Some((*t).into()),
            _ => self.scalars.get(name).cloned(),
        }
    }

    /// The type in which the elements of an array are read.
    pub(crate) fn read_type(&self, array: &str) -> Option<Type> {
        self.element(array).map(|t| self.as_index(t))
    }

    /// The type in which what is read or converted to a type is used: in a table for subscripts and
    /// bounds, integers are those.
    pub(crate) fn as_index(&self, own: &Type) -> Type {
        match (&self.inames, own.known()) {
            (Some((_, index)), Some(t)) if t.is_integer() => (*index).into(),
            _ => own.clone(),
        }
    }

    /// The type of a scalar or an iname.
    pub fn scalar(&self, name: &str) -> Option<&Type> {
        self.scalars.get(name)
    }

    /// The type of the elements of an array, or of a scalar temporary.
    pub fn element(&self, name: &str) -> Option<&Type> {
        self.arrays.get(name).or_else(|| self.scalars.get(name))
    }
}
