//! Reading the user's input: kernels, pipelines, values.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args as ClapArgs;
use loopwright::auto::{Found, Launch, Sizes, auto_for};
use loopwright::automatic::launch_on;
use loopwright::ir::{Arg, Constraint, Library};
use loopwright::prelude::*;
use loopwright::transforms::{OlderName, Step, held_to_declared, older_names_in};
use loopwright::tuner::{Machine, Space};

use crate::arguments::Arguments;
use crate::files::{origin, read, standard_input_once};
use crate::records::{Lookup, recorded};

/// The failure of a command.
pub enum Failure {
    /// The input is wrong, as these diagnostics say.
    Input(Vec<Diagnostic>),
    /// A result is wrong, as this sentence says.
    Wrong(String),
    /// A result is wrong or not wanted, and what was printed says so.
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

/// Kernels that the lines of the kernel may call.
#[derive(ClapArgs, Clone, Default)]
pub struct Called {
    /// A file of kernels that the kernel may call, with their operators and device functions; may
    /// be given several times. A file's kernels may call those of the files before.
    #[arg(long = "library", value_name = "FILE")]
    pub files: Vec<String>,
}

impl Called {
    /// What the files declare.
    pub fn library(&self) -> Result<Library, Failure> {
        self.files.iter().try_fold(Library::new(), |library, file| {
            if file == "-" {
                return Err(Diagnostic::new("option", "a library is not read from standard input")
                    .help("give the name of a file")
                    .into());
            }
            Ok(library.with_bytes(file, &read(file)?)?)
        })
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
    #[command(flatten)]
    pub called: Called,
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
    /// The files of the kernel and of the pipeline, with what they are.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let pipeline = self.pipeline.as_deref().map(|file| ("the pipeline", file));
        [("the kernel", self.kernel.as_str())].into_iter().chain(pipeline)
    }

    /// The kernel of the file, before the pipeline.
    pub fn declared(&self) -> Result<LoopKernel, Failure> {
        standard_input_once(self.files().map(|(_, file)| file))?;
        kernel(&self.kernel, &self.called)
    }

    /// The pipeline, with its parameters bound. A record only has to match kernel and pipeline.
    pub fn pipeline(&self) -> Result<Pipeline, Failure> {
        self.bound_pipeline(Lookup::ByText)
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
        self.bound_pipeline(Lookup::For(&args, device))
    }

