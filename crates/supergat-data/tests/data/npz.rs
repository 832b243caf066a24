//! Tests of the readers of numpy arrays and scipy matrices, on valid and malicious files.

use crate::arrays::{deflated_zeros, floats, ints, longs, npy, npz, with_header, zip_of};
use proptest::prelude::*;
use std::path::Path;
use supergat_core::Features;
use supergat_data::containers::npy::Array;
use supergat_data::containers::npz::{Npz, sparse_features, sparse_matrix};
use supergat_data::{Error, Result};

fn array(bytes: &[u8]) -> Result<Array> {
    Array::parse(Path::new("a.npy"), bytes.to_vec())
}

fn refusal(bytes: &[u8]) -> String {
    array(bytes).unwrap_err().to_string()
}

#[test]
fn reads_element_types_and_orders() {
    let bytes = |values: &[i16]| values.iter().flat_map(|v| v.to_be_bytes()).collect::<Vec<_>>();
    let big = array(&npy(">i2", true, &[2, 3], &bytes(&[1, -2, 3, 4, 5, 6]))).unwrap();
    assert_eq!(big.shape(), [2, 3]);
    assert_eq!(big.integers().unwrap(), [1, 3, 5, -2, 4, 6]);
    assert_eq!(big.numbers().unwrap(), [1.0, 3.0, 5.0, -2.0, 4.0, 6.0]);
    assert_eq!(array(&npy("|b1", false, &[3], &[0, 1, 7])).unwrap().integers().unwrap(), [0, 1, 1]);
    assert_eq!(array(&npy("|u1", false, &[2], &[0, 255])).unwrap().numbers().unwrap(), [0.0, 255.0]);
    let double = array(&npy("<f8", false, &[], &0.5f64.to_le_bytes())).unwrap();
    assert_eq!((double.shape().len(), double.numbers().unwrap()), (0, vec![0.5]));
    assert_eq!(array(&npy("|S4", false, &[], b"csr\0")).unwrap().texts().unwrap(), ["csr"]);
    let unicode: Vec<u8> = "äb".chars().chain(['\0']).flat_map(|c| (c as u32).to_le_bytes()).collect();
    assert_eq!(array(&npy("<U3", false, &[1], &unicode)).unwrap().texts().unwrap(), ["äb"]);
    assert!(array(&npy("<f4", false, &[0, 5], &[])).unwrap().numbers().unwrap().is_empty());
    assert!(array(&npy("<f4", true, &[0, 5], &[])).unwrap().numbers().unwrap().is_empty());
    // Headers of Python 2, of another order of keys, and without the last comma.
    for header in [
        "{'descr': '<i4', 'fortran_order': False, 'shape': (1L, 2L), }",
        "{'shape': (1, 2), 'fortran_order': False, \"descr\": \"<i4\"}",
    ] {
        let found = array(&with_header(header, &[7, 0, 0, 0, 8, 0, 0, 0])).unwrap();
        assert_eq!(found.integers().unwrap(), [7, 8]);
    }
    let mut second = npy("<i4", false, &[1], &[9, 0, 0, 0]);
    second.splice(6..10, [2, 0, second[8], second[9], 0, 0]);
    assert_eq!(array(&second).unwrap().integers().unwrap(), [9]);
}

#[test]
fn rejects_other_kinds_of_elements() {
    let error = array(&floats(&[1], &[1.5])).unwrap().integers().unwrap_err().to_string();
    assert!(error.ends_with("expected whole numbers below 2^63, found floating-point numbers"), "{error}");
    assert!(array(&npy("<u8", false, &[1], &[255; 8])).unwrap().integers().is_err());
    assert!(array(&npy("|S1", false, &[1], b"a")).unwrap().numbers().is_err());
    assert!(array(&ints(&[1])).unwrap().texts().is_err());
    assert!(array(&ints(&[1])).unwrap().rows_and_columns().is_err());
}

