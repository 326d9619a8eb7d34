//! Forms of random integers against their values: what has one form has one value.

use std::collections::BTreeMap;

use super::*;

/// An expression over elements of several types, with the type of its value.
#[derive(Clone, Debug)]
enum E {
    /// An element of [`ELEMENTS`].
    Element(usize),
    Int(DType, i64),
    Neg(DType, Box<E>),
    Binary(BinOp, DType, Box<E>, Box<E>),
    Cast(DType, Box<E>),
    /// The first value where the one number is less than the other, otherwise the second.
    Select(DType, Box<[E; 4]>),
}

const ELEMENTS: [(DType, &str); 7] = [
    (DType::I8, "a"),
    (DType::U8, "b"),
    (DType::I32, "c"),
    (DType::I32, "d"),
    (DType::U32, "e"),
    (DType::I64, "f"),
    (DType::U64, "g"),
];

const TYPES: [DType; 6] = [DType::I8, DType::U8, DType::I32, DType::U32, DType::I64, DType::U64];

/// The value that these bits have in a type.
fn in_type(dtype: DType, value: i128) -> i128 {
    match dtype {
        DType::I8 => (value as i8).into(),
        DType::U8 => (value as u8).into(),
        DType::I32 => (value as i32).into(),
        DType::U32 => (value as u32).into(),
        DType::I64 => (value as i64).into(),
        _ => (value as u64).into(),
    }
}

impl E {
    fn dtype(&self) -> DType {
        match self {
            E::Element(k) => ELEMENTS[*k].0,
            E::Int(t, _) | E::Neg(t, _) | E::Binary(_, t, ..) | E::Cast(t, _) | E::Select(t, _) => *t,
        }
    }

    /// Its value for these values of the elements, each operation wrapped in its type.
    fn value(&self, elements: &[i128]) -> i128 {
        let value = match self {
            E::Element(k) => elements[*k],
            E::Int(_, v) => (*v).into(),
            E::Neg(_, a) => -a.value(elements),
            E::Cast(_, a) => a.value(elements),
            E::Binary(op, _, a, b) => {
                let (a, b) = (a.value(elements), b.value(elements));
                match op {
                    BinOp::Add => a + b,
                    BinOp::Sub => a - b,
                    BinOp::Mul => a.wrapping_mul(b),
                    BinOp::FloorDiv => a.div_euclid(b),
                    BinOp::FloorMod => a.rem_euclid(b),
                    BinOp::Min => a.min(b),
                    _ => a.max(b),
                }
            }
            E::Select(_, of) => {
                let less = of[0].value(elements) < of[1].value(elements);
                of[if less { 2 } else { 3 }].value(elements)
            }
        };
        in_type(self.dtype(), value)
    }

    fn form(&self, forms: &mut Forms) -> Form {
        match self {
            E::Element(k) => {
                let (dtype, name) = ELEMENTS[*k];
                forms.make(Node::Element(dtype, Place::Array(Name::new(name)), Vec::new(), 0))
            }
            E::Int(t, v) => forms.int(*t, *v),
            E::Neg(t, a) => {
                let a = a.form(forms);
                forms.unary(UnaryOp::Neg, *t, a)
            }
            E::Cast(t, a) => {
                let a = a.form(forms);
                forms.cast(*t, a, &|_, _| false)
            }
            E::Binary(op, t, a, b) => {
                let (a, b) = (a.form(forms), b.form(forms));
                forms.binary(*op, *t, a, b)
            }
            E::Select(t, of) => {
                let [x, y, a, b] = [0, 1, 2, 3].map(|k| of[k].form(forms));
                let cond = forms.binary(BinOp::Lt, of[0].dtype(), x, y);
                forms.select(*t, cond, a, b)
            }
        }
    }
}

