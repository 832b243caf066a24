//! The command line of `supergat study`.

use crate::help;
use clap::{Args, Subcommand, value_parser};
use std::path::PathBuf;
use supergat::ModelKind;

/// A study.
#[derive(Debug, Subcommand)]
pub enum StudyCommand {
    /// Compare attention with the agreement of labels, for a trained model or for the paper's networks.
    LabelAgreement(LabelAgreementArgs),
    /// Hold out edges, and see how well attention predicts them as the weight of the edge losses grows.
    LinkPrediction(LinkPredictionArgs),
}

/// Arguments of `supergat study label-agreement`.
#[derive(Debug, Args)]
#[command(after_help = help::LABEL_AGREEMENT)]
pub struct LabelAgreementArgs {
    /// Run folder, or a .safetensors file from one
    #[arg(value_name = "RUN", conflicts_with = "datasets")]
    pub run: Option<PathBuf>,
    /// Instead: train the paper's networks on these datasets, separated by commas, and measure them
    #[arg(long, value_name = "NAMES", value_parser = sources)]
    pub datasets: Option<Sources>,
    /// Seeds of each network: 0, 1, ... [default: 1]
    #[arg(long, value_name = "N", conflicts_with = "run", value_parser = value_parser!(u64).range(1..=1_000_000))]
    pub seeds: Option<u64>,
    /// Folder to write, and to go on from
    #[arg(long, value_name = "DIR", default_value = "studies/label-agreement")]
    pub out: PathBuf,
    /// Threads to use; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Print everything as one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// Say nothing on standard error except errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// Arguments of `supergat study link-prediction`.
#[derive(Debug, Args)]
#[command(after_help = help::LINK_PREDICTION)]
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
    /// Threads to use; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Print everything as one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// Say nothing on standard error except errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// Datasets, as they are loaded.
#[derive(Debug, Clone, PartialEq)]
pub struct Sources(pub Vec<String>);

/// Weights of the edge losses, ascending.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights(pub Vec<f64>);

/// The self-supervised model of a form.
fn supervised(form: &str) -> Result<ModelKind, String> {
    format!("supergat-{form}").parse().map_err(|_| "expected go, dp, sd or mx".to_owned())
}

/// Splits at commas, except within the specification of a generated graph: `random-partition:classes=3,nodes=180`.
fn sources(text: &str) -> Result<Sources, String> {
    let mut sources: Vec<String> = Vec::new();
    for part in text.split(',') {
        match sources.last_mut() {
            Some(last) if last.contains(':') && part.contains('=') && !part.contains(':') => {
                last.push(',');
                last.push_str(part);
            }
            _ => sources.push(part.trim().to_owned()),
        }
    }
    if sources.iter().any(String::is_empty) {
        return Err("expected names, folders or generated graphs such as cora,citeseer".to_owned());
    }
    Ok(Sources(sources))
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
    fn generated_graphs_keep_their_commas() {
        let of = |text| sources(text).unwrap().0;
        assert_eq!(of("cora, citeseer"), ["cora", "citeseer"]);
        let generated = "random-partition:classes=3,nodes=180";
        assert_eq!(of(&format!("cora,{generated},{generated},ppi")), ["cora", generated, generated, "ppi"]);
        assert!(sources("cora,").is_err() && sources("").is_err());
    }

    #[test]
    fn forms_are_those_of_supergat() {
        assert_eq!(supervised("mx").unwrap().to_string(), "supergat-mx");
        assert!(supervised("gcn").is_err() && supervised("").is_err());
    }
}
