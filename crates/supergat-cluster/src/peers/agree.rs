//! Check that all processes work on the same thing.

use super::{Peers, gather};
use supergat_core::{Error, Result};

/// Longest value in an error message, in characters.
const SHOWN: usize = 60;

/// Compares named values, such as the version of the program, the settings and the hash of a file, over all
/// processes. Where they differ, every process gets the same error. It names the first value that differs, and the
/// processes whose value is not that of most.
///
/// ```
/// use supergat_cluster::peers::{Alone, agree};
/// agree(&Alone, &[("version", "0.1.0".to_owned()), ("dataset", "sha256 9f86d081".to_owned())])?;
/// # Ok::<(), supergat_core::Error>(())
/// ```
pub fn agree(peers: &dyn Peers, values: &[(&str, String)]) -> Result<()> {
    let failed = |reason: String| Err(Error::Peers { reason });
    let own = serde_json::to_vec(values).expect("texts are JSON");
    let mut lists: Vec<Vec<(String, String)>> = Vec::new();
    for (rank, text) in gather(peers, &own)?.iter().enumerate() {
        let Ok(list) = serde_json::from_slice(text) else {
            return failed(format!("process {rank} is another version of the program: use the same on all machines"));
        };
        lists.push(list);
    }
    for k in 0..lists.iter().map(Vec::len).max().unwrap_or(0) {
        let values: Vec<Option<&(String, String)>> = lists.iter().map(|list| list.get(k)).collect();
        // The most frequent value; of equally frequent ones, that of the first process.
        let frequency = |value| values.iter().filter(|other| **other == value).count();
        let first_of_most = (0..values.len()).rev().max_by_key(|&rank| frequency(values[rank]));
        let usual = values[first_of_most.expect("there is a process")];
        let unusual: Vec<usize> = (0..values.len()).filter(|&rank| values[rank] != usual).collect();
        let Some(&first) = unusual.first() else { continue };
        let who = processes(&unusual);
        let (has, compares) = if unusual.len() == 1 { ("has", "compares") } else { ("have", "compare") };
        return failed(match (usual, values[first]) {
            (Some((name, usual)), Some((same_name, value))) if name == same_name => {
                let (value, usual) = (shown(value), shown(usual));
                format!("{who} {has} another {name} than the other processes: `{value}` instead of `{usual}`")
            }
            _ => format!("{who} {compares} other values: use the same program everywhere"),
        });
    }
    Ok(())
}

/// Formats numbers of processes: `process 3`, `processes 1 and 2`, `processes 1, 2 and 3`.
fn processes(ranks: &[usize]) -> String {
    let numbers: Vec<String> = ranks.iter().map(usize::to_string).collect();
    match numbers.split_last() {
        Some((last, [])) => format!("process {last}"),
        Some((last, others)) => format!("processes {} and {last}", others.join(", ")),
        None => "no process".into(),
    }
}

fn shown(value: &str) -> String {
    match value.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &value[..end]),
        None => value.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::on_all;
    use super::*;

    /// Returns the error that all processes get, if each has its own list of values.
    fn error_of(lists: &[&[(&str, &str)]]) -> String {
        let errors = on_all(lists.len(), |peer| {
            let list: Vec<(&str, String)> =
                lists[peer.rank()].iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
            agree(peer, &list).err().map_or(String::new(), |error| error.to_string())
        });
        assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
        errors[0].trim_start_matches("training with several processes failed: ").to_owned()
    }

    #[test]
    fn equal_values_are_no_error() {
        assert_eq!(error_of(&[&[("version", "1"), ("seed", "7")][..]; 3]), "");
        assert_eq!(error_of(&[&[]]), "");
    }

    #[test]
    fn names_the_first_difference_and_its_processes() {
        let (a, b) = (
            &[("version", "1"), ("dataset file", "ab"), ("seed", "7")],
            &[("version", "1"), ("dataset file", "cd"), ("seed", "8")],
        );
        let error = error_of(&[a, a, a, b]);
        assert_eq!(error, "process 3 has another dataset file than the other processes: `cd` instead of `ab`");
        let error = error_of(&[b, a, a, a]);
        assert_eq!(error, "process 0 has another dataset file than the other processes: `cd` instead of `ab`");
        let error = error_of(&[a, b, a, b]);
        assert_eq!(error, "processes 1 and 3 have another dataset file than the other processes: `cd` instead of `ab`");
    }

    #[test]
    fn shortens_long_values() {
        let (a, b) = ("a".repeat(100), "ä".repeat(100));
        let error = error_of(&[&[("command", &a)], &[("command", &b)]]);
        assert!(error.ends_with(&format!("`{}...` instead of `{}...`", "ä".repeat(60), "a".repeat(60))), "{error}");
    }

    #[test]
    fn lists_of_other_names_are_another_program() {
        for other in [&[("seed", "1")][..], &[("version", "1"), ("seed", "1")], &[]] {
            let error = error_of(&[&[("version", "1")], &[("version", "1")], other]);
            assert_eq!(error, "process 2 compares other values: use the same program everywhere");
        }
    }
}
