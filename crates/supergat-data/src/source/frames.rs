//! Datasets from data frames in memory.

use super::draw_split;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::frames::Frame;
use crate::options::LoadOptions;
use crate::tables;

/// Makes a dataset from a frame of nodes and a frame of links, as [`crate::load_with`] does from a folder with
/// `nodes.csv` and `edges.csv`.
///
/// The split, the computed features, the order of nodes and the table options apply; the delimiter does not. The
/// cache stores orders of nodes only. The name of the dataset is `frames`. The frames are dropped as soon as they are not needed any more.
///
/// ```
/// use supergat_data::{LoadOptions, read_frames};
/// use supergat_data::frames::{Frame, FrameColumn, Strings};
/// let words: Strings = ["a", "b", "a", "b"].into_iter().map(Some).collect();
/// let nodes = Frame::new("nodes", [
///     ("id", FrameColumn::from(vec![10i64, 20, 30, 40])),
///     ("label", words.into()),
///     ("age", vec![3.5, f64::NAN, 1.5, 0.5].into()),
/// ])?;
/// let edges = Frame::new("edges", [("source", FrameColumn::from(vec![10i64, 20])), ("target", vec![20i64, 30].into())])?;
/// let dataset = read_frames(nodes, edges, &LoadOptions::default())?;
/// // The second feature marks the missing age.
/// assert_eq!((dataset.nodes(), dataset.classes(), dataset.features()), (4, 2, 2));
/// assert_eq!(dataset.node_id(0, 2), "30");
/// # Ok::<(), supergat_data::Error>(())
/// ```
pub fn read_frames(nodes: Frame, edges: Frame, options: &LoadOptions) -> Result<Dataset> {
    let mut options = options.clone();
    options.tables.given_features = options.features.given();
    let mut dataset = tables::load_frames(nodes, edges, &options)?;
    draw_split(tables::FRAMES, &options, &mut dataset)?;
    options.features.apply(tables::FRAMES, &mut dataset)?;
    dataset.order_nodes(&options);
    Ok(dataset)
}
