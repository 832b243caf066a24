//! Tests of malicious pickles: each is refused with a reason; none is executed, fills the memory or overflows
//! the stack.

use crate::pickles::{Writer, little};
use proptest::prelude::*;
use std::path::Path;
use supergat_data::containers::pickle::{Limits, Pickle, Value};
use supergat_data::{Error, Result};

fn parse(bytes: &[u8]) -> Result<Pickle<'_>> {
    Pickle::parse(Path::new("hostile"), bytes, Limits::default())
}

/// Reads everything that a reader could request from a file.
fn read_all(bytes: &[u8]) -> Result<()> {
    let pickle = parse(bytes)?;
    if matches!(pickle.value(pickle.root()), Value::Csr(_)) {
        return pickle.csr(pickle.root()).map(|csr| (0..csr.rows()).for_each(|row| assert!(csr.row(row).0.len() <= 3)));
    }
    pickle.array(pickle.root()).map(|array| array.values().for_each(drop))
}

fn message(bytes: &[u8]) -> String {
    read_all(bytes).unwrap_err().to_string()
}

fn small_csr() -> Vec<u8> {
    Writer::default().csr([2, 3], &[0, 2, 3], &[0, 2, 1], &[1.0, 2.0, 3.0]).file()
}

fn small_array() -> Vec<u8> {
    Writer::default().array(&[2, 2], "<i4", false, &little(&[1, 2, 3, 4], i32::to_le_bytes)).file()
}

/// Returns the largest resident memory of this process, if the system reports it.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

#[test]
fn accepts_small_valid_files() {
    read_all(&small_csr()).unwrap();
    read_all(&small_array()).unwrap();
}

