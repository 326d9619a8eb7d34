//! One isl context per thread, errors as values, and a budget of operations per query.
//!
//! Invariants: a context and its objects never leave their thread (the handles are neither `Send`
//! nor `Sync`); every handle keeps its context alive, so that the context is freed last; an error
//! of one query is cleared before the next; isl never prints or aborts. The budget counts isl's own
//! operations, so exhausting it does not depend on the machine.

use std::{cell::Cell, ffi::CStr, rc::Rc};

use super::ffi::{self, Ptr};
use crate::{Error, Result};

/// The default budget of a query, in operations of isl (pivots of its simplex tableaus). One takes
/// between a microsecond and, with long numbers, a fraction of a millisecond; a query about a loop
/// nest takes some hundreds.
pub const DEFAULT_BUDGET: u64 = 3_000_000;

thread_local! {
    static CONTEXT: Rc<Context> = Rc::new(Context::new());
    static BUDGET: Cell<u64> = const { Cell::new(DEFAULT_BUDGET) };
    static ISL_ONLY: Cell<bool> = const { Cell::new(false) };
}

/// Gives each query that `ask` makes in this thread this many operations of isl, instead of
/// [`DEFAULT_BUDGET`]. A query that needs more is [`Error::Budget`], which does not depend on the
/// machine or on earlier queries.
pub fn with_budget<T>(operations: u64, ask: impl FnOnce() -> T) -> T {
    struct Restore(u64);
    impl Drop for Restore {
        fn drop(&mut self) {
            BUDGET.set(self.0);
        }
    }
    let _restore = Restore(BUDGET.replace(operations.max(1)));
    ask()
}

/// Sends every query that `ask` makes in this thread to isl, even if plain Rust would answer it.
/// For tests that compare the two.
pub fn with_isl_only<T>(ask: impl FnOnce() -> T) -> T {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            ISL_ONLY.set(self.0);
        }
    }
    let _restore = Restore(ISL_ONLY.replace(true));
    ask()
}

/// Whether queries bypass plain Rust.
pub(crate) fn isl_only() -> bool {
    ISL_ONLY.get()
}

/// The current budget of a query, in operations.
pub(crate) fn budget() -> u64 {
    BUDGET.get()
}

/// An isl context. Created once per thread.
pub(super) struct Context {
    ptr: Ptr,
}

impl Context {
    fn new() -> Self {
        // SAFETY: allocation has no precondition; a null result is noticed by the first use, in
        // `start`.
        let ptr = unsafe { ffi::isl_ctx_alloc() };
        if !ptr.is_null() {
            // SAFETY: the context was just allocated.
            unsafe { ffi::isl_options_set_on_error(ptr, ffi::ON_ERROR_CONTINUE) };
        }
        Context { ptr }
    }

    /// This thread's context, ready for a new query: no pending error, a full budget.
    pub(super) fn start() -> Result<Rc<Context>> {
        let context = CONTEXT.try_with(Rc::clone).map_err(|_| Error::Isl("the thread is ending".into()))?;
        if context.ptr.is_null() {
            return Err(Error::Isl("no memory for a context".into()));
        }
        // SAFETY: the context is alive, and this thread is its only user.
        unsafe {
            ffi::isl_ctx_reset_error(context.ptr);
            ffi::isl_ctx_reset_operations(context.ptr);
            ffi::isl_ctx_set_max_operations(context.ptr, BUDGET.get());
        }
        Ok(context)
    }

    pub(super) fn ptr(&self) -> Ptr {
        self.ptr
    }

    /// The error of the last call, which is cleared.
    pub(super) fn failure(&self) -> Error {
        // SAFETY: the context is alive; the message is static text of isl or null.
        unsafe {
            let code = ffi::isl_ctx_last_error(self.ptr);
            let message = ffi::isl_ctx_last_error_msg(self.ptr);
            let text = match message.is_null() {
                true => "no reason given".to_string(),
                false => CStr::from_ptr(message).to_string_lossy().into_owned(),
            };
            ffi::isl_ctx_reset_error(self.ptr);
            match code {
                ffi::ERROR_QUOTA => Error::Budget,
                _ if text.contains("too large") || text.contains("fit") => Error::Overflow,
                _ => Error::Isl(text),
            }
        }
    }

    /// Fails if an error is pending.
    pub(super) fn check(&self) -> Result<()> {
        // SAFETY: the context is alive.
        match unsafe { ffi::isl_ctx_last_error(self.ptr) } {
            ffi::ERROR_NONE => Ok(()),
            _ => Err(self.failure()),
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if !self.ptr.is_null() {
            // SAFETY: every handle holds an `Rc` of its context, so no object is left.
            unsafe { ffi::isl_ctx_free(self.ptr) }
        }
    }
}

/// An owned isl object: freed on drop, and with its context alive until then.
pub(super) struct Handle {
    ptr: Ptr,
    free: unsafe extern "C" fn(Ptr) -> Ptr,
    context: Rc<Context>,
}

impl Handle {
    /// Takes ownership of an object from isl; null means the error that isl recorded.
    pub(super) fn take(
        context: &Rc<Context>,
        ptr: Ptr,
        free: unsafe extern "C" fn(Ptr) -> Ptr,
    ) -> Result<Self> {
        if ptr.is_null() {
            return Err(context.failure());
        }
        Ok(Handle { ptr, free, context: context.clone() })
    }

    /// The object, for a call that borrows it.
    pub(super) fn keep(&self) -> Ptr {
        self.ptr
    }

    /// The object, for a call that takes ownership.
    pub(super) fn give(self) -> Ptr {
        let mut this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped, so that the context is released exactly once, here.
        unsafe { std::ptr::drop_in_place(&mut this.context) };
        this.ptr
    }

    pub(super) fn context(&self) -> &Rc<Context> {
        &self.context
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the object is owned, and freed by the function that belongs to its type.
        unsafe { (self.free)(self.ptr) };
    }
}
