//! Asynchronous copies in CUDA C: calls of small functions around the instructions of PTX.

use std::collections::BTreeSet;

use loopwright_program::{Async, AsyncCopy, Memory};

use crate::{context::Context, stmt::Lines};

/// A function that the text needs for its asynchronous copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Function {
    /// A copy of this number of bytes.
    Copy(usize),
    /// A copy of this number of bytes, or zeros.
    CopyOrZero(usize),
    /// The end of a group, which contains the copies since the last one.
    Commit,
    /// A wait until at most a number of groups are under way.
    Wait,
}

impl Function {
    /// The text of its definition, which stands before the kernels.
    pub(crate) fn definition(self) -> String {
        match self {
            Function::Copy(bytes) => copy(bytes, false),
            Function::CopyOrZero(bytes) => copy(bytes, true),
            Function::Commit => r#"// The copies since the last commit are a group.
__device__ __forceinline__ void commit_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}"#
            .into(),
            Function::Wait => {
                r#"// Waits until at most this number of the thread's youngest groups are under way.
template <int groups>
__device__ __forceinline__ void wait_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" : : "n"(groups) : "memory");
#endif
}"#
                .into()
            }
        }
    }
}

/// The definition of a copy. What 16 bytes copy stays out of the first-level cache.
fn copy(bytes: usize, or_zero: bool) -> String {
    let cache = if bytes == 16 { "cg" } else { "ca" };
    let word = match bytes {
        16 => "int4",
        8 => "int2",
        _ => "int",
    };
    let (name, comment, parameter, size, operand, value) = match or_zero {
        false => (
            format!("copy_async_{bytes}"),
            format!("// Copies {bytes} bytes to shared memory, while the thread goes on."),
            "",
            "",
            String::new(),
            "*static_cast<const WORD *>(from)".to_string(),
        ),
        true => (
            format!("copy_async_{bytes}_or_zero"),
            format!(
                "// Copies {bytes} bytes to shared memory, while the thread goes on; zeros where the \
                 condition\n// does not hold: then nothing is read."
            ),
            ", const bool holds",
            ", %2",
            format!(", \"r\"(holds ? {bytes} : 0)"),
            "holds ? *static_cast<const WORD *>(from) : WORD()".to_string(),
        ),
    };
    let value = value.replace("WORD", word);
    format!(
        r#"{comment}
__device__ __forceinline__ void {name}(void *to, const void *from{parameter}) {{
#if __CUDA_ARCH__ >= 800
    const unsigned int address = static_cast<unsigned int>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.{cache}.shared.global [%0], [%1], {bytes}{size};"
                 :
                 : "r"(address), "l"(from){operand}
                 : "memory");
#else
    *static_cast<{word} *>(to) = {value};
#endif
}}"#
    )
}

impl Context<'_> {
    /// A statement about asynchronous copies.
    pub(crate) fn asynchronous(&self, stmt: &Async, indent: usize, out: &mut Lines) {
        if !self.needs.dialect.async_copies {
            let language = self.needs.dialect.language.name;
            self.needs.refuse_with(
                "no-async-copies",
                format!("`{}` copies asynchronously, which {language} cannot", self.kernel.name),
                "leave out `via=cp_async`",
            );
            return;
        }
        let needs = |function| self.needs.async_copies.borrow_mut().insert(function);
        match stmt {
            Async::Copy(copy) => out.push(&self.async_copy(copy), indent, copy.leaf),
            Async::Commit => {
                needs(Function::Commit);
                out.push("commit_copies();", indent, None);
            }
            Async::Wait { pending, note } => {
                needs(Function::Wait);
                out.noted(&format!("wait_copies<{pending}>();"), &note.text, indent, None);
            }
        }
    }

    fn async_copy(&self, copy: &AsyncCopy) -> String {
        let AsyncCopy { to, from, lanes, when, .. } = copy;
        let (_, dtype) = self.array(to.memory);
        let bytes = dtype.bytes() * usize::from(*lanes);
        let is_possible = matches!((to.memory, from.memory), (Memory::Shared(_), Memory::Global(_)))
            && dtype == self.array(from.memory).1
            && AsyncCopy::BYTES.contains(&bytes);
        if !is_possible {
            let message = format!("no asynchronous copy moves {lanes} elements of {dtype} here");
            return self.needs.refuse("malformed-program", message);
        }
        let (target, source) = (self.element(to), self.element(from));
        let mut needed = self.needs.async_copies.borrow_mut();
        match when {
            None => {
                needed.insert(Function::Copy(bytes));
                format!("copy_async_{bytes}(&{target}, &{source});")
            }
            Some(when) => {
                needed.insert(Function::CopyOrZero(bytes));
                let (array, _) = self.array(from.memory);
                // The address of an element that does not exist is not computed.
                let cond = self.condition(when);
                let holds = cond.within(crate::printed::prec::TERNARY);
                format!(
                    "copy_async_{bytes}_or_zero(&{target}, {holds} ? &{source} : {array}, {});",
                    cond.text
                )
            }
        }
    }
}

/// The definitions of these functions.
pub(crate) fn definitions(needed: &BTreeSet<Function>) -> Vec<String> {
    needed.iter().map(|function| function.definition()).collect()
}
