//! Command line of `supergat study link-prediction`.

use super::sources::{Sources, sources};
use crate::args::SweepArgs;
use clap::{Args, value_parser};
use std::path::PathBuf;
use supergat_core::ModelKind;

const HELP: &str = "\
For each seed, 10 % of the edges are held out for testing and 5 % for validation; training uses the other 85 %. The edge probabilities of \
the last layer then score both directions of the held-out test edges and an equal number of non-edges. The result is the area under the \
ROC curve (AUC) and the average precision. The model is taken from the epoch with the best validation metric of the nodes, and its test \
metric is reported as well.

Every finished run is a line of results.jsonl, so you can stop at any time with Ctrl-C and resume with the same command.

Examples:
  supergat study link-prediction --datasets cora --forms go,dp --seeds 3
  supergat study link-prediction --datasets my-folder --lambda-e 0.1,1,10 --json

The output folder contains:
  report.html          figure and tables on one page
  link-prediction.svg  AUC and test metric against lambda_E
  table.md             DP against GO, and all results
  table.csv            all results with all digits
  results.jsonl        all runs

Exit codes: 0 success, 1 the job failed, 2 wrong usage or input, 130 interrupted.";

/// Arguments of `supergat study link-prediction`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct LinkPredictionArgs {
    /// Datasets, separated by commas: known names, folders or generated graphs
    #[arg(long, value_name = "NAMES", default_value = "cora,citeseer,pubmed", value_parser = sources)]
    pub datasets: Sources,
    /// Forms of attention, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "go,dp,sd,mx", value_parser = self_supervised)]
    pub forms: Vec<ModelKind>,
    /// Weights of the edge loss (lambda_E): powers of ten as a range, or numbers separated by commas
    #[arg(long, value_name = "LOW..HIGH", default_value = "1e-3..1e3", value_parser = weights)]
    pub lambda_e: Weights,
    /// Number of seeds per setting
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = value_parser!(u64).range(1..=1_000_000))]
    pub seeds: u64,
    /// Output folder; an interrupted study in it is resumed
    #[arg(long, value_name = "DIR", default_value = "studies/link-prediction")]
    pub out: PathBuf,
    /// Execution and output options.
    #[command(flatten)]
    pub sweep: SweepArgs,
}

/// Weights of the edge loss, in ascending order.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights(pub Vec<f64>);

/// Parses a form of attention into its self-supervised model.
fn self_supervised(form: &str) -> Result<ModelKind, String> {
    format!("supergat-{form}").parse().map_err(|_| "expected go, dp, sd or mx".to_owned())
}

/// Parses a range of powers of ten, or a comma-separated list.
fn weights(text: &str) -> Result<Weights, String> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|x| x.is_finite() && *x >= 0.0);
    let expected = || "expected powers of ten such as 1e-3..1e3, or numbers such as 0.1,1,10".to_owned();
    let mut weights: Vec<f64> = match text.split_once("..") {
        Some((low, high)) => {
            let power = |text| number(text).map(f64::log10).filter(|x| x.fract() == 0.0).map(|x| x as i32);
            let (low, high) = power(low).zip(power(high)).ok_or_else(expected)?;
            // Parsed from text, because powf would not give the nearest floating-point numbers.
            (low..=high).filter_map(|power| number(&format!("1e{power}"))).collect()
        }
        None => text.split(',').map(number).collect::<Option<_>>().ok_or_else(expected)?,
    };
    weights.sort_by(f64::total_cmp);
    weights.dedup();
    if weights.is_empty() { Err(expected()) } else { Ok(Weights(weights)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_weights_as_ranges_or_lists() {
        assert_eq!(weights("1e-3..1e1").unwrap().0, [0.001, 0.01, 0.1, 1.0, 10.0]);
        assert_eq!(weights("5, 0.5,5").unwrap().0, [0.5, 5.0]);
        assert_eq!(weights("1..1").unwrap().0, [1.0]);
        for wrong in ["", "1e3..1e-3", "2..10", "a..b", "1,x", "-1", "nan", "0..1", "1..inf"] {
            assert!(weights(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn parses_forms_of_attention() {
        assert_eq!(self_supervised("mx").unwrap().to_string(), "supergat-mx");
        assert!(self_supervised("gcn").is_err() && self_supervised("").is_err());
    }
}
