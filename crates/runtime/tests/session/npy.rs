//! Tensors in .npy files.

use loopwright_kernel_ir::DType;
use loopwright_runtime::Tensor;

use super::{Outcome, ok, refused, x};

pub(super) fn npy_files_come_back() -> Outcome {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let path = folder.path().join("x.npy");
    for dtype in DType::ALL.into_iter().filter(|t| !t.is_float8() && *t != DType::BF16) {
        for shape in [&[][..], &[5], &[0], &[2, 3, 4], &[3, 0, 2]] {
            let tensor = ok(Tensor::random(shape, dtype, 1))?;
            ok(tensor.to_npy(&path))?;
            assert_eq!(ok(Tensor::from_npy(&path))?, tensor, "{dtype} {shape:?}");
        }
    }
    refused(
        ok(Tensor::zeros(&[2], DType::BF16))?.to_npy_bytes(),
        "error[npy-type]: the .npy format has no bf16\n  help: convert the elements to f32, which \
         represents every bf16",
    )?;
    // Another implementation reads what is written here, and writes what is read here.
    use npyz::WriterBuilder;
    let bytes = ok(x().to_npy_bytes())?;
    let file = npyz::NpyFile::new(&bytes[..]).map_err(|e| e.to_string())?;
    assert_eq!(file.shape(), [3, 4]);
    assert_eq!(file.into_vec::<f32>().map_err(|e| e.to_string())?, ok(x().to_vec::<f32>())?);
    for order in [npyz::Order::C, npyz::Order::Fortran] {
        let mut bytes = Vec::new();
        let mut writer = npyz::WriteOptions::new()
            .default_dtype()
            .shape(&[2, 3])
            .order(order)
            .writer(&mut bytes)
            .begin_nd()
            .map_err(|e| e.to_string())?;
        writer.extend([1i64, 2, 3, 4, 5, 6]).map_err(|e| e.to_string())?;
        writer.finish().map_err(|e| e.to_string())?;
        let expected = match order {
            npyz::Order::C => [1, 2, 3, 4, 5, 6],
            npyz::Order::Fortran => [1, 3, 5, 2, 4, 6],
        };
        assert_eq!(ok(ok(Tensor::from_npy_bytes("x.npy", &bytes))?.to_vec::<i64>())?, expected);
    }
    // Complex numbers are pairs, in both orders of axes.
    for (order, expected) in [
        ("False", [1f32, 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12.]),
        ("True", [1., 2., 5., 6., 9., 10., 3., 4., 7., 8., 11., 12.]),
    ] {
        let mut header =
            format!("{{'descr': '<c8', 'fortran_order': {order}, 'shape': (2, 3), }}").into_bytes();
        header.resize(117, b' ');
        header.push(b'\n');
        let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        bytes.extend(header);
        bytes.extend((1..=12u8).flat_map(|v| f32::from(v).to_le_bytes()));
        let read = ok(Tensor::from_npy_bytes("z.npy", &bytes))?;
        assert_eq!((read.dtype(), read.shape()), (DType::F32, &[2, 3, 2][..]));
        assert_eq!(ok(read.to_vec::<f32>())?, expected);
    }
    // The other byte order.
    let mut big = ok(ok(Tensor::from_vec(&[1], vec![1u16]))?.to_npy_bytes())?;
    let at = big.windows(3).position(|w| w == b"<u2").ok_or("no descr")?;
    big[at] = b'>';
    assert_eq!(ok(ok(Tensor::from_npy_bytes("x.npy", &big))?.to_vec::<u16>())?, [256]);
    Ok(())
}

pub(super) fn malformed_npy_files_are_refused() -> Outcome {
    let whole = ok(x().to_npy_bytes())?;
    refused(
        Tensor::from_npy_bytes("x.npy", &whole[..whole.len() - 1]),
        "error[npy-truncated]: x.npy is truncated: its data ends at byte 176, and the file has \
         175\n  help: write or copy the file again",
    )?;
    refused(
        Tensor::from_npy_bytes("x.npy", b"kernel f()"),
        "error[npy]: x.npy is not a .npy file: it does not begin with \\x93NUMPY\n  help: write \
         one with numpy.save, or with Tensor::to_npy",
    )?;
    // Every prefix, every flipped byte, and a header of nothing but parentheses is refused or read,
    // without a panic.
    for end in 0..whole.len() {
        assert!(Tensor::from_npy_bytes("x.npy", &whole[..end]).is_err(), "{end} bytes were enough");
    }
    for at in 0..128 {
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            let _ = Tensor::from_npy_bytes("x.npy", &damaged);
        }
    }
    let with_header = |header: &str| {
        let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
        bytes.extend((header.len() as u32).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes
    };
    for header in [
        "(".repeat(20_000),
        "{'descr': ".repeat(20_000),
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({},), }}", u64::MAX),
        "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }".to_owned(),
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }".to_owned(),
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }".to_owned(),
        "{'descr': '|O', 'fortran_order': False, 'shape': (), }".to_owned(),
        "{'descr': '<\u{e9}4', 'fortran_order': False, 'shape': (), }".to_owned(),
    ] {
        assert!(Tensor::from_npy_bytes("x.npy", &with_header(&header)).is_err(), "{:.60}", header);
    }
    Ok(())
}
