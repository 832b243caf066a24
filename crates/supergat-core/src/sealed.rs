//! Checksums of safetensors files: an entry of the metadata over the tensors and everything else in the header.

use crate::hash::Fnv;
use serde_json::Value;

/// Key of the checksum in the metadata.
pub const CHECKSUM: &str = "checksum";
/// Error message for a file whose checksum differs.
pub const DAMAGED: &str = "it is damaged: its checksum is wrong";

/// Splits a file into the header, as JSON, and the data of the tensors.
pub fn split(bytes: &[u8]) -> Option<(Value, &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (header, data) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    Some((serde_json::from_slice(header).ok()?, data))
}

/// Returns the file of a header and of `length` bytes of data that `fill` appends. It contains the checksum of both.
/// Entries of the header are sorted, so equal contents give equal files.
pub fn sealed(mut header: Value, length: usize, fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    header["__metadata__"][CHECKSUM] = "".into();
    let unsealed = header.to_string();
    let mut text = |checksum: String| {
        header["__metadata__"][CHECKSUM] = checksum.into();
        let mut text = header.to_string().into_bytes();
        text.resize(text.len().next_multiple_of(8), b' ');
        text
    };
    // All checksums have the same length.
    let place = text(Fnv::default().digits());
    let start = size_of::<u64>() + place.len();
    let mut file = Vec::with_capacity(start + length);
    file.extend((place.len() as u64).to_le_bytes());
    file.extend(place);
    fill(&mut file);
    let checksum = checksum(&unsealed, &file[start..]);
    file[size_of::<u64>()..start].copy_from_slice(&text(checksum));
    file
}

/// Returns whether the checksum of a file is right. In fuzzers it always is, so that they get past it.
pub fn is_sealed(bytes: &[u8]) -> bool {
    let Some((mut header, data)) = split(bytes) else { return false };
    let Some(found) = header.get_mut("__metadata__").and_then(|metadata| metadata.get_mut(CHECKSUM)) else {
        return false;
    };
    let found = std::mem::replace(found, "".into());
    cfg!(fuzzing) || found == checksum(&header.to_string(), data).as_str()
}

/// Returns the checksum of a header, whose entries are sorted and whose checksum is empty, and of the data.
fn checksum(header: &str, data: &[u8]) -> String {
    let mut hash = Fnv::default();
    hash.add(header.as_bytes());
    hash.add(data);
    hash.digits()
}
