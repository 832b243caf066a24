//! `supergat cache` and `--no-cache`

use crate::support::{Done, SMALL, Workspace, keys};

const NODES: &str = "id,label,age\nann,x,30\nbob,y,41.5\ncat,x,22\ndan,y,50\n";
const EDGES: &str = "source,target\nann,bob\nbob,cat\ncat,dan\n";

/// Returns a workspace with a small dataset called `people`.
fn people() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("people/nodes.csv", NODES);
    workspace.write("people/edges.csv", EDGES);
    workspace
}

/// Runs a command with a cache that stores every dataset.
fn run(workspace: &Workspace, args: &[&str], variables: &[(&str, &str)]) -> Done {
    let mut command = workspace.command(args);
    command.env("SUPERGAT_CACHE_SECONDS", "0").envs(variables.iter().copied());
    Done::of(command)
}

fn cached(workspace: &Workspace) -> usize {
    workspace.good(&["cache", "--json"]).json()["datasets"].as_array().unwrap().len()
}

#[test]
fn lists_and_clears_prepared_datasets() {
    let workspace = people();
    let empty = workspace.good(&["cache", "--json"]).json();
    assert_eq!(keys(&empty), ["bytes", "datasets", "folder", "limit", "schema"]);
    assert_eq!((&empty["bytes"], &empty["limit"]), (&0.into(), &(4u64 << 30).into()));
    let first = run(&workspace, &["inspect", "people"], &[]);
    let second = run(&workspace, &["inspect", "people"], &[]);
    assert_eq!((first.code, &first.stdout), (0, &second.stdout));
    let list = workspace.good(&["cache", "--json"]).json();
    let entry = &list["datasets"][0];
    assert_eq!(keys(entry), ["bytes", "dataset", "file", "used"]);
    assert_eq!((&entry["dataset"], &entry["bytes"]), (&"people".into(), &list["bytes"]));
    assert!(entry["file"].as_str().unwrap().starts_with(list["folder"].as_str().unwrap()));
    let text = workspace.good(&["cache"]).stdout;
    assert!(text.contains("people ") && text.contains("just now") && text.contains("of at most 4.00 GiB"), "{text}");
    let cleared = workspace.good(&["cache", "clear", "--json"]).json();
    assert_eq!((&cleared["removed"], &cleared["bytes"]), (&1.into(), &list["bytes"]));
    assert_eq!(cached(&workspace), 0);
    assert!(workspace.good(&["cache", "clear"]).stdout.starts_with("0 datasets removed"));
}

#[test]
fn cache_can_be_turned_off() {
    let workspace = people();
    assert_eq!(run(&workspace, &["inspect", SMALL], &[]).code, 0);
    for (args, variables) in [
        (&["inspect", "people", "--no-cache"][..], &[][..]),
        (&["--no-cache", "inspect", "people"], &[]),
        (&["train", "people", "--no-cache", "--max-epochs", "2"], &[]),
        (&["inspect", "people"], &[("SUPERGAT_NO_CACHE", "1")]),
        (&["inspect", "people"], &[("SUPERGAT_CACHE_SIZE", "0")]),
        (&["inspect", "people"], &[("SUPERGAT_CACHE_SECONDS", "3600")]),
    ] {
        let done = run(&workspace, args, variables);
        assert_eq!((done.code, cached(&workspace)), (0, 0), "{args:?} {variables:?}: {done:?}");
    }
    assert_eq!(run(&workspace, &["inspect", "people"], &[("SUPERGAT_NO_CACHE", "0")]).code, 0);
    assert_eq!(cached(&workspace), 1);
}

#[test]
fn explains_invalid_limits() {
    let workspace = people();
    let done = run(&workspace, &["inspect", "people"], &[("SUPERGAT_CACHE_SIZE", "much")]);
    let expected = "error: `SUPERGAT_CACHE_SIZE=much`: expected a size such as 8GiB, found `much`\n";
    assert_eq!((done.code, done.stderr.as_str()), (2, expected));
    let done = run(&workspace, &["cache"], &[("SUPERGAT_CACHE_SECONDS", "-1")]);
    assert!(done.code == 2 && done.stderr.contains("expected a number of seconds such as 0.5"), "{done:?}");
    let done = run(&workspace, &["cache"], &[("SUPERGAT_CACHE_SIZE", "0")]);
    assert!(done.code == 2 && done.stderr.contains("there is no cache: SUPERGAT_CACHE_SIZE is 0"), "{done:?}");
}

/// A model that is trained on a cached dataset is the same, and it reads its training data from the cache.
#[test]
fn results_do_not_depend_on_the_cache() {
    let workspace = people();
    for (out, more) in [("fresh", &["--no-cache"][..]), ("stored", &[]), ("cached", &[])] {
        let args = ["train", "people", "--max-epochs", "5", "--out", out];
        assert_eq!(run(&workspace, &[&args[..], more].concat(), &[]).code, 0);
    }
    for file in ["model.safetensors", "predictions.csv", "config.toml"] {
        for out in ["stored", "cached"] {
            assert!(
                workspace.bytes(&format!("{out}/{file}")) == workspace.bytes(&format!("fresh/{file}")),
                "{out}/{file}"
            );
        }
    }
    let evaluated = ["fresh", "cached"].map(|run| workspace.good(&["evaluate", run, "--json"]).json()["test"].clone());
    assert_eq!(evaluated[0], evaluated[1]);
}
