//! Reading the user's input: kernels, pipelines, values.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use clap::Args as ClapArgs;
use loopwright::auto::{Found, Launch, Sizes, auto_for};
use loopwright::automatic::launch_on;
use loopwright::ir::Place;
use loopwright::prelude::*;
use loopwright::transforms::held_to_declared;
use loopwright::tuner::{Machine, TunedRecord};

use crate::arguments::Arguments;

/// The failure of a command.
pub enum Failure {
    /// The input is wrong, as these diagnostics say.
    Input(Vec<Diagnostic>),
    /// A result is wrong, as this sentence says.
    Wrong(String),
    /// A result is wrong, and what was printed says so.
    Told,
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Failure {
        Failure::Input(vec![diagnostic])
    }
}

impl From<Diagnostics> for Failure {
    fn from(diagnostics: Diagnostics) -> Failure {
        Failure::Input(diagnostics.0)
    }
}

/// A kernel and the pipeline applied to it.
#[derive(ClapArgs, Clone)]
pub struct Form {
    /// The kernel's file; `-` reads standard input.
    pub kernel: String,
    /// The pipeline's file, if any; `-` reads standard input.
    pub pipeline: Option<String>,
    /// A value for an open parameter of the pipeline, such as `block=256`, or for a size that
    /// --auto takes.
    #[arg(short = 'p', long = "parameter", value_name = "NAME=INTEGER")]
    pub parameters: Vec<String>,
    /// A file of `tune --record`: values for open parameters that -p does not give. A record that
    /// does not match is not used, and what differs is reported.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Find steps for what the pipeline leaves open, which without one is everything. They are
    /// written to standard error, each with the reason; `loopwright auto` prints them as a
    /// pipeline.
    #[arg(long)]
    pub auto: bool,
    /// The launch that steps are found for, where they are not those of a record or of -p.
    #[arg(skip)]
    pub launch: Launch,
}

/// The properties of a kernel that are open until it is lowered.
#[derive(ClapArgs)]
pub struct Binding {
    /// The type bound to an open type, such as `T=f32`.
    #[arg(long = "type", value_name = "NAME=TYPE")]
    pub types: Vec<String>,
    /// The type of indices: i32 or i64.
    #[arg(long, value_name = "TYPE")]
    pub index: Option<String>,
}

/// What is known of a launch with these arguments on a device; without a description of it, the
/// usual. Scalars that are given tell something even if others are missing.
pub fn launch(kernel: &LoopKernel, arguments: &Arguments, device: Option<&Device>) -> Launch {
    // Arrays that are made here have the shapes that the others say.
    let given = Arguments { random: Vec::new(), zeros: Vec::new(), ..arguments.clone() };
    let args = given.args(kernel, false).ok();
    let known = args.and_then(|args| loopwright::runtime::known(kernel, &args).ok());
    let integers = known.map(|known| known.integers).unwrap_or_else(|| {
        let given = arguments.set.iter().filter_map(|set| pair(set).ok());
        given.filter_map(|(name, value)| Some((Name::new(name), value.parse().ok()?))).collect()
    });
    let on = match device.filter(|device| device.is_gpu()).map(Device::limits) {
        Some(limits) => launch_on(&Machine::described(limits), limits),
        None => Launch::default(),
    };
    Launch { integers, ..on }
}

impl Form {
    /// The kernel of the file, before the pipeline.
    pub fn declared(&self) -> Result<LoopKernel, Failure> {
        kernel(&self.kernel)
    }

    /// The pipeline, with its parameters bound. A record only has to match kernel and pipeline.
    pub fn pipeline(&self) -> Result<Pipeline, Failure> {
        self.bound_pipeline(|records, kernel, pipeline| records.find_by_text(kernel, pipeline))
    }

    /// The pipeline for a launch, with its parameters bound: a record has to match the arguments
    /// and the device too.
    pub fn pipeline_for(
        &self,
        device: &Device,
        args: impl FnOnce(&LoopKernel) -> Result<Args, Failure>,
    ) -> Result<Pipeline, Failure> {
        if self.record.is_none() {
            return self.pipeline();
        }
        let args = args(&self.declared()?)?;
        self.bound_pipeline(|records, kernel, pipeline| records.find(kernel, pipeline, &args, device))
    }

