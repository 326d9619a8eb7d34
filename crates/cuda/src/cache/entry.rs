//! The file of one cached compilation.
//!
//! ```text
//! magic      8 bytes   LWCUBIN2
//! checksum  32 bytes   BLAKE3 of everything after it
//! key       32 bytes   of what was compiled
//! lengths   3 x 8      of binary, assembly (all ones: none) and log, little-endian
//! binary, assembly, log
//! ```
//!
//! A file is accepted only if magic, lengths, checksum and key agree. Anything else is a damaged
//! entry, whatever the cause: an interrupted write, a full disk, a flipped bit, another program's
//! file, or an entry under another's name.

use super::Key;
use crate::arch::Arch;
use crate::nvrtc::Compiled;

const MAGIC: &[u8; 8] = b"LWCUBIN2";
const HEAD: usize = 8 + 32 + 32 + 3 * 8;
const NONE: u64 = u64::MAX;

/// The bytes of the file of a compilation, as the head of this file describes them.
pub(super) fn encode(key: &Key, compiled: &Compiled) -> Vec<u8> {
    let ptx = compiled.ptx.as_deref();
    let mut payload =
        Vec::with_capacity(56 + compiled.cubin.len() + ptx.map_or(0, str::len) + compiled.log.len());
    payload.extend(key.bytes());
    for length in
        [compiled.cubin.len() as u64, ptx.map_or(NONE, |ptx| ptx.len() as u64), compiled.log.len() as u64]
    {
        payload.extend(length.to_le_bytes());
    }
    payload.extend(&compiled.cubin);
    payload.extend(ptx.unwrap_or_default().as_bytes());
    payload.extend(compiled.log.as_bytes());
    let mut bytes = Vec::with_capacity(40 + payload.len());
    bytes.extend(MAGIC);
    bytes.extend(blake3::hash(&payload).as_bytes());
    bytes.extend(payload);
    bytes
}

/// Reads the entry of a key; the error describes the defect.
pub(super) fn decode(key: &Key, arch: Arch, bytes: &[u8]) -> Result<Compiled, &'static str> {
    if bytes.len() < HEAD {
        return Err("it is too short");
    }
    if &bytes[..8] != MAGIC {
        return Err("it is not an entry of this version");
    }
    let payload = &bytes[40..];
    if blake3::hash(payload).as_bytes() != &bytes[8..40] {
        return Err("its checksum is wrong");
    }
    let (own, payload) = payload.split_at(32);
    if own != key.bytes() {
        return Err("it is the entry of a different key");
    }
    let length = |index: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&payload[8 * index..8 * index + 8]);
        u64::from_le_bytes(word)
    };
    let mut rest = &payload[24..];
    let mut take = |length: u64| -> Result<&[u8], &'static str> {
        let length = usize::try_from(length)
            .ok()
            .filter(|&length| length <= rest.len())
            .ok_or("its lengths are wrong")?;
        let (part, after) = rest.split_at(length);
        rest = after;
        Ok(part)
    };
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| "its text is not UTF-8");
    let cubin = take(length(0))?.to_vec();
    let ptx = if length(1) == NONE { None } else { Some(text(take(length(1))?)?) };
    let log = text(take(length(2))?)?;
    if !rest.is_empty() || cubin.is_empty() {
        return Err("its lengths are wrong");
    }
    Ok(Compiled::from_parts(arch, cubin, ptx, log))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvrtc::CompileOptions;

    fn key() -> Key {
        super::super::key("s", &CompileOptions::new(Arch::SM_80), "test")
    }

    fn sample(ptx: Option<&str>) -> Compiled {
        let log = "ptxas info    : Compiling entry function 'f' for 'sm_80'\n\
                   ptxas info    : Used 7 registers\n";
        Compiled::from_parts(Arch::SM_80, vec![1, 2, 3, 0, 255], ptx.map(str::to_owned), log.to_owned())
    }

    #[test]
    fn an_entry_comes_back_whole() {
        for ptx in [None, Some(""), Some(".version 9.0")] {
            let compiled = sample(ptx);
            let back = decode(&key(), Arch::SM_80, &encode(&key(), &compiled)).unwrap();
            assert_eq!(back, compiled);
            assert_eq!(back.resources[0].registers, 7);
        }
    }

    #[test]
    fn every_truncation_and_every_flipped_byte_is_noticed() {
        let bytes = encode(&key(), &sample(Some("ptx")));
        for length in 0..bytes.len() {
            assert!(decode(&key(), Arch::SM_80, &bytes[..length]).is_err(), "cut to {length} bytes");
        }
        for index in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[index] ^= 0x10;
            assert!(decode(&key(), Arch::SM_80, &damaged).is_err(), "byte {index}");
        }
    }

    #[test]
    fn lengths_that_lie_under_a_right_checksum_are_noticed() {
        let mut bytes = encode(&key(), &sample(None));
        bytes[72..80].copy_from_slice(&(u64::MAX - 1).to_le_bytes());
        let sum = *blake3::hash(&bytes[40..]).as_bytes();
        bytes[8..40].copy_from_slice(&sum);
        assert_eq!(decode(&key(), Arch::SM_80, &bytes), Err("its lengths are wrong"));
    }
}
