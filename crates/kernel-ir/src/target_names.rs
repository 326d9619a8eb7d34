//! Names in the language of the target that a kernel is declared for unless it is lowered for
//! another: [`Target::default`].

use loopwright_target::Target;

/// Whether this name has a meaning in the language, or is reserved there (two underscores, or one
/// followed by a capital).
pub fn is_reserved(name: &str) -> bool {
    Target::default().language.is_reserved(name)
}

/// Whether this can be the name of a variable, an array or a kernel in the language.
pub fn is_legal_name(name: &str) -> bool {
    Target::default().language.is_legal_name(name)
}

/// The name itself, or a similar one that has no meaning in the language and is not taken.
pub fn legal_like(like: &str, taken: impl Fn(&str) -> bool) -> String {
    Target::default().language.legal_like(like, taken)
}
