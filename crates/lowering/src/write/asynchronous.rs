//! Copies that proceed while their thread continues, as statements.

use loopwright_kernel_ir::{Access, Diagnostic};

use crate::{
    analyse::{
        analysis::{Guard, PartInfo},
        arrays::widest,
    },
    program::{Async, AsyncCopy, LeafId, MemRef, Stmt, Value},
    schedule::Vector,
    write::{emitter::Emitter, env::Env, fold::and, translate::Target},
};

impl Emitter<'_, '_> {
    /// An element of an array; a scalar in a variable is an error of lowering.
    fn in_memory(&mut self, access: &Access, env: &Env) -> Result<MemRef, Diagnostic> {
        match self.element(access, env)? {
            Target::Element(element, _) => Ok(element),
            Target::Var(_) => Err(Diagnostic::new("internal", "an asynchronous copy of a variable")),
        }
    }

    /// What all of these guards say; `None` without any.
    fn all_of(&mut self, guards: &[Guard], env: &Env) -> Result<Option<Value>, Diagnostic> {
        let mut cond = None;
        for guard in guards {
            let own = self.guard_condition(guard, env)?;
            cond = Some(and(cond, own));
        }
        Ok(cond)
    }

    /// A copy of one element; of zeros where the filling's guards do not hold.
    pub fn async_element(
        &mut self,
        info: &PartInfo,
        (to, from): (&Access, &Access),
        filling: &[Guard],
        leaf: LeafId,
        env: &Env,
    ) -> Result<Stmt, Diagnostic> {
        let when = match &info.filling {
            Some(_) => self.all_of(filling, env)?,
            None => None,
        };
        let leaf = Some(self.giving(leaf, 0));
        let (to, from) = (self.in_memory(to, env)?, self.in_memory(from, env)?);
        Ok(Stmt::Async(Async::Copy(AsyncCopy { to, from, lanes: 1, when, leaf })))
    }

    /// Copies of a vector, each of at most 16 bytes. The environment is that of the first lane.
    pub fn async_vector(
        &mut self,
        to: &Access,
        from: &Access,
        vector: &Vector,
        env: &Env,
        leaf: LeafId,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let when = self.all_of(&vector.filling, env)?;
        let leaf = Some(self.giving(leaf, 0));
        let (first_to, first_from) = (self.in_memory(to, env)?, self.in_memory(from, env)?);
        let dtype = match self.element(from, env)? {
            Target::Element(_, dtype) => dtype,
            Target::Var(_) => return Err(Diagnostic::new("internal", "an asynchronous copy of a variable")),
        };
        let chunk = vector.length.min(widest(dtype, self.target()));
        let lanes = u8::try_from(chunk).unwrap_or(1);
        let mut stmts = Vec::new();
        let mut k = 0;
        while k < vector.length {
            let to = self.element_behind(first_to.clone(), to, k);
            let from = self.element_behind(first_from.clone(), from, k);
            stmts.push(Stmt::Async(Async::Copy(AsyncCopy { to, from, lanes, when: when.clone(), leaf })));
            k += chunk;
        }
        Ok(stmts)
    }
}
