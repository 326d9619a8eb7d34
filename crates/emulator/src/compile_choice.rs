//! Compiles a device kernel to flat code: choices, and the counter to which each operation
//! contributes.
//!
//! Operations that could fault in a lane that does not select them (a load, a division, a call of a
//! user function) run under a mask; the rest runs in all lanes and is blended. Both sides are
//! counted either way: operations under a mask add to a tally, which the end of the outermost
//! choice counts for all lanes that reached it. A condition shared by adjacent declarations, such
//! as those of a value and its index, is computed once, as compilers do.

use loopwright_kernel_ir::DType;
use loopwright_program::{BinOp, Memory, UnOp, Value, ValueKind, VarId};

use crate::{
    bytecode::{Class, Inst, Reg, is_wide},
    compile::Compiler,
    fault::Fault,
};

impl<'a> Compiler<'a> {
    /// The counter of an operation on values of a type: its own class, or index arithmetic in
    /// addresses and guards.
    pub fn class(&mut self, class: Class, dtype: DType) -> Class {
        if !self.counted {
            return Class::Check;
        }
        let of_index = matches!(
            class,
            Class::Integer
                | Class::IntegerDivision
                | Class::Comparison
                | Class::Logic
                | Class::Choice
                | Class::Conversion
        );
        let index = self.index && of_index && (dtype == self.program.index || dtype == DType::Bool);
        let class = if index { Class::Index } else { class };
        if self.lazy == 0 {
            return class;
        }
        self.tally[class as usize] += 1;
        Class::Check
    }

    /// Moves the result of a choice under masks. If it is the outermost one, counts it with all its
    /// operations.
    fn chosen(&mut self, class: Class, dtype: DType, dst: Reg, src: Reg) {
        let wide = is_wide(dtype);
        let class = self.class(class, dtype);
        if self.lazy > 0 || !self.counted {
            self.emit(Inst::Move { wide, dst, src });
            return;
        }
        self.tally[class as usize] += 1;
        let tally = std::mem::take(&mut self.tally);
        let times = Class::ALL.into_iter().map(|class| (class, tally[class as usize]));
        self.code.tallies.push(times.filter(|(_, times)| *times > 0).collect());
        let tally = self.code.tallies.len() as u32 - 1;
        self.emit(Inst::Chosen { wide, dst, src, tally });
    }

    /// The condition of a choice, or the register in which the preceding declaration computed it.
    fn condition(&mut self, cond: &'a Value) -> Result<Reg, Fault> {
        if self.lazy > 0 || !self.declares {
            return self.value(cond);
        }
        if let Some((_, reg)) = self.conditions.iter().find(|(known, _)| *known == cond) {
            return Ok(*reg);
        }
        let reg = self.value(cond)?;
        let mut stays = true;
        cond.visit(&mut |v| {
            stays &= match &v.kind {
                ValueKind::Load(from) => matches!(from.memory, Memory::Private(_)),
                ValueKind::Call { .. } => false,
                kind if kind.joins_lanes() => false,
                _ => true,
            };
        });
        if stays {
            self.conditions.push((cond, reg));
        }
        Ok(reg)
    }

    /// Forgets the conditions that mention a variable, which is about to be assigned.
    pub fn forget_conditions_of(&mut self, var: VarId) {
        self.conditions.retain(|(cond, _)| {
            let mut other = true;
            cond.visit(&mut |v| other &= v.kind != ValueKind::Var(var));
            other
        });
    }

    /// Whether the value can be computed without harm in lanes that do not select it.
    pub fn harmless(&self, value: &Value) -> bool {
        let mut harmless = true;
        value.visit(&mut |v| {
            harmless &= match &v.kind {
                ValueKind::Load(_) | ValueKind::Call { .. } => false,
                kind if kind.joins_lanes() => false,
                ValueKind::Unary(UnOp::Neg, _) => !self.exact,
                ValueKind::Binary(op, _, b) => match op {
                    BinOp::FloorDiv | BinOp::FloorMod | BinOp::TruncDiv | BinOp::TruncRem => {
                        b.as_int().is_some_and(|b| b != 0)
                    }
                    BinOp::Add | BinOp::Sub | BinOp::Mul => !self.exact || v.dtype.is_float(),
                    _ => true,
                },
                // The side that is not selected may use a variable without a value.
                ValueKind::Var(var) => self.vars.get(var.0).is_some_and(|p| p.watched.is_none()),
                _ => true,
            };
        });
        harmless
    }

    pub fn short_circuit(&mut self, op: BinOp, a: &'a Value, b: &'a Value, dst: Reg) -> Result<(), Fault> {
        let left = self.value(a)?;
        let result = self.fresh(DType::Bool);
        self.emit(Inst::Move { wide: false, dst: result, src: left });
        let mut cond = left;
        if op == BinOp::Or {
            cond = self.fresh(DType::Bool);
            let (dtype, site) = (DType::Bool, self.site(None));
            let class = Class::Check;
            self.emit(Inst::Unary { op: UnOp::Not, dtype, dst: cond, a: left, class, exact: false, site });
        }
        let slot = self.enter();
        let begin = self.emit(Inst::If { cond, slot, other: 0 });
        self.lazy_move(b, result)?;
        self.otherwise(begin, slot, |_| Ok(()), false)?;
        self.leave();
        self.chosen(Class::Logic, DType::Bool, dst, result);
        Ok(())
    }

    /// Computes a value under the mask and moves it where lanes are active.
    fn lazy_move(&mut self, value: &'a Value, dst: Reg) -> Result<(), Fault> {
        self.lazy += 1;
        let src = self.value(value)?;
        self.lazy -= 1;
        self.emit(Inst::MoveActive { wide: is_wide(value.dtype), dst, src });
        Ok(())
    }

    pub fn select(
        &mut self,
        c: &'a Value,
        a: &'a Value,
        b: &'a Value,
        dtype: DType,
        dst: Reg,
    ) -> Result<(), Fault> {
        if c.dtype != DType::Bool || a.dtype != dtype || b.dtype != dtype {
            return self.invalid(format!("a choice by {} between {} and {}", c.dtype, a.dtype, b.dtype));
        }
        let wide = is_wide(dtype);
        let cond = self.condition(c)?;
        if self.harmless(a) && self.harmless(b) {
            let (a, b) = (self.value(a)?, self.value(b)?);
            let class = self.class(Class::Choice, dtype);
            self.emit(Inst::Blend { wide, dst, c: cond, a, b, class });
            let uniform =
                self.is_uniform(DType::Bool, cond) && self.is_uniform(dtype, a) && self.is_uniform(dtype, b);
            self.set_uniform(dtype, dst, uniform);
            return Ok(());
        }
        let result = self.fresh(dtype);
        let slot = self.enter();
        let begin = self.emit(Inst::If { cond, slot, other: 0 });
        self.lazy_move(a, result)?;
        self.otherwise(begin, slot, |compiler| compiler.lazy_move(b, result), true)?;
        self.leave();
        self.chosen(Class::Choice, dtype, dst, result);
        Ok(())
    }
}
