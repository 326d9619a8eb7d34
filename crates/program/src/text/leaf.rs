//! What statements come from, as text: the part, its role, and for which executions it has to run.

use std::fmt::Write;

use loopwright_kernel_ir::{
    Constraint, Name, Role,
    syntax::{Parse, Parser, Tok, did_you_mean, text_of_constraints},
};
use loopwright_legality::Presence;

use super::note::{quoted, read_quoted};
use crate::{Instances, Leaf, Writes};

const PRESENCES: [(Presence, &str); 3] =
    [(Presence::Iname, "iname"), (Presence::Elected, "elected"), (Presence::Replicated, "replicated")];

const WRITES: [(Writes, &str); 3] =
    [(Writes::Memory, "memory"), (Writes::Computed, "computed"), (Writes::Loaded, "loaded")];

/// The lines of [`Instances`].
const LINES: &[&str] = &["runs", "allowed", "lanes", "threads", "blocks", "conditional", "writes"];

/// The lines of a leaf.
pub(super) fn text_of(leaf: &Leaf) -> String {
    let mut text = format!("leaf {}", leaf.part);
    let _ = match &leaf.role {
        Role::Does(id) if *id == leaf.part.instruction => Ok(()),
        Role::Does(id) => write!(text, " does {id}"),
        Role::Copies { source } => write!(text, " copies {source}"),
    };
    if let Some(step) = &leaf.made_by {
        let _ = write!(text, " by {}", quoted(step));
    }
    if leaf.flattened {
        text.push_str(" flattened");
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
    let Instances { constraints, allowed, lanes, threads, blocks, conditional, writes } = instances;
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
    for (word, axes) in [("threads", threads), ("blocks", blocks)] {
        let axes = axes.map(|axis| spelt(&PRESENCES, &axis));
        line(word, axes.join(", "));
    }
    line("writes", spelt(&WRITES, writes).to_string());
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

/// A leaf, behind its word.
pub(super) fn read(p: &mut Parser) -> Parse<Leaf> {
    let part = p.part_of()?;
    let role = if p.eat_word("does") {
        Role::Does(p.name("the id of an instruction")?)
    } else if p.eat_word("copies") {
        Role::Copies { source: p.name("an array")? }
    } else {
        Role::Does(part.instruction.clone())
    };
    let made_by = if p.eat_word("by") { Some(read_quoted(p, "the step")?.into()) } else { None };
    let flattened = p.eat_word("flattened");
    let text = match p.at("{") || p.tok(0) == Tok::End {
        true => String::new(),
        false => read_quoted(p, "the text of the instruction")?,
    };
    let instances = if p.at("{") { Some(read_instances(p)?) } else { None };
    Ok(Leaf { part, role, made_by, text, instances, flattened })
}

fn read_instances(p: &mut Parser) -> Parse<Instances> {
    let start = p.span();
    p.expect("{")?;
    p.enter()?;
    let (mut runs, mut allowed, mut writes) = (None, None, None);
    let (mut lanes, mut conditional) = (Vec::new(), false);
    let (mut threads, mut blocks) = (None, None);
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
            threads = Some(presences(p)?);
        } else if p.eat_word("blocks") {
            blocks = Some(presences(p)?);
        } else if p.eat_word("writes") {
            writes = Some(word(p, &WRITES)?);
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
    let (Some(constraints), Some(threads), Some(blocks), Some(writes)) = (runs, threads, blocks, writes)
    else {
        return Err(p
            .diagnostic(start.start..p.last_end(), "syntax", "the instances of a part are not said")
            .help("say `runs`, `threads`, `blocks` and `writes`, each on a line; or leave out the braces")
            .into());
    };
    let allowed = allowed.unwrap_or_else(|| constraints.clone());
    Ok(Instances { constraints, allowed, lanes, threads, blocks, conditional, writes })
}

fn constraints(p: &mut Parser) -> Parse<Vec<Constraint>> {
    let mut constraints = Vec::new();
    p.conjunction(&mut constraints, &mut Vec::new())?;
    Ok(constraints)
}

fn presences(p: &mut Parser) -> Parse<[Presence; 3]> {
    let x = word(p, &PRESENCES)?;
    p.expect(",")?;
    let y = word(p, &PRESENCES)?;
    p.expect(",")?;
    Ok([x, y, word(p, &PRESENCES)?])
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
