//! The task of final runs.

use crate::depth::graphs::Depth;
use supergat_select::sweep::Classification;
use supergat_train::task::Task;

/// Beginning of the name of the task; depth, number of trials and the name of the other task follow.
const PREFIX: &str = "depth:";

/// Returns the task of final runs with the settings that a search of some trials has selected. Its name contains depth and
/// number of trials, so tables find the final runs of a cell without repeating the search.
pub(crate) fn selected_run(depth: Depth, trials: usize, task: Classification) -> Classification {
    let name = format!("{PREFIX}{}:{trials}:{}", depth.name(), task.name());
    task.renamed(name)
}

/// Returns the task of final runs of this name, if there is one.
pub(crate) fn selected_run_named(name: &str) -> Option<Classification> {
    let (depth, rest) = name.strip_prefix(PREFIX)?.split_once(':')?;
    let (trials, task) = rest.split_once(':')?;
    Some(selected_run(depth.parse().ok()?, trials.parse().ok()?, Classification::named(task)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_found_by_its_name() {
        for inner in ["node", "row-normalised:node"] {
            let plain = Classification::named(inner).unwrap();
            let task = selected_run(Depth::Deep, 20, plain.clone());
            let found = crate::task_named(task.name()).unwrap();
            assert_eq!((found.name(), found.name().strip_suffix(inner)), (task.name(), Some("depth:deep:20:")));
            assert_eq!(found.features(), plain.features());
        }
        for wrong in ["depth:deep", "depth:deep:x:node", "depth:shallow:20:node", "depth:deep:20:nothing", "node"] {
            assert!(selected_run_named(wrong).is_none(), "{wrong}");
        }
    }
}
