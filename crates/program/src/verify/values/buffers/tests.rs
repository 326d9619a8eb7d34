//! Elements that are written in loops over lanes, and read behind them.

use loopwright_kernel_ir::{Aff, DType, Name};

use super::{Buffers, Form, Forms, Piece};

fn aff(terms: &[(&str, i64)], constant: i64) -> Aff {
    let term = |(name, factor): &(&str, i64)| Aff::var(Name::new(*name)).scale(*factor).unwrap();
    terms.iter().map(term).fold(Aff::constant(constant), |sum, term| sum.add(&term).unwrap())
}

/// What the element with these subscripts holds, if that is known.
fn read(buffers: &Buffers, forms: &mut Forms, subscripts: &[Aff]) -> Option<Form> {
    buffers.read(forms, 0, subscripts, &[], &|aff| aff.as_constant().map(|value| (value, value)))
}

/// The buffers in which an element holds what `form` says.
fn written(forms: &mut Forms, subscripts: Vec<Aff>, form: &Aff) -> Buffers {
    let form = forms.of_aff(form, DType::I32, &mut |_, _| None);
    let mut buffers = Buffers::default();
    buffers.write(0, Piece { subscripts, parameters: Vec::new(), form, conditions: Vec::new() });
    buffers
}

/// The axis of the outer lane comes last, or first.
#[test]
fn behind_loops_over_two_lanes_there_is_an_element_for_each_two_of_their_values() {
    for turned in [false, true] {
        let mut forms = Forms::new(DType::I32);
        let mut subscripts = vec![aff(&[("outer", 1)], 0), aff(&[("inner", 1)], 0)];
        if turned {
            subscripts.reverse();
        }
        let mut buffers = written(&mut forms, subscripts, &aff(&[("outer", 10), ("inner", 1)], 0));
        buffers.leave(&mut forms, &Name::new("inner"), (0, 2));
        buffers.leave(&mut forms, &Name::new("outer"), (0, 3));
        for (outer, inner) in [(0, 0), (0, 1), (2, 0), (2, 1), (1, 1), (3, 0), (0, 2)] {
            let mut at = vec![Aff::constant(outer), Aff::constant(inner)];
            if turned {
                at.reverse();
            }
            let expected = (outer < 3 && inner < 2).then(|| forms.int(DType::I32, 10 * outer + inner));
            assert_eq!(read(&buffers, &mut forms, &at), expected, "{outer}, {inner}, turned: {turned}");
        }
    }
}

/// Behind the loop the lane has no value, and no parameter stands for it.
#[test]
fn what_cannot_be_written_without_the_lane_is_forgotten_behind_its_loop() {
    let lane = Name::new("lane");
    for (factor, known) in [(1, true), (1 << 62, false)] {
        let mut forms = Forms::new(DType::I32);
        let subscripts = vec![aff(&[("lane", factor)], 0), aff(&[("lane", 1)], 4)];
        let mut buffers = written(&mut forms, subscripts.clone(), &aff(&[("lane", 1)], 0));
        assert!(read(&buffers, &mut forms, &subscripts).is_some());
        buffers.leave(&mut forms, &lane, (0, 2));
        // The elements of the lane's value 1.
        let expected = known.then(|| forms.int(DType::I32, 1));
        assert_eq!(read(&buffers, &mut forms, &[Aff::constant(factor), Aff::constant(5)]), expected);
        if !known {
            assert_eq!(read(&buffers, &mut forms, &subscripts), None);
        }
    }
}
