//! What a warp executes of a kernel's machine code, where that can be read off it.
//!
//! A disassembler's text is read as far as control goes: labels, branches, calls, ends. Where no
//! branch leads back, a warp executes each instruction once at most, and the longest way to an end
//! is what it executes, or more than that. Ways through a call are left out: compilers put what
//! rare operands need into subroutines, such as the square roots of numbers that are not normal. Of
//! loops the text does not say how often they run, and nothing is known.

use std::collections::BTreeMap;

/// Instructions that a warp executes at most, unless an operand is rare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Executed {
    /// All instructions.
    pub instructions: u32,
    /// Those of the units for special functions: reciprocals, roots, exponentials, sines.
    pub special: u32,
}

impl Executed {
    /// Reads them from the text of [`disassemble`](crate::disasm::disassemble); none if the kernel
    /// is not there, or has a loop, or jumps to where a register says.
    ///
    /// ```
    /// use loopwright_cuda::machine_code::Executed;
    ///
    /// let text = "\t.section\t.text.twice,\"ax\",@progbits
    /// twice:
    ///         /*0000*/                   ISETP.GE.AND P0, PT, R2, UR4, PT ;
    ///         /*0010*/               @P0 EXIT ;
    ///         /*0020*/                   MUFU.EX2 R3, R6 ;
    ///         /*0030*/                   EXIT ;
    /// .L_x_0:
    ///         /*0040*/                   BRA `(.L_x_0) ;
    /// ";
    /// assert_eq!(Executed::read(text, "twice"), Some(Executed { instructions: 4, special: 1 }));
    /// assert_eq!(Executed::read(text, "thrice"), None);
    /// ```
    pub fn read(text: &str, kernel: &str) -> Option<Executed> {
        let code = Code::read(text, kernel)?;
        if code.is_reached_again() {
            return None;
        }
        // From the last one on, each with the longest way from it to an end.
        let mut ways: Vec<Option<Executed>> = vec![None; code.instructions.len() + 1];
        for (k, instruction) in code.instructions.iter().enumerate().rev() {
            let next = code.next(k).into_iter().filter(|n| *n > k).filter_map(|n| ways[n]).max();
            let rest = match instruction.ends {
                true => next.or(Some(Executed::default())),
                false => next,
            };
            ways[k] = rest.map(|rest| Executed {
                instructions: rest.instructions + 1,
                special: rest.special + u32::from(instruction.name.starts_with("MUFU")),
            });
        }
        ways[0]
    }
}

/// An instruction as far as control goes.
struct Instruction {
    address: u64,
    name: String,
    is_conditional: bool,
    ends: bool,
    /// The label or the address to which it branches.
    target: Option<String>,
}

/// The instructions of a kernel and of the subroutines behind it.
struct Code {
    instructions: Vec<Instruction>,
    /// The instruction behind each label.
    labels: BTreeMap<String, usize>,
}

impl Code {
    /// The code of a kernel; none if a branch cannot be followed.
    fn read(text: &str, kernel: &str) -> Option<Code> {
        let mut code = Code { instructions: Vec::new(), labels: BTreeMap::new() };
        let mut is_own = false;
        for line in text.lines().map(str::trim) {
            // Of nvdisasm, then of cuobjdump.
            if let Some(section) = line.strip_prefix(".section") {
                let name = section.trim().split(',').next().unwrap_or_default();
                is_own = name.strip_prefix(".text.") == Some(kernel);
            } else if let Some(name) = line.strip_prefix("Function :") {
                is_own = name.trim() == kernel;
            } else if is_own && let Some(label) = line.strip_suffix(':') {
                code.labels.insert(label.to_owned(), code.instructions.len());
            } else if is_own && let Some(instruction) = Instruction::read(line) {
                code.instructions.push(instruction);
            }
        }
        let followed = |k: &Instruction| match &k.target {
            Some(target) => code.place(target).is_some(),
            None => !["BRX", "BRXU", "JMX", "JMXU", "JMP"].contains(&k.name.as_str()),
        };
        (!code.instructions.is_empty() && code.instructions.iter().all(followed)).then_some(code)
    }

    /// The instruction at a label or an address.
    fn place(&self, target: &str) -> Option<usize> {
        let at = |address: u64| self.instructions.iter().position(|i| i.address == address);
        self.labels
            .get(target)
            .copied()
            .or_else(|| at(u64::from_str_radix(target.strip_prefix("0x")?, 16).ok()?))
    }

    /// Where control may go from an instruction. What calls a subroutine, or returns from it, leads
    /// nowhere.
    fn next(&self, k: usize) -> Vec<usize> {
        let Some(instruction) = self.instructions.get(k) else { return Vec::new() };
        if ["CALL", "RET"].contains(&instruction.name.as_str()) {
            return Vec::new();
        }
        let target = instruction.target.as_deref().and_then(|target| self.place(target));
        let goes_on = instruction.is_conditional || !(instruction.ends || target.is_some());
        target.into_iter().chain(goes_on.then_some(k + 1)).collect()
    }

