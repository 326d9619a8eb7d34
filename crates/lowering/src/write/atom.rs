//! What a warp does for an atom: the statements that it stands for, the loads of fragments, and the
//! product.
//!
//! Fragments that are loaded by instructions of their own stand for a private array of the kernel.
//! Statements of contracts access that array, those that run the array of fragments, which has the
//! axes that number fragments and the elements of one that a thread holds.

use loopwright_atom::Operand;
use loopwright_kernel_ir::{Access, Aff, DType, Diagnostic, Expr, Name};
use loopwright_poly::TableSet;

use crate::{
    analyse::arrays::known,
    program::{LocalArray, MemRef, Memory, Note, Stmt, Value, ValueKind},
    schedule::{AtomPlan, Factor, Fragment, FragmentLoads, Held, Product, StorePlan},
    write::{cell::Cell, emit::Inside, emitter::Emitter, env::Env, translate::Target},
};

impl Emitter<'_, '_> {
    /// Both forms of the updates.
    pub fn atom(&mut self, plan: &AtomPlan, env: &Env) -> Result<Stmt, Diagnostic> {
        let mut body = Vec::new();
        let mut arrays = Vec::new();
        for fragment in &plan.fragments {
            let (array, loads) = self.fragment(fragment, &plan.inside, env)?;
            arrays.push(array);
            body.extend(loads);
        }
        let info = plan.of.info(self.analysis);
        let part = info.execution.part.clone();
        let does = match &plan.product {
            Some(product) => {
                body.extend(self.product(plan, product, &arrays, env)?);
                format!("{} does {part} for a warp", plan.atom.name())
            }
            None => format!("{part} loads fragments of {} for a warp", plan.atom.name()),
        };
        let contract = self.atom_contract(&body, env, &mut |this, env| this.nodes(&plan.contract, env))?;
        Ok(Stmt::Atom { contract, body, note: Note::new(does) })
    }

    /// The product of fragments, of which those that are loaded with it are in these arrays.
    fn product(
        &mut self,
        plan: &AtomPlan,
        product: &Product,
        arrays: &[usize],
        env: &Env,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let Product { registers, lanes, factors } = product;
        self.lane_loops(lanes, env, &mut |this, env| {
            let info = plan.of.info(this.analysis);
            let mut d = Vec::new();
            for element in 0..plan.atom.operand(Operand::D).elements() {
                let mut own = env.clone();
                let mut rest = element;
                for (register, digit) in registers.iter().zip(&plan.atom.operand(Operand::D).element) {
                    own.set(register.clone(), this.index_int(rest % digit.extent));
                    rest /= digit.extent;
                }
                let cells = this.cells(info.instruction, 0, &own)?;
                let [(Cell::Element(cell), _)] = cells.as_slice() else {
                    return Err(Diagnostic::new("internal", "an accumulator that is not an array"));
                };
                d.push(cell.clone());
            }
            let mut first = |operand: Operand, factor: &Factor| -> Result<MemRef, Diagnostic> {
                let (array, mut subscripts) = match factor {
                    Factor::Loaded(number) => {
                        (arrays[*number], this.lane_values(&plan.fragments[*number].lanes, env)?)
                    }
                    Factor::Held(held) => {
                        let placement = plan.atom.operand(operand);
                        let array = this.held(held, placement.elements(), placement.dtype);
                        (array, this.row(held, env)?)
                    }
                };
                subscripts.push(this.index_int(0));
                Ok(this.local_element(Memory::Private(array), subscripts))
            };
            let [a, b] = factors;
            let (a, b) = (first(Operand::A, a)?, first(Operand::B, b)?);
            Ok(vec![Stmt::Mma { atom: plan.atom.name().clone(), d, a, b }])
        })
    }

