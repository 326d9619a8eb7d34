//! Breaks long lines of CUDA C.
//!
//! A break comes after a comma or a binary operator (before `?` and `:`), preferring the outermost
//! bracket nesting, then the loosest operator, then the rightmost position that fits. The next line
//! is aligned after the open bracket, or indented by four more columns if there is none. In printed
//! text, binary operators, and nothing else, are surrounded by spaces.

/// Maximum line length in columns.
pub(crate) const WIDTH: usize = 100;

/// Binary operators with their break cost; smaller is preferred.
const OPERATORS: &[(&str, u32)] = &[
    ("=", 2),
    ("+=", 2),
    ("-=", 2),
    ("*=", 2),
    ("/=", 2),
    ("%=", 2),
    ("&=", 2),
    ("|=", 2),
    ("^=", 2),
    ("<<=", 2),
    (">>=", 2),
    ("?", 3),
    (":", 3),
    ("||", 4),
    ("&&", 5),
    ("|", 6),
    ("^", 7),
    ("&", 8),
    ("==", 9),
    ("!=", 9),
    ("<", 10),
    (">", 10),
    ("<=", 10),
    (">=", 10),
    ("<<", 11),
    (">>", 11),
    ("+", 12),
    ("-", 12),
    ("*", 13),
    ("/", 13),
    ("%", 13),
];

/// A place where a line may be broken.
struct Break {
    /// Byte offset of the break.
    at: usize,
    /// Bracket depth, then the break cost of the operator.
    rank: (usize, u32),
    /// The column of the enclosing bracket in the unbroken text, if there is one.
    bracket: Option<usize>,
}

fn breaks(text: &str) -> Vec<Break> {
    let mut found = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut word = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' => open.push(at),
            ')' | ']' => drop(open.pop()),
            ' ' => {
                let before = &text[word..at];
                let after = text[at + 1..].split(' ').next().unwrap_or_default();
                let rank = if after == "?" || after == ":" {
                    Some(3)
                } else if before.ends_with(';') {
                    Some(0)
                } else if before.ends_with(',') {
                    Some(1)
                } else if before != "?" && before != ":" {
                    OPERATORS.iter().find(|(op, _)| *op == before).map(|(_, rank)| *rank)
                } else {
                    None
                };
                if let Some(rank) = rank {
                    found.push(Break { at: at + 1, rank: (open.len(), rank), bracket: open.last().copied() });
                }
                word = at + 1;
            }
            _ => {}
        }
    }
    found
}

/// The lines of a text that starts at column `indent`, including their indentation.
pub(crate) fn wrap(text: &str, indent: usize) -> Vec<String> {
    if indent + text.len() <= WIDTH {
        return vec![format!("{:indent$}{text}", "")];
    }
    let all = breaks(text);
    let mut lines = Vec::new();
    // For each piece, its byte offset in the text and its column.
    let mut pieces: Vec<(usize, usize)> = vec![(0, indent)];
    loop {
        let (start, column) = pieces[pieces.len() - 1];
        let here = all.iter().filter(|b| b.at > start && b.at < text.len());
        let fits = |b: &&Break| column + text[start..b.at].trim_end().len() <= WIDTH;
        // A break after an assignment is worth a line only if the rest then fits on one, or if
        // nothing else shortens this line.
        let useful = |b: &&Break| b.rank.1 != 2 || indent + 4 + text.len() - b.at <= WIDTH;
        // The next piece would be no longer than a line.
        let goes_on = |b: &Break| {
            let next = all.iter().find(|next| next.at > b.at).map_or(text.len(), |next| next.at);
            indent + 4 + text[b.at..next].trim_end().len() <= WIDTH
        };
        let chosen = match column + text.len() - start <= WIDTH {
            true => None,
            false => here
                .clone()
                .filter(fits)
                .filter(useful)
                .min_by_key(|b| (b.rank, usize::MAX - b.at))
                .or_else(|| here.clone().rfind(|b| fits(b) && goes_on(b)))
                .or_else(|| here.clone().find(|b| !fits(b))),
        };
        let end = chosen.map_or(text.len(), |b| b.at);
        lines.push(format!("{:column$}{}", "", text[start..end].trim_end()));
        let Some(chosen) = chosen else { return lines };
        let next = chosen.bracket.map_or(indent + 4, |bracket| {
            let (from, col) =
                pieces.iter().rev().find(|(from, _)| *from <= bracket).copied().unwrap_or((0, indent));
            let aligned = col + bracket - from + 1;
            if aligned <= WIDTH * 2 / 3 { aligned } else { indent + 8 }
        });
        pieces.push((end, next));
    }
}

/// A comment as lines of `//`, broken between words.
pub(crate) fn comment(text: &str, indent: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && indent + 3 + line.len() + 1 + word.len() > WIDTH {
                lines.push(format!("{:indent$}// {line}", ""));
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        // A trailing backslash would continue the comment onto the next line.
        let line = line.trim_end_matches(['\\', ' ']);
        if !line.is_empty() {
            lines.push(format!("{:indent$}// {line}", ""));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_sum_is_broken_at_its_loosest_operator() {
        let term = "tile[threadIdx.y + 1][threadIdx.x]";
        let text = format!("acc = {term} * alpha + {term} * beta + {term} * gamma;");
        assert_eq!(
            wrap(&text, 4),
            [format!("    acc = {term} * alpha + {term} * beta +"), format!("        {term} * gamma;"),]
        );
    }

    #[test]
    fn a_right_side_that_fits_on_a_line_goes_there_whole() {
        let (a, b) = ("a".repeat(50), "b".repeat(50));
        assert_eq!(
            wrap(&format!("{a} = {b} + 1;"), 8),
            [format!("        {a} ="), format!("            {b} + 1;")]
        );
    }

    #[test]
    fn a_right_side_that_fits_on_no_line_begins_one_of_its_own_if_nothing_else_is_short() {
        let left = format!("*reinterpret_cast<float4 *>(&{}[0]) =", "v".repeat(60));
        let right = format!("reinterpret(&{}[a * {} + b]);", "x".repeat(30), "y".repeat(40));
        let lines = wrap(&format!("{left} {right}"), 4);
        assert_eq!(lines[0], format!("    {left}"));
        assert!(lines.iter().all(|line| line.len() <= WIDTH), "{lines:#?}");
    }

    #[test]
    fn arguments_align_behind_their_bracket() {
        let name = "n".repeat(40);
        assert_eq!(
            wrap(&format!("f(g({name}, 1), {name}, {name});"), 0),
            [format!("f(g({name}, 1), {name},"), format!("  {name});")]
        );
    }

    #[test]
    fn behind_a_word_that_is_too_long_comes_a_break() {
        let name = "n".repeat(120);
        assert_eq!(wrap(&format!("a = {name} + 1;"), 0), [format!("a = {name} +"), "    1;".into()]);
    }

    #[test]
    fn comments_break_between_words_and_swallow_no_line() {
        assert_eq!(comment("copies a \\", 0), ["// copies a"]);
        let long = comment(&"word ".repeat(40), 4);
        assert_eq!(long.len(), 3);
        assert!(long.iter().all(|l| l.len() <= WIDTH && l.starts_with("    // word")));
    }
}