    fn bound_pipeline(
        &self,
        find: impl for<'r> FnOnce(&'r TunedRecords, &LoopKernel, &Pipeline) -> Result<&'r TunedRecord, Diagnostic>,
    ) -> Result<Pipeline, Failure> {
        if self.auto {
            return self.bound_automatic(find);
        }
        let Some(path) = &self.pipeline else {
            if let Some(extra) = self.parameters.first() {
                return Err(Diagnostic::new("unknown-parameter", format!("`{extra}` needs a pipeline"))
                    .help(
                        "give a pipeline file after the kernel, or scalar arguments of `run` with \
                         --set",
                    )
                    .into());
            }
            if self.record.is_some() {
                return Err(Diagnostic::new("option", "`--record` needs a pipeline")
                    .help("give the tuned pipeline file after the kernel")
                    .into());
            }
            return Ok(Pipeline::new());
        };
        let values = self.values()?;
        let open = read_pipeline(path)?;
        let bound = open.bind(values.iter().map(|(n, v)| (n.as_str(), *v)))?;
        let Some(record) = &self.record else { return Ok(bound) };
        let records = TunedRecords::load(record)?;
        match find(&records, &self.declared()?, &open) {
            // Explicit values take precedence over recorded ones.
            Ok(record) => {
                let left = bound.parameters();
                let point = record.best.iter().take(1).flat_map(|b| b.point.values());
                Ok(bound.bind(point.filter(|(n, _)| left.contains(n)).map(|(n, v)| (n.as_str(), v)))?)
            }
            Err(unfit) if bound.parameters().is_empty() => {
                crate::report::note(&format!("note: {}", unfit.message));
                Ok(bound)
            }
            Err(unfit) => Err(unfit.into()),
        }
    }

    /// The pipeline with the steps that `auto` finds behind its own. Their sizes are parameters,
    /// whose values are those of -p, of a record, or the usual ones.
    fn bound_automatic(
        &self,
        find: impl for<'r> FnOnce(&'r TunedRecords, &LoopKernel, &Pipeline) -> Result<&'r TunedRecord, Diagnostic>,
    ) -> Result<Pipeline, Failure> {
        let (own, found) = self.completed(find)?;
        crate::report::note(found.to_string().trim_end());
        Ok(own.then(&found.pipeline))
    }

    /// The user's steps, bound, and what `auto` finds after them, with the sizes of -p or of a
    /// record.
    pub fn found(&self) -> Result<(Pipeline, Found), Failure> {
        self.completed(|records, kernel, pipeline| records.find_by_text(kernel, pipeline))
    }

    fn completed(
        &self,
        find: impl for<'r> FnOnce(&'r TunedRecords, &LoopKernel, &Pipeline) -> Result<&'r TunedRecord, Diagnostic>,
    ) -> Result<(Pipeline, Found), Failure> {
        let declared = self.declared()?;
        let given = self.values()?;
        let own = self.pipeline.as_deref().map_or_else(|| Ok(Pipeline::new()), read_pipeline)?;
        let known = own.parameters();
        let is_own = |name: &str| known.iter().any(|n| **n == *name);
        let mut own = own.bind(given.iter().filter(|(n, _)| is_own(n)).map(|(n, v)| (n.as_str(), *v)))?;
        let (mut find, mut record) = (Some(find), self.record.as_ref());
        if !own.parameters().is_empty()
            && let (Some(find), Some(_)) = (find.take(), record.take())
        {
            // The record is about the user's own parameters.
            let parameters = self.parameters.iter().filter(|p| pair(p).is_ok_and(|(n, _)| is_own(n)));
            let form = Form { auto: false, parameters: parameters.cloned().collect(), ..self.clone() };
            own = form.bound_pipeline(find)?;
        }
        // Values for sizes are meant for the steps that every launch gets.
        let given_sizes = self.record.is_some() || given.iter().any(|(n, _)| !is_own(n));
        let launch = if given_sizes { Launch::default() } else { self.launch.clone() };
        let automatic = Automatic::of(&declared, own, &launch)?;
        let mut values = automatic.sizes.usual();
        if let (Some(record), Some(find)) = (record, find) {
            let records = TunedRecords::load(record)?;
            match find(&records, &declared, &automatic.open()) {
                Ok(record) => {
                    let best = record.best.first().into_iter().flat_map(|b| b.point.values());
                    values.extend(best.map(|(n, v)| (n.clone(), v)));
                }
                Err(unfit) => crate::report::note(&format!(
                    "note: the usual sizes are taken, not those of {}: {}",
                    record.display(),
                    unfit.message
                )),
            }
        }
        for (name, value) in given.into_iter().filter(|(n, _)| !is_own(n)) {
            if !values.contains_key(name.as_str()) {
                let sizes: Vec<String> = values.keys().map(|n| format!("`{n}`")).collect();
                let help = match sizes.is_empty() {
                    true => "the steps that were found have no sizes".to_string(),
                    false => format!("the sizes are {}", sizes.join(", ")),
                };
                return Err(Diagnostic::new("unknown-parameter", format!("there is no parameter `{name}`"))
                    .help(help)
                    .into());
            }
            values.insert(Name::new(&name), value);
        }
        let found = automatic.with(&values)?;
        Ok((automatic.own, found))
    }

    /// The values for open parameters.
    pub fn values(&self) -> Result<Vec<(String, i64)>, Failure> {
        let value = |p: &String| {
            let (name, value) = pair(p)?;
            let value = value.parse::<i64>().map_err(|_| {
                Diagnostic::new(
                    "parameter",
                    format!("`{value}` is not an integer, and parameter `{name}` needs one"),
                )
                .help(format!("write a number, as in `-p {name}=128`"))
            })?;
            Ok((name.to_owned(), value))
        };
        self.parameters.iter().map(value).collect()
    }

    /// The kernel of the file, only to be shown.
    pub fn declared_to_show(&self) -> Result<LoopKernel, Failure> {
        kernel_to_show(&self.kernel)
    }

    /// The text of the kernel, with its name in diagnostics, if it can be read again.
    pub fn declared_text(&self) -> Option<(String, String)> {
        let text = String::from_utf8(read(&self.kernel).ok()?).ok()?;
        Some((origin(&self.kernel), text))
    }

    /// The kernel that the pipeline makes.
    pub fn transformed(&self) -> Result<LoopKernel, Failure> {
        let declared = self.declared()?;
        Ok(self.pipeline()?.apply(&declared)?)
    }

    /// The refusals with the remedies of the command line and with their places in the kernel's
    /// file, or else in the pipeline's, as far as they can be found there.
    pub fn locate(&self, failure: Failure) -> Failure {
        let Failure::Input(diagnostics) = failure else { return failure };
        let text = |path: &str| String::from_utf8(read(path).ok()?).ok();
        let declared = text(&self.kernel).zip(self.declared().ok());
        let pipeline = self.pipeline.as_ref().and_then(|path| Some((path, text(path)?)));
        let located = diagnostics.into_iter().map(|mut d| {
            d = with_options(d);
            if let Some((text, declared)) = &declared {
                d = declared.locate_in(&origin(&self.kernel), text, d);
            }
            // A place in the printed kernel, which the user does not see, says less than one in a
            // file.
            if d.place.as_ref().is_none_or(|place| &*place.origin == PRINTED) {
                let step = pipeline.as_ref().and_then(|(path, text)| step_about(&d, &origin(path), text));
                d.place = step.or(d.place);
            }
            d
        });
        Failure::Input(located.collect())
    }
}