    /// The array of the fragments that a private array of the kernel stands for.
    fn held(&mut self, held: &Held, elements: i64, dtype: DType) -> usize {
        if let Some(number) = self.fragments.get(&held.array) {
            return *number;
        }
        let name = self.unique(&format!("{}_frag", held.array.trim_end_matches("_fragment")));
        let mut dims = held.lengths.clone();
        dims.push(u64::try_from(elements).unwrap_or(1));
        self.private.push(LocalArray { name, dtype, dims, layout: None, note: String::new() });
        self.fragments.insert(held.array.clone(), self.private.len() - 1);
        self.private.len() - 1
    }

    /// The subscripts of a fragment in its array.
    fn row(&mut self, held: &Held, env: &Env) -> Result<Vec<Value>, Diagnostic> {
        held.row.iter().map(|e| self.index_value(e, env)).collect()
    }

    /// The updates as they would be without the atom. They name for themselves what the body does
    /// not read: the contract is not printed, and would be the only reader of a printed name.
    fn atom_contract(
        &mut self,
        body: &[Stmt],
        env: &Env,
        stated: Inside<'_, Self>,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let mut read = TableSet::default();
        Stmt::visit(body, &mut |stmt| {
            stmt.visit_values(&mut |value| {
                if let ValueKind::Var(var) = value.kind {
                    read.insert(var);
                }
            });
        });
        let is_unread = |name: &&Name| {
            env.values
                .get(*name)
                .is_some_and(|v| matches!(v.kind, ValueKind::Var(var) if !read.contains(&var)))
        };
        let unread: Vec<Name> = env.indices.iter().filter(is_unread).cloned().collect();
        let mut env = env.clone();
        env.forget(&unread);
        let mut contract = self.lets(&mut env)?;
        contract.extend(stated(self, &env)?);
        Ok(contract)
    }

    /// The values that a warp stores as matrices, in an array of the thread, and their store.
    pub fn stored_matrices(&mut self, plan: &StorePlan, env: &Env) -> Result<Vec<Stmt>, Diagnostic> {
        let StorePlan { of, target, dtype, order, lanes, .. } = plan;
        let like = target.array.trim_end_matches("_buf").trim_end_matches("_tile");
        let name = self.unique(&format!("{like}_frag"));
        let dims = self.analysis.lane_lengths(order);
        self.private.push(LocalArray { name, dtype: *dtype, dims, layout: None, note: String::new() });
        let array = Memory::Private(self.private.len() - 1);
        let mut inner = env.clone();
        inner.stored = Some((target.clone(), self.private.len() - 1, order.clone()));
        let mut stmts = self.nodes(&plan.values, &inner)?;
        let body = self.lane_loops_by(lanes, plan.together, env, &mut |this, env| {
            let mut env = env.clone();
            env.place = plan.inside.clone();
            let to = this.element_at(&target.array, &plan.row, &env)?;
            let mut own = this.lane_values(lanes, &env)?;
            own.resize(order.len(), this.index_int(0));
            let from = this.local_element(array, own);
            let (matrices, transposed) = (plan.matrices, plan.transposed);
            Ok(vec![Stmt::StoreMatrices { to, from, matrices, transposed }])
        })?;
        let leaf = self.leaf(of.number, env);
        let leaf = Some(self.giving(leaf, 0));
        let contract = self.atom_contract(&body, env, &mut |this, env| {
            this.lane_loops(&plan.all, env, &mut |this, env| {
                let Target::Element(to, _) = this.element(target, env)? else {
                    return Err(Diagnostic::new("internal", "a matrix of a scalar"));
                };
                let own = this.lane_values(order, env)?;
                let from = this.local_element(array, own);
                Ok(vec![Stmt::Store { to, value: this.load(from, *dtype), leaf }])
            })
        })?;
        let part = &of.info(self.analysis).execution.part;
        let note = Note::new(format!("{part} stores matrices for a warp"));
        stmts.push(Stmt::Atom { contract, body, note });
        Ok(stmts)
    }

