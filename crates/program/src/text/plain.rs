//! The part of a program that its text represents.

use crate::{HostStmt, Note, Program, Reason, Stmt, Target};

impl Program {
    /// The program as its text represents it: notes keep their lines, but not the systems of
    /// constraints behind them ([`Reason::Dependence`], [`Reason::Guard`]), which explain the
    /// program and have no effect on its meaning.
    pub fn plain(&self) -> Program {
        let mut program = self.clone();
        // A text refers to its target by name.
        program.target = Target::named(program.target.architecture).unwrap_or_default();
        host(&mut program.host);
        for kernel in &mut program.kernels {
            kernel.notes.iter_mut().for_each(note);
            body(&mut kernel.body);
        }
        program
    }
}

fn note(note: &mut Note) {
    match note.reason {
        Reason::Dependence(_) | Reason::Guard(_) => note.reason = Reason::Stated,
        Reason::Stated | Reason::Predicate => {}
    }
}

fn host(stmts: &mut [HostStmt]) {
    for stmt in stmts {
        if let HostStmt::For { body, note: why, .. } = stmt {
            note(why);
            host(body);
        }
    }
}

fn body(stmts: &mut [Stmt]) {
    for stmt in stmts {
        if let Some(why) = stmt.note_mut() {
            note(why);
        }
        stmt.bodies_mut().for_each(|inside| body(inside));
    }
}
