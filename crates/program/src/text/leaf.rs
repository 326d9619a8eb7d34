//! The text form of leaves: the part that statements come from, its role, and the executions that
//! have to run.

use std::fmt::Write;

use loopwright_kernel_ir::{
    Aff, Constraint, HardwareAxis, Name, Role, Share,
    syntax::{Parse, Parser, Tok, did_you_mean, text_of_constraints},
};
use loopwright_legality::{Executor, Presence};

use super::note::{quoted, read_quoted};
use crate::{Instances, Leaf, Purpose};

const PRESENCES: &[(Presence, &str)] = &[
    (Presence::At(()), "iname"),
    (Presence::Elected, "elected"),
    (Presence::Replicated, "replicated"),
    (Presence::Collective, "collective"),
];

/// The keywords of the lines for the executor of a part, with their axes.
const EXECUTORS: &[(&str, &[HardwareAxis])] =
    &[("threads", HardwareAxis::OF_BLOCK), ("blocks", HardwareAxis::OF_GRID)];

/// The keywords of the lines of [`Instances`].
const LINES: &[&str] = &["runs", "allowed", "lanes", "threads", "blocks", "conditional", "values"];

/// Prints the lines of a leaf. A leaf that differs from an earlier one of its part only in its
/// purpose and values is printed as `same`.
pub(super) fn text_of(leaf: &Leaf, earlier: &[Leaf]) -> String {
    let mut text = format!("leaf {}", leaf.part);
    let own = |text: &mut String| {
        if let Purpose::Value(number) = leaf.purpose {
            let _ = write!(text, " gives {number}");
        }
        for (k, (iname, value)) in leaf.only.iter().enumerate() {
            let _ = write!(text, "{} {iname} = {value}", if k == 0 { " with" } else { "," });
        }
    };
    let first = earlier.iter().find(|l| l.part == leaf.part);
    if first.is_some_and(|f| *leaf == Leaf { purpose: leaf.purpose, only: leaf.only.clone(), ..f.clone() }) {
        text.push_str(" same");
        own(&mut text);
        text.push('\n');
        return text;
    }
    let _ = match &leaf.role {
        Role::Does(id) if *id == leaf.part.instruction => Ok(()),
        Role::Does(id) => write!(text, " does {id}"),
        Role::Copies { source } => write!(text, " copies {source}"),
        Role::Realizes { of, share } => write!(text, " {} {of}", share.word()),
    };
    own(&mut text);
    if let Some(step) = &leaf.made_by {
        let _ = write!(text, " by {}", quoted(step));
    }
    if leaf.decided_by_data {
        text.push_str(" decided_by_data");
    }
    if !leaf.text.is_empty() {
        let _ = write!(text, " {}", quoted(&leaf.text));
    }
    if let Some(instances) = &leaf.instances {
        text.push_str(" {\n");
        lines(&mut text, instances);
        text.push('}');
    }
    text.push('\n');
    text
}

fn lines(text: &mut String, instances: &Instances) {
    let Instances { constraints, allowed, lanes, executor, conditional, values } = instances;
    let mut line = |word: &str, rest: String| {
        let _ = writeln!(text, "    {word} {rest}");
    };
    line("runs", conjunction(constraints));
    if allowed != constraints {
        line("allowed", conjunction(allowed));
    }
    if !lanes.is_empty() {
        line("lanes", lanes.iter().map(Name::as_str).collect::<Vec<_>>().join(", "));
    }
    for (word, axes) in EXECUTORS {
        let presences: Vec<&str> = axes.iter().map(|axis| spelt(PRESENCES, &executor[*axis])).collect();
        line(word, presences.join(", "));
    }
    if !values.is_empty() {
        line("values", values.iter().map(u8::to_string).collect::<Vec<_>>().join(", "));
    }
    if *conditional {
        text.push_str("    conditional\n");
    }
}

fn conjunction(constraints: &[Constraint]) -> String {
    if constraints.is_empty() { "true".to_string() } else { text_of_constraints(constraints) }
}