    /// The array of a fragment, and its loads.
    fn fragment(
        &mut self,
        fragment: &Fragment,
        inside: &crate::schedule::place::Place,
        env: &Env,
    ) -> Result<(usize, Vec<Stmt>), Diagnostic> {
        let array = self.analysis.lookup.array(&fragment.array).ok_or_else(|| {
            Diagnostic::new("unknown-name", format!("there is no array `{}`", fragment.array))
        })?;
        let dtype = known(&array.dtype, &fragment.array)?;
        let number = match &fragment.held {
            Some(held) => self.held(held, fragment.elements, dtype),
            None => {
                let name = self.unique(&format!("{}_frag", fragment.array.trim_end_matches("_tile")));
                let mut dims = self.analysis.lane_lengths(&fragment.lanes);
                dims.push(u64::try_from(fragment.elements).unwrap_or(1));
                self.private.push(LocalArray { name, dtype, dims, layout: None, note: String::new() });
                self.private.len() - 1
            }
        };
        let of_row = |this: &mut Self, env: &Env| match &fragment.held {
            Some(held) => this.row(held, env),
            None => this.lane_values(&fragment.lanes, env),
        };
        let together = match fragment.loads {
            FragmentLoads::Matrices { together, .. } => together,
            FragmentLoads::Words(..) | FragmentLoads::Chosen(_) => 1,
        };
        let loads = self.lane_loops_by(&fragment.lanes, together, env, &mut |this, env| {
            let mut env = env.clone();
            env.place = inside.clone();
            let mut stmts = Vec::new();
            let (elements, word) = match &fragment.loads {
                FragmentLoads::Words(elements, word) => (elements, usize::try_from(*word).unwrap_or(1)),
                FragmentLoads::Chosen(elements) => {
                    for (k, (subscripts, guards)) in (0..).zip(elements) {
                        let from = this.element_at(&fragment.array, subscripts, &env)?;
                        let value = this.load(from, dtype);
                        let value = this.filled(value, guards, &Expr::Int(0), &env)?;
                        let mut own = of_row(this, &env)?;
                        own.push(this.index_int(k));
                        let to = this.local_element(Memory::Private(number), own);
                        stmts.push(Stmt::Store { to, value, leaf: None });
                    }
                    return Ok(stmts);
                }
                FragmentLoads::Matrices { row, transposed, .. } => {
                    let from = this.element_at(&fragment.array, row, &env)?;
                    let mut own = of_row(this, &env)?;
                    own.push(this.index_int(0));
                    let to = this.local_element(Memory::Private(number), own);
                    let row = u8::try_from(Stmt::ROW_BYTES / dtype.bytes()).unwrap_or(8);
                    let matrices = together * fragment.elements / i64::from(row / 4).max(1);
                    let (matrices, transposed) = (u8::try_from(matrices).unwrap_or(1), *transposed);
                    return Ok(vec![Stmt::LoadMatrices { to, from, matrices, row, transposed }]);
                }
            };
            for (k, subscripts) in elements.iter().enumerate().step_by(word) {
                let from = this.element_at(&fragment.array, subscripts, &env)?;
                let mut own = of_row(this, &env)?;
                own.push(this.index_int(k as i64));
                let to = this.local_element(Memory::Private(number), own);
                stmts.push(match u8::try_from(word) {
                    Ok(lanes @ 2..) => Stmt::VectorCopy { to, from, lanes, leaf: None },
                    _ => Stmt::Store { to, value: this.load(from, dtype), leaf: None },
                });
            }
            Ok(stmts)
        })?;
        Ok((number, loads))
    }

    /// The element with these subscripts over canonical names.
    fn element_at(&mut self, array: &Name, subscripts: &[Aff], env: &Env) -> Result<MemRef, Diagnostic> {
        let index = subscripts.iter().map(Expr::from_aff).collect();
        match self.element(&Access { array: array.clone(), index }, env)? {
            Target::Element(element, _) => Ok(element),
            Target::Var(_) => Err(Diagnostic::new("internal", "a fragment of a scalar")),
        }
    }
}
