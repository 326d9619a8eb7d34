//! What the text of a device function shows of state.
//!
//! Everything that is proved of a kernel counts on functions whose result depends on their
//! arguments alone: calls may be repeated, left out and done in any order. The text is CUDA C,
//! which nobody here understands; but what it takes to keep state, or to learn which thread it is,
//! are a few words, and those are looked for. That a text has none of them proves nothing.

/// A word or a sign of a C text, with the depth of braces and of parentheses around it.
struct Token<'a> {
    text: &'a str,
    braces: usize,
    parentheses: usize,
}

/// The words and signs of a C text without its comments, strings and directives.
fn tokens(source: &str) -> Vec<Token<'_>> {
    let bytes = source.as_bytes();
    let (mut at, mut braces, mut parentheses) = (0, 0usize, 0usize);
    let mut found = Vec::new();
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || !b.is_ascii();
    let until = |from: usize, end: &str| source[from..].find(end).map_or(source.len(), |k| from + k);
    while at < bytes.len() {
        let begin = at;
        match bytes[at] {
            b'/' if bytes.get(at + 1) == Some(&b'/') => at = until(at, "\n"),
            b'/' if bytes.get(at + 1) == Some(&b'*') => at = (until(at + 2, "*/") + 2).min(source.len()),
            b'#' => at = until(at, "\n"),
            quote @ (b'"' | b'\'') => {
                at += 1;
                while at < bytes.len() && bytes[at] != quote && bytes[at] != b'\n' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b if is_word(b) => {
                while at < bytes.len() && is_word(bytes[at]) {
                    at += 1;
                }
                found.push(Token { text: &source[begin..at], braces, parentheses });
            }
            b => {
                at += 1;
                match b {
                    b'{' => braces += 1,
                    b'}' => braces = braces.saturating_sub(1),
                    b'(' => parentheses += 1,
                    b')' => parentheses = parentheses.saturating_sub(1),
                    _ => {}
                }
                if !b.is_ascii_whitespace() {
                    found.push(Token { text: &source[begin..at], braces, parentheses });
                }
            }
        }
    }
    found
}

/// Why the text of a device function is not that of a function of its arguments alone, as the end
/// of a sentence about it; `None` if nothing shows it.
pub(super) fn impurity(source: &str) -> Option<String> {
    let tokens = tokens(source);
    let is_constant = |t: &&Token<'_>| matches!(t.text, "const" | "constexpr" | "__constant__");
    // What stands outside of all functions up to here, since the last end of a definition.
    let (mut outside, mut in_value): (Vec<&Token<'_>>, bool) = (Vec::new(), false);
    for (k, token) in tokens.iter().enumerate() {
        let is_called = tokens.get(k + 1).is_some_and(|t| t.text == "(");
        let declares = || tokens[k.saturating_sub(1)..].iter().take_while(|t| !matches!(t.text, ";" | "="));
        let word = token.text;
        match word {
            "static" if token.braces > 0 && !declares().any(|t| is_constant(&t)) => {
                return Some("keeps state from call to call, in a `static` variable".into());
            }
            "__shared__" => return Some("keeps state in shared memory".into()),
            "threadIdx" | "blockIdx" | "blockDim" | "gridDim" => {
                return Some(format!("depends on which thread calls it, by `{word}`"));
            }
            "clock" | "clock64" | "__nanotime" | "__globaltimer" if is_called => {
                return Some(format!("depends on when it is called, by `{word}`"));
            }
            _ if is_called && word.starts_with("atomic") => {
                return Some(format!("writes memory, by `{word}`"));
            }
            _ if is_called
                && ["__shfl", "__sync", "__ballot", "__any", "__all", "__reduce_", "__match_"]
                    .iter()
                    .any(|begin| word.starts_with(begin)) =>
            {
                return Some(format!("depends on other threads, by `{word}`"));
            }
            _ => {}
        }
        if token.braces > 0 || token.parentheses > 0 {
            continue;
        }
        let was_in_value = in_value;
        in_value = word == "=" || in_value && !matches!(word, ";" | "}");
        if !matches!(word, ";" | "=" | "}") {
            outside.push(token);
            continue;
        }
        // A prototype has parentheses.
        let is_variable = word != "}" && !was_in_value && outside.iter().all(|t| t.text != ")");
        let is_type = outside.iter().any(|t| matches!(t.text, "using" | "typedef" | "struct"));
        if is_variable && !is_type && !outside.iter().any(is_constant) {
            let name = outside.iter().take_while(|t| t.text != "[").last().map_or("", |t| t.text);
            if !name.is_empty() {
                return Some(format!("has state, the variable `{name}` outside of it"));
            }
        }
        outside.clear();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::impurity;

    fn of(body: &str) -> Option<String> {
        impurity(&format!("__device__ float g(float x) {{ {body} }}"))
    }

    #[test]
    fn state_is_seen() {
        let says = |body: &str, what: &str| {
            let found = of(body).unwrap_or_default();
            assert!(found.contains(what), "{body}: {found}");
        };
        says("static int c; return c++;", "`static`");
        says("static unsigned c = 1; return c *= 3;", "`static`");
        says("__shared__ float s; s = x; return s;", "shared memory");
        says("return x + threadIdx.x;", "`threadIdx`");
        says("return __shfl_xor_sync(0xffffffffu, x, 1);", "`__shfl_xor_sync`");
        says("return clock64();", "`clock64`");
        says("return atomicAdd(&total, x);", "`atomicAdd`");
        let global = "__device__ int calls; __device__ float g(float x) { return calls++; }";
        assert!(impurity(global).unwrap_or_default().contains("the variable `calls`"));
        let global = "__device__ int calls = 0; __device__ float g(float x) { return calls++; }";
        assert!(impurity(global).unwrap_or_default().contains("the variable `calls`"));
    }

    #[test]
    fn what_only_looks_like_it_is_not() {
        for body in [
            "static const float t[2] = {1.0f, 2.0f}; return t[x > 0.0f];",
            "static constexpr int n = 2; return n*x;",
            "const static int n = 2; return n*x;",
            "// static\n return x;",
            "/* atomicAdd(a, b) */ return x; /**/",
            "const char *s = \"static int c;\"; return s[0]*x;",
            "float atomic = x; for (int k = 0; k < 3; ++k) { atomic += x; } return atomic;",
        ] {
            assert_eq!(of(body), None, "{body}");
        }
        for source in [
            "__device__ static inline float g(float x) { return x; }",
            "__device__ float h(float); __device__ float g(float x) { return h(x); }",
            "__device__ const float t = 2.0f; __device__ float g(float x) { return t*x; }",
            "__device__ struct p { float a; }; __device__ float g(float x) { p q; q.a = x; return q.a; }",
        ] {
            assert_eq!(impurity(source), None, "{source}");
        }
    }
}
