//! Values as expressions of CUDA C.

use loopwright_kernel_ir::{DType, Precision, math_function};
use loopwright_program::{
    FieldPlace, LocalArray, MemRef, Memory, ShuffleMode, UnOp, Value, ValueKind, quotient,
};

use crate::{
    binary::modular,
    context::Context,
    literal,
    math::function_name,
    printed::{Printed, Rep, prec},
    types::is_small,
};

impl Context<'_> {
    /// The expression in a context that converts it to the value's type anyway: an assignment to a
    /// variable or element of that type, or a subscript, which is not negative.
    pub(crate) fn converted(&self, value: &Value) -> String {
        self.raw(value).text
    }

    /// The expression as a truth value.
    pub(crate) fn condition(&self, value: &Value) -> Printed {
        self.raw(value).exact(DType::Bool)
    }

    /// The expression with exactly the C type of the value's type.
    pub(crate) fn typed(&self, value: &Value) -> Printed {
        self.raw(value).typed(value.dtype)
    }

    /// An expression whose C value equals the value.
    pub(crate) fn exact(&self, value: &Value) -> Printed {
        self.raw(value).exact(value.dtype)
    }

    /// The expression without casts; its `rep` says how it represents the value.
    pub(crate) fn raw(&self, value: &Value) -> Printed {
        let dtype = value.dtype;
        match &value.kind {
            ValueKind::Int(v) if dtype.is_float() => self.float(dtype, *v as f64),
            ValueKind::Int(v) => Printed::integer(dtype, *v),
            ValueKind::Float(v) => self.float(dtype, *v),
            ValueKind::Bool(v) => Printed::primary(if *v { "true" } else { "false" }),
            ValueKind::Var(id) => Printed::primary(self.var(*id)),
            ValueKind::Param(name) => Printed::primary(name.as_str()),
            ValueKind::BlockIdx(dim) => self.block_index(*dim),
            ValueKind::ThreadIdx(dim) => {
                Printed::primary(format!("threadIdx.{dim}")).with(Rep::Unsigned { exact: true })
            }
            ValueKind::Load(m) if self.is_streaming(m) => {
                Printed::primary(format!("__ldcs(&{})", self.element(m)))
            }
            ValueKind::Load(m) => Printed::primary(self.element(m)),
            ValueKind::Unary(op, a) => self.unary(*op, a, dtype),
            ValueKind::Binary(op, a, b) => match self.slot(value) {
                Some(slot) => Printed::primary(slot),
                None => self.binary(*op, a, b, dtype),
            },
            ValueKind::Select(c, a, b) => self.select(c, a, b, dtype),
            ValueKind::Cast(a) => self.conversion(a, dtype),
            ValueKind::Call { function, precision, args } => self.call(function, *precision, args, dtype),
            ValueKind::Shuffle { mode, value, operand, width } => {
                self.needs.warp_functions.set(true);
                self.shuffle(*mode, value, operand, *width)
            }
            ValueKind::Any(a) => {
                self.needs.warp_functions.set(true);
                let call = Printed::primary(self.of_lanes("__any", &self.condition(a).text));
                call.with(Rep::Int { exact: true })
            }
            ValueKind::Ballot(a) => {
                self.needs.warp_functions.set(true);
                let vote = Printed::primary(self.of_lanes("__ballot", &self.condition(a).text));
                // Without masks, votes have 64 bits.
                if self.needs.dialect.masks || dtype == DType::U64 { vote } else { vote.cast(dtype) }
            }
            ValueKind::LeadingZeros(a) => {
                let function = if a.dtype == DType::U64 { "__clzll" } else { "__clz" };
                Printed::primary(format!("{function}({})", self.typed(a).text))
            }
        }
    }

    /// An element: `tile[i][j]`; `x[offset]` in global memory, and where a layout takes rows apart.
    pub(crate) fn element(&self, m: &MemRef) -> String {
        let (name, dtype) = self.array(m.memory);
        self.needs.note(dtype);
        let of_data = self.of_data.replace(false);
        let text = match m.memory {
            Memory::Global(g) => match self.program.field_place(g) {
                Some(place) => self.field(&place, m),
                None => format!("{name}[{}]", self.converted(&m.offset)),
            },
            local => {
                let rows = |subscripts: &[Value]| {
                    let subscripts = subscripts.iter().map(|s| format!("[{}]", self.converted(s)));
                    format!("{name}{}", subscripts.collect::<String>())
                };
                match self.laid_out(local) {
                    None => rows(&m.subscripts),
                    Some(array) => match array.subscripts_in_rows(&m.subscripts, self.program.index) {
                        Some(subscripts) => rows(&subscripts),
                        None => format!("{name}[{}]", self.converted(&m.offset)),
                    },
                }
            }
        };
        self.of_data.set(of_data);
        text
    }

    /// A field of a record's element, `p[i].x`. The offset counts fields of its type; where its
    /// terms do not show which element that is, it counts from the first one's field.
    fn field(&self, place: &FieldPlace<'_>, m: &MemRef) -> String {
        let record = &place.record.name;
        let field = place.record.of.fields.get(place.field).map_or("", |f| f.name.as_str());
        match quotient(&m.offset, place.width) {
            Some(element) => format!("{record}[{}].{field}", self.converted(&element)),
            None => format!("(&{record}->{field})[{}]", self.converted(&m.offset)),
        }
    }

    /// A shared or private array whose layout is set.
    fn laid_out(&self, memory: Memory) -> Option<&LocalArray> {
        match memory {
            Memory::Global(_) => None,
            Memory::Shared(n) => self.kernel.shared.get(n),
            Memory::Private(n) => self.kernel.private.get(n),
        }
        .filter(|array| array.layout.is_some())
    }

    /// Whether an element belongs to an array that is accessed evict-first. There is no such access
    /// for bool and for floating-point types of eight bits.
    pub(crate) fn is_streaming(&self, m: &MemRef) -> bool {
        let (Memory::Global(g), true) = (m.memory, self.needs.dialect.hints) else { return false };
        self.program
            .globals
            .get(g)
            .is_some_and(|g| g.hints.streaming() && g.dtype != DType::Bool && !g.dtype.is_float8())
    }

    fn float(&self, dtype: DType, value: f64) -> Printed {
        let narrow = if dtype == DType::F64 { value } else { f64::from(value as f32) };
        let magnitude = match (narrow.is_nan(), narrow.is_infinite(), dtype) {
            (true, _, DType::F64) => {
                self.constant("double", "not_a_number_f64", "__longlong_as_double(0x7ff8000000000000LL)")
            }
            (true, ..) => self.constant("float", "not_a_number", "__int_as_float(0x7fc00000)"),
            (_, true, DType::F64) => {
                self.constant("double", "infinity_f64", "__longlong_as_double(0x7ff0000000000000LL)")
            }
            (_, true, _) => self.constant("float", "infinity", "__int_as_float(0x7f800000)"),
            _ => literal::float(dtype, narrow.abs()),
        };
        let negative = narrow.is_sign_negative() && !narrow.is_nan();
        let text = if negative { format!("-{magnitude}") } else { magnitude };
        match dtype {
            narrow if narrow.is_narrow_float() => {
                Printed::primary(format!("{}({text})", self.narrow_from_float(dtype)))
            }
            _ => Printed::own(text, prec::UNARY),
        }
    }

    /// The conversion function from float to a floating-point type below 32 bits. Those of eight
    /// bits are constructed.
    fn narrow_from_float(&self, dtype: DType) -> &'static str {
        self.needs.note(dtype);
        match dtype {
            DType::F16 => "__float2half",
            DType::BF16 => "__float2bfloat16",
            float8 => self.needs.c_type(float8),
        }
    }

    /// The conversion function from a floating-point type below 32 bits to float.
    fn narrow_to_float(&self, dtype: DType) -> &'static str {
        self.needs.note(dtype);
        match dtype {
            DType::F16 => "__half2float",
            DType::BF16 => "__bfloat162float",
            _ => "float",
        }
    }

    fn unary(&self, op: UnOp, a: &Value, dtype: DType) -> Printed {
        let sign = match op {
            UnOp::Not => {
                return Printed::own(format!("!{}", self.condition(a).within(prec::UNARY)), prec::UNARY);
            }
            UnOp::Neg => '-',
            UnOp::BitNot => '~',
        };
        self.no_half(dtype);
        let raw = self.raw(a);
        let (operand, rep) = match dtype {
            // The least value has no opposite: it is negated modulo 2^32 or 2^64, as the language
            // specifies.
            DType::I32 | DType::I64 if op == UnOp::Neg && self.wraps(a) => modular(dtype, raw),
            DType::I32 if raw.is_unsigned() => (raw, Rep::Unsigned { exact: false }),
            _ if is_small(dtype) => (raw.exact(dtype), Rep::Int { exact: false }),
            _ => (raw.typed(dtype), Rep::Own),
        };
        // Two adjacent minus signs would form another operator.
        let text = if operand.text.starts_with(sign) {
            format!("({})", operand.text)
        } else {
            operand.within(prec::UNARY)
        };
        Printed::own(format!("{sign}{text}"), prec::UNARY).with(rep)
    }

    fn select(&self, c: &Value, a: &Value, b: &Value, dtype: DType) -> Printed {
        let (mut a, mut b) = (self.raw(a).settled(), self.raw(b).settled());
        let rep = match dtype {
            DType::I32 if a.is_unsigned() || b.is_unsigned() => {
                Rep::Unsigned { exact: a.is_natural() && b.is_natural() }
            }
            DType::I64 | DType::U32 | DType::U64 => match (a.rep, b.rep) {
                (Rep::Own, _) | (_, Rep::Own) => Rep::Own,
                (Rep::Int { .. }, Rep::Int { .. }) => Rep::Int { exact: true },
                _ if a.is_natural() && b.is_natural() => Rep::Unsigned { exact: true },
                _ => {
                    a = a.typed(dtype);
                    Rep::Own
                }
            },
            _ if is_small(dtype) => {
                (a, b) = (a.exact(dtype), b.exact(dtype));
                if a.rep == Rep::Own && b.rep == Rep::Own { Rep::Own } else { Rep::Int { exact: true } }
            }
            _ => Rep::Own,
        };
        let inner = prec::TERNARY + 1;
        let text = format!("{} ? {} : {}", self.condition(c).within(inner), a.within(inner), b.within(inner));
        Printed::own(text, prec::TERNARY).with(rep)
    }

    fn conversion(&self, a: &Value, to: DType) -> Printed {
        let operand = self.exact(a);
        if a.dtype == to {
            return operand;
        }
        let from_narrow = a.dtype.is_narrow_float();
        let operand = match from_narrow {
            true => Printed::primary(format!("{}({})", self.narrow_to_float(a.dtype), operand.text)),
            false => operand,
        };
        match to {
            DType::F32 if from_narrow => operand,
            narrow if narrow.is_narrow_float() => {
                let function = match (a.dtype, to) {
                    (DType::F64, DType::F16) => "__double2half",
                    (DType::F64, DType::BF16) => "__double2bfloat16",
                    _ => self.narrow_from_float(to),
                };
                self.needs.note(to);
                let as_float = if a.dtype.is_float() { operand } else { operand.cast(DType::F32) };
                Printed::primary(format!("{function}({})", as_float.text))
            }
            DType::Bool => {
                let zero = match a.dtype {
                    DType::F64 => "0.0",
                    float if float.is_float() => "0.0f",
                    _ => "0",
                };
                Printed::own(format!("{} != {zero}", operand.within(prec::LESS)), prec::EQUAL)
            }
            to if a.dtype.is_float() && to.is_integer() => {
                // For types below 32 bits, from the float that they have been converted to.
                let from = if a.dtype == DType::F64 { DType::F64 } else { DType::F32 };
                self.to_integer(operand, from, to)
            }
            to => operand.cast(to),
        }
    }

    /// An integer from a floating-point value: truncated, clamped to the type's range, 0 for NaN. C
    /// leaves the result undefined for values out of range; the hardware's conversions to 32 bits
    /// and more clamp, and give 0 for NaN if neither side has 64 bits.
    fn to_integer(&self, operand: Printed, from: DType, to: DType) -> Printed {
        let text = operand.text;
        let call = |function: &str| Printed::primary(format!("{function}({text})"));
        match (from, to) {
            (DType::F32, DType::I32) => call("__float2int_rz"),
            (DType::F32, DType::U32) => call("__float2uint_rz"),
            (_, DType::I64) => call(self.needs.helper("to_long", from)),
            (_, DType::U64) => call(self.needs.helper("to_unsigned_long", from)),
            (_, DType::I32) => call(self.needs.helper("to_int", from)),
            (_, DType::U32) => call(self.needs.helper("to_unsigned", from)),
            (_, DType::I8) => call(self.needs.helper("to_signed_char", from)),
            (_, DType::I16) => call(self.needs.helper("to_short", from)),
            (_, DType::U8) => call(self.needs.helper("to_unsigned_char", from)),
            _ => call(self.needs.helper("to_unsigned_short", from)),
        }
    }

    fn call(&self, function: &str, precision: Precision, args: &[Value], dtype: DType) -> Printed {
        let list = |texts: Vec<String>| texts.join(", ");
        if let Some(user) = self.program.functions.iter().find(|f| *f.name == *function) {
            self.needs.functions.borrow_mut().insert(function.to_string());
            user.params.iter().chain([&user.result]).for_each(|t| self.needs.note(*t));
            let args = list(args.iter().map(|a| self.raw(a).text).collect());
            return Printed::primary(format!("{function}({args})"));
        }
        let Some(math) = math_function(function) else {
            return Printed::primary(
                self.needs.refuse("unknown-function", format!("there is no function `{function}`")),
            );
        };
        let operand = math.of_operands(args).map(|a| a.dtype);
        let Some(operand) = operand.filter(|_| args.len() == math.arity) else {
            let message = format!("`{function}` takes {} operands, not {}", math.arity, args.len());
            return Printed::primary(self.needs.refuse("malformed-program", message));
        };
        self.no_half(operand);
        match (math.name, operand) {
            ("abs", t) if t.is_unsigned() => self.raw(&args[0]),
            ("abs", t) if is_small(t) => Printed::primary(format!("abs({})", self.exact(&args[0]).text))
                .with(Rep::Int { exact: false }),
            // The least value has no opposite.
            ("abs", t @ (DType::I32 | DType::I64)) => {
                let function = self.needs.helper("absolute", t);
                Printed::primary(format!("{function}({})", self.typed(&args[0]).text))
            }
            (rounding @ ("to_tf32" | "truncate_to_tf32"), t @ (DType::F32 | DType::F64)) => {
                let function = self.needs.helper(rounding, t);
                Printed::primary(format!("{function}({})", self.typed(&args[0]).text))
            }
            (_, DType::F32 | DType::F64) => {
                let name = match math.name {
                    "bessel_jn" => self.needs.helper(math.name, operand).to_string(),
                    _ => function_name(math, precision, operand),
                };
                let call = Printed::primary(format!(
                    "{name}({})",
                    list(args.iter().map(|a| self.typed(a).text).collect())
                ));
                if dtype == DType::Bool { call.with(Rep::Int { exact: true }) } else { call }
            }
            _ => Printed::primary(
                self.needs.refuse("malformed-program", format!("`{function}` has no overload for {operand}")),
            ),
        }
    }

    fn shuffle(&self, mode: ShuffleMode, value: &Value, operand: &Value, width: u32) -> Printed {
        let function = match mode {
            ShuffleMode::Xor => "__shfl_xor",
            ShuffleMode::Down => "__shfl_down",
            ShuffleMode::Up => "__shfl_up",
            ShuffleMode::Index => "__shfl",
        };
        // Narrow integers are passed as int, which is the overload that C++ selects for them.
        let small = is_small(value.dtype);
        let float8 = Some(value.dtype).filter(|t| t.is_float8());
        let value = if small { self.exact(value) } else { self.typed(value) };
        // Floating-point numbers of eight bits as the floats that they are.
        let value = match float8 {
            Some(t) => Printed::primary(format!("{}({})", self.narrow_to_float(t), value.text)),
            None => value,
        };
        let operand = self.converted(operand);
        let width = if width == self.program.target.warp_size { String::new() } else { format!(", {width}") };
        let call = Printed::primary(self.of_lanes(function, &format!("{}, {operand}{width}", value.text)));
        let call = match float8 {
            Some(t) => Printed::primary(format!("{}({})", self.narrow_from_float(t), call.text)),
            None => call,
        };
        if small { call.with(Rep::Int { exact: true }) } else { call }
    }

    /// Refuses arithmetic on floating-point types below 32 bits, which lowering does in float.
    pub(crate) fn no_half(&self, dtype: DType) {
        if dtype.is_narrow_float() {
            self.needs
                .refuse("malformed-program", format!("arithmetic on {dtype}, which has to be done in f32"));
        }
    }
}
