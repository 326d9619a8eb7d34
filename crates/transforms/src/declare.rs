//! How a step is declared: once, in its own file.
//!
//! `step!` takes the step's structure with its documentation, which is its reference page, and for
//! each field the text form of the argument in a pipeline:
//!
//! ```text
//! step! {
//!     /// `chunk_iname(i, 4)`: splits a loop into a number of pieces.
//!     pub struct ChunkIname as "chunk_iname" {
//!         /// The iname that is split.
//!         pub iname: Name = next("the iname to split"),
//!         /// The number of pieces, at least one.
//!         pub chunks: Number = next("the number of chunks"),
//!         /// The name of the loop over the pieces; by default `i_outer`.
//!         #[serde(default, skip_serializing_if = "Option::is_none")]
//!         pub outer: Option<Name> = option(),
//!     }
//!     table: "chunk_iname(i, 4)" => "`chunk_iname(k, \"i\", 4)`",
//!     methods: {
//!         /// See [`ChunkIname`].
//!         fn chunk_iname(&self, iname: &str, chunks: impl Into<Number>) -> Result<Self, Diagnostic> {
//!             self.step(ChunkIname::new(iname, chunks))
//!         }
//!     }
//! }
//! ```
//!
//! What a step's methods return is a changed step, and a step does nothing until it is applied. The
//! compiler tells whoever drops one:
//!
//! ```
//! #![deny(unused_must_use)]
//! use loopwright_transforms::JoinInames;
//!
//! let step = JoinInames::new(["i", "j"]).named("k");
//! assert_eq!(step.to_string(), "join_inames([i, j], k)");
//! ```
//!
//! ```compile_fail
//! #![deny(unused_must_use)]
//! use loopwright_transforms::JoinInames;
//!
//! let step = JoinInames::new(["i", "j"]);
//! step.clone().named("k");
//! assert_eq!(step.to_string(), "join_inames([i, j])");
//! ```
//!
//! | form | parsed | printed |
//! |---|---|---|
//! | `next("what it is")` | the next argument without a key | as it is |
//! | `names("what they are")` | all arguments without a key, as names | one by one |
//! | `list("what they are")` | the same | in brackets |
//! | `option()` | `field=...`, or the default of its type | if it differs |
//! | `option(default)` | `field=...`, or the default | if it differs |
//! | `shown(default)` | the same | always |
//!
//! A list of names of the kernel says what they are, `= names("the inames") of Inames`; it may then
//! have patterns ([`crate::patterns`]), which are replaced before the step is applied.
//!
//! A step with a different kind of text, such as `assume(n >= 1)`, is declared `as "assume", by
//! hand`, and implements [`TextForm`](crate::step::TextForm) itself. Other names under which the
//! step is parsed follow its name: `as "set_address_space" | "make_global"`.
//!
//! The rest follows from the declaration: the serialised form from the structure, parsing and
//! printing from the forms, the row in the table of loopy's names from `table`, the methods of
//! kernels from `methods`. `crate::steps` lists the steps, one line each.

