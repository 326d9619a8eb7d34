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
    /// A copy of this number of bytes, or nothing.
    CopyIf(usize),
    /// The end of a group, which contains the copies since the last one.
    Commit,
    /// A wait until at most a number of groups are under way.
    Wait,
}

impl Function {
    /// The text of its definition, which stands before the kernels.
    pub(crate) fn definition(self) -> String {
        match self {
            Function::Copy(bytes) => copy(bytes),
            Function::CopyOrZero(bytes) => copy_or_zero(bytes),
            Function::CopyIf(bytes) => copy_if(bytes),
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

/// The definition of a function that copies, with the operands of its instruction behind the two
/// addresses; what it does where there is no such instruction.
fn definition(head: &str, instruction: &str, operand: &str, otherwise: &str) -> String {
    format!(
        r#"{head} {{
#if __CUDA_ARCH__ >= 800
    const unsigned int address = static_cast<unsigned int>(__cvta_generic_to_shared(to));
    asm volatile({instruction}
                 :
                 : "r"(address), "l"(from){operand}
                 : "memory");
#else
    {otherwise}
#endif
}}"#
    )
}

/// The instruction for a copy of this number of bytes, and the type that has them. What 16 bytes
/// copy stays out of the first-level cache.
fn instruction(bytes: usize) -> (String, &'static str) {
    let (cache, word) = match bytes {
        16 => ("cg", "int4"),
        8 => ("ca", "int2"),
        _ => ("ca", "int"),
    };
    (format!("cp.async.{cache}.shared.global [%0], [%1], {bytes}"), word)
}

fn copy(bytes: usize) -> String {
    let (instruction, word) = instruction(bytes);
    let head = format!(
        "// Copies {bytes} bytes to shared memory, while the thread goes on.\n\
         __device__ __forceinline__ void copy_async_{bytes}(void *to, const void *from)"
    );
    let otherwise = format!("*static_cast<{word} *>(to) = *static_cast<const {word} *>(from);");
    definition(&head, &format!("\"{instruction};\""), "", &otherwise)
}

fn copy_or_zero(bytes: usize) -> String {
    let (instruction, word) = instruction(bytes);
    let head = format!(
        "// Copies {bytes} bytes to shared memory, while the thread goes on; zeros where the condition\n\
         // does not hold: then nothing is read.\n\
         __device__ __forceinline__ void copy_async_{bytes}_or_zero(void *to, const void *from, const bool holds)"
    );
    let operand = format!(", \"r\"(holds ? {bytes} : 0)");
    let otherwise =
        format!("*static_cast<{word} *>(to) = holds ? *static_cast<const {word} *>(from) : {word}();");
    definition(&head, &format!("\"{instruction}, %2;\""), &operand, &otherwise)
}

/// The condition is a predicate of the instruction, so that addresses are computed without control
/// flow around them.
fn copy_if(bytes: usize) -> String {
    let (instruction, word) = instruction(bytes);
    let head = format!(
        "// Copies {bytes} bytes to shared memory where the condition holds, while the thread goes on.\n\
         __device__ __forceinline__ void copy_async_{bytes}_if(void *to, const void *from, const bool holds)"
    );
    let lines = format!(
        r#""{{\n\t"
                 ".reg .pred holds;\n\t"
                 "setp.ne.b32 holds, %2, 0;\n\t"
                 "@holds {instruction};\n\t"
                 "}}""#
    );
    let otherwise = format!(
        "if (holds) {{\n        *static_cast<{word} *>(to) = *static_cast<const {word} *>(from);\n    }}"
    );
    definition(&head, &lines, ", \"r\"(static_cast<int>(holds))", &otherwise)
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
        let Some(bytes) = self.copied_bytes(copy) else { return String::new() };
        let (target, source) = (self.element(&copy.to), self.element(&copy.from));
        let mut needed = self.needs.async_copies.borrow_mut();
        match (&copy.when, &*self.predicate.borrow()) {
            (None, None) => {
                needed.insert(Function::Copy(bytes));
                format!("copy_async_{bytes}(&{target}, &{source});")
            }
            (None, Some(holds)) => {
                needed.insert(Function::CopyIf(bytes));
                format!("copy_async_{bytes}_if(&{target}, &{source}, {holds});")
            }
            (Some(when), _) => {
                needed.insert(Function::CopyOrZero(bytes));
                let (array, _) = self.array(copy.from.memory);
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

    /// The bytes that a copy moves; refuses what no instruction moves.
    fn copied_bytes(&self, copy: &AsyncCopy) -> Option<usize> {
        let AsyncCopy { to, from, lanes, .. } = copy;
        let (_, dtype) = self.array(to.memory);
        let bytes = dtype.bytes() * usize::from(*lanes);
        let is_possible = matches!((to.memory, from.memory), (Memory::Shared(_), Memory::Global(_)))
            && dtype == self.array(from.memory).1
            && AsyncCopy::BYTES.contains(&bytes);
        if !is_possible {
            let message = format!("no asynchronous copy moves {lanes} elements of {dtype} here");
            self.needs.refuse("malformed-program", message);
        }
        is_possible.then_some(bytes)
    }
}

/// The definitions of these functions.
pub(crate) fn definitions(needed: &BTreeSet<Function>) -> Vec<String> {
    needed.iter().map(|function| function.definition()).collect()
}
