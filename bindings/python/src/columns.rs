//! Columns of data frames: Arrow streams (polars, pyarrow, DuckDB, pandas with pyarrow) and dictionaries of
//! numpy arrays and lists.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{
    Date32Type, Date64Type, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType, RecordBatch, RecordBatchReader};
use arrow_schema::{DataType, TimeUnit};
use numpy::{Element, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use std::ffi::CStr;
use std::sync::Arc;
use supergat::{Frame, FrameColumn, Strings, Values};

/// Largest number up to which floating-point numbers represent all whole numbers.
const EXACT: f64 = (1u64 << 53) as f64;
const STREAM: &CStr = c"arrow_array_stream";

/// Reads a frame: an object with `__arrow_c_stream__`, or a dictionary of columns.
pub fn frame(name: &str, from: &Bound<'_, PyAny>) -> PyResult<Frame> {
    let columns = match from.cast::<PyDict>() {
        Ok(columns) => from_dictionary(name, columns)?,
        Err(_) => from_arrow(name, from)?,
    };
    Frame::new(name, columns).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn from_dictionary(frame: &str, columns: &Bound<'_, PyDict>) -> PyResult<Vec<(String, FrameColumn)>> {
    let column = |(name, values): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let name: String = name.extract()?;
        let column = from_values(&values).map_err(|_| {
            let message = format!(
                "{frame}: column `{name}`: expected numbers, booleans, or strings with None where they are missing"
            );
            PyTypeError::new_err(message)
        })?;
        Ok((name, column))
    };
    columns.iter().map(column).collect()
}

fn from_values(values: &Bound<'_, PyAny>) -> PyResult<FrameColumn> {
    if let Ok((values, known)) = values.extract::<(PyReadonlyArray1<'_, i64>, PyReadonlyArray1<'_, bool>)>() {
        return Ok(FrameColumn::Integers { values: numpy(&values), known: Some(known.as_array().to_vec()) });
    }
    if let Ok((codes, words)) = values.extract::<(PyReadonlyArray1<'_, i64>, Vec<String>)>() {
        // Missing values have the code -1.
        let word = |code: &i64| usize::try_from(*code).ok().and_then(|code| words.get(code));
        return Ok(FrameColumn::Categories(codes.as_array().iter().map(word).collect()));
    }
    if let Ok(array) = values.extract::<PyReadonlyArray1<'_, f64>>() {
        return Ok(FrameColumn::Numbers(numpy(&array)));
    }
    if let Ok(array) = values.extract::<PyReadonlyArray1<'_, f32>>() {
        return Ok(FrameColumn::Float32(numpy(&array)));
    }
    if let Ok(array) = values.extract::<PyReadonlyArray1<'_, i64>>() {
        return Ok(FrameColumn::Integers { values: numpy(&array), known: None });
    }
    if let Ok(array) = values.extract::<PyReadonlyArray1<'_, bool>>() {
        return Ok(FrameColumn::Booleans { values: array.as_array().to_vec(), known: None });
    }
    let mut strings = Strings::default();
    for value in values.try_iter()? {
        strings.push(value?.extract::<Option<String>>()?.as_deref());
    }
    Ok(FrameColumn::Text(strings))
}

/// Returns the numbers of an array. Contiguous ones are shared; they must not change while the graph is built.
fn numpy<T: Element + Copy + Send + Sync + 'static>(array: &PyReadonlyArray1<'_, T>) -> Values<T> {
    match array.as_slice() {
        Ok(slice) => {
            let owner: Py<PyArray1<T>> = (**array).clone().unbind();
            Values::shared(Arc::new(SharedArray { start: slice.as_ptr(), length: slice.len(), _owner: owner }))
        }
        Err(_) => array.as_array().iter().copied().collect(),
    }
}

/// Numbers of a contiguous numpy array, which is kept alive.
struct SharedArray<T: Element> {
    start: *const T,
    length: usize,
    _owner: Py<PyArray1<T>>,
}

// SAFETY: the numbers are only read, and numpy does not move the memory of an array that others refer to.
unsafe impl<T: Element + Sync> Send for SharedArray<T> {}
// SAFETY: as above.
unsafe impl<T: Element + Sync> Sync for SharedArray<T> {}