    /// Whether control can reach an instruction twice.
    fn is_reached_again(&self) -> bool {
        let mut seen = vec![false; self.instructions.len() + 1];
        let mut open = vec![0];
        while let Some(k) = open.pop() {
            if std::mem::replace(&mut seen[k], true) {
                continue;
            }
            let next = self.next(k);
            if next.iter().any(|n| *n <= k) {
                return true;
            }
            open.extend(next);
        }
        false
    }
}

impl Instruction {
    /// Reads a line such as `/*0190*/ @!P1 BRA 0x1d0 ;`.
    fn read(line: &str) -> Option<Instruction> {
        let (address, rest) = line.strip_prefix("/*")?.split_once("*/")?;
        let address = u64::from_str_radix(address, 16).ok()?;
        let (text, _) = rest.split_once(';')?;
        let mut words = text.split_whitespace();
        let mut name = words.next()?;
        let is_conditional = name.starts_with('@');
        if is_conditional {
            name = words.next()?;
        }
        let name = name.split('.').next()?.to_owned();
        let branches = name == "BRA";
        let target =
            words.next_back().filter(|_| branches).map(|t| t.trim_matches(['`', '(', ')']).to_owned());
        // A branch may have a condition as an operand, too: `BRA P0, 0x1d0`.
        let is_conditional = is_conditional || (branches && words.next().is_some());
        Some(Instruction { address, ends: name == "EXIT", name, is_conditional, target })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Option<Executed> {
        let lines: Vec<String> = body
            .lines()
            .scan(0, |address, line| {
                let line = line.trim();
                if line.ends_with(':') {
                    return Some(line.to_owned());
                }
                *address += 16;
                Some(format!("        /*{:04x}*/    {line} ;", *address - 16))
            })
            .collect();
        Executed::read(&format!(".section .text.k,\"ax\",@progbits\nk:\n{}\n", lines.join("\n")), "k")
    }

    fn executed(instructions: u32, special: u32) -> Option<Executed> {
        Some(Executed { instructions, special })
    }

    #[test]
    fn the_longer_side_of_a_branch_counts() {
        let text = |more: &str| {
            format!(
                "@P0 BRA `(.L_x_0)\nFADD R0, R0, R1\nBRA `(.L_x_1)\n.L_x_0:\nMUFU.EX2 R0, R1\n{more}.L_x_1:\nEXIT"
            )
        };
        assert_eq!(read(&text("")), executed(4, 0));
        assert_eq!(read(&text("FADD R0, R0, R1\nFADD R0, R0, R1\n")), executed(5, 1));
    }

    /// The way of ordinary numbers is the one that does not call.
    #[test]
    fn calls_are_left_out() {
        let text = "MUFU.RSQ R9, R0\n@!P1 BRA `(.L_x_1)\nMOV R9, 0x40\nCALL.REL.NOINC `(slow)\nMOV R1, R2\n\
                    MOV R1, R2\nBRA `(.L_x_2)\n.L_x_1:\nFMUL R5, R0, R9\n.L_x_2:\nEXIT\nslow:\nMUFU.RSQ R4, R5\n\
                    RET.REL.NODEC R4 `(k)\n.L_x_3:\nBRA `(.L_x_3)\nNOP";
        assert_eq!(read(text), executed(4, 1));
    }

    #[test]
    fn loops_and_unknown_targets_have_no_figure() {
        assert_eq!(read(".L_x_0:\nFADD R0, R0, R1\n@P0 BRA `(.L_x_0)\nEXIT"), None);
        assert_eq!(read("FADD R0, R0, R1\nBRX R2\nEXIT"), None);
        assert_eq!(read("BRA `(.L_x_9)\nEXIT"), None);
        // Not reached: the compiler ends each kernel by such a branch.
        assert_eq!(read("EXIT\n.L_x_0:\nBRA `(.L_x_0)"), executed(1, 0));
    }

    /// As cuobjdump prints it, with addresses for labels and the code in numbers.
    #[test]
    fn addresses_are_followed() {
        let text = "\t\tFunction : other\n        /*0000*/  EXIT ;  /* 0x1 */\n\t\tFunction : k\n\
                    \t.headerflags\t@\"EF_CUDA_SM90\"\n\
                    /*0000*/  @P0 BRA 0x30 ;  /* 0x0000000000087947 */\n  /* 0x000fc00003800000 */\n\
                    /*0010*/  MUFU.LG2 R1, R2 ;  /* 0x1 */\n/*0020*/  FADD R1, R1, R1 ;\n/*0030*/  EXIT ;\n\
                    /*0040*/  BRA 0x40;\n";
        assert_eq!(Executed::read(text, "k"), executed(4, 1));
        assert_eq!(Executed::read(text, "other"), executed(1, 0));
    }
}
