//! Queries that lowering makes for every tile: emptiness, implication, bounds after projection.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use loopwright_poly::{Aff, Constraint, Result, System};

/// `0 <= i < n` with `i = 128*i_outer + i_inner`, `0 <= i_inner < 128`, and `0 <= n`.
fn tile() -> Result<Vec<Constraint>> {
    let (n, inner) = (Aff::var("n"), Aff::var("i_inner"));
    let i = Aff::var("i_outer").scale(128)?.add(&inner)?;
    Ok(vec![
        Constraint::nonneg(n.clone()),
        Constraint::nonneg(i.clone()),
        Constraint::lt(&i, &n)?,
        Constraint::nonneg(inner.clone()),
        Constraint::lt(&inner, &Aff::constant(128))?,
    ])
}

fn poly(c: &mut Criterion) {
    let rows = tile().expect("small numbers");
    let system = System::new(&rows).expect("small numbers");
    let follows = Constraint::nonneg(Aff::var("i_outer"));
    c.bench_function("poly/from_rows", |b| b.iter(|| System::new(black_box(&rows))));
    c.bench_function("poly/implies", |b| b.iter(|| black_box(&system).implies(black_box(&follows))));
    c.bench_function("poly/bounds", |b| {
        b.iter(|| black_box(&system).bounds(&"i_outer".into(), &|name| name.as_str() == "n"));
    });
}

criterion_group!(benches, poly);
criterion_main!(benches);
