//! The tasks that other processes know by name.

use crate::agreement::LabelAgreement;
use crate::defaults::DefaultsTask;
use crate::depth::selected_run_named;
use crate::link_prediction::LinkPrediction;
use supergat_select::sweep::Classification;
use supergat_train::task::Task;

/// Returns the task of this name: of a study, or of a sweep or search.
pub fn task_named(name: &str) -> Option<Box<dyn Task>> {
    let tasks: [Box<dyn Task>; 3] = [Box::new(LabelAgreement), Box::new(LinkPrediction), Box::new(DefaultsTask)];
    let of_studies = tasks.into_iter().find(|task| task.name() == name);
    of_studies.or_else(|| Some(Box::new(selected_run_named(name).or_else(|| Classification::named(name))?)))
}
