//! Rows of a Parquet file, converted to text like those of other tables.

use super::location::Location;
use super::row::Row;
use crate::error::{Error, Result};
use csv::StringRecord;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A Parquet file whose rows can be read repeatedly.
pub(in crate::tables) struct Parquet {
    pub path: PathBuf,
    reader: SerializedFileReader<File>,
}

impl std::fmt::Debug for Parquet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parquet").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Parquet {
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
        let reader = SerializedFileReader::new(file).map_err(|error| invalid(path, 0, &error))?;
        Ok(Self { path: path.to_owned(), reader })
    }

    /// Returns the names of the columns. Lists and records are rejected.
    pub fn columns(&self) -> Result<Vec<String>> {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        schema
            .root_schema()
            .get_fields()
            .iter()
            .map(|field| {
                if field.is_primitive() {
                    return Ok(field.name().to_owned());
                }
                let location = Location { column: field.name(), ..Location::file(&self.path) };
                Err(location.error("numbers or texts", "lists or records", "write a column for each of their parts"))
            })
            .collect()
    }

    /// Calls `visit` with the number, counted from 1, and the fields of each row.
    pub fn for_each(&self, visit: &mut dyn FnMut(u64, Row<'_>) -> Result<()>) -> Result<()> {
        let rows = self.reader.get_row_iter(None).map_err(|error| invalid(&self.path, 0, &error))?;
        for (number, row) in (1..).zip(rows) {
            let row = row.map_err(|error| invalid(&self.path, number, &error))?;
            let record: StringRecord = row.get_column_iter().map(|(_, field)| text(field)).collect();
            visit(number, Row::Record(&record))?;
        }
        Ok(())
    }
}

/// Builds an error for an invalid file.
fn invalid(path: &Path, line: u64, error: &parquet::errors::ParquetError) -> Error {
    let found = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    Location::line(path, line).error("a Parquet file", format!("`{found}`"), "write it again, or save the table as CSV")
}

/// Converts a field to text. Numbers are written so that parsing restores them exactly.
fn text(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::Bool(value) => value.to_string(),
        Field::Byte(value) => value.to_string(),
        Field::Short(value) => value.to_string(),
        Field::Int(value) => value.to_string(),
        Field::Long(value) => value.to_string(),
        Field::UByte(value) => value.to_string(),
        Field::UShort(value) => value.to_string(),
        Field::UInt(value) => value.to_string(),
        Field::ULong(value) => value.to_string(),
        Field::Float(value) => format!("{value:?}"),
        Field::Double(value) => format!("{value:?}"),
        Field::Str(value) => value.clone(),
        Field::Bytes(value) => String::from_utf8_lossy(value.data()).into_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::TableOptions;
    use crate::tables::read;
    use parquet::data_type::{ByteArray, ByteArrayType, FloatType};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    use std::sync::Arc;

    fn write(path: &Path) {
        let schema = "message nodes { required binary id (UTF8); required binary label (UTF8); required float age; }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let mut writer = SerializedFileWriter::new(File::create(path).unwrap(), schema, Arc::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        for words in [["a", "b", "c", "d"], ["x", "y", "x", "y"]] {
            let values: Vec<ByteArray> = words.iter().map(|word| ByteArray::from(*word)).collect();
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
            column.close().unwrap();
        }
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<FloatType>().write_batch(&[0.1, 2.0, 3.5, 1e-8], None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
    }

    #[test]
    fn reads_columns_exactly_and_rejects_truncated_file() {
        let folder = tempfile::tempdir().unwrap();
        let nodes = folder.path().join("nodes.parquet");
        write(&nodes);
        std::fs::write(folder.path().join("edges.csv"), "a b\nc d\n").unwrap();
        let dataset = read(folder.path(), &TableOptions::default()).unwrap();
        assert_eq!(dataset.examples[0].features.values(), [0.1, 2.0, 3.5, 1e-8]);
        assert_eq!((dataset.class_names.join(" "), dataset.node_id(0, 3)), ("x y".to_owned(), "d".into()));
        let bytes = std::fs::read(&nodes).unwrap();
        for length in [0, 4, bytes.len() / 2, bytes.len() - 1] {
            std::fs::write(&nodes, &bytes[..length]).unwrap();
            assert!(read(folder.path(), &TableOptions::default()).is_err(), "cut at {length}");
        }
    }
}
