//! Output folder of a search: the results file that it resumes from, and the files that it writes at the end.

use super::picture;
use super::progress::{short, values};
use crate::config::Resolved;
use crate::error::{CliError, Result};
use crate::files;
use crate::output::{self, BOLD, SCHEMA, count};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use supergat_select::sweep::ResultsFile;
use supergat_select::tune::{Choice, Space, Trial, Tuned};

const RESULTS: &str = "results.jsonl";
const BEST: &str = "best.toml";
const HISTORY: &str = "history.csv";
const PICTURE: &str = "search.svg";

/// Output folder of a search.
#[derive(Debug)]
pub struct TuneFolder {
    path: PathBuf,
    results: ResultsFile,
    metric: &'static str,
    space: Space,
    pruning: bool,
}

/// Result of a search: the object that `--json` prints, also formatted as a table.
#[derive(Debug, Serialize)]
pub struct TuneSummary {
    schema: u32,
    dataset: String,
    model: String,
    metric: &'static str,
    trials: usize,
    hopeless: usize,
    /// Number of trials stopped in the middle of their first run; `None` without pruning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pruned: Option<usize>,
    /// Mean validation metric of the initial settings.
    start: Option<f64>,
    best: Option<BestTrial>,
    interrupted: bool,
    folder: String,
}

#[derive(Debug, Serialize)]
struct BestTrial {
    trial: usize,
    /// Mean validation metric.
    validation: f64,
    /// Number of seeds of the mean.
    seeds: usize,
    values: BTreeMap<&'static str, serde_json::Value>,
    #[serde(skip)]
    words: String,
}

impl TuneFolder {
    /// Opens a folder; creates it if it is missing.
    pub fn open(path: PathBuf, metric: &'static str, space: &Space, pruning: bool) -> Result<Self> {
        std::fs::create_dir_all(&path).map_err(|error| CliError::cannot_write(&path, error))?;
        let results = ResultsFile::open(&path.join(RESULTS))?;
        Ok(Self { path, results, metric, space: space.clone(), pruning })
    }

    /// Returns the results file.
    pub fn results(&mut self) -> &mut ResultsFile {
        &mut self.results
    }

    /// Writes the result files. Without a finished trial no file is written.
    pub fn write(&self, tuned: &Tuned, resolved: &Resolved) -> Result<TuneSummary> {
        let trials = &tuned.trials;
        if let Some(best) = tuned.best {
            let resolved = Resolved { settings: trials[best].settings, seeds: 1, ..resolved.clone() };
            let title = format!("{} on {}", resolved.settings.model, resolved.dataset);
            let picture = picture::svg(&title, self.metric, &self.space, trials, best);
            let files = [(BEST, resolved.to_toml()), (HISTORY, self.history(tuned)), (PICTURE, picture)];
            files::write(&self.path, files)?;
        }
        let best = tuned.best.map(|best| &trials[best]).map(|best| BestTrial {
            trial: best.number,
            validation: best.mean_of_all(),
            seeds: best.scores.len() + best.finals.len(),
            values: self.values(best),
            words: values(&self.space, &best.settings),
        });
        Ok(TuneSummary {
            schema: SCHEMA,
            dataset: resolved.dataset.clone(),
            model: resolved.settings.model.to_string(),
            metric: self.metric,
            trials: trials.len(),
            hopeless: trials.iter().filter(|trial| !trial.is_complete(resolved.seeds as usize)).count(),
            pruned: self.pruning.then(|| trials.iter().filter(|trial| trial.pruned.is_some()).count()),
            start: trials.first().map(Trial::mean_of_all),
            best,
            interrupted: tuned.interrupted,
            folder: self.path.display().to_string(),
        })
    }

    /// Returns the searched values of a trial as JSON, without those that its model does not use.
    fn values(&self, trial: &Trial) -> BTreeMap<&'static str, serde_json::Value> {
        let json = |choice: Choice| match choice {
            Choice::Value(value) => serde_json::json!(value),
            name => name.to_string().into(),
        };
        let dimensions = self.space.dimensions().iter();
        dimensions.filter_map(|dimension| Some((dimension.name, json(dimension.of(&trial.settings)?)))).collect()
    }

    fn history(&self, tuned: &Tuned) -> String {
        let names = self.space.dimensions().iter().map(|dimension| dimension.name).collect::<Vec<_>>().join(",");
        let most = tuned.trials.iter().map(|trial| trial.scores.len()).max().unwrap_or(0);
        let mut text = format!("trial,{names},validation,seeds,state\n");
        for (k, trial) in tuned.trials.iter().enumerate() {
            let word = |choice: Option<Choice>| choice.map_or_else(String::new, |choice| choice.to_string());
            let values = self.space.dimensions().iter().map(|dimension| word(dimension.of(&trial.settings)));
            let state = match trial {
                _ if tuned.best == Some(k) => "best",
                trial if !trial.finals.is_empty() => "finalist",
                trial if trial.pruned.is_some() => "pruned",
                trial if trial.scores.len() < most => "hopeless",
                _ => "tried",
            };
            text += &format!(
                "{},{},{:?},{},{state}\n",
                trial.number,
                values.collect::<Vec<_>>().join(","),
                trial.mean_of_all(),
                trial.scores.len() + trial.finals.len()
            );
        }
        text
    }
}

impl TuneSummary {
    /// Formats the result as a table.
    pub fn table(&self) -> String {
        let mut text = format!("{BOLD}search for {} on {}{BOLD:#}", self.model, self.dataset);
        text += if self.interrupted { ", interrupted\n" } else { "\n" };
        let mut row = |name: &str, value: &str, explanation: &str| text += &output::row(name, value, explanation);
        let ended = match self.pruned {
            Some(pruned) => format!("({} ended after their first seed, {pruned} of them in the middle)", self.hopeless),
            None => format!("({} ended after their first seed)", self.hopeless),
        };
        row("trials", &self.trials.to_string(), &ended);
        let Some(best) = &self.best else {
            row("best", "none yet", "(the same command resumes the search)");
            return text;
        };
        let seeds = format!("(mean of {})", count(best.seeds, "seed"));
        row(&format!("validation {}", self.metric), &format!("{:.2} %", 100.0 * best.validation), &seeds);
        if let Some(start) = self.start {
            row("  at the start", &format!("{} %", short(100.0 * start)), "");
        }
        row("best settings", &best.words, &format!("(trial {})", best.trial));
        row("folder", &self.folder, "");
        text + &format!("\nTo measure them: supergat train --config {}/{BEST} --seeds 20\n", self.folder)
    }
}
