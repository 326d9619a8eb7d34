//! What the kernel says that a nest over segments writes, for given data: its tree is interpreted,
//! one segment after the other, its points in their order.

use std::rc::Rc;

use loopwright_kernel_ir::{
    Access, Aff, BinaryOp, Kind, Name, Part, PartRef, ReductionOp, Tree, Typed, TypedKind, UnaryOp,
};
use loopwright_poly::Table;

use super::{
    block::{Result, Stop},
    nest::Nest,
    number::{self, Num, Written},
};
use crate::{
    BinOp, Program, UnOp, eval_host,
    verify::values::{Spec, Text},
};

/// Interprets the loop tree of a nest on numbers.
pub(super) struct Interpreter<'n, 'k> {
    pub nest: &'n Nest<'k>,
    pub program: &'n Program,
    pub spec: &'n mut Spec<'k>,
    /// Integer scalars, and the values of inames.
    pub names: Table<Name, i64>,
    /// The value of an element, by its array and its offset.
    pub first: &'n dyn Fn(usize, i64) -> Num,
    /// A floating-point scalar.
    pub scalar: &'n dyn Fn(&Name) -> Num,
    /// The scalars that the nest loads.
    pub loaded: Table<Name, Num>,
    /// The state of each reduction, by instruction and number.
    states: Table<(Name, usize), Vec<Num>>,
    globals: Table<Name, usize>,
    pub written: Written,
}

/// Names inside of an operator's expressions.
type Locals = Vec<(Name, Num)>;

const UNKNOWN: Stop = Stop::NotFollowed("the kernel's nest is of a form that is not interpreted");

impl<'n, 'k> Interpreter<'n, 'k> {
    pub fn new(
        nest: &'n Nest<'k>,
        program: &'n Program,
        spec: &'n mut Spec<'k>,
        names: Table<Name, i64>,
        first: &'n dyn Fn(usize, i64) -> Num,
        scalar: &'n dyn Fn(&Name) -> Num,
    ) -> Self {
        let (loaded, states, written) = (Table::default(), Table::default(), Table::default());
        let globals = program.globals.iter().enumerate().map(|(k, g)| (g.name.clone(), k)).collect();
        Interpreter { nest, program, spec, names, first, scalar, loaded, states, globals, written }
    }

    /// Runs the segments from 0 to before `count`.
    pub fn run(&mut self, count: i64) -> Result<()> {
        for segment in 0..count {
            self.names.insert(self.nest.segment.clone(), segment);
            self.trees(self.nest.body)?;
        }
        Ok(())
    }

    fn trees(&mut self, trees: &'k [Tree]) -> Result<()> {
        for tree in trees {
            match tree {
                Tree::Leaf(part) => self.part(part)?,
                Tree::Loop { iname, body } => {
                    let [Tree::Leaf(part @ PartRef { part: Part::Update(n), .. })] = body.as_slice() else {
                        return Err(UNKNOWN);
                    };
                    let (low, high) = self.range(iname)?;
                    let text = self.spec.text(part).map_err(|_| UNKNOWN)?.ok_or(UNKNOWN)?;
                    self.updates(part, *n, &text, (iname, low, high))?;
                    self.names.remove(iname);
                }
            }
        }
        Ok(())
    }

    /// The least and the greatest value of the points' iname, by the constraints of its domain.
    fn range(&self, iname: &Name) -> Result<(i64, i64)> {
        let (mut low, mut high) = (None, None);
        for (c, rest) in &self.nest.of_points {
            let k = c.aff.coefficient(iname);
            let rest = self.aff(rest)?;
            match (c.kind, k) {
                (Kind::Ge, 1) => low = low.max(Some(-rest)),
                (Kind::Ge, -1) => high = Some(high.map_or(rest, |h: i64| h.min(rest))),
                _ => return Err(UNKNOWN),
            }
        }
        low.zip(high).ok_or(UNKNOWN)
    }

    fn aff(&self, aff: &Aff) -> Result<i64> {
        let value = |name: &Name| match self.loaded.get(name) {
            Some(value) => value.int(),
            None => self.names.get(name).copied(),
        };
        aff.eval(&value).ok_or(UNKNOWN)
    }

