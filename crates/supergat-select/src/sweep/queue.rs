//! Queue of the missing runs, with the dataset of the next ones in memory.

use crate::sweep::job::Job;
use crate::sweep::progress::Event;
use crate::sweep::record::{Key, Record};
use crate::sweep::results::ResultsFile;
use std::collections::{HashSet, VecDeque};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use supergat_data::options::Origin;
use supergat_data::{Dataset, FeatureChoice, LoadOptions, NodeOrderChoice, SplitChoice, TableOptions};
use supergat_train::dataset_hash::{dataset_hash, split_hash};
use supergat_train::device::DeviceKind;
use supergat_train::processes::Source;
use supergat_train::task::{Status, Task};
use supergat_train::task_run::Ready;

/// A dataset with one of its splits.
#[derive(Debug)]
struct Loaded {
    source: String,
    split: SplitChoice,
    /// The dataset, or the reason it is unavailable.
    dataset: Result<Arc<Dataset>, String>,
    hash: String,
    content: Arc<OnceLock<String>>,
}

/// A dataset and what its runs share, for one group of jobs. The queue drops it when the last of these runs
/// begins, and each run when it ends.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) ready: Arc<Ready>,
    hash: String,
    /// Changes of the features after loading.
    features: FeatureChoice,
    /// Hash of the whole dataset, which other processes must have; computed when one of them trains.
    content: Arc<OnceLock<String>>,
    device: DeviceKind,
}

/// Groups of jobs with the same dataset, split and settings; the dataset of the current group is in memory.
#[derive(Debug)]
pub(crate) struct Queue {
    groups: VecDeque<Vec<Job>>,
    jobs: VecDeque<Job>,
    loaded: Option<Loaded>,
    subject: Option<Arc<Subject>>,
    /// Runs that are in the results file or were returned by [`Self::next`].
    done: HashSet<Key>,
    /// Name of the task.
    task: String,
    /// Changes of the features of all datasets after loading.
    features: FeatureChoice,
    /// Kind of device of the runs.
    device: DeviceKind,
    /// Order of the nodes of the datasets.
    node_order: NodeOrderChoice,
    /// Dataset in memory that all jobs take their splits from; `None` if they load their own.
    given: Option<Arc<Dataset>>,
}