fn spelt<T: PartialEq>(table: &[(T, &'static str)], value: &T) -> &'static str {
    table.iter().find(|(known, _)| known == value).map_or("?", |(_, word)| word)
}

/// Parses a leaf, after its keyword; `leaves` are those before it.
pub(super) fn read(p: &mut Parser, earlier: &[Leaf]) -> Parse<Leaf> {
    let start = p.span().start;
    let part = p.part_of()?;
    if p.eat_word("same") {
        let Some(first) = earlier.iter().find(|l| l.part == part) else {
            let span = start..p.last_end();
            return Err(p
                .diagnostic(span, "unknown-name", format!("there is no earlier leaf of {part}"))
                .help(
                    "the first leaf of a part gives its role and text; later ones may refer to it \
                     by `same`",
                )
                .into());
        };
        let (purpose, only) = read_own(p)?;
        return Ok(Leaf { purpose, only, ..first.clone() });
    }
    let role = if p.eat_word("does") {
        Role::Does(p.name("the id of an instruction")?)
    } else if p.eat_word("copies") {
        Role::Copies { source: p.name("an array")? }
    } else if let Some((share, _)) = Share::WORDS.iter().find(|(_, word)| p.at_word(word)) {
        p.advance();
        Role::Realizes { of: p.name("the id of an instruction")?, share: *share }
    } else {
        Role::Does(part.instruction.clone())
    };
    let (purpose, only) = read_own(p)?;
    let made_by = if p.eat_word("by") { Some(read_quoted(p, "the step")?.into()) } else { None };
    let decided_by_data = p.eat_word("decided_by_data") || p.eat_word("flattened");
    let text = match p.at("{") || p.tok(0) == Tok::End {
        true => String::new(),
        false => read_quoted(p, "the text of the instruction")?,
    };
    let instances = if p.at("{") { Some(read_instances(p)?) } else { None };
    Ok(Leaf { part, role, purpose, made_by, text, instances, only, decided_by_data })
}

/// The purpose of a leaf, and the values of inames that no loop counts.
fn read_own(p: &mut Parser) -> Parse<(Purpose, Vec<(Name, Aff)>)> {
    let purpose = match p.eat_word("gives") {
        true => Purpose::Value(small(p)?),
        false => Purpose::Support,
    };
    let mut only = Vec::new();
    if p.eat_word("with") {
        loop {
            let iname = p.name("an iname")?;
            p.expect("=")?;
            only.push((iname, p.aff()?));
            if !p.eat(",") {
                break;
            }
        }
    }
    Ok((purpose, only))
}

fn read_instances(p: &mut Parser) -> Parse<Instances> {
    let start = p.span();
    p.expect("{")?;
    p.enter()?;
    let (mut runs, mut allowed, mut values) = (None, None, Vec::new());
    let (mut lanes, mut conditional) = (Vec::new(), false);
    let (mut executor, mut of_threads, mut of_blocks) = (Executor::default(), false, false);
    loop {
        p.begin_statement();
        if p.eat("}") {
            break;
        }
        if p.eat_word("runs") {
            runs = Some(constraints(p)?);
        } else if p.eat_word("allowed") {
            allowed = Some(constraints(p)?);
        } else if p.eat_word("lanes") {
            lanes.push(p.name("an iname")?);
            while p.eat(",") {
                lanes.push(p.name("an iname")?);
            }
        } else if p.eat_word("threads") {
            of_threads = true;
            presences(p, &mut executor, HardwareAxis::OF_BLOCK)?;
        } else if p.eat_word("blocks") {
            of_blocks = true;
            presences(p, &mut executor, HardwareAxis::OF_GRID)?;
        } else if p.eat_word("values") {
            values.push(small(p)?);
            while p.eat(",") {
                values.push(small(p)?);
            }
        } else if p.eat_word("conditional") {
            conditional = true;
        } else {
            let mut error = p.unexpected("a line of the instances of a part");
            error.help = p
                .word(0)
                .and_then(|w| did_you_mean(w, LINES.iter().copied()))
                .or_else(|| Some(format!("the lines are {}", LINES.join(", "))));
            return Err(error);
        }
        p.end_statement()?;
    }
    p.leave();
    let (Some(constraints), true, true) = (runs, of_threads, of_blocks) else {
        return Err(p
            .diagnostic(start.start..p.last_end(), "syntax", "the instances of a part are missing")
            .help("give `runs`, `threads` and `blocks`, each on its own line, or omit the braces")
            .into());
    };
    let allowed = allowed.unwrap_or_else(|| constraints.clone());
    Ok(Instances { constraints, allowed, lanes, executor, conditional, values })
}

fn constraints(p: &mut Parser) -> Parse<Vec<Constraint>> {
    let mut constraints = Vec::new();
    p.conjunction(&mut constraints, &mut Vec::new())?;
    Ok(constraints)
}

fn presences(p: &mut Parser, executor: &mut Executor<()>, axes: &[HardwareAxis]) -> Parse<()> {
    for (k, axis) in axes.iter().enumerate() {
        if k > 0 {
            p.expect(",")?;
        }
        executor[*axis] = word(p, PRESENCES)?;
    }
    Ok(())
}

fn word<T: Copy>(p: &mut Parser, table: &[(T, &'static str)]) -> Parse<T> {
    let words: Vec<&str> = table.iter().map(|(_, word)| *word).collect();
    match table.iter().find(|(_, word)| p.at_word(word)) {
        Some((value, _)) => {
            p.advance();
            Ok(*value)
        }
        None => Err(p.unexpected(&format!("one of {}", words.join(", ")))),
    }
}

/// The index of a value of a part.
fn small(p: &mut Parser) -> Parse<u8> {
    let start = p.span().start;
    let number = p.number("the number of a value")?;
    u8::try_from(number).map_err(|_| {
        let span = start..p.last_end();
        p.diagnostic(span, "overflow", format!("{number} is too large for the number of a value")).into()
    })
}
