//! Numbers of a column: owned, or shared with the library that made the frame.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Numbers of a column. Shared numbers are not copied.
///
/// ```
/// use std::sync::Arc;
/// use supergat_data::frames::Values;
/// let owned = Values::from(vec![1i64, 2]);
/// let shared = Values::shared(Arc::new([1i64, 2]));
/// assert_eq!(owned, shared);
/// assert_eq!(shared.len(), 2);
/// ```
#[derive(Clone)]
pub struct Values<T>(Storage<T>);

#[derive(Clone)]
enum Storage<T> {
    Owned(Vec<T>),
    Shared(Arc<dyn AsRef<[T]> + Send + Sync>),
}

impl<T> Values<T> {
    /// Uses numbers of another owner, which must not change.
    pub fn shared(values: Arc<dyn AsRef<[T]> + Send + Sync>) -> Self {
        Self(Storage::Shared(values))
    }
}

impl<T> Deref for Values<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Storage::Owned(values) => values,
            Storage::Shared(values) => (**values).as_ref(),
        }
    }
}

impl<T> From<Vec<T>> for Values<T> {
    fn from(values: Vec<T>) -> Self {
        Self(Storage::Owned(values))
    }
}

impl<T> FromIterator<T> for Values<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Vec::from_iter(values).into()
    }
}

impl<T: PartialEq> PartialEq for Values<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: fmt::Debug> fmt::Debug for Values<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}
