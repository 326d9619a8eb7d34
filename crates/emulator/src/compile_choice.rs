//! From a device kernel to flat code: choices, and for which counter an operation counts.
//!
//! What could fault in a lane that does not ask for it (a load, a division, a call of the user's)
//! is done under a mask; the rest is done for all lanes and blended. Either way both sides are
//! counted: what is done under a mask adds to a tally, which the end of the outermost choice counts
//! for all lanes that came to it. A condition that neighbouring declarations share, as those of a
//! value and its index do, is computed once, as compilers do.

use loopwright_kernel_ir::DType;
use loopwright_program::{BinOp, Memory, UnOp, Value, ValueKind, VarId};

use crate::{
    bytecode::{Class, Inst, Reg, is_wide},
    compile::Compiler,
    fault::Fault,
};

impl<'a> Compiler<'a> {
    /// The counter of an operation on values of a type: that of its class, or of index arithmetic
    /// where addresses and guards are computed.
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

    /// Moves what a choice under masks gave, and counts the choice with all that it is made of if
    /// it is the outermost one.
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

    /// The condition of a choice, or the register that a declaration just before put it into.
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

    /// Forgets conditions that speak of a variable, which gets a value now.
    pub fn forget_conditions_of(&mut self, var: VarId) {
        self.conditions.retain(|(cond, _)| {
            let mut other = true;
            cond.visit(&mut |v| other &= v.kind != ValueKind::Var(var));
            other
        });
    }

    /// Whether computing the value in lanes that do not ask for it can do no harm.
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
                // A variable without a value may stand on the side that is not asked for.
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
