//! NumPy's `.npy` files.
//!
//! The header is a Python literal of three keys. It is read by hand, in one pass and without
//! recursion, because a file may contain anything: any other header is refused, and lengths are
//! compared with the file size before memory is allocated.
//!
//! Complex numbers are read as kernels have them: an array of their parts, with a last axis of 2.

use std::path::Path;

use loopwright_kernel_ir::{Buffer, DType, Diagnostic};

use super::Tensor;
use super::tensor::elements;

const MAGIC: &[u8] = b"\x93NUMPY";

impl Tensor {
    /// Reads a file of NumPy's `.npy` format. Complex numbers become a last axis of 2.
    pub fn from_npy(path: impl AsRef<Path>) -> Result<Tensor, Diagnostic> {
        let path = path.as_ref();
        let origin = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|e| {
            Diagnostic::new("read-file", format!("{origin} cannot be read: {e}"))
                .help("use an existing, readable .npy file")
        })?;
        Tensor::from_npy_bytes(&origin, &bytes)
    }

    /// Reads the bytes of a `.npy` file; `origin` is their name in diagnostics.
    pub fn from_npy_bytes(origin: &str, bytes: &[u8]) -> Result<Tensor, Diagnostic> {
        decode(origin, bytes)
    }

    /// Writes a file of NumPy's `.npy` format.
    pub fn to_npy(&self, path: impl AsRef<Path>) -> Result<(), Diagnostic> {
        let path = path.as_ref();
        std::fs::write(path, self.to_npy_bytes()?).map_err(|e| {
            Diagnostic::new("write-file", format!("{} cannot be written: {e}", path.display()))
                .help("use a file in an existing, writable folder")
        })
    }

    /// The bytes of a `.npy` file. Refused for bf16, e4m3 and e5m2, which NumPy does not
    /// have.
    pub fn to_npy_bytes(&self) -> Result<Vec<u8>, Diagnostic> {
        encode(self)
    }
}

