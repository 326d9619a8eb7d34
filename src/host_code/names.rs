//! The names that a text has for those of the program: different from each other and from the
//! text's own.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_kernel_ir::Name;

/// The names in one text.
pub(super) struct Names {
    names: BTreeMap<Name, String>,
    passed: BTreeMap<Name, String>,
}

impl Names {
    /// Each name as it is, unless it is the text's own or `other` spells it differently: then with
    /// as many underscores behind it as nothing else has.
    pub fn new<'n>(
        names: impl Iterator<Item = &'n Name>,
        is_own: &dyn Fn(&str) -> bool,
        other: &dyn Fn(&str) -> Option<String>,
    ) -> Names {
        let all: BTreeSet<&Name> = names.collect();
        let keeps = |name: &str| !is_own(name) && other(name).is_none();
        let mut taken: BTreeSet<String> =
            all.iter().filter(|name| keeps(name)).map(|name| name.to_string()).collect();
        let mut free = |mut text: String| {
            while is_own(&text) || taken.contains(&text) {
                text.push('_');
            }
            taken.insert(text.clone());
            text
        };
        let mut own = BTreeMap::new();
        for name in &all {
            let text = match keeps(name) {
                true => name.to_string(),
                false => free(other(name).unwrap_or_else(|| format!("{name}_"))),
            };
            own.insert((*name).clone(), text);
        }
        let passed = all.iter().map(|name| ((*name).clone(), free(format!("arg_{name}")))).collect();
        Names { names: own, passed }
    }

    /// A name in the text.
    pub fn of(&self, name: &Name) -> String {
        self.names.get(name).cloned().unwrap_or_else(|| name.to_string())
    }

    /// The name of an argument as it is passed, before it is converted.
    pub fn passed(&self, name: &Name) -> String {
        self.passed.get(name).cloned().unwrap_or_else(|| format!("arg_{name}"))
    }
}

/// The name of the module of a kernel's loader, which is imported by it. A name that Python cannot
/// import, or by which a program finds a module of the standard library or a library of arrays, is
/// followed by `_kernel`.
pub(super) fn module(kernel: &Name) -> String {
    let is_other = |list: &str| list.split_ascii_whitespace().any(|word| word == kernel.as_str());
    match is_other(KEYWORDS) || is_other(MODULES) {
        true => format!("{kernel}_kernel"),
        false => kernel.to_string(),
    }
}

/// Words that are not names in Python.
pub(super) const KEYWORDS: &str = "False None True and as assert async await break class continue def \
    del elif else except finally for from global if import in is lambda nonlocal not or pass raise return \
    try while with yield";

/// The modules of the standard library, of Python 3.9 and later, and the libraries of arrays.
const MODULES: &str = "__future__ __main__ abc aifc annotationlib antigravity argparse array ast asynchat \
    asyncio asyncore atexit audioop base64 bdb binascii binhex bisect builtins bz2 cProfile calendar cgi \
    cgitb chunk cmath cmd code codecs codeop collections colorsys compileall compression concurrent \
    configparser contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses datetime dbm \
    decimal difflib dis distutils doctest email encodings ensurepip enum errno faulthandler fcntl filecmp \
    fileinput fnmatch formatter fractions ftplib functools gc genericpath getopt getpass gettext glob \
    graphlib grp gzip hashlib heapq hmac html http idlelib imaplib imghdr imp importlib inspect io \
    ipaddress itertools json keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal math \
    mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path \
    numbers opcode operator optparse os ossaudiodev parser pathlib pdb pickle pickletools pipes pkgutil \
    platform plistlib poplib posix posixpath pprint profile pstats pty pwd py_compile pyclbr pydoc \
    pydoc_data pyexpat queue quopri random re readline reprlib resource rlcompleter runpy sched secrets \
    select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket socketserver spwd \
    sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep struct subprocess \
    sunau symbol symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios textwrap this \
    threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle \
    turtledemo types typing unicodedata unittest urllib uu uuid venv warnings wave weakref webbrowser \
    winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo \
    cupy jax jaxlib loopwright numpy torch";
