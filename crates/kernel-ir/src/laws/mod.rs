//! Whether a user-defined operator satisfies the laws that every parallel form of a reduction
//! relies on.
//!
//! The laws are tested on the states that a reduction can reach: the neutral one, those that `lift`
//! makes, and combinations of these. The neutral state changes none of them on either side,
//! `combine` is associative, and it commutes and is idempotent if the operator says so.
//!
//! States are drawn deterministically: all triples of a few small ones, with many ties, then random
//! ones, the ends of the ranges of integer types, and for the neutral state floating-point values
//! of large magnitude; then those at which the operator's own text may change its behaviour: each
//! literal in it, its neighbours and its negative, what lies between two, their sums, differences,
//! products and quotients, and the inputs whose states have such values. Infinities are drawn only
//! if `combine` merely compares and chooses; NaN is never drawn. Sums and products of drawn values
//! are exact, so an operator made of `+ * min max` and selects has to satisfy its laws exactly, any
//! other to a relative 1e-9 in f64. Two different states count as equal if no result distinguishes
//! them, neither their own nor that after one more combination.
//!
//! A test of some thousand combinations can refute, but not prove. It says most of operators that
//! are the same formula for all states. Where `combine` asks what few states fulfil, nothing
//! follows ([`steps`]): such an operator, one whose laws hold only for the data at hand, and one
//! that calls a device function, say `trusted "why"` and are not tested.

mod draw;
mod steps;
mod value;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use crate::{
    DType, Expr, KernelData, Name, Number, ReductionOp, StateType, StateVar, Type, TypeTable, UpdateOp,
    state_type,
};
use draw::Random;
use steps::Steps;
use value::{Code, Scope, magnitude, text};

/// A law that an operator has to obey so that a reduction may be split or reordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// The neutral state changes no other.
    Neutral,
    /// The order in which neighbours are combined does not matter.
    Associative,
    /// The order of the two states does not matter.
    Commutative,
    /// Combining a state with itself changes nothing.
    Idempotent,
}

/// The outcome of testing an operator's laws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Laws {
    /// For each law that does not hold, the states that violate it, in words.
    pub broken: Vec<(Law, String)>,
    /// Whether the operator could be evaluated at all, that is, no part of it calls a device
    /// function.
    pub tested: bool,
    /// A part of `combine` whose steps the drawn states may miss, so that their tests show nothing.
    pub missed: Option<Expr>,
    /// A part of `lift` whose steps drawn inputs may miss, and the laws that do not hold for all
    /// states: whether they do for those that `lift` makes is not known.
    pub unreached: Option<(Expr, Vec<Law>)>,
}

impl Laws {
    /// The states that violate a law, if it does not hold.
    pub fn witness(&self, law: Law) -> Option<&str> {
        self.broken.iter().find(|(l, _)| *l == law).map(|(_, witness)| witness.as_str())
    }
}

type Known = HashMap<(ReductionOp, Vec<DType>), Arc<Laws>>;

/// Kernels are validated many times, and their operators stay the same.
static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

/// Capacity of the cache, in operators.
const MOST: usize = 256;

impl ReductionOp {
    /// Tests the operator's laws on inputs of these types; open ones stand for f32.
    pub fn laws(&self, data: &KernelData, inputs: &[Type]) -> Arc<Laws> {
        let types: Vec<DType> = (0..self.inputs.len())
            .map(|k| inputs.get(k).and_then(Type::known).unwrap_or(DType::F32))
            .collect();
        // The operator's claims do not affect the outcome of the tests.
        let plain = ReductionOp { commutes: false, idempotent: false, trusted: None, ..self.clone() };
        let key = (plain, types);
        // Apart from the operator itself, its code depends only on device functions.
        let remembers = data.functions.is_empty();
        let lock = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if remembers && let Some(laws) = lock().get(&key) {
            return laws.clone();
        }
        let laws = Arc::new(match Operator::of(&key.0, &key.1, data) {
            Some(operator) => {
                let broken = operator.broken();
                let missed = operator.missed.clone();
                let unreached = operator.missed_by_inputs.clone().map(|part| {
                    let (all, state) = unlifted(&key.0, &operator.state);
                    let broken = Operator::of(&all, &state, data).map_or(Vec::new(), |all| all.broken());
                    (part, broken.into_iter().map(|(law, _)| law).collect())
                });
                Laws { broken, tested: true, missed, unreached }
            }
            None => Laws { broken: Vec::new(), tested: false, missed: None, unreached: None },
        });
        if remembers {
            let mut known = lock();
            if known.len() >= MOST {
                known.clear();
            }
            known.insert(key, laws.clone());
        }
        laws
    }
}