    fn bound_pipeline(&self, lookup: Lookup<'_>) -> Result<Pipeline, Failure> {
        if self.auto {
            return self.bound_automatic(lookup);
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
        without_effect(&open);
        let bound = open.bind(values.iter().map(|(n, v)| (n.as_str(), *v)))?;
        let Some(record) = &self.record else { return Ok(bound) };
        let records = TunedRecords::load(record)?;
        match lookup.find(&records, &self.declared()?, &open) {
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
    fn bound_automatic(&self, lookup: Lookup<'_>) -> Result<Pipeline, Failure> {
        let Completed { own, found, .. } = self.completed(lookup)?;
        crate::report::note(found.to_string().trim_end());
        Ok(own.then(&found.pipeline))
    }

    /// The user's steps, bound, and what `auto` finds after them, with the sizes of -p or of a
    /// record.
    pub fn found(&self) -> Result<Completed, Failure> {
        self.completed(Lookup::ByText)
    }

    fn completed(&self, lookup: Lookup<'_>) -> Result<Completed, Failure> {
        let declared = self.declared()?;
        let given = self.values()?;
        let own = self.pipeline.as_deref().map_or_else(|| Ok(Pipeline::new()), read_pipeline)?;
        let known = own.parameters();
        let is_own = |name: &str| known.iter().any(|n| **n == *name);
        let mut own = own.bind(given.iter().filter(|(n, _)| is_own(n)).map(|(n, v)| (n.as_str(), *v)))?;
        let mut record = self.record.as_ref();
        if !own.parameters().is_empty() && record.take().is_some() {
            // The record is about the user's own parameters.
            let parameters = self.parameters.iter().filter(|p| pair(p).is_ok_and(|(n, _)| is_own(n)));
            let form = Form { auto: false, parameters: parameters.cloned().collect(), ..self.clone() };
            own = form.bound_pipeline(lookup)?;
        }
        // The steps of a record are what was found for these arguments, or timed on this device.
        let gives_sizes = given.iter().any(|(n, _)| !is_own(n));
        let record = record.map(|path| Ok::<_, Diagnostic>((path, TunedRecords::load(path)?))).transpose()?;
        if let Some((path, records)) = record.as_ref().filter(|_| !gives_sizes)
            && let Some(found) = recorded((path, records), &declared, &own, lookup)?
        {
            return Ok(found);
        }
        // Values for sizes are meant for the steps that every launch gets.
        let given_sizes = self.record.is_some() || gives_sizes;
        let launch = if given_sizes { Launch::default() } else { self.launch.clone() };
        let automatic = Automatic::of(&declared, own, &launch)?;
        let mut values = automatic.sizes.usual();
        if let Some((path, records)) = &record {
            match lookup.find(records, &declared, &automatic.open()) {
                Ok(record) => {
                    let best = record.best.first().into_iter().flat_map(|b| b.point.values());
                    values.extend(best.map(|(n, v)| (n.clone(), v)));
                }
                Err(unfit) => crate::report::note(&format!(
                    "note: the usual sizes are taken, not those of {}: {}",
                    path.display(),
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
        Ok(Completed { own: automatic.own, begun: automatic.begun, found })
    }

    /// The values for open parameters.
    pub fn values(&self) -> Result<Vec<(String, i64)>, Failure> {
        parameters(&self.parameters)
    }

    /// The kernel of the file, only to be shown.
    pub fn declared_to_show(&self) -> Result<LoopKernel, Failure> {
        standard_input_once(self.files().map(|(_, file)| file))?;
        kernel_to_show(&self.kernel, &self.called)
    }

    /// The text of the kernel, with its name in diagnostics, if it can be read again.
    pub fn declared_text(&self) -> Option<(String, String)> {
        let text = String::from_utf8(read(&self.kernel).ok()?).ok()?;
        Some((origin(&self.kernel), text))
    }

    /// Notes on the declared kernel, with their places in the text that it was read from.
    pub fn in_the_text(&self, notes: impl IntoIterator<Item = Diagnostic>) -> Vec<Diagnostic> {
        let (text, read, library) = (self.declared_text(), self.declared(), self.called.library());
        let placed = |note: Diagnostic| match (&text, &read, &library) {
            (Some((origin, text)), Ok(read), Ok(library)) => read.note_in_with(origin, text, library, note),
            _ => note,
        };
        notes.into_iter().map(placed).collect()
    }

    /// The kernel that the pipeline makes.
    pub fn transformed(&self) -> Result<LoopKernel, Failure> {
        let declared = self.declared()?;
        Ok(self.pipeline()?.apply(&declared)?)
    }
}

/// The user's steps, bound, and what `auto` finds after them, with its sizes.
pub struct Completed {
    /// The user's steps.
    pub own: Pipeline,
    /// The kernel after them.
    pub begun: LoopKernel,
    /// What is found for that kernel.
    pub found: Found,
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

/// Refuses sizes for which the kernel may not be run.
pub fn allowed(kernel: &LoopKernel, sizes: &BTreeMap<Name, i64>) -> Result<(), Failure> {
    let value = |name: &Name| sizes.get(name).copied();
    let refused = |message: String| {
        let help = "choose sizes for which the kernel may be run";
        Err(Diagnostic::new("assumption", message).help(help).into())
    };
    if let Some(assumption) = kernel.assumptions.iter().find(|a| a.holds(&value) == Some(false)) {
        return refused(format!("the kernel assumes {assumption}, which the given sizes break"));
    }
    for arg in &kernel.args {
        let Arg::Array(array) = arg else { continue };
        let lengths = array.axes.iter().filter_map(|axis| axis.length.to_aff());
        if let Some(length) = { lengths }.find(|l| Constraint::nonneg(l.clone()).holds(&value) == Some(false))
        {
            return refused(format!("an axis of `{}` has {length} elements, fewer than none", array.name));
        }
    }
    Ok(())
}

/// The values of -p.
pub fn parameters(given: &[String]) -> Result<Vec<(String, i64)>, Failure> {
    let mut values: Vec<(String, i64)> = Vec::new();
    for given in given {
        let (name, value) = pair(given)?;
        let value = value.parse::<i64>().map_err(|_| {
            Diagnostic::new(
                "parameter",
                format!("`{value}` is not an integer, and parameter `{name}` needs one"),
            )
            .help(format!("write a number, as in `-p {name}=128`"))
        })?;
        once("parameter", name, values.iter().map(|(earlier, _)| earlier.as_str()))?;
        values.push((name.to_owned(), value));
    }
    Ok(values)
}

/// Each pipeline with the values of -p for its parameters. A value that none has a parameter for is
/// refused.
pub fn bound_each(pipelines: &[Pipeline], given: &[String]) -> Result<Vec<Pipeline>, Failure> {
    let values = parameters(given)?;
    let has = |pipeline: &Pipeline, name: &str| pipeline.parameters().iter().any(|p| **p == *name);
    let bind = |pipeline: &Pipeline| {
        let own = values
            .iter()
            .filter(|(name, _)| has(pipeline, name) || !pipelines.iter().any(|other| has(other, name)));
        Ok(pipeline.bind(own.map(|(name, value)| (name.as_str(), *value)))?)
    };
    pipelines.iter().map(bind).collect()
}

/// Refuses a name that an option has given a value before.
pub fn once<'n>(what: &str, name: &str, mut earlier: impl Iterator<Item = &'n str>) -> Result<(), Failure> {
    match earlier.any(|earlier| earlier == name) {
        false => Ok(()),
        true => Err(Diagnostic::new("argument-twice", format!("{what} `{name}` was given twice"))
            .help("give it once")
            .into()),
    }
}

/// Types, each given like `T=f32`.
pub fn types(given: &[String]) -> Result<BTreeMap<Name, DType>, Failure> {
    let mut types = BTreeMap::new();
    for given in given {
        let (name, value) = pair(given)?;
        once("type", name, types.keys().map(Name::as_str))?;
        types.insert(Name::new(name), dtype(value)?);
    }
    Ok(types)
}

/// Sizes that --set gives, such as `n=16`, where they are integers.
pub fn sizes(given: &[String]) -> Result<BTreeMap<Name, i64>, Failure> {
    let mut sizes = BTreeMap::new();
    for given in given {
        let (name, value) = pair(given)?;
        let value = value.parse::<i64>().map_err(|_| {
            Diagnostic::new("option", format!("`{value}` is not an integer, and `{name}` needs one"))
                .help(format!("write `--set {name}=16`"))
        })?;
        once("argument", name, sizes.keys().map(Name::as_str))?;
        sizes.insert(Name::new(name), value);
    }
    Ok(sizes)
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

/// The kernel of a file. One with a `declared` block is held to it.
pub fn kernel(path: &str, called: &Called) -> Result<LoopKernel, Failure> {
    let kernel = kernel_as_written(path, called)?;
    // A file is read again to locate a refusal; its own errors have been reported by then.
    static REFUSED: AtomicBool = AtomicBool::new(false);
    if REFUSED.load(Ordering::Relaxed) {
        return Ok(kernel);
    }
    Ok(held_to_declared(kernel).inspect_err(|_| REFUSED.store(true, Ordering::Relaxed))?)
}

/// The kernel of a file. If it does not compute the kernel of its `declared` block, it is refused;
/// if that is not known, the user is told. Nothing may run it.
pub fn kernel_to_show(path: &str, called: &Called) -> Result<LoopKernel, Failure> {
    let kernel = kernel_as_written(path, called)?;
    match held_to_declared(kernel.clone()) {
        Err(unknown) if unknown.code == "legality-unknown" => {
            crate::report::note(&format!("note: {}", unknown.message));
            Ok(kernel)
        }
        held => Ok(held?),
    }
}

fn kernel_as_written(path: &str, called: &Called) -> Result<LoopKernel, Failure> {
    Ok(LoopKernel::parse_bytes_with(&origin(path), &read(path)?, &called.library()?)?)
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
    name.parse().map_err(|e: loopwright::runtime::arch::ParseArchError| Diagnostic::from(e).into())
}

/// The pipeline of a file, its parameters open.
pub fn read_pipeline(path: &str) -> Result<Pipeline, Failure> {
    let text = String::from_utf8(read(path)?).map_err(|_| {
        Diagnostic::new("pipeline-syntax", format!("{} is no UTF-8 text", origin(path)))
            .help("a pipeline is plain text with one step per line")
    })?;
    let registry =
        loopwright::automatic::registry_telling(|what| crate::report::note(&format!("note: {what}")));
    let pipeline = Pipeline::parse_file(&origin(path), &text, &registry)?;
    for OlderName { older, now } in older_names_in(&text) {
        crate::report::note(&format!(
            "note: `{older}` is called `{now}` now; the older name is read until 1.0"
        ));
    }
    Ok(pipeline)
}

/// Tells of steps that do nothing, and were hardly meant to.
fn without_effect(pipeline: &Pipeline) {
    let steps = pipeline.steps();
    if let Some(last @ Step::AssumeLegal(_)) = steps.last() {
        crate::report::note(&format!("note: `{last}` is about the next step, and none follows it"));
    }
    if steps.iter().any(|step| matches!(step, Step::Together(group) if group.steps.is_empty())) {
        crate::report::note("note: `together { }` has no steps");
    }
}

/// The space of a file.
pub fn space(path: &str) -> Result<Space, Failure> {
    let not_text = |_| {
        Diagnostic::new("space-syntax", format!("{} is no UTF-8 text", origin(path)))
            .help("a space is plain text with one parameter or requirement per line")
    };
    let text = String::from_utf8(read(path)?).map_err(not_text)?;
    Ok(Space::parse_file(&origin(path), &text)?)
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
