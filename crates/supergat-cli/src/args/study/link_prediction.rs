//! The command line of `supergat study link-prediction`.

use super::sources::{Sources, sources};
use crate::args::SweepArgs;
use clap::{Args, value_parser};
use std::path::PathBuf;
use supergat_core::ModelKind;

const HELP: &str = "\
Of the edges 10 % are held out to be predicted and 5 % for validation, anew for each seed; training sees the other 85 % only. The edge probability of \
the last layer then scores both directions of the held-out edges and as many pairs without an edge: AUC and average precision. The model is that of the \
best validation metric of the nodes, whose test metric is shown beside it.

Every finished run is a line of results.jsonl in the output folder: stop with Ctrl-C whenever you like, and the same command goes on.

Examples:
  supergat study link-prediction --datasets cora --forms go,dp --seeds 3
  supergat study link-prediction --datasets my-folder --lambda-e 0.1,1,10 --json

The folder: link-prediction.svg, table.md, table.csv, report.html, results.jsonl.";

/// Arguments of `supergat study link-prediction`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct LinkPredictionArgs {
    /// Datasets, separated by commas: known names, folders or generated graphs
    #[arg(long, value_name = "NAMES", default_value = "cora,citeseer,pubmed", value_parser = sources)]
    pub datasets: Sources,
    /// Forms of attention, separated by commas: go, dp, sd, mx
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "go,dp,sd,mx", value_parser = supervised)]
    pub forms: Vec<ModelKind>,
    /// Weights of the edge losses: all powers of ten from one to another, or a list separated by commas
    #[arg(long, value_name = "LOW..HIGH", default_value = "1e-3..1e3", value_parser = weights)]
    pub lambda_e: Weights,
    /// Seeds behind each point: 0, 1, ...
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = value_parser!(u64).range(1..=1_000_000))]
    pub seeds: u64,
    /// Folder to write, and to go on from
    #[arg(long, value_name = "DIR", default_value = "studies/link-prediction")]
    pub out: PathBuf,
    /// How runs are made and told of.
    #[command(flatten)]
    pub sweep: SweepArgs,
}

/// Weights of the edge losses, ascending.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights(pub Vec<f64>);

/// The self-supervised model of a form.
fn supervised(form: &str) -> Result<ModelKind, String> {
    format!("supergat-{form}").parse().map_err(|_| "expected go, dp, sd or mx".to_owned())
}

fn weights(text: &str) -> Result<Weights, String> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|x| x.is_finite() && *x >= 0.0);
    let refused = || "expected powers of ten such as 1e-3..1e3, or numbers such as 0.1,1,10".to_owned();
    let mut weights: Vec<f64> = match text.split_once("..") {
        Some((low, high)) => {
            let power = |text| number(text).map(f64::log10).filter(|x| x.fract() == 0.0).map(|x| x as i32);
            let (low, high) = power(low).zip(power(high)).ok_or_else(refused)?;
            // As they are read from text, which no product of tens is.
            (low..=high).filter_map(|power| number(&format!("1e{power}"))).collect()
        }
        None => text.split(',').map(number).collect::<Option<_>>().ok_or_else(refused)?,
    };
    weights.sort_by(f64::total_cmp);
    weights.dedup();
    if weights.is_empty() { Err(refused()) } else { Ok(Weights(weights)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_powers_or_lists() {
        assert_eq!(weights("1e-3..1e1").unwrap().0, [0.001, 0.01, 0.1, 1.0, 10.0]);
        assert_eq!(weights("5, 0.5,5").unwrap().0, [0.5, 5.0]);
        assert_eq!(weights("1..1").unwrap().0, [1.0]);
        for wrong in ["", "1e3..1e-3", "2..10", "a..b", "1,x", "-1", "nan", "0..1", "1..inf"] {
            assert!(weights(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn forms_are_those_of_supergat() {
        assert_eq!(supervised("mx").unwrap().to_string(), "supergat-mx");
        assert!(supervised("gcn").is_err() && supervised("").is_err());
    }
}