impl KernelData {
    /// The types of the inputs of each reduction by this operator, as far as they are known.
    pub(crate) fn inputs_of(&self, op: &ReductionOp) -> Vec<Vec<Type>> {
        let table = TypeTable::new(self);
        let mut found: Vec<Vec<Type>> = Vec::new();
        for reduce in self.instructions.iter().flat_map(|i| i.reductions()).filter(|r| r.op == op.name) {
            let known = |a: &Expr| table.type_of(a).map_or(Type::Known(DType::F32), |t| t.alone());
            let types: Vec<Type> = reduce.args.iter().map(known).collect();
            if types.len() == op.inputs.len() && !found.contains(&types) {
                found.push(types);
            }
        }
        for i in &self.instructions {
            let ([target], Some(UpdateOp::By(name))) = (i.targets.as_slice(), &i.update) else { continue };
            let Some(element) = table.element(&target.array).filter(|_| *name == op.name) else { continue };
            let types = vec![element.clone(); op.inputs.len()];
            if !found.contains(&types) {
                found.push(types);
            }
        }
        if found.is_empty() {
            // Of one that nothing uses, floating-point values if it takes them, or else integers.
            let of = |t: DType| vec![Type::Known(t); op.inputs.len()];
            let takes_floats = op.laws(self, &of(DType::F32)).tested;
            found.push(of(if takes_floats { DType::F32 } else { DType::I32 }));
        }
        found
    }

    /// The remedy for an operator that does not declare `commutes` and perhaps should: no drawn
    /// states refute that it commutes, which is not a proof.
    pub fn forgotten_commutes(&self, op: &ReductionOp) -> Option<String> {
        let forgets = !op.commutes
            && self.inputs_of(op).iter().all(|inputs| {
                let laws = op.laws(self, inputs);
                laws.tested && laws.witness(Law::Commutative).is_none()
            });
        forgets.then(|| {
            format!(
                "if the operator `{}` commutes, declare it to be `commutes`: no states that were tried \
                 refute it",
                op.name
            )
        })
    }
}

type State = Vec<Number>;

/// An operator that can be evaluated.
struct Operator {
    names: Vec<Name>,
    inputs: Vec<DType>,
    neutral: Vec<Code>,
    lift: Vec<Code>,
    combine: Vec<Code>,
    result: Vec<Code>,
    /// The literals in its text.
    literals: Vec<Number>,
    /// The types of a state.
    state: Vec<DType>,
    /// A part of `combine` whose steps drawn states may miss.
    missed: Option<Expr>,
    /// A part of `lift` whose steps drawn inputs may miss.
    missed_by_inputs: Option<Expr>,
    /// Whether results that are the same for drawn states are so for all.
    shows: bool,
}

/// The operator over states of which any are given, and their types.
fn unlifted(op: &ReductionOp, state: &[DType]) -> (ReductionOp, Vec<DType>) {
    let values = op.state.iter().zip(state);
    let fixed = values.map(|(s, t)| StateVar { name: s.name.clone(), dtype: StateType::Fixed(*t) });
    let names: Vec<Name> = op.state.iter().map(|s| s.name.clone()).collect();
    let lift = names.iter().cloned().map(Expr::Name).collect();
    (ReductionOp { inputs: names, state: fixed.collect(), lift, ..op.clone() }, state.to_vec())
}