fn encode(tensor: &Tensor) -> Result<Vec<u8>, Diagnostic> {
    let descr = match tensor.dtype() {
        DType::Bool => "|b1",
        DType::I8 => "|i1",
        DType::I16 => "<i2",
        DType::I32 => "<i4",
        DType::I64 => "<i8",
        DType::U8 => "|u1",
        DType::U16 => "<u2",
        DType::U32 => "<u4",
        DType::U64 => "<u8",
        DType::F16 => "<f2",
        DType::F32 => "<f4",
        DType::F64 => "<f8",
        dtype @ (DType::E4M3 | DType::E5M2 | DType::BF16) => {
            return Err(Diagnostic::new("npy-type", format!("the .npy format has no {dtype}"))
                .help(format!("convert the elements to f32, which represents every {dtype}")));
        }
    };
    let lengths: Vec<String> = tensor.shape().iter().map(usize::to_string).collect();
    let shape = match lengths.as_slice() {
        [one] => format!("({one},)"),
        all => format!("({})", all.join(", ")),
    };
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    // Magic, version and length take 10 bytes; the data begins at a multiple of 64.
    let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
    header.push_str(&" ".repeat(length - header.len() - 1));
    header.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend((length as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(tensor.buffer().bytes());
    Ok(bytes)
}

fn decode(origin: &str, bytes: &[u8]) -> Result<Tensor, Diagnostic> {
    let malformed = |what: &str| {
        Diagnostic::new("npy", format!("{origin} is not a .npy file: {what}"))
            .help("write one with numpy.save, or with Tensor::to_npy")
    };
    let truncated = |needed: usize, what: &str| {
        Diagnostic::new(
            "npy-truncated",
            format!(
                "{origin} is truncated: its {what} ends at byte {needed}, and the file has {}",
                bytes.len()
            ),
        )
        .help("write or copy the file again")
    };
    if !bytes.starts_with(MAGIC) {
        return Err(malformed("it does not begin with \\x93NUMPY"));
    }
    let (start, length) = match bytes.get(6..) {
        Some([1, _, a, b, ..]) => (10, usize::from(u16::from_le_bytes([*a, *b]))),
        Some([2 | 3, _, a, b, c, d, ..]) => (12, u32::from_le_bytes([*a, *b, *c, *d]) as usize),
        Some([1..=3, ..] | []) | None => return Err(truncated(12, "header")),
        Some([version, ..]) => {
            return Err(malformed(&format!("its version is {version}, and versions 1 to 3 are supported")));
        }
    };
    let header = bytes.get(start..start + length).ok_or_else(|| truncated(start + length, "header"))?;
    let header = std::str::from_utf8(header).map_err(|_| malformed("its header is not text"))?;
    if header.contains("'descr': [") {
        return Err(Diagnostic::new("npy-type", format!("{origin} has elements of several fields")).help(
            "save the bytes of its elements, `p.view(numpy.uint8).reshape(*p.shape, p.itemsize)`, for a dtype \
             that is laid out as in C: `numpy.dtype([...], align=True)`",
        ));
    }
    let Header { descr, fortran, shape } = Header::read(header)
        .ok_or_else(|| malformed("its header does not give descr, fortran_order and shape"))?;
    let (big, dtype, complex) = type_of(&descr).ok_or_else(|| {
        Diagnostic::new("npy-type", format!("{origin} has elements of type `{}`", descr.escape_debug())).help(
            "convert them to bool, an integer, floating-point or complex type of at most 64 bits a \
             number: numpy's astype",
        )
    })?;
    let (mut shape, parts) = (shape, if complex { 2 } else { 1 });
    let count = elements(&shape, dtype)? * parts;
    let data = &bytes[start + length..];
    let needed = count * dtype.bytes();
    if data.len() < needed {
        return Err(truncated(start + length + needed, "data"));
    }
    if data.len() > needed {
        return Err(malformed(&format!("there are {} bytes after its data", data.len() - needed)));
    }
    let mut data = data.to_vec();
    if big {
        data.chunks_exact_mut(dtype.bytes()).for_each(<[u8]>::reverse);
    }
    if fortran {
        data = from_column_major(&data, &shape, parts * dtype.bytes());
    }
    shape.extend(complex.then_some(2));
    let buffer =
        Buffer::from_bytes(dtype, data).ok_or_else(|| malformed("a truth value is neither 0 nor 1"))?;
    Tensor::from_buffer(&shape, buffer)
}

/// Whether the bytes have to be swapped, the type, and whether elements are pairs of it.
fn type_of(descr: &str) -> Option<(bool, DType, bool)> {
    let (order, rest) = descr.split_at_checked(1)?;
    let big = match order {
        "<" | "|" | "=" => false,
        ">" => true,
        _ => return None,
    };
    let dtype = match rest {
        "b1" | "?" => DType::Bool,
        "i1" => DType::I8,
        "i2" => DType::I16,
        "i4" => DType::I32,
        "i8" => DType::I64,
        "u1" => DType::U8,
        "u2" => DType::U16,
        "u4" => DType::U32,
        "u8" => DType::U64,
        "f2" => DType::F16,
        "f4" => DType::F32,
        "f8" => DType::F64,
        "c8" => DType::F32,
        "c16" => DType::F64,
        _ => return None,
    };
    Some((big, dtype, rest.starts_with('c')))
}

/// Converts elements from column-major to row-major order.
fn from_column_major(data: &[u8], shape: &[usize], size: usize) -> Vec<u8> {
    let mut rows = Vec::with_capacity(data.len());
    let mut index = vec![0; shape.len()];
    for _ in 0..data.len() / size {
        let offset = index.iter().zip(shape).rev().fold(0, |sum, (i, length)| sum * length + i);
        rows.extend(&data[offset * size..(offset + 1) * size]);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            if index[axis] < shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    rows
}

struct Header {
    descr: String,
    fortran: bool,
    shape: Vec<usize>,
}

impl Header {
    /// `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, keys in any order.
    fn read(text: &str) -> Option<Header> {
        let mut text = Cursor(text.trim());
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        text.take("{")?;
        while !text.try_take("}") {
            let key = text.string()?;
            text.take(":")?;
            match key.as_str() {
                "descr" => descr = Some(text.string()?),
                "fortran_order" if text.try_take("True") => fortran = Some(true),
                "fortran_order" if text.try_take("False") => fortran = Some(false),
                "shape" => shape = Some(text.shape()?),
                _ => return None,
            }
            if !text.try_take(",") {
                text.take("}")?;
                break;
            }
        }
        if !text.0.is_empty() {
            return None;
        }
        Some(Header { descr: descr?, fortran: fortran?, shape: shape? })
    }
}

struct Cursor<'a>(&'a str);

impl Cursor<'_> {
    fn try_take(&mut self, token: &str) -> bool {
        match self.0.strip_prefix(token) {
            Some(rest) => {
                self.0 = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn take(&mut self, token: &str) -> Option<()> {
        self.try_take(token).then_some(())
    }

    fn string(&mut self) -> Option<String> {
        let quote = self.0.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (text, rest) = self.0[1..].split_once(quote)?;
        self.0 = rest.trim_start();
        Some(text.to_owned())
    }

    fn shape(&mut self) -> Option<Vec<usize>> {
        let mut lengths = Vec::new();
        self.take("(")?;
        while !self.try_take(")") {
            let end = self.0.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.0.len());
            let (digits, rest) = self.0.split_at(end);
            lengths.push(digits.parse().ok()?);
            // Python 2 wrote long integers as 3L.
            self.0 = rest.strip_prefix('L').unwrap_or(rest).trim_start();
            if !self.try_take(",") {
                self.take(")")?;
                break;
            }
        }
        Some(lengths)
    }
}