/// A pipeline of the user's, what `auto` finds after it, and the sizes of that.
pub struct Automatic {
    /// The user's own steps, which come first.
    pub own: Pipeline,
    /// The kernel after the user's steps.
    begun: LoopKernel,
    /// The steps that `auto` finds for that kernel.
    pub found: Found,
    /// The sizes of the steps that were found, as open parameters.
    pub sizes: Sizes,
}

impl Automatic {
    /// What is found after these steps, for this launch.
    pub fn of(declared: &LoopKernel, own: Pipeline, launch: &Launch) -> Result<Automatic, Failure> {
        let begun = own.apply(declared)?;
        let found = auto_for(&begun, &Target::default(), launch);
        let sizes = found.sizes(&Target::default());
        Ok(Automatic { own, begun, found, sizes })
    }

    /// All steps, with sizes as open parameters.
    pub fn open(&self) -> Pipeline {
        self.own.clone().then(&self.sizes.pipeline)
    }

    /// What was found, with these sizes.
    fn with(&self, values: &BTreeMap<Name, i64>) -> Result<Found, Failure> {
        if *values == self.sizes.usual() {
            return Ok(self.found.clone());
        }
        Ok(self.sizes.with(&self.found, &self.begun, values)?)
    }
}

/// A refusal with the options of the command line as its remedy.
fn with_options(mut d: Diagnostic) -> Diagnostic {
    let named = |before: &str, after: &str| {
        let (_, rest) = d.message.rsplit_once(before)?;
        Some(rest.split_once(after)?.0.to_owned())
    };
    let help = match d.code {
        "open-parameter" => named("the parameter `$", "`").map(|name| {
            format!("give it a value: `-p {name}=128`, or `--record FILE` with the best one of a search")
        }),
        "open-type" if !d.help.as_ref().is_some_and(|help| help.contains("--type")) => {
            named("type `", "`").map(|name| format!("bind it: `--type {name}=f32`"))
        }
        "missing-argument" => named("argument `", "`").zip(d.help.clone()).map(|(name, help)| {
            match help.starts_with("pass an array") {
                true => format!("{help}: `--input {name}={name}.npy`, `--random {name}` or `--zeros {name}`"),
                false => format!("{help}: `--set {name}=VALUE`"),
            }
        }),
        _ => None,
    };
    d.help = help.or(d.help);
    d
}

