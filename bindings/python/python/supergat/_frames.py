"""Columns of given frames, and new frames for results."""

from __future__ import annotations

import datetime
import importlib
import importlib.util
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Libraries of frames. Results are frames of the first one that is installed, unless frames were given.
LIBRARIES = ("pandas", "polars", "pyarrow")
#: Unit of durations as numbers.
SECOND = np.timedelta64(1, "s")
#: Rows of strided columns that are copied at once.
BLOCK = 8192


def package_of(frame: Any) -> str | None:
    """Return the name of the library of a frame, if results can be made in it."""
    root = type(frame).__module__.split(".")[0]
    return root if root in LIBRARIES else None


def new_frame(columns: Mapping[str, Any], library: str | None) -> Any:
    """Make a frame of a library; without one, of the first that is installed, else a dictionary of arrays."""
    if library is None:
        library = next((name for name in LIBRARIES if importlib.util.find_spec(name)), None)
    if library is None:
        return dict(columns)
    module = importlib.import_module(library)
    if library == "pyarrow":
        return module.table({name: plain(values) for name, values in columns.items()})
    return module.DataFrame({name: plain(values) for name, values in columns.items()})


def plain(values: Any) -> Any:
    """Return strings as a list, because not every library takes arrays of objects."""
    array = np.asarray(values)
    return array.tolist() if array.dtype == object else array


def columns_of(frame: Any, name: str) -> Any:
    """Return a frame in a form that the extension reads: an Arrow stream, or a dictionary of columns.

    Columns of pandas are read one by one: its Arrow stream needs pyarrow, and copies numbers to look for NaN. A
    named index of pandas is a column.
    """
    if isinstance(frame, Mapping):
        return {str(key): named_column(values, name, str(key)) for key, values in frame.items()}
    if package_of(frame) == "polars" and hasattr(type(frame), "lazy"):
        import polars as pl

        # Columns of nothing but missing values have no type, and the Arrow stream of such columns is refused.
        return frame.lazy().with_columns(pl.col(pl.Null).cast(pl.String)).collect()
    if package_of(frame) == "pandas":
        if getattr(frame.index, "name", None) is not None:
            frame = frame.reset_index()
        elif name == "nodes" and is_text(frame.index.dtype) and "id" not in frame.columns:
            frame = frame.reset_index(names="id")
        repeated = frame.columns[frame.columns.duplicated()]
        if len(repeated):
            raise ValueError(f"{name}: expected distinct names of columns, found `{repeated[0]}` again")
        return pandas_columns({str(key): frame[key] for key in frame.columns})
    if not hasattr(frame, "__arrow_c_stream__") and hasattr(frame, "arrow"):  # a DuckDB relation
        frame = frame.arrow()
    if not hasattr(frame, "__arrow_c_stream__"):
        raise TypeError(
            f"{name}: expected a data frame (pandas, polars, pyarrow, DuckDB) or a dictionary of columns, "
            f"found {type(frame).__name__}"
        )
    return frame


def is_text(dtype: Any) -> bool:
    """Return whether a type of pandas is that of strings."""
    return dtype == object or str(dtype) in ("str", "string")


def pandas_columns(columns: dict[str, Any]) -> dict[str, Any]:
    """Return columns of pandas: arrays, whole numbers with marks of the known ones, categories, or strings and None."""
    numbers = {
        name: series.to_numpy()
        for name, series in columns.items()
        if series.dtype.kind in "fiub" and isinstance(series.dtype, np.dtype)
    }
    numbers = contiguous(numbers)
    return {
        name: whole_where_missing(column(numbers[name])) if name in numbers else pandas_column(series)
        for name, series in columns.items()
    }


