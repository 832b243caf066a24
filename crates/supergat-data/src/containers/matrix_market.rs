//! Matrix Market files (`.mtx`) as text of a table of links.

use crate::error::{Error, Result};
use crate::files::decompress;
use crate::words::{count, shown};
use std::path::Path;

/// Returns whether a file is a Matrix Market file, compressed or not.
pub(crate) fn is_matrix(path: &Path) -> bool {
    let compressed = path.extension().is_some_and(|ending| decompress::ENDINGS.iter().any(|known| ending == *known));
    let plain = if compressed { path.with_extension("") } else { path.to_owned() };
    plain.extension().is_some_and(|ending| ending == "mtx")
}

/// Returns the text of a file as that of a table of links, with the same lines: the line with the sizes names
/// the columns. `directed` is refused for symmetric matrices.
pub fn as_table(path: &Path, text: &str, directed: bool) -> Result<String> {
    let error = |line: usize, expected: &str, found: &str| Error::text(path, line, expected, shown(found));
    let mut lines = text.lines().zip(1..);
    let banner = lines.next().map_or("", |(line, _)| line).to_lowercase();
    let words: Vec<&str> = banner.split_whitespace().collect();
    let (header, symmetric) = match words[..] {
        ["%%matrixmarket", "matrix", "coordinate", field @ ("pattern" | "integer" | "real"), symmetry] => {
            let header = if field == "pattern" { "source target" } else { "source target weight" };
            (header, Some(symmetry).filter(|symmetry| ["general", "symmetric"].contains(symmetry)))
        }
        _ => ("", None),
    };
    let Some(symmetry) = symmetric else {
        let expected = "%%MatrixMarket matrix coordinate, then pattern, integer or real, then general or symmetric";
        return Err(error(1, expected, &banner));
    };
    if directed && symmetry == "symmetric" {
        return Err(error(1, "a general matrix, since parameter `directed` was given", "symmetric"));
    }
    let content = |line: &str| !line.trim().is_empty() && !line.starts_with('%');
    let sizes = "the number of rows, the same number of columns, and the number of entries";
    let Some((size, number)) = lines.by_ref().find(|(line, _)| content(line)) else {
        return Err(error(text.lines().count(), sizes, "the end of the file"));
    };
    let numbers: Vec<u64> = size.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let entries = match numbers[..] {
        [rows, columns, entries] if rows == columns => entries,
        _ => return Err(error(number, sizes, size)),
    };
    let found = lines.filter(|(line, _)| content(line)).count() as u64;
    if found != entries {
        let expected = format!("{} below it", count(entries as usize, "entry"));
        return Err(error(number, &expected, &count(found as usize, "entry")));
    }
    // Both are parts of the same text.
    let start = size.as_ptr() as usize - text.as_ptr() as usize;
    Ok([&text[..start], header, &text[start + size.len()..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Result<String> {
        as_table(Path::new("g.mtx"), text, false)
    }

    #[test]
    fn names_the_columns() {
        let text = "%%MatrixMarket matrix coordinate pattern symmetric\n% sizes\n\n3 3 2\n2 1\n% more\n3 1\n";
        assert_eq!(table(text).unwrap(), text.replace("3 3 2", "source target"));
        let text = "%%matrixmarket MATRIX coordinate real general\r\n2 2 1\r\n2 1 0.5\r\n";
        assert_eq!(table(text).unwrap(), text.replace("2 2 1", "source target weight"));
        assert!(as_table(Path::new("g.mtx"), text, true).is_ok());
    }

    #[test]
    fn rejects_other_matrices_and_wrong_sizes() {
        let banner = "%%MatrixMarket matrix coordinate pattern symmetric\n";
        for (text, part) in [
            ("1 2\n".to_owned(), "line 1: expected %%MatrixMarket matrix coordinate"),
            (String::new(), "line 1: expected %%MatrixMarket"),
            ("%%MatrixMarket matrix array real general\n".to_owned(), "line 1: "),
            ("%%MatrixMarket matrix coordinate complex general\n".to_owned(), "line 1: "),
            ("%%MatrixMarket matrix coordinate real hermitian\n".to_owned(), "line 1: "),
            (banner.to_owned(), "expected the number of rows"),
            (format!("{banner}3 2 1\n1 1\n"), "line 2: expected the number of rows, the same number of columns"),
            (format!("{banner}3 3 2\n1 1\n"), "line 2: expected 2 entries below it, found `1 entry`"),
        ] {
            let error = table(&text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let error = as_table(Path::new("g.mtx"), &format!("{banner}1 1 0\n"), true).unwrap_err().to_string();
        assert!(error.contains("expected a general matrix, since parameter `directed` was given"), "{error}");
    }
}
