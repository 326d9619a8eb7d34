//! Almost valid texts through the whole pipeline: kernels and pipelines with words exchanged, lines
//! moved, numbers enlarged and bytes changed are read, transformed, lowered and printed. The answer
//! is always a program or a diagnostic: no panic, no stack overflow, and a kernel given to a
//! refused step is unchanged. `LOOPWRIGHT_CASES` is the number of cases.

use std::path::{Path, PathBuf};

use loopwright::prelude::*;
use loopwright::transforms::Registry;
use loopwright_testing::rng::Rng;
use rayon::prelude::*;

fn files(folder: &Path, ends: &[&str], found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, ends, found);
        } else if ends.iter().any(|end| path.extension().is_some_and(|e| e == *end)) {
            found.push(path);
        }
    }
}

/// Kernels with pipelines, from the examples and the filetests.
fn seeds() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut seeds = Vec::new();
    let mut kernels = Vec::new();
    files(&root.join("examples/kernels"), &["lw"], &mut kernels);
    for kernel in kernels {
        let mut pipelines = Vec::new();
        let name = kernel.file_stem().unwrap();
        files(&root.join("examples/pipelines").join(name), &["pipe"], &mut pipelines);
        let text = std::fs::read_to_string(&kernel).unwrap();
        seeds.extend(pipelines.iter().map(|p| (text.clone(), std::fs::read_to_string(p).unwrap())));
    }
    let mut tests = Vec::new();
    files(&root.join("tests/filetests"), &["test"], &mut tests);
    for test in tests {
        let text = std::fs::read_to_string(test).unwrap();
        // Those of `auto` have a pipeline to be found.
        let Some((kernel, rest)) = text.split_once("==== pipeline\n") else { continue };
        let pipeline = rest.split("==== ").next().unwrap_or_default();
        seeds.push((kernel.to_owned(), pipeline.to_owned()));
    }
    assert!(seeds.len() > 40, "the files are there");
    seeds
}

/// The words and other characters of a text, one by one.
fn tokens(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let end = if word(first) { rest.find(|c| !word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (token, after) = rest.split_at(end);
        found.push(token);
        rest = after;
    }
    found
}

const NUMBERS: [&str; 12] = [
    "0",
    "1",
    "2",
    "3",
    "32",
    "1000",
    "2147483647",
    "2147483648",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "-1",
];

const WORDS: [&str; 34] = [
    "n", "i", "x", "sum", "max", "argmax", "block.x", "thread.x", "thread.y", "lane", "warp", "vec",
    "unroll", "ilp", "host", "seq", "shared", "private", "global", "f16", "u8", "i64", "f64", "T", "if",
    "and", "mod", "floor", "(", ")", "[", "]", "=", "{",
];

fn mutate(text: &str, other: &str, rng: &mut Rng) -> String {
    let mut tokens = tokens(text);
    let others = self::tokens(other);
    for _ in 0..1 + rng.below(4) {
        if tokens.is_empty() {
            break;
        }
        let at = rng.below(tokens.len());
        match rng.below(9) {
            0 => tokens[at] = rng.pick(&NUMBERS),
            1 => tokens[at] = rng.pick(&WORDS),
            2 => {
                tokens.remove(at);
            }
            3 => tokens.insert(at, rng.pick(&WORDS)),
            4 => {
                let with = rng.below(tokens.len());
                tokens.swap(at, with);
            }
            5 if !others.is_empty() => tokens[at] = rng.pick(&others),
            6 => {
                // The same name for two things.
                let from = rng.pick(&tokens);
                tokens[at] = from;
            }
            7 => tokens.truncate(at),
            _ => {
                let number = |t: &&str| t.bytes().all(|b| b.is_ascii_digit());
                let numbers: Vec<usize> = (0..tokens.len()).filter(|k| number(&tokens[*k])).collect();
                if !numbers.is_empty() {
                    tokens[rng.pick(&numbers)] = rng.pick(&NUMBERS);
                }
            }
        }
    }
    tokens.concat()
}

/// Moves, duplicates and drops lines.
fn shuffle_lines(text: &str, other: &str, rng: &mut Rng) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let others: Vec<&str> = other.lines().collect();
    for _ in 0..1 + rng.below(2) {
        if lines.is_empty() {
            break;
        }
        let (at, to) = (rng.below(lines.len()), rng.below(lines.len()));
        match rng.below(4) {
            0 => lines.swap(at, to),
            1 => lines.insert(to, lines[at]),
            2 if !others.is_empty() => lines.insert(to, rng.pick(&others)),
            _ => {
                lines.remove(at);
            }
        }
    }
    lines.join("\n") + "\n"
}

#[derive(Default, Debug)]
struct Counts {
    read: usize,
    transformed: usize,
    lowered: usize,
}