/// The name of the text that a kernel prints itself as.
const PRINTED: &str = "<kernel>";

/// The last step of a pipeline's text that mentions what a refusal is about.
fn step_about(d: &Diagnostic, origin: &str, text: &str) -> Option<Place> {
    let sentences = [Some(&d.message), d.witness.as_ref(), d.help.as_ref()];
    // The first word of what is quoted: `i_inner` of `i_inner: thread.x`. Calls are remedies.
    let quoted = sentences.into_iter().flatten().flat_map(|s| s.split('`').skip(1).step_by(2));
    let is_in_name = |c: char| c.is_alphanumeric() || c == '_';
    let names = quoted.filter(|q| !q.contains('(')).filter_map(|q| q.split(|c: char| !is_in_name(c)).next());
    names.filter(|name| !name.is_empty()).find_map(|name| {
        let mut begins = 0;
        let mut found = None;
        for line in text.split_inclusive('\n') {
            let step = line.split('#').next().unwrap_or_default();
            let inside = step.trim();
            if inside.split(|c: char| !is_in_name(c)).any(|word| word == name) {
                let start = begins + (step.len() - step.trim_start().len());
                found = Some(start..start + inside.len());
            }
            begins += line.len();
        }
        Some(Place { origin: Arc::from(origin), text: Arc::from(text), span: found? })
    })
}

impl Binding {
    /// The types that the options give to type parameters, by name.
    pub fn types(&self) -> Result<BTreeMap<Name, DType>, Failure> {
        types(&self.types)
    }

    /// The type of indices, if it was given.
    pub fn index(&self) -> Result<Option<DType>, Failure> {
        match self.index.as_deref() {
            None => Ok(None),
            Some("i32") => Ok(Some(DType::I32)),
            Some("i64") => Ok(Some(DType::I64)),
            Some(other) => Err(Diagnostic::new("index-type", format!("indices cannot be `{other}`"))
                .help("write i32 or i64")
                .into()),
        }
    }
}