/// The states on which laws are tested.
struct Pool {
    /// All triples of these are tested.
    small: Vec<State>,
    all: Vec<State>,
    /// Floating-point values whose sums with others would be rounded; tested with the neutral state
    /// only.
    far: Vec<State>,
    /// Those that come from literals in the operator's text.
    named: Vec<State>,
    /// Whether large floating-point values are combined without rounding.
    exact: bool,
}

/// Number of states that come from literals.
const NAMED_STATES: usize = 160;

/// Tolerance for equal states, relative to the greatest magnitude involved.
const NEAR: f64 = 1e-9;

impl Operator {
    fn of(op: &ReductionOp, inputs: &[DType], data: &KernelData) -> Option<Operator> {
        let known: Vec<Type> = inputs.iter().map(|t| Type::Known(*t)).collect();
        let state: Vec<DType> =
            op.state.iter().map(|s| state_type(op, &s.dtype, &known).known()).collect::<Option<_>>()?;
        let names = |side: &str| -> Vec<Name> {
            op.state.iter().map(|s| Name::new(format!("{side}{}", s.name))).collect()
        };
        let table = TypeTable::new(data);
        let scope = |names: Vec<Name>, types: &[DType]| Scope::new(&table, names, types);
        let codes = |scope: &Scope<'_>, parts: &[Expr]| -> Option<Vec<Code>> {
            parts.iter().zip(&state).map(|(e, t)| scope.code(e, *t)).collect()
        };
        let (earlier, later): (Vec<Name>, Vec<Name>) = (names("a."), names("b."));
        let both = scope([earlier, later].concat(), &[&state[..], &state[..]].concat());
        let own = scope(names(""), &state);
        let result = |e: &Expr| own.code(e, own.table.type_of(e).ok()?.alone().known()?);
        let neutral = codes(&scope(Vec::new(), &[]), &op.neutral)?;
        let (mut missed, mut missed_by_inputs, mut shows) = (None, None, true);
        if let Some(neutral) = Self::values(&neutral, &[]) {
            let typed = ["", "a.", "b."].into_iter().flat_map(|side| {
                names(side).into_iter().zip(state.iter().map(|t| Type::Known(*t))).collect::<Vec<_>>()
            });
            let declared = table.with_scalars(typed);
            let steps = Steps::new(op, &neutral, &declared, &both);
            let given = op.inputs.iter().cloned().zip(known.iter().cloned());
            let given = table.with_scalars(given);
            let of_inputs = Steps::new(op, &Vec::new(), &given, &both);
            missed_by_inputs = op.lift.iter().zip(&state).find_map(|(e, t)| of_inputs.missed(e, *t));
            missed = op.combine.iter().zip(&state).find_map(|(e, t)| steps.missed(e, *t));
            shows = op.result.iter().all(|e| steps.missed(e, DType::F64).is_none());
        }
        Some(Operator {
            names: op.state.iter().map(|s| s.name.clone()).collect(),
            inputs: inputs.to_vec(),
            neutral,
            lift: codes(&scope(op.inputs.clone(), inputs), &op.lift)?,
            combine: codes(&both, &op.combine)?,
            result: op.result.iter().map(result).collect::<Option<_>>()?,
            literals: draw::literals(op),
            state,
            missed,
            missed_by_inputs,
            shows,
        })
    }

    fn values(codes: &[Code], slots: &[Number]) -> Option<State> {
        codes.iter().map(|c| c.value(slots)).collect()
    }

    fn join(&self, a: &[Number], b: &[Number]) -> Option<State> {
        Self::values(&self.combine, &[a, b].concat())
    }

    fn pool(&self) -> Pool {
        let mut random = Random::new();
        let lift = |inputs: Vec<Number>| Self::values(&self.lift, &inputs);
        let chooses = self.combine.iter().all(Code::only_chooses);
        let mut small: Vec<State> = Vec::new();
        let add = |states: &mut Vec<State>, state: Option<State>| {
            if let Some(state) = state.filter(|s| !states.contains(s)) {
                states.push(state);
            }
        };
        // The simplest first. Where there are several inputs, each of a value meets several of
        // another, so that some tie.
        let few: Vec<Vec<Number>> = self.inputs.iter().map(|t| draw::few(*t)).collect();
        for (shift, first) in (0..3).flat_map(|shift| (0..4).map(move |first| (shift, first))) {
            let value = |(k, f): (usize, &Vec<Number>)| f[(first + shift * k) % f.len()];
            add(&mut small, lift(few.iter().enumerate().map(value).collect()));
        }
        small.truncate(8);
        let mut all = small.clone();
        for _ in 0..10 {
            add(&mut all, lift(self.inputs.iter().map(|t| draw::any(*t, &mut random)).collect()));
        }
        let mut far = Vec::new();
        let ends: Vec<Vec<Number>> = self.inputs.iter().map(|t| draw::ends(*t, chooses)).collect();
        for k in 0..8 {
            // First for all inputs in turn, then combined with small values.
            let mut value = |(ends, few): (&Vec<Number>, &Vec<Number>)| match (k < 4, random.below(2)) {
                (true, _) => ends[k % ends.len()],
                (false, 0) => ends[random.below(ends.len())],
                (false, _) => few[random.below(few.len())],
            };
            let inputs = ends.iter().zip(&few).map(&mut value).collect();
            add(&mut far, lift(inputs));
        }
        // Only floating-point arithmetic is affected by differences in magnitude.
        let exact = chooses || !far.iter().flatten().any(|v| v.dtype().is_float());
        if exact {
            for state in std::mem::take(&mut far) {
                add(&mut all, Some(state));
            }
        }
        let singles = all.len();
        for _ in 0..8 {
            let (a, b) = (random.below(singles), random.below(singles));
            let joined = self.join(&all[a], &all[b]).filter(|s| s.iter().all(|v| is_number(*v)));
            add(&mut all, joined);
        }
        let named = self.named(&few, &all);
        Pool { small, all, far, named, exact }
    }

    /// States with the values that the operator's literals suggest, in each component, that are
    /// not among the others.
    fn named(&self, few: &[Vec<Number>], others: &[State]) -> Vec<State> {
        let lift = |inputs: &[Number]| Self::values(&self.lift, inputs);
        let mut states: Vec<State> = Vec::new();
        let mut add = |inputs: &[Number]| {
            let state = lift(inputs).filter(|s| s.iter().all(|v| is_number(*v)));
            if let Some(state) = state.filter(|s| !states.contains(s) && !others.contains(s)) {
                states.push(state);
            }
        };
        let plain: Vec<Number> = few.iter().map(|f| f[0]).collect();
        for (k, dtype) in self.inputs.iter().enumerate() {
            let with = |v: Number| {
                let mut inputs = plain.clone();
                inputs[k] = v;
                inputs
            };
            let named = draw::named(*dtype, &self.literals);
            // The inputs whose lifted values are these, where `lift` is linear.
            let (zero, one) = (Number::I64(0).cast(few[k][0].dtype()), few[k][0]);
            let ends = (lift(&with(zero)), lift(&with(one)));
            let lines: Vec<(f64, f64)> = match &ends {
                (Some(zero), Some(one)) if *dtype != DType::Bool => {
                    zero.iter().zip(one).map(|(a, b)| (a.as_f64(), b.as_f64() - a.as_f64())).collect()
                }
                _ => Vec::new(),
            };
            for value in &named {
                add(&with(*value));
                for (start, slope) in lines.iter().filter(|(_, slope)| *slope != 0.0) {
                    let input = (value.as_f64() - start) / slope;
                    let fits = dtype.is_float() || input.fract() == 0.0 && input.abs() < 1e9;
                    let input = Number::F64(input).cast(value.dtype());
                    if fits && input.as_f64().is_finite() {
                        add(&with(input));
                    }
                }
            }
        }
        // All inputs at once.
        let all: Vec<Vec<Number>> = self.inputs.iter().map(|t| draw::named(*t, &self.literals)).collect();
        for n in 0..if all.len() > 1 { all.iter().map(Vec::len).max().unwrap_or(0) } else { 0 } {
            let value = |(k, values): (usize, &Vec<Number>)| match values.is_empty() {
                true => plain[k],
                false => values[n % values.len()],
            };
            add(&all.iter().enumerate().map(value).collect::<Vec<_>>());
        }
        states.truncate(NAMED_STATES);
        states
    }

    /// Whether two states are indistinguishable, at magnitudes up to `scale`.
    fn same(&self, pool: &Pool, a: &[Number], b: &[Number], scale: f64) -> bool {
        let near = |a: &[Number], b: &[Number]| a.iter().zip(b).all(|(x, y)| equal(*x, *y, scale));
        if near(a, b) || !self.shows {
            return near(a, b);
        }
        let shown = |s: &[Number]| Self::values(&self.result, s);
        let alike = |a: Option<State>, b: Option<State>| match (a, b) {
            (Some(a), Some(b)) => near(&a, &b),
            (a, b) => a == b,
        };
        let result = |s: Option<State>| s.and_then(|s| shown(&s));
        alike(shown(a), shown(b))
            && pool.all.iter().take(12).all(|other| {
                alike(result(self.join(a, other)), result(self.join(b, other)))
                    && alike(result(self.join(other, a)), result(self.join(other, b)))
            })
    }

    fn broken(&self) -> Vec<(Law, String)> {
        let Some(neutral) = Self::values(&self.neutral, &[]) else {
            return vec![(Law::Neutral, "the neutral element divides by zero".to_owned())];
        };
        let pool = self.pool();
        let found = [
            (Law::Neutral, self.not_neutral(&pool, &neutral)),
            (Law::Associative, self.not_associative(&pool)),
            (Law::Commutative, self.not_commutative(&pool)),
            (Law::Idempotent, self.not_idempotent(&pool)),
        ];
        found.into_iter().filter_map(|(law, witness)| Some((law, witness?))).collect()
    }

    fn not_neutral(&self, pool: &Pool, neutral: &State) -> Option<String> {
        pool.small.iter().chain([neutral]).chain(&pool.all).chain(&pool.far).chain(&pool.named).find_map(
            |s| {
                let scale = greatest(&[s.as_slice()]);
                let wrong = |joined: Option<State>| match joined {
                    Some(joined) if self.same(pool, &joined, s, scale) => None,
                    joined => Some(self.outcome(&joined)),
                };
                let before = wrong(self.join(neutral, s)).map(|joined| {
                    format!("the neutral element and the state {} combine to {joined}", self.text(s))
                });
                before.or_else(|| {
                    let joined = wrong(self.join(s, neutral))?;
                    Some(format!("the state {} and the neutral element combine to {joined}", self.text(s)))
                })
            },
        )
    }

    fn not_associative(&self, pool: &Pool) -> Option<String> {
        let mut random = Random::new();
        let small = pool.small.len().min(6);
        let triples = (0..small * small * small).map(|k| [k / small / small, k / small % small, k % small]);
        let drawn = (0..240).map(|_| [0; 3].map(|_: usize| random.below(pool.all.len())));
        let drawn = triples.chain(drawn).map(|places| places.map(|k| &pool.all[k])).collect::<Vec<_>>();
        // Each state from a literal, in each place, with small ones and with others of its kind.
        let small = &pool.small[..small.min(4)];
        let named: Vec<&State> = pool.named.iter().collect();
        let neighbours = named.iter().flat_map(|s| {
            small
                .iter()
                .flat_map(move |a| small.iter().flat_map(move |b| [[*s, a, b], [a, *s, b], [a, b, *s]]))
        });
        let pairs = named.iter().take(24).flat_map(|s| {
            let others = named.iter().take(24);
            others.flat_map(move |t| small.iter().take(1).flat_map(move |a| [[*s, *t, a], [a, *s, *t]]))
        });
        drawn.into_iter().chain(neighbours).chain(pairs).find_map(|[a, b, c]| {
            let (ab, bc) = (self.join(a, b)?, self.join(b, c)?);
            let (left, right) = (self.join(&ab, c)?, self.join(a, &bc)?);
            // Division by zero and the like, between states that only a test combines.
            let mut all = left.iter().chain(&right).chain(&ab).chain(&bc);
            // So are sums and products beyond the range of f64, of states from great literals.
            if all.any(|v| !is_number(*v) || !pool.exact && !is_finite(*v)) {
                return None;
            }
            let scale = greatest(&[a, b, c, &ab, &bc, &left, &right]);
            (!self.same(pool, &left, &right, scale)).then(|| {
                format!(
                    "the states {}, {} and {} give {} if the first two are combined first, and {} \
                     if the last two are",
                    self.text(a),
                    self.text(b),
                    self.text(c),
                    self.text(&left),
                    self.text(&right)
                )
            })
        })
    }

    fn not_commutative(&self, pool: &Pool) -> Option<String> {
        let n = pool.all.len();
        let drawn = (0..n * n).map(|k| (k / n, k % n)).filter(|(a, b)| a < b);
        let drawn = drawn.map(|(a, b)| (&pool.all[a], &pool.all[b]));
        let named = pool.named.iter().enumerate();
        let named = named.flat_map(|(k, a)| pool.all.iter().chain(&pool.named[..k]).map(move |b| (a, b)));
        drawn.chain(named).find_map(|(a, b)| {
            let (ab, ba) = (self.join(a, b)?, self.join(b, a)?);
            if ab.iter().chain(&ba).any(|v| !is_number(*v)) {
                return None;
            }
            (!self.same(pool, &ab, &ba, greatest(&[a, b, &ab, &ba]))).then(|| {
                format!(
                    "the states {} and {} combine to {}, and to {} in the opposite order",
                    self.text(a),
                    self.text(b),
                    self.text(&ab),
                    self.text(&ba)
                )
            })
        })
    }

    fn not_idempotent(&self, pool: &Pool) -> Option<String> {
        pool.all.iter().chain(&pool.named).find_map(|s| {
            let twice = self.join(s, s);
            let same = twice.as_ref().is_some_and(|t| self.same(pool, t, s, greatest(&[s])));
            (!same).then(|| {
                format!("the state {} combined with itself is {}", self.text(s), self.outcome(&twice))
            })
        })
    }

    fn outcome(&self, state: &Option<State>) -> String {
        state.as_ref().map_or("a division by zero".to_owned(), |s| self.text(s))
    }

    /// `(count = 1, mean = 2.5)`
    fn text(&self, state: &[Number]) -> String {
        let parts: Vec<String> =
            self.names.iter().zip(state).map(|(name, value)| format!("{name} = {}", text(*value))).collect();
        format!("({})", parts.join(", "))
    }
}

/// Neither NaN nor an infinity from a division by zero; infinities of operators that only choose
/// are compared like other values.
fn is_number(value: Number) -> bool {
    !matches!(value, Number::F64(v) if v.is_nan())
}

fn is_finite(value: Number) -> bool {
    !matches!(value, Number::F64(v) if !v.is_finite())
}

fn greatest(states: &[&[Number]]) -> f64 {
    states.iter().flat_map(|s| s.iter()).fold(1.0, |m, v| magnitude(*v).max(m))
}

fn equal(a: Number, b: Number, scale: f64) -> bool {
    match (a, b) {
        (Number::F64(a), Number::F64(b)) => {
            a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= NEAR * scale
        }
        _ => a == b,
    }
}