/// Takes one text through all stages.
fn whole_way(kernel: &str, pipeline: &str) -> Counts {
    let mut counts = Counts::default();
    let pipeline = Pipeline::parse_file("fuzz.pipe", pipeline, &Registry::default());
    let Ok(declared) = LoopKernel::parse_named("fuzz.lw", kernel).inspect_err(|d| {
        let text = d.render();
        assert!(!d.0.is_empty() && text.starts_with("error["), "{text}");
    }) else {
        return counts;
    };
    counts.read = 1;
    let before = declared.clone();
    let transformed = match pipeline.and_then(|p| p.apply(&declared)) {
        Ok(kernel) => kernel,
        Err(d) => {
            assert!(d.render().starts_with("error["), "{d}");
            assert_eq!(declared, before);
            return counts;
        }
    };
    counts.transformed = 1;
    let again = LoopKernel::parse(&transformed.to_text());
    assert_eq!(again.as_ref(), Ok(&transformed), "{}", transformed.to_text());
    for index in [DType::I32, DType::I64] {
        match lower(&transformed, LowerOptions::new(index)).and_then(|program| cuda_source(&program)) {
            Ok(_) => counts.lowered = 1,
            Err(d) => {
                assert_ne!(d.code, "internal", "{d}\n{transformed}");
                assert!(d.render().starts_with("error["), "{d}");
            }
        }
    }
    counts
}

#[test]
fn texts_that_are_nearly_right() {
    let seeds = seeds();
    let cases: u64 = std::env::var("LOOPWRIGHT_CASES").ok().and_then(|v| v.parse().ok()).unwrap_or(3000);
    let first: u64 = std::env::var("LOOPWRIGHT_SEED").ok().and_then(|v| v.parse().ok()).unwrap_or(0);
    let all: Vec<(u64, Result<Counts, String>)> = (first..first + cases)
        .into_par_iter()
        .map(|seed| {
            let mut rng = Rng::new(seed);
            let (kernel, pipeline) = seeds[rng.below(seeds.len())].clone();
            let (other_kernel, other_pipeline) = seeds[rng.below(seeds.len())].clone();
            let changed = match rng.below(6) {
                0 => (mutate(&kernel, &other_kernel, &mut rng), pipeline),
                1 => (shuffle_lines(&kernel, &other_kernel, &mut rng), pipeline),
                2 => (kernel, mutate(&pipeline, &other_pipeline, &mut rng)),
                3 => (kernel, shuffle_lines(&pipeline, &other_pipeline, &mut rng)),
                4 => (mutate(&kernel, &other_kernel, &mut rng), mutate(&pipeline, &other_pipeline, &mut rng)),
                _ => (kernel, other_pipeline),
            };
            let result = std::panic::catch_unwind(|| whole_way(&changed.0, &changed.1));
            (seed, result.map_err(|_| format!("{}==== pipeline\n{}", changed.0, changed.1)))
        })
        .collect();
    let failures: Vec<String> = all
        .iter()
        .filter_map(|(seed, r)| r.as_ref().err().map(|text| format!("seed {seed}\n{text}")))
        .collect();
    assert!(
        failures.is_empty(),
        "{} of {cases} panicked; the first:\n{}",
        failures.len(),
        failures[..failures.len().min(6)].join("\n----\n")
    );
    let count =
        |of: fn(&Counts) -> usize| all.iter().filter_map(|(_, r)| r.as_ref().ok()).map(of).sum::<usize>();
    println!(
        "{cases}: {} read, {} transformed, {} lowered",
        count(|c| c.read),
        count(|c| c.transformed),
        count(|c| c.lowered)
    );
    // A fair share must get most of the way; otherwise only the first parser would be tested.
    assert!(count(|c| c.lowered) as u64 > cases / 20, "few texts came through");
    assert!((count(|c| c.read) - count(|c| c.lowered)) as u64 > cases / 20, "few were refused late");
}

/// Texts of every nesting depth, for one kind of bracket or operator after another.
#[test]
fn deep_texts() {
    let wrap = |open: &str, close: &str, n: usize| format!("{}1.0{}", open.repeat(n), close.repeat(n));
    for n in [10, 90, 100, 500, 20_000] {
        for (open, close) in [
            ("(", ")"),
            ("-", ""),
            ("not ", ""),
            ("x[", "]"),
            ("exp(", ")"),
            ("if(true,", ",1.0)"),
            ("1.0+", ""),
            ("sum(i,", ")"),
            ("~", ""),
        ] {
            let kernel = format!(
                "kernel f(x: f32[n], y: f32[n], n: i32)\ndomain {{ [i] : 0 <= i < n }}\ny[i] = {}\n",
                wrap(open, close, n)
            );
            whole_way(&kernel, "");
        }
        for text in ["(", "floor(", "-", "2*(", "i + ", "{ [i] : ", "[", "0 <= i <= "] {
            let kernel = format!(
                "kernel f(y: f32[n], n: i32)\ndomain {{ [i] : 0 <= {}i < n }}\ny[i] = 1.0\n",
                text.repeat(n)
            );
            whole_way(&kernel, "");
        }
        for text in ["(", "together {", "split_iname(", "x {", "\"", "[", "}", ",", "$"] {
            whole_way(
                "kernel f(y: f32[n], n: i32)\ndomain { [i] : 0 <= i < n }\ny[i] = 1.0\n",
                &text.repeat(n),
            );
        }
    }
}