/// Declares a step; see the head of this file.
macro_rules! step {
    (
        $(#[$attr:meta])*
        pub struct $step:ident as $name:literal $(| $alias:literal)* {
            $(
                $(#[$field_attr:meta])*
                pub $field:ident: $type:ty = $form:ident($($given:expr)?) $(of $subject:ident)?,
            )*
        }
        $($rest:tt)*
    ) => {
        step! {
            $(#[$attr])*
            pub struct $step as $name $(| $alias)*, by hand {
                $( $(#[$field_attr])* pub $field: $type, )*
            }
            $($rest)*
        }

        impl crate::step::TextForm for $step {
            const PARAMETERS: Option<&'static [crate::Parameter]> = Some(&[$( crate::Parameter {
                name: stringify!($field),
                form: step!(@form $form),
                of: stringify!($type),
            } ),*]);

            fn read(args: &mut crate::arguments::Args<'_>) -> Result<Self, loopwright_kernel_ir::Diagnostic> {
                Ok($step { $( $field: step!(@read $form, args, $field $(, $given)?), )* })
            }

            fn arguments(&self) -> Vec<String> {
                [$( step!(@print $form, self.$field, $field $(, $given)?) ),*].into_iter().flatten().collect()
            }

            fn numbers(&mut self) -> Vec<&mut crate::Number> {
                [$( crate::arguments::Argument::numbers(&mut self.$field) ),*].into_iter().flatten().collect()
            }

            fn lists(&mut self) -> Vec<crate::step::List<'_>> {
                [$( crate::step::List::of(&mut self.$field, step!(@subject $($subject)?)) ),*]
                    .into_iter()
                    .flatten()
                    .collect()
            }
        }
    };

    (
        $(#[$attr:meta])*
        pub struct $step:ident as $name:literal $(| $alias:literal)*, by hand {
            $( $(#[$field_attr:meta])* pub $field:ident: $type:ty, )*
        }
        table: $usage:literal => $loopy:literal, $( $other:literal => $loopys:literal, )*
        methods: { $($method:tt)* }
    ) => {
        #[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        $(#[$attr])*
        #[must_use = "its methods return a changed step, and it does nothing until it is applied"]
        pub struct $step {
            $( $(#[$field_attr])* pub $field: $type, )*
        }

        impl crate::step::BuiltIn for $step {
            const NAME: &'static str = $name;
            const ALIASES: &'static [&'static str] = &[$($alias),*];
            const ATTRIBUTES: &'static [&'static str] = &[$(stringify!($attr)),*];
        }

        impl std::fmt::Display for $step {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}({})", $name, crate::step::TextForm::arguments(self).join(", "))
            }
        }

        /// The parts of the declaration that `crate::steps` uses.
        macro_rules! declared {
            (methods) => { $($method)* };
            (rows) => {
                concat!(
                    "| [`", $usage, "`](crate::", stringify!($step), ") | ", $loopy, " |",
                    $( "\n| [`", $other, "`](crate::", stringify!($step), ") | ", $loopys, " |", )*
                )
            };
            (table) => { &[($usage, $loopy) $(, ($other, $loopys))*] };
        }
        pub(crate) use declared;
    };

    (@subject) => { None };
    (@subject $subject:ident) => { Some(crate::patterns::Subject::$subject) };

    (@form next) => { crate::Form::Positional };
    (@form names) => { crate::Form::AllPositional };
    (@form list) => { crate::Form::AllPositional };
    (@form $option:ident) => { crate::Form::Keyed };

    (@read next, $args:ident, $field:ident, $what:expr) => { $args.next($what)? };
    (@read names, $args:ident, $field:ident, $what:expr) => { $args.all_names($what)? };
    (@read list, $args:ident, $field:ident, $what:expr) => { $args.all_names($what)? };
    (@read option, $args:ident, $field:ident) => {
        $args.option(stringify!($field))?.unwrap_or_default()
    };
    (@read $option:ident, $args:ident, $field:ident, $default:expr) => {
        $args.option(stringify!($field))?.unwrap_or($default)
    };

    (@print next, $value:expr, $field:ident, $what:expr) => { Some(crate::arguments::Argument::text(&$value)) };
    (@print names, $value:expr, $field:ident, $what:expr) => { Some(crate::names::comma(&$value)) };
    (@print list, $value:expr, $field:ident, $what:expr) => { Some(crate::arguments::Argument::text(&$value)) };
    (@print shown, $value:expr, $field:ident, $default:expr) => {
        Some(crate::arguments::keyed(stringify!($field), &$value))
    };
    (@print option, $value:expr, $field:ident) => {
        crate::arguments::given(stringify!($field), &$value, &Default::default())
    };
    (@print option, $value:expr, $field:ident, $default:expr) => {
        crate::arguments::given(stringify!($field), &$value, &$default)
    };
}

/// Defines the type of all steps and the methods of kernels from the declared steps. Each is listed
/// as `kind::file::Step`, with `as "old"` if its serialised name was a different one.
macro_rules! steps {
    ($($kind:ident::$file:ident::$step:ident $(as $old:literal)?),* $(,)?) => {
        $( pub use $kind::$file::$step; )*

        /// A step of a pipeline.
        ///
        /// | here | loopy |
        /// |---|---|
        $( #[doc = $kind::$file::declared!(rows)] )*
        /// | [`together { ... }`](crate::Together) | – |
        /// | [`name { ... }`](crate::Composite), [`name()`](crate::UserStep) | a Python function |
        #[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum Step {
            $(
                #[doc = concat!("See [`", stringify!($step), "`].")]
                $( #[serde(alias = $old)] )?
                $step($step),
            )*
            /// Several steps that are judged at their end.
            Together(Together),
            /// A named list of steps: a user's own composite step.
            Composite(Composite),
            /// A user's own transform.
            User(UserStep),
        }

        $(
            impl From<$step> for Step {
                fn from(step: $step) -> Step {
                    Step::$step(step)
                }
            }
        )*

        impl Step {
            /// The names of the steps that come with the library, without `together`.
            pub const NAMES: &'static [&'static str] = &[$($step::NAME),*];

            /// Older names of steps, which are read until 1.0, each with the present one.
            pub(crate) const OLDER: &'static [(&'static str, &'static str)] =
                &[$( $( ($old, $step::NAME), )? )*];

            /// For each of [`Step::NAMES`], its text form and its name in loopy.
            pub const TABLE: &'static [&'static [(&'static str, &'static str)]] =
                &[$( $kind::$file::declared!(table) ),*];

            /// For each step its name, its other names, the attributes of its structure, which
            /// contain its documentation, and its parameters.
            pub(crate) const DOCUMENTED: &'static [crate::step::Documented] =
                &[$( ($step::NAME, $step::ALIASES, $step::ATTRIBUTES, $step::PARAMETERS) ),*];

            pub(crate) fn transform(&self) -> &dyn Transform {
                match self {
                    $( Step::$step(step) => step, )*
                    Step::Together(step) => step,
                    Step::Composite(step) => step,
                    Step::User(step) => step,
                }
            }

            /// All numbers that may be open parameters.
            pub(crate) fn numbers(&mut self) -> Vec<&mut Number> {
                match self {
                    $( Step::$step(step) => step.numbers(), )*
                    Step::Together(step) => step.steps.iter_mut().flat_map(Step::numbers).collect(),
                    Step::Composite(step) => step.steps.iter_mut().flat_map(Step::numbers).collect(),
                    Step::User(_) => Vec::new(),
                }
            }

            /// Replaces the patterns in its lists by the names that they stand for in a kernel.
            pub(crate) fn expand(&mut self, kernel: &KernelData) -> Result<(), Diagnostic> {
                match self {
                    $( Step::$step(step) => step.expand(kernel), )*
                    // Their own steps are expanded one by one, each for the kernel that it gets.
                    Step::Together(_) | Step::Composite(_) | Step::User(_) => Ok(()),
                }
            }

            /// The step that comes with the library under the name of a call.
            pub(crate) fn built_in(call: &Call) -> Option<Result<Step, Diagnostic>> {
                $(
                    if let Some(step) = $step::of_call(call) {
                        return Some(step.map(Step::$step));
                    }
                )*
                None
            }
        }

        /// The steps as methods of a kernel, each the same as applying the step's value.
        pub trait Transforms: Sized {
            /// Applies any step; an error is its refusal, with the kernel unchanged.
            fn step(&self, step: impl Into<Step>) -> Result<Self, Diagnostic>;
            /// Applies all steps of a pipeline in their order, up to the first refusal.
            fn pipeline(&self, pipeline: &Pipeline) -> Result<Self, Diagnostic>;
            /// Applies a user's own transform, judged as the library's steps are.
            fn transform(&self, transform: &dyn Transform) -> Result<Self, Diagnostic>;
            /// Applies several steps, which are judged together at their end.
            fn together(&self, steps: impl IntoIterator<Item = Step>) -> Result<Self, Diagnostic> {
                self.step(Together::new(steps))
            }
            $( $kind::$file::declared!(methods); )*
        }
    };
}