def contiguous(arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return arrays of equal length, the strided ones copied.

    pandas stores the columns of a matrix side by side. They are copied by blocks of rows, because each cache line
    contains values of several columns.
    """
    strided = {name: array for name, array in arrays.items() if not array.flags.c_contiguous}
    copies = {name: np.empty(array.shape, array.dtype) for name, array in strided.items()}
    rows = max((len(array) for array in strided.values()), default=0)
    for start in range(0, rows, BLOCK):
        for name, array in strided.items():
            copies[name][start : start + BLOCK] = array[start : start + BLOCK]
    return arrays | copies


def whole_where_missing(array: NDArray[Any]) -> Any:
    """Return whole numbers with marks of the known ones, if that is what floating numbers with NaN mean.

    pandas turns whole numbers into floating ones if some are missing.
    """
    # The minimum is NaN if any number is.
    if array.dtype.kind != "f" or array.size == 0 or not np.isnan(array.min()):
        return array
    known = ~np.isnan(array)
    return (np.where(known, array, 0).astype(np.int64), known) if is_whole(array[known]) else array


def pandas_column(series: Any) -> Any:
    """Return a column of pandas that is no array of numbers."""
    if is_categorical(series.dtype):
        return categories(series.astype(object).where(series.notna(), None).tolist())
    if hasattr(series, "cat"):
        return series.cat.codes.to_numpy(dtype=np.int64), category_words(series.cat.categories)
    kind = series.dtype.kind
    if kind == "m":
        return column(series.to_numpy(dtype="timedelta64[ns]" if not isinstance(series.dtype, np.dtype) else None))
    missing = series.isna().to_numpy()
    if kind == "i" and not isinstance(series.dtype, np.dtype):
        return series.to_numpy(dtype=np.int64, na_value=0), ~missing
    if str(series.dtype).startswith("datetime64"):
        series = series.dt.tz_convert("UTC") if series.dt.tz is not None else series
        series = series.dt.strftime("%Y-%m-%dT%H:%M:%S")
    return [None if gone else word(value) for value, gone in zip(series.tolist(), missing)]


def is_categorical(dtype: Any) -> bool:
    """Return whether a type of polars or pyarrow is that of categories."""
    return str(dtype).startswith(("Categorical", "Enum", "dictionary<"))


def categories(values: list[Any]) -> tuple[NDArray[np.int64], list[str]]:
    """Return the category of every value as a number, -1 where it is missing, and the words of the categories."""
    words = {value: at for at, value in enumerate(dict.fromkeys(value for value in values if value is not None))}
    return np.array([words.get(value, -1) for value in values], dtype=np.int64), [word(value) for value in words]


def category_words(categories: Any) -> list[str]:
    """Return categories of pandas as words, whole numbers without a decimal point.

    Missing values turn whole numbers into floating ones before they become categories.
    """
    if categories.dtype.kind == "f" and is_whole(categories.to_numpy(dtype=np.float64)):
        categories = categories.astype(np.int64)
    return [word(value) for value in categories.tolist()]


def is_whole(values: NDArray[Any]) -> bool:
    """Return whether there are numbers, and all are whole."""
    return values.size > 0 and bool((np.abs(values) < 2**53).all() and (values == np.floor(values)).all())


def word(value: Any) -> str:
    """Return a value as a word of a table; booleans as the extension writes them, durations in seconds."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (datetime.timedelta, np.timedelta64)):
        return str(float(np.timedelta64(value) / SECOND))
    return str(value).lower() if isinstance(value, (bool, np.bool_)) else str(value)


def named_column(values: Any, frame: str, name: str) -> Any:
    """Return a column as :func:`column` does; errors name it."""
    if package_of(values) == "pandas" and not isinstance(values.dtype, np.dtype):
        return pandas_column(importlib.import_module("pandas").Series(values))
    if is_categorical(getattr(values, "dtype", getattr(values, "type", ""))):
        return categories(values.to_pylist() if hasattr(values, "to_pylist") else values.to_list())
    try:
        return column(values)
    except ValueError as error:
        raise ValueError(f"{frame}: column `{name}`: expected one value per row, found {type(values).__name__}") from error


def column(values: Any) -> Any:
    """Return a column as an array of a type that the extension reads, or as a list of strings and None."""
    array = values if isinstance(values, np.ndarray) else np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"a column must have one dimension, found {array.ndim}")
    if array.dtype == np.float32 or array.dtype == np.float64 or array.dtype == np.bool_:
        return np.ascontiguousarray(array)
    if array.dtype.kind in "iu" and array.dtype != np.uint64:
        return np.ascontiguousarray(array, dtype=np.int64)
    if array.dtype.kind in "fu":
        return np.ascontiguousarray(array, dtype=np.float64)
    if array.dtype.kind == "m":
        return array / SECOND
    if array.dtype.kind == "M":
        return [None if np.isnat(value) else str(value.astype("datetime64[s]")) for value in array]
    # Mixed lists are read from the values themselves, because arrays turn them into text.
    listed = array.tolist() if isinstance(values, np.ndarray) or array.dtype == object else list(values)
    return [None if value is None or value != value else word(value) for value in listed]