    fn part(&mut self, part: &PartRef) -> Result<()> {
        let text = self.spec.text(part).map_err(|_| UNKNOWN)?.ok_or(UNKNOWN)?;
        // An atomic update would be joined with others; the launches of a nest are not followed if
        // they have one (`block`).
        if text.predicate.is_some() || text.update.is_some() {
            return Err(UNKNOWN);
        }
        match part.part {
            Part::Init(n) => {
                let of = text.reduction.as_ref().ok_or(UNKNOWN)?;
                let mut state = Vec::new();
                for neutral in &of.neutral {
                    state.push(self.value(neutral, &[], &[])?);
                }
                self.states.insert((part.instruction.clone(), n), state);
                Ok(())
            }
            Part::Update(_) => Err(UNKNOWN),
            Part::Whole | Part::Finish => self.assign(part, &text),
        }
    }

    /// The updates of a reduction for the values of an iname from `low` to `high`.
    fn updates(
        &mut self,
        part: &PartRef,
        n: usize,
        text: &Rc<Text>,
        (iname, low, high): (&Name, i64, i64),
    ) -> Result<()> {
        let of = text.reduction.as_ref().ok_or(UNKNOWN)?;
        let key = (part.instruction.clone(), n);
        let mut state = self.states.remove(&key).ok_or(UNKNOWN)?;
        let named = |side: &str| {
            let names = of.operator.state.iter().map(|s| Name::new(format!("{side}.{}", s.name)));
            names.map(|name| (name, Num::Nothing)).collect::<Locals>()
        };
        // Both states, of which the second one is the point's, and the operator's inputs.
        let mut locals = [named("a"), named("b")].concat();
        let mut inputs: Locals = of.operator.inputs.iter().map(|i| (i.clone(), Num::Nothing)).collect();
        for value in low..=high {
            match self.names.get_mut(iname) {
                Some(own) => *own = value,
                None => {
                    self.names.insert(iname.clone(), value);
                }
            }
            for (input, arg) in inputs.iter_mut().zip(&of.args) {
                input.1 = self.value(arg, &[], &[])?;
            }
            let (earlier, later) = locals.split_at_mut(of.operator.state.len());
            for ((_, a), own) in earlier.iter_mut().zip(&state) {
                *a = *own;
            }
            for ((_, b), lift) in later.iter_mut().zip(&of.lift) {
                *b = self.value(lift, &inputs, &[])?;
            }
            for (own, combine) in state.iter_mut().zip(&of.combine) {
                *own = self.value(combine, &locals, &[])?;
            }
        }
        self.states.insert(key, state);
        Ok(())
    }

    fn assign(&mut self, part: &PartRef, text: &Text) -> Result<()> {
        // The results of reductions that the part uses, by their numbers.
        let mut results: Vec<(usize, Vec<Num>)> = Vec::new();
        for (n, expressions) in &text.results {
            let operator = self.operator(part, *n)?;
            let state = self.states.get(&(part.instruction.clone(), *n)).ok_or(UNKNOWN)?;
            let names = operator.state.iter().map(|s| s.name.clone());
            let locals: Locals = names.zip(state.iter().copied()).collect();
            let mut own = Vec::new();
            for e in expressions {
                own.push(self.value(e, &locals, &[])?);
            }
            results.push((*n, own));
        }
        for (k, ((array, subscripts), stored)) in text.targets.iter().zip(&text.stored).enumerate() {
            let value = match text.values.get(k) {
                Some(value) => self.value(value, &[], &results)?,
                None => {
                    let (n, own) = results.last().ok_or(UNKNOWN)?;
                    let dtype = text.results.get(n).and_then(|r| r.get(k)).ok_or(UNKNOWN)?.dtype;
                    number::cast(dtype, *stored, *own.get(k).ok_or(UNKNOWN)?)
                }
            };
            if subscripts.is_empty() && self.global(array).is_none() {
                self.loaded.insert(array.clone(), value);
                continue;
            }
            let at = self.element(array, subscripts)?;
            let element = self.written.entry(at).or_insert((value, 0));
            *element = (value, element.1 + 1);
        }
        Ok(())
    }