/// A fixed sequence of numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    /// An expression of this type.
    fn of(&mut self, dtype: DType, depth: usize) -> E {
        let own: Vec<usize> = (0..ELEMENTS.len()).filter(|k| ELEMENTS[*k].0 == dtype).collect();
        let constant = [0, 1, -1, 2, 3, 128, 256][self.below(7)];
        match if depth == 0 { self.below(4) } else { self.below(16) } {
            0 => E::Int(dtype, in_type(dtype, constant.into()) as i64),
            1..=3 => E::Element(own[self.below(own.len())]),
            4 => E::Neg(dtype, self.of(dtype, depth - 1).into()),
            5..=8 => {
                let from = TYPES[self.below(6)];
                E::Cast(dtype, self.of(from, depth - 1).into())
            }
            9 => {
                let op = [BinOp::FloorDiv, BinOp::FloorMod][self.below(2)];
                let by = E::Int(dtype, [1, 2, 3, 100][self.below(4)]);
                E::Binary(op, dtype, self.of(dtype, depth - 1).into(), by.into())
            }
            10 => {
                let of = TYPES[self.below(6)];
                let condition = [self.of(of, 0), self.of(of, 0)];
                let [x, y] = condition;
                E::Select(dtype, [x, y, self.of(dtype, depth - 1), self.of(dtype, depth - 1)].into())
            }
            _ => {
                use BinOp::{Add, Max, Min, Mul, Sub};
                let op = [Add, Sub, Mul, Add, Sub, Min, Max][self.below(7)];
                E::Binary(op, dtype, self.of(dtype, depth - 1).into(), self.of(dtype, depth - 1).into())
            }
        }
    }
}

/// Values of the elements: the ends of their types and numbers between them.
fn assignments() -> Vec<Vec<i128>> {
    let mut random = Random(7);
    let numbers =
        [0i128, 1, -1, 2, 5, 127, -128, 200, 255, 1 << 31, (1 << 31) - 1, 1 << 40, -(1 << 63), 77777];
    let one = |random: &mut Random| {
        ELEMENTS.iter().map(|(t, _)| in_type(*t, numbers[random.below(numbers.len())])).collect()
    };
    (0..40).map(|_| one(&mut random)).collect()
}

#[test]
fn what_has_one_form_has_one_value() {
    let (mut forms, mut random) = (Forms::new(DType::I32), Random(1));
    let assignments = assignments();
    let mut seen: BTreeMap<Form, (Vec<i128>, E)> = BTreeMap::new();
    let mut again = 0;
    for round in 0..30_000 {
        let dtype = TYPES[round % 6];
        let depth = 1 + random.below(3);
        let e = random.of(dtype, depth);
        let form = e.form(&mut forms);
        assert_eq!(forms.dtype(form), dtype, "{e:?}");
        let values: Vec<i128> = assignments.iter().map(|a| e.value(a)).collect();
        if let Some(number) = forms.as_number(form) {
            assert!(values.iter().all(|v| Some(*v) == number.as_i128()), "{e:?} is not {number}");
        }
        match seen.get(&form) {
            Some((known, other)) => {
                assert_eq!(*known, values, "one form for\n{e:?} and\n{other:?}");
                again += usize::from(format!("{e:?}") != format!("{other:?}"));
            }
            None => drop(seen.insert(form, (values, e))),
        }
    }
    assert!(again > 1000, "{again} were written in two ways");
}

/// The other type of the same width.
fn twin(dtype: DType) -> DType {
    let at = TYPES.iter().position(|t| *t == dtype).unwrap();
    TYPES[at ^ 1]
}

/// Sums and products are polynomials modulo two to the width of their type.
#[test]
fn what_is_the_same_by_the_rules_of_arithmetic_has_one_form() {
    let (mut forms, mut random) = (Forms::new(DType::I32), Random(3));
    for round in 0..600 {
        let t = TYPES[round % 6];
        let [x, y, z] = [0; 3].map(|_| random.of(t, 2));
        let element = E::Element(ELEMENTS.iter().position(|(own, _)| *own == t).unwrap());
        let op = |op: BinOp, a: &E, b: &E| E::Binary(op, t, a.clone().into(), b.clone().into());
        let add = |a: &E, b: &E| op(BinOp::Add, a, b);
        let sub = |a: &E, b: &E| op(BinOp::Sub, a, b);
        let mul = |a: &E, b: &E| op(BinOp::Mul, a, b);
        let add_in = |t: DType, a: &E, b: &E| E::Binary(BinOp::Add, t, a.clone().into(), b.clone().into());
        let int = |v: i64| E::Int(t, v);
        let wide = if t.is_unsigned() { DType::U64 } else { DType::I64 };
        let cast = |to: DType, a: &E| E::Cast(to, a.clone().into());
        for (one, other) in [
            (add(&x, &y), add(&y, &x)),
            (mul(&x, &y), mul(&y, &x)),
            (add(&add(&x, &y), &z), add(&x, &add(&y, &z))),
            (mul(&x, &add(&y, &z)), add(&mul(&x, &y), &mul(&x, &z))),
            (sub(&add(&x, &y), &y), x.clone()),
            (add(&x, &x), mul(&int(2), &x)),
            (sub(&x, &x), int(0)),
            (mul(&x, &int(1)), x.clone()),
            (E::Neg(t, x.clone().into()), sub(&int(0), &x)),
            (op(BinOp::FloorDiv, &x, &int(1)), x.clone()),
            (op(BinOp::FloorMod, &x, &int(1)), int(0)),
            (cast(t, &x), x.clone()),
            // The type of the same width has the same bits.
            (cast(t, &cast(twin(t), &x)), x.clone()),
            (cast(twin(t), &add(&x, &y)), add_in(twin(t), &cast(twin(t), &x), &cast(twin(t), &y))),
            // An element keeps its bits where it is widened and narrowed again.
            (cast(t, &cast(wide, &element)), element.clone()),
            (cast(t, &add(&x, &y)), add(&x, &y)),
            (E::Select(t, [x.clone(), y.clone(), z.clone(), z.clone()].into()), z.clone()),
        ] {
            let [a, b] = [&one, &other].map(|e| e.form(&mut forms));
            assert_eq!(a, b, "{one:?} and\n{other:?}");
        }
    }
}