/// Types, each given like `T=f32`.
pub fn types(given: &[String]) -> Result<BTreeMap<Name, DType>, Failure> {
    given
        .iter()
        .map(|t| {
            let (name, value) = pair(t)?;
            Ok((Name::new(name), dtype(value)?))
        })
        .collect()
}

/// The type with this name; an error names all types.
pub fn dtype(name: &str) -> Result<DType, Failure> {
    DType::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = DType::ALL.iter().map(|t| t.name()).collect();
        Diagnostic::new("unknown-type", format!("`{name}` is no type"))
            .help(format!("the types are {}", names.join(", ")))
            .into()
    })
}

/// A scalar argument, such as `n=1000`.
pub fn scalar(text: &str) -> Result<(&str, ScalarValue), Failure> {
    let (name, text) = pair(text)?;
    let value = ScalarValue::parse(text).ok_or_else(|| {
        Diagnostic::new("option", format!("`{text}` is not a number, and argument `{name}` needs one"))
            .help(format!("write `--set {name}=3`; an array comes from a file: `--input {name}=FILE.npy`"))
    })?;
    Ok((name, value))
}

/// The two sides of `name=value`, neither of which is empty.
pub fn pair(text: &str) -> Result<(&str, &str), Failure> {
    text.split_once('=')
        .map(|(name, value)| (name.trim(), value.trim()))
        .filter(|(name, value)| !name.is_empty() && !value.is_empty())
        .ok_or_else(|| {
            Diagnostic::new("option", format!("`{text}` is not of the form name=value"))
                .help("write a name, `=`, and a value, as in `n=1000` or `x=x.npy`")
                .into()
        })
}

/// The name of a file in diagnostics.
pub fn origin(path: &str) -> String {
    if path == "-" { "<stdin>".to_owned() } else { path.to_owned() }
}

/// Maximum size of a kernel or pipeline file in bytes; a longer file was given by mistake.
const LONGEST: u64 = 16 << 20;

/// The kernel of a file. One with a `declared` block is held to it.
pub fn kernel(path: &str) -> Result<LoopKernel, Failure> {
    let kernel = kernel_as_written(path)?;
    // A file is read again to locate a refusal; its own errors have been reported by then.
    static REFUSED: AtomicBool = AtomicBool::new(false);
    if REFUSED.load(Ordering::Relaxed) {
        return Ok(kernel);
    }
    Ok(held_to_declared(kernel).inspect_err(|_| REFUSED.store(true, Ordering::Relaxed))?)
}

/// The kernel of a file. If it does not compute the kernel of its `declared` block, it is refused;
/// if that is not known, the user is told. Nothing may run it.
pub fn kernel_to_show(path: &str) -> Result<LoopKernel, Failure> {
    let kernel = kernel_as_written(path)?;
    match held_to_declared(kernel.clone()) {
        Err(unknown) if unknown.code == "legality-unknown" => {
            crate::report::note(&format!("note: {}", unknown.message));
            Ok(kernel)
        }
        held => Ok(held?),
    }
}

fn kernel_as_written(path: &str) -> Result<LoopKernel, Failure> {
    Ok(LoopKernel::parse_bytes(&origin(path), &read(path)?)?)
}

/// The device of an option.
pub fn device(name: &str) -> Result<Device, Failure> {
    match name {
        "best" => Ok(Device::best()),
        "emulator" => Ok(Device::emulator()),
        "gpu" => Ok(Device::cuda(0)?),
        other => Err(Diagnostic::new("device", format!("there is no device `{other}`"))
            .help("write gpu, emulator or best")
            .into()),
    }
}

/// The architecture of an option.
pub fn arch(name: &str) -> Result<Arch, Failure> {
    name.parse().map_err(|e: loopwright::runtime::arch::ParseArchError| {
        Diagnostic::new("arch", e.to_string())
            .help("`loopwright doctor` lists the architectures that NVRTC supports")
            .into()
    })
}

