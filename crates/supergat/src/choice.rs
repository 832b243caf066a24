//! Model and settings of a training, and where they come from.

use supergat_select::recommend::quick::QuickAnswer;
use supergat_train::Settings;

/// Settings of a training and where they come from, as [`crate::ClassifierBuilder::choose`] returns them.
///
/// ```
/// let dataset = supergat::load("random-partition:classes=2,nodes=170,degree=4")?;
/// let choice = supergat::Classifier::builder().model("gat-go").lambda_e(2.0).lr(0.1).choose(&dataset)?;
/// assert_eq!(choice.settings.training.lr, 0.1);
/// assert_eq!(choice.unused, ["lambda_e"]); // gat-go has no edge loss.
/// # Ok::<(), supergat::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Choice {
    /// Model and hyperparameters.
    pub settings: Settings,
    /// Whether the paper publishes hyperparameters for this dataset and model; otherwise general defaults are the base.
    pub published: bool,
    /// Recommendation that named the model, if it was chosen automatically.
    pub recommendation: Option<QuickAnswer>,
    /// Hyperparameters that were given but that the model does not read.
    pub unused: Vec<&'static str>,
}
