//! Types of expressions and of temporaries, by hand.

use loopwright_kernel_ir::{
    DType, DType::*, LoopKernel, Type, TypeTable, ValueType, parse_expression, promote,
};

const KERNEL: &str = "\
kernel k(h: f16[n], x: f32[n], d: f64[n], b: i8[n], u: u32[n], w: i64[n], t: T[n], f: bool[n], n: i32, l: i64)
domain { [i] : 0 <= i < n }
domain { [j] : 0 <= j < l }
x[i] = 1
x[j] = 1 if j < n
";

fn types(expressions: &[(&str, ValueType)]) {
    let kernel = LoopKernel::parse(KERNEL).unwrap_or_else(|d| panic!("{}", d.render()));
    let table = TypeTable::new(&kernel);
    for (text, wanted) in expressions {
        let e = parse_expression(text).unwrap();
        assert_eq!(table.type_of(&e).as_ref(), Ok(wanted), "{text}");
    }
}

fn of(t: DType) -> ValueType {
    ValueType::Of(Type::Known(t))
}

#[test]
fn expressions() {
    types(&[
        ("1", ValueType::IntLiteral),
        ("3000000000", of(I64)),
        ("1.5", ValueType::FloatLiteral),
        ("1 + 1.5", ValueType::FloatLiteral),
        ("1 / 2", ValueType::FloatLiteral),
        ("2 * x[i]", of(F32)),
        ("h[i] * 2", of(F32)),
        ("h[i] + x[i]", of(F32)),
        ("x[i] + d[i]", of(F64)),
        ("x[i] + n", of(F32)),
        ("0.5 * n", ValueType::FloatLiteral),
        ("0.5 * l", ValueType::FloatLiteral),
        ("d[i] + 0.5 * n", of(F64)),
        ("x[i] + 0.5 * n", of(F32)),
        ("sum(i, 0.5)", ValueType::FloatLiteral),
        ("abs(b[i])", of(I32)),
        ("b[i] + b[i]", of(I32)),
        ("b[i]", of(I8)),
        ("w[i] + u[i]", of(I64)),
        ("i + 1", of(I32)),
        ("j + i", of(I64)),
        ("t[i] * 2.5", ValueType::Of(Type::Open("T".into()))),
        ("cast(i8, x[i])", of(I8)),
        ("x[i] < d[i] and f[i]", of(Bool)),
        ("if(f[i], 1, x[i])", of(F32)),
        ("exp(n)", ValueType::FloatLiteral),
        ("min(n + 0, w[i])", of(I64)),
        ("isnan(x[i])", of(Bool)),
        ("cast(u8, n) + u[i]", of(U32)),
        ("cast(u8, n) + cast(u16, n)", of(I32)),
        ("highest()", ValueType::AnyNumber),
        ("b[i] << 1", of(I32)),
        ("sum(i, b[i])", of(I32)),
        ("sum(i, x[i] > 0)", of(I32)),
        ("max([i], b[i])", of(I8)),
        ("any(i, f[i])", of(Bool)),
    ]);
}

#[test]
fn types_that_do_not_meet() {
    for a in DType::ALL {
        for b in DType::ALL {
            let meet = promote(a, b);
            assert_eq!(meet, promote(b, a), "{a} {b}");
            let refused = (a == Bool) != (b == Bool)
                || (a.is_integer() && b.is_integer() && a.is_unsigned() != b.is_unsigned() && {
                    let (u, s) = if a.is_unsigned() { (a, b) } else { (b, a) };
                    u.bytes() >= 4 && s.bytes() <= u.bytes()
                });
            assert_eq!(meet.is_none(), refused, "{a} {b}");
        }
    }
}

#[test]
fn open_types_are_bound() {
    let kernel = LoopKernel::parse(
        "kernel k(x: T[n], out: T[n], n: i32)
         domain { [i] : 0 <= i < n }
         <> v = 2 * x[i]
         out[i] = v / 3 + cast(T, i)",
    )
    .unwrap();
    assert_eq!(kernel.temporaries[0].dtype, Type::Open("T".into()));
    assert_eq!(kernel.open_types(), ["T"]);
    let bound = kernel.bind_types(&[("T".into(), F64)]).unwrap();
    assert_eq!(bound.temporaries[0].dtype, Type::Known(F64));
    assert!(bound.open_types().is_empty());
    assert!(bound.to_string().contains("cast(f64, i)"), "{bound}");
    let integers = kernel.bind_types(&[("T".into(), I32)]).unwrap_err();
    assert_eq!(integers.0[0].code, "integer-division");
    let unknown = kernel.bind_types(&[("U".into(), F64)]).unwrap_err();
    assert_eq!(
        unknown.render(),
        "error[unknown-type]: the kernel has no open type `U`\n |\n = help: it has `T`"
    );
}