#[test]
fn rejects_names_of_functions() {
    let expected =
        "hostile, byte 2: refuses to load `os.system`: a data file must only name numpy and scipy array types";
    assert_eq!(message(b"\x80\x02cos\nsystem\nU\x04true\x85R."), expected);
    assert_eq!(message(b"\x80\x02ios\nsystem\n."), expected);
    let stacked = message(b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x02ls\x85R.");
    assert!(stacked.contains("byte 17: refuses to load `posix.system`"), "{stacked}");
    for name in
        ["__builtin__\neval", "builtins\nexec", "numpy\nload", "collections\nOrderedDict", "numpy\nndarray.dump"]
    {
        let file = [b"\x80\x02c", name.as_bytes(), b"\n."].concat();
        assert!(matches!(parse(&file), Err(Error::ForbiddenGlobal { .. })), "{name}");
    }
    let long = [b"c", "x".repeat(1 << 20).as_bytes(), b"\ny\n."].concat();
    assert!(message(&long).len() < 300);
}

#[test]
fn rejects_other_calls() {
    for file in [
        &b"K\x01)R."[..],                                // a number
        b"c__builtin__\nlist\n)R.",                      // an allowed name that is only an argument
        b"cnumpy\nndarray\n)R.",                         // an array without its size
        b"cnumpy\ndtype\nK\x01\x85R.",                   // a dtype of a number
        b"cnumpy.core.multiarray\n_reconstruct\n)R.",    // nothing to reconstruct
        b"ccollections\ndefaultdict\nK\x01\x85R.",       // another factory
        b"c_codecs\nencode\nX\x01\0\0\0aU\x03hex\x86R.", // another codec
        b"c_codecs\nencode\nX\x03\0\0\0\xe2\x82\xacX\x06\0\0\0latin1\x86R.",
        b"cscipy.sparse\ncsr_matrix\n]\x81.", // arguments that are no tuple
        b"]}b.",                              // a state for a list
        b"K\x01K\x02a.",                      // appending to a number
        b"]K\x01K\x02s.",                     // inserting into a list
        b"}(K\x01u.",                         // a key without a value
        b"Pid\n.",                            // a persistent id
        b"\x82\x01.",                         // an extension
    ] {
        assert!(matches!(parse(file), Err(Error::Binary { .. })), "{file:?}");
    }
}

#[test]
fn rejects_stack_underflow() {
    for file in [
        &b"."[..],
        b"0.",
        b"2.",
        b"a.",
        b"t.",
        b"1.",
        b"K\x01(.",
        b"(0.",
        b"\x86.",
        b"K\x01\x86.",
        b"h\x00.",
        b"q\x00.",
    ] {
        assert!(matches!(parse(file), Err(Error::Binary { .. })), "{file:?}");
    }
    assert!(matches!(parse(b"\x80\x05N."), Err(Error::Binary { .. })));
    assert!(matches!(parse(b""), Err(Error::Truncated { offset: 0, .. })));
}

#[test]
fn rejects_truncated_files() {
    for file in [small_csr(), small_array()] {
        for length in 0..file.len() {
            assert!(read_all(&file[..length]).is_err(), "{length} bytes");
        }
        assert!(matches!(parse(&file[..file.len() - 1]), Err(Error::Truncated { .. })));
    }
}

#[test]
fn survives_any_changed_byte() {
    for file in [small_csr(), small_array()] {
        let mut changed = file.clone();
        for at in 0..file.len() {
            for byte in 0..=255 {
                changed[at] = byte;
                let _ = read_all(&changed);
            }
            changed[at] = file[at];
        }
    }
    assert!(peak_bytes().is_none_or(|peak| peak < 1 << 30), "{:?} bytes", peak_bytes());
}

#[test]
fn rejects_lengths_beyond_the_file() {
    for file in [
        &b"T\xff\xff\xff\x7fab."[..],
        b"T\xff\xff\xff\xffab.",
        b"B\xff\xff\xff\xffab.",
        b"X\xff\xff\xff\x7fab.",
        b"\x8e\xff\xff\xff\xff\xff\xff\xff\xffab.",
        b"\x8d\xff\xff\xff\xff\xff\xff\xff\x7fab.",
        b"\x8b\xff\xff\xff\x7fab.",
    ] {
        assert!(matches!(parse(file), Err(Error::Truncated { offset: 0, .. })), "{file:?}");
    }
    let long = [&b"\x8b\x00\x00\x10\x00"[..], &[1; 1 << 20], b"."].concat();
    assert!(message(&long).contains("a whole number of at most 8 bytes"));
    // A memo is sparse, whatever the numbers of its entries.
    assert!(parse(b"Nr\xff\xff\xff\xff0j\xff\xff\xff\xff.").is_ok());
}

/// Each list contains the previous one twice: expanded, the last would have 2^100 elements.
#[test]
fn stores_shared_values_once() {
    let mut file = b"]q\x00".to_vec();
    for level in 1..=100 {
        file.extend([b']', b'q', level, b'h', level - 1, b'a', b'h', level - 1, b'a']);
    }
    file.push(b'.');
    let pickle = parse(&file).unwrap();
    assert!(matches!(pickle.value(pickle.root()), Value::List(items) if items.len() == 2));
}

/// A text of 1 MiB that is encoded ten thousand times would take 10 GiB.
#[test]
fn rejects_repeated_encoding() {
    let text = vec![b'a'; 1 << 20];
    let mut file = [&b"X"[..], &(text.len() as u32).to_le_bytes(), &text, b"q\x00c_codecs\nencode\nq\x01"].concat();
    for _ in 0..10_000 {
        file.extend(b"h\x01h\x00X\x06\0\0\0latin1\x86R");
    }
    file.push(b'.');
    assert!(matches!(parse(&file), Err(Error::TooLarge { .. })));
}

/// A hundred thousand arrays over the same 1 MiB of bytes would take 100 GiB.
#[test]
fn arrays_share_bytes_without_copies() {
    let length = (1u32 << 20).to_le_bytes();
    let mut file = [&b"T"[..], &length, &[7; 1 << 20], b"q\x00"].concat();
    file.extend(b"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|tbq\x01");
    file.extend([&b"(K\x01J"[..], &length, b"\x85h\x01\x89h\x00tq\x02"].concat());
    file.extend(b"cnumpy.core.multiarray\n_reconstruct\nq\x03cnumpy\nndarray\nq\x04");
    for _ in 0..100_000 {
        file.extend(b"h\x03h\x04K\x00\x85U\x01b\x87Rh\x02b");
    }
    file.push(b'.');
    let pickle = parse(&file).unwrap();
    let array = pickle.array(pickle.root()).unwrap();
    assert_eq!(array.values().filter(|&value| value == 7.0).count(), 1 << 20);
}

#[test]
fn accepts_lists_that_contain_themselves() {
    let pickle = parse(b"]q\x00h\x00a.").unwrap();
    assert!(matches!(pickle.value(pickle.root()), Value::List(items) if items[..] == [pickle.root()]));
}

#[test]
fn nesting_needs_no_call_stack() {
    for (open, close) in [(b"]", b"a"), (b"(", b"t"), (b"(", b"l")] {
        let depth = 1_000_000;
        let file = [&open.repeat(depth)[..], b"N", &close.repeat(depth)[..], b"."].concat();
        drop(parse(&file).unwrap());
    }
}

#[test]
fn limits_the_number_of_values() {
    let limits = Limits { values: 1000, ..Limits::default() };
    for instruction in [&b"N"[..], b"]", b"(", b"2", b"\x94", b"h\x00"] {
        let file = [&b"Nq\x00"[..], &instruction.repeat(1001), b"."].concat();
        let error = Pickle::parse(Path::new("hostile"), &file, limits).unwrap_err();
        assert!(matches!(error, Error::TooLarge { limit: 1000, .. }), "{instruction:?}: {error}");
    }
}

#[test]
fn rejects_inconsistent_arrays() {
    let array = |shape: &[i64], code, data: &[u8]| message(&Writer::default().array(shape, code, false, data).file());
    assert!(array(&[3, 2], "<i4", &[0; 16]).contains("expected 24 bytes for an array of shape [3, 2], found 16 bytes"));
    assert!(array(&[i32::MAX.into(); 3], "<f8", &[0; 8]).contains("more than memory can hold"));
    assert!(array(&[-1], "<i4", &[0; 4]).contains("expected a size, found the number -1"));
    assert!(array(&[1; 33], "|u1", &[0]).contains("at most 32 axes"));
    assert!(array(&[1], "|O8", &[0; 8]).contains("found dtype `O8`"));
    assert!(array(&[1], "<U9", &[0; 36]).contains("found dtype `U9`"));
    assert!(array(&[1], "=i4", &[0; 4]).contains("the byte order"));
    // A list instead of bytes is how numpy writes arrays of objects.
    let objects = [&b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01K\x01\x85cnumpy\ndtype\nU\x02f4K\x00K\x01\x87R(K\x03U\x01<tb\x89]tb."[..]].concat();
    assert!(message(&objects).contains("expected the bytes of a numpy array, found a list of 0"));
    // An array without a state.
    assert!(read_all(b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R.").is_err());
}

#[test]
fn rejects_inconsistent_matrices() {
    let csr = |shape, indptr: &[i32], indices: &[i32], data: &[f32]| {
        let file = Writer::default().csr(shape, indptr, indices, data).file();
        let pickle = parse(&file).unwrap();
        pickle.csr(pickle.root()).unwrap_err().to_string()
    };
    assert!(csr([2, 3], &[0, 1], &[0], &[1.0]).contains("expected 3 row offsets, one more than rows, found 2"));
    assert!(csr([i32::MAX.into(), 3], &[0, 1], &[0], &[1.0]).contains("expected 2147483648 row offsets"));
    assert!(csr([2, i32::MAX.into()], &[0, 0, 0], &[], &[]).contains("columns of a csr_matrix: expected at most"));
    assert!(csr([1, 3], &[0, 1], &[3], &[1.0]).contains("a column below 3 at position 0, found 3"));
    assert!(csr([1, 3], &[0, 1], &[-1], &[1.0]).contains("a column below 3 at position 0, found -1"));
    assert!(csr([1, 3], &[0, 2], &[0], &[1.0]).contains("a row offset below 2 at position 1, found 2"));
    assert!(csr([1, 3], &[0, 1], &[0, 1], &[1.0, 1.0]).contains("expected 2 as last row offset, found 1"));
    assert!(csr([1, 3], &[1, 1], &[0], &[1.0]).contains("expected 0 as first row offset, found 1"));
    assert!(csr([3, 3], &[0, 2, 1, 2], &[0, 1], &[1.0, 1.0]).contains("a decrease in row 1"));
    assert!(csr([1, 3], &[0, 1], &[0, 1], &[1.0]).contains("expected 1 columns, one per value, found 2"));
    let empty = message(b"cscipy.sparse\ncsr_matrix\n)\x81}b.");
    assert!(empty.contains("expected the attribute `_shape` of a csr_matrix, found a dict of 0"), "{empty}");
}

proptest! {
    #[test]
    fn survives_random_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read_all(&bytes);
    }

    /// Mostly valid instructions in random order reach deeper than random bytes.
    #[test]
    fn survives_random_programs(picks in proptest::collection::vec(0usize..24, 0..60)) {
        let pieces: [&[u8]; 24] = [
            b"(", b"t", b"]", b"}", b")", b"a", b"e", b"s", b"u", b"K\x01", b"N", b"U\x01b", b"q\x00", b"h\x00", b"2", b"0", b"1",
            b"R", b"b", b"\x81", b"\x85", b"cnumpy\nndarray\n", b"cscipy.sparse\ncsr_matrix\n", b"cnumpy\ndtype\n",
        ];
        let mut bytes: Vec<u8> = picks.iter().flat_map(|&pick| pieces[pick].iter().copied()).collect();
        bytes.push(b'.');
        let _ = read_all(&bytes);
    }
}