/// The pipeline of a file, its parameters open.
pub fn read_pipeline(path: &str) -> Result<Pipeline, Failure> {
    let text = String::from_utf8(read(path)?).map_err(|_| {
        Diagnostic::new("pipeline-syntax", format!("{} is no UTF-8 text", origin(path)))
            .help("a pipeline is plain text with one step per line")
    })?;
    let registry =
        loopwright::automatic::registry_telling(|what| crate::report::note(&format!("note: {what}")));
    Ok(Pipeline::parse_file(&origin(path), &text, &registry)?)
}

/// The text of a space's file.
pub fn read_space(path: &str) -> Result<String, Failure> {
    let not_text = |_| {
        Diagnostic::new("space-syntax", format!("{} is no UTF-8 text", origin(path)))
            .help("a space is plain text with one parameter or requirement per line")
    };
    Ok(String::from_utf8(read(path)?).map_err(not_text)?)
}

/// Writes a file; the error names its path.
pub fn write(path: &std::path::Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|e| unwritable(path, &e))
}

/// Refuses a file that cannot be written, before the work whose results go there. Its contents are
/// not changed.
pub fn writable(path: &std::path::Path) -> Result<(), Failure> {
    let is_there = path.try_exists().unwrap_or(true);
    std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map(drop)
        .and_then(|()| if is_there { Ok(()) } else { std::fs::remove_file(path) })
        .map_err(|e| unwritable(path, &e))
}

fn unwritable(path: &std::path::Path, e: &std::io::Error) -> Failure {
    Diagnostic::new("write-file", format!("{} cannot be written: {e}", path.display()))
        .help("use a file in an existing, writable folder")
        .into()
}

/// The bytes of a file, or of standard input.
pub fn read(path: &str) -> Result<Vec<u8>, Failure> {
    let failed = |e: std::io::Error| {
        Diagnostic::new("read-file", format!("{} cannot be read: {e}", origin(path)))
            .help("use an existing, readable text file, or `-` for standard input")
    };
    // Commands read a kernel more than once, which standard input does not allow.
    static STDIN: OnceLock<Vec<u8>> = OnceLock::new();
    if let Some(bytes) = STDIN.get().filter(|_| path == "-") {
        return Ok(bytes.clone());
    }
    let mut bytes = Vec::new();
    if path == "-" {
        std::io::stdin().lock().take(LONGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
    } else {
        let file = std::fs::File::open(path).map_err(failed)?;
        file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
    }
    if bytes.len() as u64 > LONGEST {
        return Err(Diagnostic::new("read-file", format!("{} has more than {LONGEST} bytes", origin(path)))
            .help("a kernel or pipeline is a short text")
            .into());
    }
    Ok(if path == "-" { STDIN.get_or_init(|| bytes).clone() } else { bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One size says something of rows, whether or not their number is given.
    #[test]
    fn sizes_that_are_given_are_known_without_the_others() {
        let kernel = LoopKernel::parse(
            "kernel sums(x: f32[m, n], out: f32[m], m: i32, n: i32, a: f32)\n\
             assume 0 <= m and 0 <= n\n\
             domain { [r] : 0 <= r < m }\n\
             domain { [i] : 0 <= i < n }\n\
             out[r] = sum(i, a*x[r, i])\n",
        );
        let kernel = kernel.expect("a kernel");
        let of = |set: &[&str]| {
            let set = set.iter().map(ToString::to_string).collect();
            let (inputs, random, zeros, types) = Default::default();
            let given = Arguments { set, inputs, random, zeros, seed: 0, types };
            launch(&kernel, &given, None).integers.into_iter().map(|(n, v)| (n.to_string(), v)).collect()
        };
        let none: Vec<(String, i64)> = of(&[]);
        assert_eq!(none, []);
        let some: Vec<(String, i64)> = of(&["n=64", "a=0.5"]);
        assert_eq!(some, [("n".to_string(), 64)]);
        let all: Vec<(String, i64)> = of(&["n=64", "m=3", "a=0.5"]);
        assert_eq!(all, [("m".to_string(), 3), ("n".to_string(), 64)]);
    }
}