impl<T: Element> AsRef<[T]> for SharedArray<T> {
    fn as_ref(&self) -> &[T] {
        // SAFETY: start and length are those of a slice of the array, which lives as long as its owner.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

fn from_arrow(frame: &str, from: &Bound<'_, PyAny>) -> PyResult<Vec<(String, FrameColumn)>> {
    let kind = from.get_type();
    let expected = || {
        let message = format!(
            "{frame}: expected a data frame (pandas, polars, pyarrow, DuckDB) or a dictionary of columns, found {kind}"
        );
        PyTypeError::new_err(message)
    };
    let capsule = from.call_method0("__arrow_c_stream__").map_err(|_| expected())?;
    let capsule = capsule.cast_into::<PyCapsule>().map_err(|_| expected())?;
    let pointer = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name holds a valid Arrow stream, which is moved out and marked as released.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
    let refused = |error: &dyn std::fmt::Display| PyValueError::new_err(format!("{frame}: {error}"));
    let reader = RecordBatchStreamReader::try_new(stream).map_err(|error| refused(&error))?;
    let names: Vec<String> = reader.schema().fields().iter().map(|field| field.name().clone()).collect();
    let batches = reader.collect::<Result<Vec<RecordBatch>, _>>().map_err(|error| refused(&error))?;
    let empty = || Ok(FrameColumn::Text(Strings::default()));
    let column = |(at, name): (usize, &String)| {
        let parts: Vec<&dyn Array> = batches.iter().map(|batch| &**batch.column(at)).collect();
        let column = if parts.is_empty() { empty() } else { from_parts(&parts) };
        Ok((name.clone(), column.map_err(|kind| unsupported(frame, name, &kind))?))
    };
    names.iter().enumerate().map(column).collect()
}

fn unsupported(frame: &str, column: &str, kind: &DataType) -> PyErr {
    let message = format!(
        "{frame}: column `{column}` has the type {kind}: expected numbers, booleans, strings, categories, dates or durations; convert or drop it"
    );
    PyTypeError::new_err(message)
}

/// Joins the parts of a column. Fails with a type that tables do not have.
fn from_parts(parts: &[&dyn Array]) -> Result<FrameColumn, DataType> {
    Ok(match parts[0].data_type() {
        DataType::Float64 => FrameColumn::Numbers(match shared::<Float64Type>(parts) {
            Some(values) => values,
            None => numbers::<Float64Type, f64>(parts, f64::NAN, |value| value),
        }),
        DataType::Float32 => FrameColumn::Float32(match shared::<Float32Type>(parts) {
            Some(values) => values,
            None => numbers::<Float32Type, f32>(parts, f32::NAN, |value| value),
        }),
        DataType::Float16 => FrameColumn::Numbers(numbers::<Float16Type, f64>(parts, f64::NAN, f64::from)),
        // Whole numbers beyond i64 are rounded.
        DataType::UInt64 => FrameColumn::Numbers(numbers::<UInt64Type, f64>(parts, f64::NAN, |value| value as f64)),
        DataType::Int64 => match shared::<Int64Type>(parts) {
            Some(values) => FrameColumn::Integers { values, known: None },
            None => integers::<Int64Type>(parts),
        },
        DataType::Int32 => integers::<Int32Type>(parts),
        DataType::Int16 => integers::<Int16Type>(parts),
        DataType::Int8 => integers::<Int8Type>(parts),
        DataType::UInt32 => integers::<UInt32Type>(parts),
        DataType::UInt16 => integers::<UInt16Type>(parts),
        DataType::UInt8 => integers::<UInt8Type>(parts),
        DataType::Boolean => {
            let fields = || parts.iter().flat_map(|part| part.as_boolean().iter());
            let values = fields().map(Option::unwrap_or_default).collect();
            FrameColumn::Booleans { values, known: known(parts) }
        }
        DataType::Duration(unit) => FrameColumn::Numbers(match unit {
            TimeUnit::Second => numbers::<DurationSecondType, f64>(parts, f64::NAN, |value| value as f64),
            TimeUnit::Millisecond => {
                numbers::<DurationMillisecondType, f64>(parts, f64::NAN, |value| value as f64 / 1e3)
            }
            TimeUnit::Microsecond => {
                numbers::<DurationMicrosecondType, f64>(parts, f64::NAN, |value| value as f64 / 1e6)
            }
            TimeUnit::Nanosecond => numbers::<DurationNanosecondType, f64>(parts, f64::NAN, |value| value as f64 / 1e9),
        }),
        DataType::Dictionary(..) => {
            let mut strings = Strings::default();
            for part in parts {
                push_categories(*part, &mut strings)?;
            }
            FrameColumn::Categories(strings)
        }
        DataType::Null => {
            FrameColumn::Text((0..parts.iter().map(|part| part.len()).sum()).map(|_| None::<&str>).collect())
        }
        _ => {
            let mut strings = Strings::default();
            for part in parts {
                push_strings(*part, &mut strings)?;
            }
            FrameColumn::Text(strings)
        }
    })
}

/// Shares the values of a column with one part and no missing values.
fn shared<T: ArrowPrimitiveType>(parts: &[&dyn Array]) -> Option<Values<T::Native>> {
    let [part] = parts else { return None };
    (part.null_count() == 0).then(|| Values::shared(Arc::new(part.as_primitive::<T>().values().clone())))
}

fn numbers<T: ArrowPrimitiveType, N>(parts: &[&dyn Array], missing: N, convert: fn(T::Native) -> N) -> Values<N>
where
    N: Copy,
{
    parts.iter().flat_map(|part| part.as_primitive::<T>().iter().map(|v| v.map_or(missing, convert))).collect()
}

fn integers<T: ArrowPrimitiveType<Native: Into<i64> + Default>>(parts: &[&dyn Array]) -> FrameColumn {
    let values = parts.iter().flat_map(|part| part.as_primitive::<T>().iter().map(|v| v.unwrap_or_default().into()));
    FrameColumn::Integers { values: values.collect(), known: known(parts) }
}

/// Returns which values are known, if some are not.
fn known(parts: &[&dyn Array]) -> Option<Vec<bool>> {
    let missing = parts.iter().any(|part| part.null_count() > 0);
    missing.then(|| parts.iter().flat_map(|part| (0..part.len()).map(|row| part.is_valid(row))).collect())
}

/// Adds categories as text. Those that are whole numbers are written without a decimal point, because missing values
/// turn whole numbers into floating ones in some libraries.
fn push_categories(part: &dyn Array, to: &mut Strings) -> Result<(), DataType> {
    let dictionary = part.as_any_dictionary();
    let values = match from_parts(&[&**dictionary.values()])? {
        FrameColumn::Numbers(values) if values.iter().all(|value| value.fract() == 0.0 && value.abs() < EXACT) => {
            FrameColumn::from(values.iter().map(|value| *value as i64).collect::<Vec<i64>>())
        }
        values => values,
    };
    // Without values, every key is null.
    let keys = if values.is_empty() { vec![0; part.len()] } else { dictionary.normalized_keys() };
    for (row, key) in keys.into_iter().enumerate() {
        let word = part.is_valid(row).then(|| values.text(key)).filter(|word| !word.is_empty());
        to.push(word.as_deref());
    }
    Ok(())
}

/// Adds strings or dates.
fn push_strings(part: &dyn Array, to: &mut Strings) -> Result<(), DataType> {
    match part.data_type() {
        DataType::Utf8 => part.as_string::<i32>().iter().for_each(|text| to.push(text)),
        DataType::LargeUtf8 => part.as_string::<i64>().iter().for_each(|text| to.push(text)),
        DataType::Utf8View => part.as_string_view().iter().for_each(|text| to.push(text)),
        DataType::Date32 => dates::<Date32Type>(part, to, |days| i64::from(days) * 86_400),
        DataType::Date64 => dates::<Date64Type>(part, to, |milliseconds| milliseconds.div_euclid(1000)),
        DataType::Timestamp(TimeUnit::Second, _) => dates::<TimestampSecondType>(part, to, |seconds| seconds),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            dates::<TimestampMillisecondType>(part, to, |value| value.div_euclid(1000));
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            dates::<TimestampMicrosecondType>(part, to, |value| value.div_euclid(1_000_000));
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            dates::<TimestampNanosecondType>(part, to, |value| value.div_euclid(1_000_000_000));
        }
        other => return Err(other.clone()),
    }
    Ok(())
}

/// Adds dates as text; `seconds` converts a value to seconds since 1970.
fn dates<T: ArrowPrimitiveType>(part: &dyn Array, to: &mut Strings, seconds: fn(T::Native) -> i64) {
    part.as_primitive::<T>().iter().for_each(|value| to.push(value.map(|value| date(seconds(value))).as_deref()));
}

/// Formats seconds since 1970 as a date, with the time of day unless it is midnight.
fn date(seconds: i64) -> String {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Years begin in March, so that the leap day is the last day of a year. 146097 days are 400 years.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let time = match second {
        0 => String::new(),
        _ => format!("T{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60),
    };
    format!("{year:04}-{month:02}-{day:02}{time}")
}