/// A name in the type of indices is an integer that a launch checks, in others a number modulo two
/// to their width.
#[test]
fn functions_of_names_are_functions_again() {
    let mut forms = Forms::new(DType::I32);
    let mut random = Random(5);
    let name = |k: usize| Name::new(["i", "j", "n"][k]);
    for _ in 0..300 {
        let mut aff = Aff::constant(random.below(9) as i64 - 4);
        for k in 0..3 {
            let term = Aff::var(name(k)).scale(random.below(7) as i64 - 3).unwrap();
            aff = aff.add(&term).unwrap();
        }
        if random.below(2) == 0 {
            aff = aff.floor_div(2 + random.below(3) as i64).unwrap();
        }
        let form = forms.of_aff(&aff, DType::I32, &mut |_, _| None);
        assert!(forms.is_index(form), "{aff}");
        assert_eq!(forms.to_aff(form, &mut |_| None), Some(aff.clone()));
        for k in 0..3 {
            assert_eq!(forms.mentions(form, &name(k)), aff.names().contains(&name(k)), "{aff}");
        }
        // By other functions, as the function itself is.
        let by = Aff::var("m").scale(2).unwrap().add_constant(1).unwrap();
        let replaced = forms.substitute(form, &Table::from_iter([(name(0), by.clone())]));
        let wanted = aff.substitute_one("i", &by).unwrap();
        assert_eq!(forms.to_aff(replaced, &mut |_| None), Some(wanted), "{aff}");
        // By numbers, it is the number that the function then has.
        let numbers = (0..3).map(|k| (name(k), Aff::constant(random.below(20) as i64 - 9)));
        let numbers: Table<Name, Aff> = numbers.collect();
        let number = forms.substitute(form, &numbers);
        let value = aff.substitute(&|n| numbers.get(n).cloned()).unwrap().as_constant();
        assert_eq!(forms.as_number(number).and_then(Number::as_i64), value, "{aff} at {numbers:?}");
        // In a narrower type it is no integer.
        let narrow = forms.cast(DType::I8, form, &|_, _| false);
        assert!(forms.as_number(narrow).is_some() || !forms.is_index(narrow), "{aff}");
    }
}

/// A truth value decides `and` and `or`, or leaves them to the other operand.
#[test]
fn truth_values_decide_or_leave_the_other() {
    let mut forms = Forms::new(DType::I32);
    let [x, y] = [2, 3].map(|k| E::Element(k).form(&mut forms));
    let other = forms.binary(BinOp::Lt, DType::I32, x, y);
    for truth in [false, true] {
        let one = forms.number(Number::Bool(truth));
        for (a, b) in [(one, other), (other, one)] {
            let [and, or] = [BinOp::And, BinOp::Or].map(|op| forms.binary(op, DType::Bool, a, b));
            assert_eq!((and, or), if truth { (other, one) } else { (one, other) }, "{truth}");
        }
    }
}