    fn operator(&self, part: &PartRef, n: usize) -> Result<ReductionOp> {
        let instruction = self.nest.kernel.instructions.iter().find(|i| i.id == part.instruction);
        let reductions = instruction.ok_or(UNKNOWN)?.reductions();
        let reduce = reductions.get(n).ok_or(UNKNOWN)?;
        self.nest.kernel.operator(&reduce.op).ok_or(UNKNOWN)
    }

    fn global(&self, array: &Name) -> Option<usize> {
        self.globals.get(array).copied()
    }

    /// The array and the offset that an access has, with the names as they are.
    pub fn element_of(&self, access: &Access) -> Result<(usize, i64)> {
        let [subscript] = access.index.as_slice() else { return Err(UNKNOWN) };
        let subscript = subscript.to_aff().and_then(|aff| self.nest.expanded(&aff)).ok_or(UNKNOWN)?;
        let number = self.global(&access.array).ok_or(UNKNOWN)?;
        Ok((number, self.aff(&subscript)?))
    }

    /// The array and the offset of an element.
    fn element(&self, array: &Name, subscripts: &[Typed]) -> Result<(usize, i64)> {
        let number = self.global(array).ok_or(UNKNOWN)?;
        let strides = &self.program.globals[number].strides;
        let mut offset = 0;
        for (subscript, stride) in subscripts.iter().zip(strides) {
            let at = self.value(subscript, &[], &[])?.int().ok_or(UNKNOWN)?;
            let stride = eval_host(stride, &|name| self.names.get(name).copied()).ok_or(UNKNOWN)?;
            offset += at * stride;
        }
        Ok((number, offset))
    }

    fn value(&self, e: &Typed, locals: &[(Name, Num)], results: &[(usize, Vec<Num>)]) -> Result<Num> {
        let value = |e: &Typed| self.value(e, locals, results);
        Ok(match &e.kind {
            TypedKind::Constant(number) => Num::of(*number),
            TypedKind::Name(name) => match locals
                .iter()
                .find(|(own, _)| own == name)
                .map(|(_, v)| v)
                .or_else(|| self.loaded.get(name))
            {
                Some(value) => *value,
                None if e.dtype.is_float() => (self.scalar)(name),
                None => {
                    let own = self.names.get(name).copied();
                    Num::Int(match own {
                        Some(value) => value,
                        None => self.aff(&self.nest.function(name).ok_or(UNKNOWN)?)?,
                    })
                }
            },
            TypedKind::Element { access, index } => {
                let (array, offset) = self.element(&access.array, index)?;
                (self.first)(array, offset)
            }
            TypedKind::Reduction(n) => {
                let own = results.iter().find(|(number, _)| number == n);
                *own.and_then(|(_, values)| values.first()).ok_or(UNKNOWN)?
            }
            TypedKind::Unary(op, a) => {
                let op = match op {
                    UnaryOp::Neg => UnOp::Neg,
                    UnaryOp::Not => UnOp::Not,
                    UnaryOp::BitNot => UnOp::BitNot,
                };
                number::unary(op, a.dtype, value(a)?)
            }
            TypedKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                let decides = Num::Int((*op == BinaryOp::Or).into());
                match value(a)? {
                    left if left == decides => left,
                    _ => value(b)?,
                }
            }
            TypedKind::Binary(op, a, b) => number::binary(BinOp::from(*op), a.dtype, value(a)?, value(b)?),
            TypedKind::If(c, a, b) => match value(c)? {
                Num::Int(0) => value(b)?,
                Num::Int(_) => value(a)?,
                _ => Num::Nothing,
            },
            TypedKind::Convert(a) | TypedKind::Cast(a) => number::cast(a.dtype, e.dtype, value(a)?),
            TypedKind::Call { function, args, .. } => {
                let own = args.iter().map(value).collect::<Result<Vec<_>>>()?;
                let is_declared = self.nest.kernel.functions.iter().any(|f| f.name == *function);
                let dtype = args.first().map_or(e.dtype, |a| a.dtype);
                match is_declared {
                    true => number::unknown_function(function, e.dtype, &own),
                    false => number::math(function, dtype, &own),
                }
            }
        })
    }
}
