//! The runner of all filetests: files with an input and, below it, the expected outcome.
//!
//! A file is text in sections. A section begins with a line `==== NAME`; the text above the first
//! one is the main input. Sections that a kind of test names as inputs, such as `pipeline`, belong
//! to the input; the outcome starts at the first other section. A test computes the outcome from
//! the input, and the two are compared as texts.
//!
//! `LOOPWRIGHT_BLESS=1` writes the actual outcomes into the files instead; review the diff before
//! keeping it. A folder without a file of the kind fails: it has been moved, or is not read.

use std::{fs, path::Path};

use rayon::prelude::*;

/// A filetest: inputs, and the outcome that is expected for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filetest {
    /// The file's name, without the folder.
    pub name: String,
    /// The main input, up to the first heading.
    pub text: String,
    /// The other inputs, in order: the name in the heading, and the text below it.
    pub inputs: Vec<(String, String)>,
    /// The expected outcome, including its first heading; empty in a new file.
    pub expected: String,
}

/// The name in a heading line; `None` for any other line.
fn heading(line: &str) -> Option<&str> {
    line.strip_prefix("==== ").map(str::trim)
}

impl Filetest {
    /// The file with this name and text, in which the sections `inputs` are inputs.
    pub fn parse(name: &str, text: &str, inputs: &[&str]) -> Filetest {
        let mut test =
            Filetest { name: name.into(), text: String::new(), inputs: Vec::new(), expected: String::new() };
        let mut is_outcome = false;
        for line in text.split_inclusive('\n') {
            match heading(line) {
                Some(section) if !is_outcome && inputs.contains(&section) => {
                    test.inputs.push((section.to_owned(), String::new()));
                    continue;
                }
                Some(_) => is_outcome = true,
                None => {}
            }
            match test.inputs.last_mut() {
                _ if is_outcome => test.expected.push_str(line),
                Some((_, input)) => input.push_str(line),
                None => test.text.push_str(line),
            }
        }
        test
    }

    /// The text of the input section with this name.
    ///
    /// # Panics
    /// If the file has no such section.
    pub fn input(&self, section: &str) -> &str {
        self.optional(section).unwrap_or_else(|| panic!("{} has no section `==== {section}`", self.name))
    }

    /// An input that not every file has.
    pub fn optional(&self, section: &str) -> Option<&str> {
        let found = self.inputs.iter().find(|(name, _)| name == section);
        found.map(|(_, text)| text.as_str())
    }

    /// The whole file with this outcome.
    pub fn with(&self, outcome: &str) -> String {
        let line = |text: &str| match text {
            "" => String::new(),
            text if text.ends_with('\n') => text.to_owned(),
            text => format!("{text}\n"),
        };
        let mut file = line(&self.text);
        for (name, text) in &self.inputs {
            file += &format!("==== {name}\n{}", line(text));
        }
        file + outcome
    }
}

/// The files of a folder with this extension, in the order of their names.
///
/// # Panics
/// If the folder or a file cannot be read, or if there is no such file.
pub fn read(folder: &Path, extension: &str, inputs: &[&str]) -> Vec<Filetest> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<_> =
        entries.map(|e| e.unwrap_or_else(|e| panic!("{}: {e}", folder.display())).path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == extension));
    files.sort();
    assert!(!files.is_empty(), "there is no file `*.{extension}` in {}", folder.display());
    let parse = |file: &std::path::PathBuf| {
        let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        Filetest::parse(&name, &text, inputs)
    };
    files.iter().map(parse).collect()
}

/// Compares the files of a folder with their actual outcomes, or writes these into them. Outcomes
/// are found in parallel. Returns the files with the actual outcomes.
///
/// # Panics
/// As [`read`], and with all differences if an outcome is not the expected one.
pub fn check(
    folder: &Path,
    extension: &str,
    inputs: &[&str],
    outcome: impl Fn(&Filetest) -> String + Sync,
) -> Vec<Filetest> {
    let bless = std::env::var_os("LOOPWRIGHT_BLESS").is_some();
    let mut differences = String::new();
    let mut tests = read(folder, extension, inputs);
    let outcomes: Vec<String> = tests.par_iter().map(&outcome).collect();
    for (test, found) in tests.iter_mut().zip(outcomes) {
        if found == test.expected {
            continue;
        }
        if bless {
            let file = folder.join(&test.name);
            fs::write(&file, test.with(&found)).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        } else {
            let expected = &test.expected;
            differences += &format!("---- {}\nexpected\n{expected}found\n{found}\n", test.name);
        }
        test.expected = found;
    }
    assert!(differences.is_empty(), "{differences}LOOPWRIGHT_BLESS=1 writes what is found into the files");
    tests
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_its_inputs_and_its_outcome() {
        let text = "kernel\n==== pipeline\nstep\n==== refused\nwhy\n==== pipeline\nof the outcome\n";
        let test = Filetest::parse("a.test", text, &["pipeline"]);
        assert_eq!((test.text.as_str(), test.input("pipeline")), ("kernel\n", "step\n"));
        assert_eq!(test.expected, "==== refused\nwhy\n==== pipeline\nof the outcome\n");
        assert_eq!(test.with(&test.expected), text);
        // A file without an outcome, and one that is only an outcome.
        let new = Filetest::parse("b.test", "kernel", &["pipeline"]);
        assert_eq!(
            (new.expected.as_str(), new.with("==== print\nkernel\n").as_str()),
            ("", "kernel\n==== print\nkernel\n")
        );
        assert_eq!(Filetest::parse("c.test", "==== refused\nwhy\n", &[]).text, "");
    }

    #[test]
    #[should_panic(expected = "there is no file `*.test` in ")]
    fn an_empty_folder_fails() {
        let folder = std::env::temp_dir().join(format!("loopwright-filetest-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("a.other"), "").unwrap();
        let found = std::panic::catch_unwind(|| check(&folder, "test", &[], |_| String::new()));
        fs::remove_dir_all(&folder).unwrap();
        if let Err(panic) = found {
            std::panic::resume_unwind(panic);
        }
    }

    #[test]
    fn differences_are_told_together() {
        let folder = std::env::temp_dir().join(format!("loopwright-filetests-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for name in ["one", "two", "three"] {
            fs::write(folder.join(format!("{name}.test")), format!("{name}\n==== print\n{name}\n")).unwrap();
        }
        let outcome = |t: &Filetest| match t.name.as_str() {
            "two.test" => "==== print\ntwo\n".to_owned(),
            _ => "==== print\nelse\n".to_owned(),
        };
        let found = std::panic::catch_unwind(|| check(&folder, "test", &[], outcome));
        fs::remove_dir_all(&folder).unwrap();
        if std::env::var_os("LOOPWRIGHT_BLESS").is_none() {
            let panic = found.expect_err("there are differences");
            let text = panic.downcast_ref::<String>().unwrap();
            assert!(text.contains("---- one.test") && text.contains("---- three.test"), "{text}");
            assert!(!text.contains("---- two.test"), "{text}");
        }
    }
}
