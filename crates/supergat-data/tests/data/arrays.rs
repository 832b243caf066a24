//! Writes files in the formats of numpy, scipy, zip and gzip.

use std::io::Write;

/// Returns an array as the bytes of a `.npy` file.
pub fn npy(descr: &str, fortran: bool, shape: &[usize], data: &[u8]) -> Vec<u8> {
    let shape: String = shape.iter().map(|length| format!("{length}, ")).collect();
    let order = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({}), }}\n", shape.trim_end());
    with_header(&header, data)
}

/// Returns a `.npy` file with a given header.
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

/// Returns a deflated zip archive.
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

/// Returns a `.npz` file of named arrays.
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

/// Returns zeros in `chunks` deflated chunks of 4 MiB, and their size. Only one chunk is compressed and then
/// repeated.
pub fn deflated_zeros(chunks: usize) -> (Vec<u8>, u32) {
    const CHUNK: usize = 4 << 20;
    let mut encoder = flate2::Compress::new(flate2::Compression::default(), false);
    let mut chunk = Vec::with_capacity(1 << 16);
    encoder.compress_vec(&vec![0; CHUNK], &mut chunk, flate2::FlushCompress::Full).unwrap();
    assert_eq!(encoder.total_in(), CHUNK as u64);
    let mut bytes = chunk.repeat(chunks);
    // An empty last block.
    bytes.extend([3, 0]);
    (bytes, (chunks * CHUNK) as u32)
}

/// Returns a gzip file of deflated data, with a wrong checksum and size.
pub fn gzip_of(deflated: &[u8]) -> Vec<u8> {
    [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255][..], deflated, &[0; 8]].concat()
}

/// Returns a zip archive of one member of deflated data that declares a size, with a wrong checksum.
pub fn zip_of(name: &str, deflated: &[u8], declared: u32) -> Vec<u8> {
    let mut member = vec![20, 0, 0, 0, 8, 0, 0, 0, 0, 0, 1, 2, 3, 4];
    member.extend((deflated.len() as u32).to_le_bytes());
    member.extend(declared.to_le_bytes());
    member.extend((name.len() as u16).to_le_bytes());
    member.extend([0, 0]);
    let local = [b"PK\x03\x04", &member[..], name.as_bytes(), deflated].concat();
    let directory = [b"PK\x01\x02\x14\x00", &member[..], &[0; 14], name.as_bytes()].concat();
    let mut end = b"PK\x05\x06\0\0\0\0\x01\0\x01\0".to_vec();
    end.extend((directory.len() as u32).to_le_bytes());
    end.extend((local.len() as u32).to_le_bytes());
    end.extend([0, 0]);
    [local, directory, end].concat()
}
