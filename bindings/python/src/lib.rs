//! The extension module `supergat._supergat`: arrays and frames of Python in, arrays and JSON out. The Python
//! files beside it are the public package.

mod columns;
mod errors;
mod graph;
mod model;
mod options;
mod studies;

use pyo3::prelude::*;

#[pymodule]
mod _supergat {
    #[pymodule_export]
    use crate::graph::Graph;
    #[pymodule_export]
    use crate::model::{Model, devices, hyperparameters, model_names, train};
    #[pymodule_export]
    use crate::studies::{compare, datasets, recommend_within_minutes, recommend_within_seconds, tune};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
