//! Published datasets that several tests use, each loaded once.

use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};
use supergat_data::{Dataset, KNOWN};
use supergat_train::GraphStatistics;

/// A published dataset and its statistics.
pub struct Published {
    pub dataset: Dataset,
    pub statistics: GraphStatistics,
}

/// One cell for each of [`KNOWN`]; `None` if there is no data folder.
static PUBLISHED: LazyLock<Vec<OnceLock<Option<Published>>>> =
    LazyLock::new(|| KNOWN.iter().map(|_| OnceLock::new()).collect());

/// Returns the folder of a dataset, if it exists.
pub fn folder(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("SUPERGAT_TEST_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    Some(root.join(name)).filter(|folder| folder.is_dir())
}

/// Returns a dataset of [`KNOWN`], loaded by the first test that needs it; `None` if it has no data folder.
pub fn published(name: &str) -> Option<&'static Published> {
    let index = KNOWN.iter().position(|known| *known == name).expect("a known name");
    let load = || {
        let Some(folder) = folder(name) else {
            println!("skipped: no data folder of {name}");
            return None;
        };
        let dataset = supergat_data::load(folder.to_str().expect("a plain path")).unwrap();
        let statistics = GraphStatistics::of(&dataset);
        Some(Published { dataset, statistics })
    };
    PUBLISHED[index].get_or_init(load).as_ref()
}
