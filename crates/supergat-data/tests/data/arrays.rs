//! Writes the files that numpy and scipy write.

use std::io::Write;

/// An array as the bytes of a `.npy` file.
pub fn npy(descr: &str, fortran: bool, shape: &[usize], data: &[u8]) -> Vec<u8> {
    let shape: String = shape.iter().map(|length| format!("{length}, ")).collect();
    let order = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({}), }}\n", shape.trim_end());
    with_header(&header, data)
}

/// A `.npy` file with any header.
pub fn with_header(header: &str, data: &[u8]) -> Vec<u8> {
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
}

pub fn floats(shape: &[usize], values: &[f32]) -> Vec<u8> {
    npy("<f4", false, shape, &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}

pub fn ints(values: &[i32]) -> Vec<u8> {
    npy("<i4", false, &[values.len()], &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}

pub fn longs(shape: &[usize], values: &[i64]) -> Vec<u8> {
    npy("<i8", false, shape, &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}

/// A zip archive, deflated.
pub fn zip(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut output = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut output);
    for (name, bytes) in members {
        let method = rawzip::CompressionMethod::DEFLATE;
        let (mut entry, config) = archive.new_file(name).compression_method(method).start().unwrap();
        let encoder = flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::default());
        let mut writer = config.wrap(encoder);
        writer.write_all(bytes).unwrap();
        let (encoder, descriptor) = writer.finish().unwrap();
        encoder.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    output
}

/// A `.npz` file of arrays by name.
pub fn npz(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let named: Vec<(String, Vec<u8>)> =
        arrays.iter().map(|(name, bytes)| (format!("{name}.npy"), bytes.clone())).collect();
    zip(&named.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect::<Vec<_>>())
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