#[test]
fn rejects_malformed_headers() {
    let object = refusal(&npy("|O", false, &[1], b"\x80\x03cos\nsystem\n"));
    assert!(
        object.contains("Python objects would have to be executed and are never loaded, found elements of type `|O`"),
        "{object}"
    );
    for (bytes, part) in [
        (b"".to_vec(), "ends within the header"),
        (b"PK\x03\x04".to_vec(), "expected a numpy array"),
        (b"\x93NUMPY\x09\x00\x00\x00".to_vec(), "version 1, 2 or 3"),
        (b"\x93NUMPY\x01\x00\xff".to_vec(), "ends within the header"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(), "bytes of a numpy header: expected at most 10000"),
        (npy("<f4", false, &[usize::MAX, 8], &[]), "more than memory can hold"),
        (npy("<f4", false, &[3], &[0; 8]), "expected 12 bytes for an array of shape [3], found 8 bytes"),
        (npy("<f4", false, &[1; 40], &[0; 4]), "expected a header such as"),
        (npy("<c8", false, &[1], &[0; 8]), "elements of type `<c8`"),
        (npy("é", false, &[1], &[0; 8]), "elements of type `é`"),
        (npy("<U9999999999", false, &[1], &[]), "elements of type"),
        (with_header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", &[0; 4]), "a header such as"),
        (with_header("{'descr': '<f4', 'shape': (1,)}", &[0; 4]), "a header such as"),
        (with_header("{'descr': '<f4', 'fortran_order': __import__('os'), 'shape': (1,)}", &[]), "a header such as"),
        (with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", &[]), "a header such as"),
        (with_header("{{{{{{{{{{{{", &[]), "a header such as"),
    ] {
        let message = refusal(&bytes);
        assert!(message.contains(part) && message.starts_with("a.npy"), "{message}");
        assert!(message.len() < 300, "{message}");
    }
}

fn small(format: &str, indices: &[(&str, &[i32])]) -> Vec<u8> {
    let mut arrays = vec![
        ("format", npy("|S3", false, &[], format.as_bytes())),
        ("shape", longs(&[2], &[2, 3])),
        ("data", floats(&[4], &[1.0, 2.0, 3.0, 4.0])),
        ("unused", npy("|O", false, &[1], b"a pickle that is never read")),
    ];
    arrays.extend(indices.iter().map(|(name, values)| (*name, ints(values))));
    npz(&arrays)
}

/// The entries 1 + 2 at (0, 1), 3 at (1, 0) and 4 at (1, 2) in the three formats of scipy.
#[test]
fn reads_the_formats_of_scipy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npz");
    for (format, arrays) in [
        ("csr", [("indptr", &[0, 2, 4][..]), ("indices", &[1, 1, 0, 2])]),
        ("coo", [("row", &[0, 0, 1, 1][..]), ("col", &[1, 1, 0, 2])]),
    ] {
        std::fs::write(&path, small(format, &arrays)).unwrap();
        let Features::Sparse(found) = sparse_features(&path).unwrap() else { panic!("sparse") };
        assert_eq!(
            (found.offsets(), found.column_of(), found.values()),
            (&[0, 1, 3][..], &[1, 0, 2][..], &[3.0, 3.0, 4.0][..])
        );
    }
    // By column: 1 at (1, 0), 2 and 3 at (0, 1), 4 at (1, 2).
    std::fs::write(&path, small("csc", &[("indptr", &[0, 1, 3, 4]), ("indices", &[1, 0, 0, 1])])).unwrap();
    let Features::Sparse(found) = sparse_features(&path).unwrap() else { panic!("sparse") };
    assert_eq!((found.column_of(), found.values()), (&[1, 0, 2][..], &[5.0, 1.0, 4.0][..]));
}

#[test]
fn rejects_arrays_that_disagree() {
    for (format, arrays, part) in [
        ("dia", vec![], "format: expected csr, csc or coo, found dia"),
        (
            "csr",
            vec![("indptr", &[0, 4][..]), ("indices", &[0, 0, 0, 0])],
            "expected 3, one more than the shape says, found 2",
        ),
        (
            "csr",
            vec![("indptr", &[0, 9, 4][..]), ("indices", &[0, 0, 0, 0])],
            "not to decrease, and at most 4, found 0 then 9",
        ),
        ("csr", vec![("indptr", &[0, -1, 4][..]), ("indices", &[0, 0, 0, 0])], "found 0 then -1"),
        ("csr", vec![("indptr", &[1, 2, 4][..]), ("indices", &[0, 0, 0, 0])], "0 at the beginning"),
        ("csr", vec![("indptr", &[0, 2, 4][..]), ("indices", &[0, 3, 0, 0])], "expected a number below 3, found 3"),
        ("csr", vec![("indptr", &[0, 2, 3][..]), ("indices", &[0, 1, 0])], "values of a sparse matrix: expected 3"),
        ("coo", vec![("row", &[0, 1][..]), ("col", &[0])], "columns of a sparse matrix: expected 2"),
        ("coo", vec![("row", &[-5][..]), ("col", &[0])], "found -5"),
        ("csr", vec![("indptr", &[0][..])], "x.npz/indices.npy not found: the archive holds data.npy, format.npy"),
    ] {
        let npz = Npz::parse(Path::new("x.npz"), small(format, &arrays)).unwrap();
        let error = sparse_matrix(&npz).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    let huge = npz(&[("shape", longs(&[2], &[1 << 40, 1])), ("format", npy("|S3", false, &[], b"coo"))]);
    assert!(matches!(sparse_matrix(&Npz::parse(Path::new("x"), huge).unwrap()), Err(Error::TooLarge { .. })));
}

#[test]
fn rejects_objects_only_when_requested() {
    let npz =
        Npz::parse(Path::new("x.npz"), small("csr", &[("indptr", &[0, 2, 4]), ("indices", &[0, 1, 0, 1])])).unwrap();
    assert!(sparse_matrix(&npz).is_ok());
    assert!(npz.has("unused") && !npz.has("labels"));
    let error = npz.array("unused").unwrap_err().to_string();
    assert!(error.starts_with("x.npz/unused.npy, byte 10: expected numbers or text"), "{error}");
}

/// 200 MiB of zeros in 200 KiB, declared or not.
#[test]
fn rejects_archives_that_expand_too_far() {
    let path = Path::new("bomb.npz");
    let (zeros, size) = deflated_zeros(50);
    let error = Npz::parse(path, zip_of("a.npy", &zeros, size)).unwrap_err();
    assert!(matches!(error, Error::TooLarge { what: "decompressed bytes", .. }), "{error}");
    let error = Npz::parse(path, zip_of("a.npy", &zeros, 1 << 20)).unwrap().array("a").unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
}

#[test]
fn rejects_truncated_archives() {
    let good = npz(&[("a", floats(&[64], &(0..64).map(|v| v as f32).collect::<Vec<_>>()))]);
    let read = |bytes: Vec<u8>| Npz::parse(Path::new("x"), bytes)?.array("a")?.numbers();
    assert_eq!(read(good.clone()).unwrap().len(), 64);
    for length in 0..good.len() {
        assert!(read(good[..length].to_vec()).is_err(), "cut at {length}");
    }
}

proptest! {
    #[test]
    fn survives_changed_bytes(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = small("csr", &[("indptr", &[0, 2, 4]), ("indices", &[0, 1, 0, 1])]);
        for (position, value) in &changes {
            let at = position.index(bytes.len());
            bytes[at] = *value;
        }
        if let Ok(npz) = Npz::parse(Path::new("x"), bytes) {
            let _ = sparse_matrix(&npz);
        }
        let mut bytes = npy("<i4", true, &[2, 2], &[0; 16]);
        for (position, value) in changes {
            let at = position.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(array) = array(&bytes) {
            let _ = (array.numbers(), array.integers(), array.texts());
        }
    }
}