/// There is no remainder by zero to compute, so that nothing is equal to it.
#[test]
fn a_remainder_by_zero_is_not_its_dividend() {
    let mut forms = Forms::new(DType::I32);
    for dtype in TYPES {
        let x = E::Element(ELEMENTS.iter().position(|(own, _)| *own == dtype).unwrap()).form(&mut forms);
        let zero = forms.int(dtype, 0);
        assert_ne!(forms.binary(BinOp::FloorMod, dtype, x, zero), x, "{dtype}");
    }
}

/// A quotient of data is no index in the type of indices either: `(c // 2) * 4` wraps for the
/// greatest `c`, and `i // 2 * 4` is checked.
#[test]
fn quotients_of_data_are_no_indices() {
    let mut forms = Forms::new(DType::I32);
    let data = E::Element(2).form(&mut forms);
    let name = forms.of_aff(&Aff::var("i"), DType::I32, &mut |_, _| None);
    for (of, checked) in [(data, false), (name, true)] {
        let (two, four) = (forms.int(DType::I32, 2), forms.int(DType::I32, 4));
        let half = forms.binary(BinOp::FloorDiv, DType::I32, of, two);
        assert_eq!(forms.is_index(half), checked);
        let product = forms.binary(BinOp::Mul, DType::I32, half, four);
        let widened_late = forms.cast(DType::I64, product, &|_, _| true);
        let widened = forms.cast(DType::I64, half, &|_, _| true);
        let four = forms.int(DType::I64, 4);
        let widened_first = forms.binary(BinOp::Mul, DType::I64, widened, four);
        assert_eq!(widened_late == widened_first, checked);
    }
}

#[test]
fn a_type_keeps_the_values_of_those_that_it_contains() {
    let ends = |t: DType| match t {
        DType::I8 => Some((-128i128, 127i128)),
        DType::I16 => Some((-32768, 32767)),
        DType::I32 => Some((-(1 << 31), (1 << 31) - 1)),
        DType::I64 => Some((-(1 << 63), (1 << 63) - 1)),
        DType::U8 => Some((0, 255)),
        DType::U16 => Some((0, 65535)),
        DType::U32 => Some((0, (1 << 32) - 1)),
        DType::U64 => Some((0, (1 << 64) - 1)),
        _ => None,
    };
    for (from, to) in DType::ALL.iter().flat_map(|a| DType::ALL.iter().map(move |b| (*a, *b))) {
        let inside = match (ends(from), ends(to)) {
            (Some((low, high)), Some((least, most))) => least <= low && high <= most,
            // Each floating-point type has the values of the shorter ones.
            _ if from.is_float() && to.is_float() => from == to || from.bytes() < to.bytes(),
            _ => false,
        };
        assert_eq!(keeps(from, to), inside, "{from} in {to}");
    }
}

/// `(v % k + c) // k` is a number where `c` is a multiple of `k` and the sum cannot wrap, and has
/// the form of another value nowhere: for all values of eight bits.
#[test]
fn a_remainder_beside_a_multiple_has_a_known_quotient() {
    let mut forms = Forms::new(DType::I32);
    let mut known = 0;
    for (element, dtype) in [(0, DType::I8), (1, DType::U8)] {
        let values = if dtype == DType::I8 { -128..128 } else { 0..256 };
        let op = |op: BinOp, a: &E, b: i64| E::Binary(op, dtype, a.clone().into(), E::Int(dtype, b).into());
        let sum = E::Binary(BinOp::Add, dtype, E::Element(element).into(), E::Int(dtype, 3).into());
        for (v, k) in [E::Element(element), sum].iter().flat_map(|v| [2, 5, 64, 100].map(|k| (v, k))) {
            for c in values.clone() {
                let e = op(BinOp::FloorDiv, &op(BinOp::Add, &op(BinOp::FloorMod, v, k), c), k);
                let form = e.form(&mut forms);
                let Some(number) = forms.as_number(form) else { continue };
                known += 1;
                for value in values.clone() {
                    let mut elements = [0; ELEMENTS.len()];
                    elements[element] = value.into();
                    assert_eq!(number.as_i128(), Some(e.value(&elements)), "{e:?} at {value}");
                }
            }
        }
    }
    // Multiples of k from the least value to the last below which k numbers are left.
    let of = |least: i64, greatest: i64, k: i64| (greatest + 1 - k).div_euclid(k) - (least - 1).div_euclid(k);
    let wanted: i64 = [2, 5, 64, 100].map(|k| of(-128, 127, k) + of(0, 255, k)).iter().sum();
    assert_eq!(known, 2 * wanted);
}
