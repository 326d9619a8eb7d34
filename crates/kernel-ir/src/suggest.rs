//! The nearest name to a misspelt one.

/// The candidate that the fewest edits lead to (insertions, deletions, replacements, swaps of
/// neighbours), if they are no more than a third of the word's letters, rounded up, and four at
/// most. Ties go to the first candidate; the word itself is never suggested.
///
/// ```
/// use loopwright_kernel_ir::nearest;
///
/// assert_eq!(nearest("lenght", ["length", "width"]), Some("length"));
/// assert_eq!(nearest("depth", ["length", "height"]), None);
/// ```
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = match word.chars().count() {
        0..=1 => return None,
        2 => 1,
        n => n.div_ceil(3).min(4),
    };
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let d = distance(word, candidate);
        if d > 0 && d <= limit && best.is_none_or(|(b, _)| d < b) {
            best = Some((d, candidate));
        }
    }
    best.map(|(_, c)| c)
}

/// The least number of edits, none of which touches the letters of a swap once more; of words too
/// far apart, or too long to be names, more than any limit.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > 4 || a.len() > 64 {
        return usize::MAX;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let replace = last[j] + usize::from(a[i] != b[j]);
            let mut cost = replace.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

/// A help text `do you mean ...`, if there is a near name.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, candidates).map(|n| format!("do you mean `{n}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words over two letters, up to a length.
    fn words(length: usize) -> Vec<String> {
        let mut all = vec![String::new()];
        let mut last = all.clone();
        for _ in 0..length {
            last = last.iter().flat_map(|w| ["a", "b"].map(|c| format!("{w}{c}"))).collect();
            all.extend(last.iter().cloned());
        }
        all
    }

    /// Edits by their definition: a letter less on either side, the last letters against each
    /// other, or the last two against each other in turn.
    fn edits(a: &[u8], b: &[u8]) -> usize {
        let (Some((x, a_rest)), Some((y, b_rest))) = (a.split_last(), b.split_last()) else {
            return a.len() + b.len();
        };
        let changed = edits(a_rest, b_rest) + usize::from(x != y);
        let least = changed.min(edits(a_rest, b) + 1).min(edits(a, b_rest) + 1);
        match (a_rest.split_last(), b_rest.split_last()) {
            (Some((v, a_first)), Some((w, b_first))) if v == y && w == x => {
                least.min(edits(a_first, b_first) + 1)
            }
            _ => least,
        }
    }

    #[test]
    fn distances_are_least_numbers_of_edits() {
        for a in words(4) {
            for b in words(4) {
                assert_eq!(distance(&a, &b), edits(a.as_bytes(), b.as_bytes()), "{a} {b}");
            }
        }
    }

    /// A third of the letters may differ, and four at most.
    #[test]
    fn near_names_are_few_edits_away() {
        assert_eq!(nearest("leng", ["len", "x", "length"]), Some("len"));
        assert_eq!(nearest("len", ["lens", "len"]), Some("lens"));
        assert_eq!(nearest("abc", ["ab", "a"]), Some("ab"));
        assert_eq!(nearest("abc", ["a", "xyc", ""]), None);
        assert_eq!(nearest("abcd", ["ab"]), Some("ab"));
        assert_eq!(nearest("abcd", ["a"]), None);
        assert_eq!(nearest("x", ["y", "xy", ""]), None);
        assert_eq!(nearest("xy", ["x"]), Some("x"));
        assert_eq!(nearest("xy", ["yx", "xyz"]), Some("yx"));
        let long = "abcdefghijklmnopqrst";
        assert_eq!(nearest(long, [&long[4..]]), Some(&long[4..]));
        assert_eq!(nearest(long, [&long[5..]]), None);
    }
}