/// Callback for an event and the jobs it settles.
type Notify<'a> = &'a dyn Fn(Event<'_>, &[Job]);

impl Queue {
    pub(crate) fn new(
        groups: Vec<Vec<Job>>,
        results: &ResultsFile,
        task: &dyn Task,
        device: DeviceKind,
        node_order: NodeOrderChoice,
        given: Option<Arc<Dataset>>,
    ) -> Self {
        let done = results.records().filter(|record| record.test().is_some()).map(Record::key).collect();
        let (groups, features, task) = (groups.into(), task.features(), task.name().to_owned());
        let (jobs, loaded, subject) = (VecDeque::new(), None, None);
        Self { groups, jobs, loaded, subject, done, task, features, device, node_order, given }
    }

    /// Returns the next run, or `None` when all groups are processed.
    pub(crate) fn next(&mut self, notify: Notify<'_>) -> Option<(Arc<Subject>, Job)> {
        loop {
            if let Some(job) = self.jobs.pop_front() {
                let subject = self.subject.as_ref().map(Arc::clone).expect("set together with the jobs");
                return Some((subject, job));
            }
            self.subject = None;
            let Some(group) = self.groups.pop_front() else {
                self.loaded = None;
                return None;
            };
            self.begin(group, notify);
        }
    }

    /// Loads the dataset of a group and skips the jobs that have a result.
    fn begin(&mut self, group: Vec<Job>, notify: Notify<'_>) {
        let Job { source, split, settings, .. } = group[0].clone();
        self.load(&source, split, notify);
        let loaded = self.loaded.as_ref().expect("just loaded");
        let dataset = match &loaded.dataset {
            Ok(dataset) => Arc::clone(dataset),
            Err(reason) => return notify(Event::Unavailable(&source, reason), &group),
        };
        let (hash, content) = (loaded.hash.clone(), Arc::clone(&loaded.content));
        let name = dataset_name(&source, &dataset);
        let key = |job: &Job| Key::new(&self.task, self.device, &name, &hash, &job.settings, job.seed);
        let is_new = |job: &Job| self.done.insert(key(job));
        let (new, found): (Vec<Job>, Vec<Job>) = group.into_iter().partition(is_new);
        if !found.is_empty() {
            notify(Event::Found(found.len()), &found);
        }
        if !new.is_empty() {
            let ready = Arc::new(Ready::new(dataset, &settings, self.device));
            let features = self.features.clone();
            self.subject = Some(Arc::new(Subject { ready, hash, features, content, device: self.device }));
            self.jobs = new.into();
        }
    }

    /// Loads a dataset with a split unless it is loaded. Draws a random split in memory where possible.
    fn load(&mut self, source: &str, split: SplitChoice, notify: Notify<'_>) {
        let old = self.loaded.take().filter(|loaded| loaded.source == source);
        if old.as_ref().is_some_and(|loaded| loaded.split == split) {
            self.loaded = old;
            return;
        }
        let in_memory = match &self.given {
            Some(given) => Some(taken(given, split)),
            None => old.and_then(|old| redraw(&old, split)).map(Ok),
        };
        let dataset = in_memory.map_or_else(
            || {
                notify(Event::Loading(source), &[]);
                let (features, node_order) = (self.features.clone(), self.node_order);
                let options = LoadOptions { split, features, node_order, ..LoadOptions::default() };
                supergat_data::load_with(source, &options).map(Arc::new).map_err(|error| error.to_string())
            },
            |dataset| dataset.map(Arc::new),
        );
        let hash = dataset.as_deref().map_or_else(|_| String::new(), split_hash);
        self.loaded = Some(Loaded { source: source.to_owned(), split, dataset, hash, content: Arc::default() });
    }
}

/// Takes a split of a dataset in memory; [`SplitChoice::Published`] stands for its own. Returns the reason if it has no such
/// split.
pub(crate) fn taken(given: &Dataset, split: SplitChoice) -> Result<Dataset, String> {
    let missing = || format!("{} has no split {split}", given.name);
    match split {
        SplitChoice::Published => Ok(given.clone()),
        SplitChoice::Numbered(number) => given.numbered(number).ok_or_else(missing),
        SplitChoice::Random { seed } => given.redrawn(seed).ok_or_else(missing),
        SplitChoice::Shares { shares, seed } => given.drawn_by_shares(shares, seed).map_err(|error| error.to_string()),
        SplitChoice::FullSupervised => Err(missing()),
    }
}

/// Takes another split of a loaded dataset, without reading it again. Returns `None` where that is not possible.
fn redraw(old: &Loaded, split: SplitChoice) -> Option<Dataset> {
    let is_possible = match (old.split, split) {
        (SplitChoice::Numbered(_), SplitChoice::Numbered(_)) => true,
        (SplitChoice::Shares { .. }, SplitChoice::Shares { .. }) => true,
        (SplitChoice::Random { .. }, SplitChoice::Random { .. }) => supergat_data::KNOWN.contains(&&*old.source),
        _ => false,
    };
    taken(old.dataset.as_ref().ok().filter(|_| is_possible)?, split).ok()
}

/// Returns the name of a dataset in results. Generated graphs share a name, so their specification is used
/// instead.
pub fn dataset_name(source: &str, dataset: &Dataset) -> String {
    if Path::new(source).exists() { dataset.name.clone() } else { source.to_owned() }
}

impl Subject {
    /// Returns how another process loads the dataset of a job.
    pub(crate) fn source(&self, job: &Job) -> Source {
        let origin = Origin {
            source: job.source.clone(),
            split: job.split,
            features: self.features.clone(),
            tables: TableOptions::default(),
            node_order: self.ready.dataset.node_order().parse().unwrap_or_default(),
        };
        Source::new(
            &origin,
            &self.ready.dataset,
            self.content.get_or_init(|| dataset_hash(&self.ready.dataset)).clone(),
        )
    }

    /// Builds the record of a job that ended.
    pub(crate) fn record(&self, task: &str, job: &Job, status: Status, seconds: f64) -> Record {
        Record {
            schema: Record::SCHEMA,
            dataset: dataset_name(&job.source, &self.ready.dataset),
            task: task.to_owned(),
            model: job.settings.model.to_string(),
            split: job.split.to_string(),
            split_hash: self.hash.clone(),
            seed: job.seed,
            settings: job.settings,
            device: self.device,
            status,
            seconds,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_of_a_loaded_dataset_are_those_of_the_files() {
        let source = "random-partition:classes=3,nodes=180,degree=6,homophily=0.7";
        let load = |text: &str| {
            let split: SplitChoice = text.parse().unwrap();
            let options = LoadOptions { split, ..LoadOptions::default() };
            (split, supergat_data::load_with(source, &options).unwrap())
        };
        let ((old, dataset), (split, expected)) = (load("random:60/20/20:0"), load("random:60/20/20:7"));
        let hash = split_hash(&dataset);
        let dataset = Ok(Arc::new(dataset));
        let loaded = Loaded { source: source.into(), split: old, dataset, hash, content: Arc::default() };
        let drawn = redraw(&loaded, split).unwrap();
        assert_eq!(split_hash(&drawn), split_hash(&expected));
        assert_ne!(split_hash(&drawn), loaded.hash);
        assert!(redraw(&loaded, SplitChoice::Numbered(0)).is_none());
    }
}
