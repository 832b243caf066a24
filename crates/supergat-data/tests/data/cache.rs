//! Tests of the cache of prepared datasets.

use crate::convert::assert_same;
use crate::formats::every_format;
use crate::planetoid::real_folder;
use crate::running::Running;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};
use supergat_data::{Cache, CacheChoice, Dataset, LoadOptions, SplitChoice, TableOptions, convert, load_with};

const NODES: &str = "id,label,age,colour\nann,x,30,red\nbob,y,41.5,blue\ncat,x,22,red\ndan,,50,green\neve,y,1e1,\n";
const EDGES: &str = "source,target\nann,bob\nbob,cat\ncat,ann\neve,dan\n";

/// A folder of tables and an empty cache that stores every dataset.
struct Place {
    root: tempfile::TempDir,
    cache: Cache,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache { slow: Duration::ZERO, ..Cache::new(root.path().join("new/cache")) };
        let place = Self { root, cache };
        fs::create_dir(place.root.path().join("people")).unwrap();
        place.write("nodes.csv", NODES);
        place.write("edges.csv", EDGES);
        place
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.root.path().join("people").join(name), text).unwrap();
    }

    fn options(&self) -> LoadOptions {
        LoadOptions { cache: CacheChoice::In(self.cache.clone()), ..Default::default() }
    }

    fn load(&self) -> Dataset {
        load_with(self.root.path().join("people").to_str().unwrap(), &self.options()).unwrap()
    }

    /// Returns the file of the only entry.
    fn only(&self) -> std::path::PathBuf {
        let entries = self.cache.entries();
        assert_eq!(entries.len(), 1, "{entries:?}");
        entries[0].path.clone()
    }
}

/// Makes a file look unused for `hours`.
fn age(path: &Path, hours: u64) {
    let time = SystemTime::now() - Duration::from_secs(3600 * hours);
    File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
}

fn was_used(cache: &Cache) -> bool {
    cache.entries()[0].used.elapsed().unwrap_or_default() < Duration::from_secs(1800)
}

/// Loads a dataset from its files, then from the cache, and compares all fields and bits.
fn assert_cached_equals_fresh(source: &Path, options: &LoadOptions) {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache { slow: Duration::ZERO, ..Cache::new(folder.path()) };
    let options = LoadOptions { cache: CacheChoice::In(cache.clone()), ..options.clone() };
    let load = || load_with(source.to_str().unwrap(), &options).unwrap();
    let fresh = load();
    if !fresh.splits.is_empty() {
        assert!(cache.entries().is_empty(), "a file of the cache has one split");
        return;
    }
    age(&cache.entries()[0].path, 1);
    let cached = load();
    assert!(was_used(&cache) && cache.entries().len() == 1, "{source:?}");
    assert_same(&fresh, &cached);
    assert_eq!((&fresh.notes, &fresh.schema, &fresh.origin), (&cached.notes, &cached.schema, &cached.origin));
}

#[test]
fn cached_datasets_equal_fresh_ones_in_every_format() {
    for folder in every_format() {
        assert_cached_equals_fresh(&folder.path(), &LoadOptions::default());
    }
    let place = Place::new();
    let people = place.root.path().join("people");
    let tables = TableOptions { standardise: Some(true), directed: true, ..Default::default() };
    for split in [SplitChoice::Published, SplitChoice::Random { seed: 3 }] {
        assert_cached_equals_fresh(&people, &LoadOptions { split, tables: tables.clone(), ..Default::default() });
    }
    assert_cached_equals_fresh(&people.join("nodes.csv"), &LoadOptions::default());
}

#[test]
fn published_datasets_have_the_same_bits_through_the_cache() {
    for name in ["cora", "chameleon"] {
        if let Some(folder) = real_folder(name) {
            assert_cached_equals_fresh(&folder, &LoadOptions::default());
        }
    }
}

#[test]
fn changed_files_and_options_are_other_datasets() {
    let place = Place::new();
    let first = place.load();
    place.write("nodes.csv", &NODES.replace("22", "23"));
    let second = place.load();
    assert_ne!(first.examples[0].features.values(), second.examples[0].features.values());
    let people = place.root.path().join("people");
    let tables = TableOptions { ignore_columns: Some("age".into()), ..Default::default() };
    let third = load_with(people.to_str().unwrap(), &LoadOptions { tables, ..place.options() }).unwrap();
    assert!(third.features() < second.features());
    assert_eq!(place.cache.entries().len(), 3);
    place.write("nodes.csv", NODES);
    assert_same(&first, &place.load());
    assert_eq!(place.cache.entries().len(), 3);
}

#[test]
fn damaged_files_are_ignored_and_rewritten() {
    let place = Place::new();
    let fresh = place.load();
    let path = place.only();
    let good = fs::read(&path).unwrap();
    let check = |bytes: &[u8], what: &str| {
        fs::write(&path, bytes).unwrap();
        assert_same(&fresh, &place.load());
        assert!(fs::read(place.only()).unwrap() == good, "{what}");
    };
    for length in [0, 1, 35, 36, good.len() / 2, good.len() - 1] {
        check(&good[..length], &format!("cut at {length}"));
    }
    for at in (0..good.len()).step_by(97).chain(good.len() - 40..good.len()) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        check(&bytes, &format!("changed at {at}"));
    }
    check(b"something else", "foreign");
    check(&[&good[..], b"x"].concat(), "longer");
    // An intact file of another dataset.
    place.write("edges.csv", "source,target\nann,bob\n");
    place.load();
    let other = place.cache.entries().into_iter().find(|entry| entry.path != path).unwrap().path;
    let other = (fs::read(&other).unwrap(), fs::remove_file(&other)).0;
    place.write("edges.csv", EDGES);
    check(&other, "of another dataset");
}

#[cfg(unix)]
#[test]
fn links_in_the_cache_are_replaced_and_not_followed() {
    let place = Place::new();
    let fresh = place.load();
    let (path, target) = (place.only(), place.root.path().join("precious"));
    fs::remove_file(&path).unwrap();
    fs::write(&target, "mine").unwrap();
    std::os::unix::fs::symlink(&target, &path).unwrap();
    assert_same(&fresh, &place.load());
    assert_same(&fresh, &place.load());
    assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
    assert!(place.only().symlink_metadata().unwrap().is_file());
}

#[test]
fn removes_the_least_recently_used_first() {
    let mut place = Place::new();
    let add = |place: &Place, link: &str| {
        let before: Vec<_> = place.cache.entries().into_iter().map(|entry| entry.path).collect();
        place.write("edges.csv", &format!("source,target\n{link}\n"));
        place.load();
        let mut new = place.cache.entries().into_iter().filter(|entry| !before.contains(&entry.path));
        new.next().unwrap().path
    };
    let [a, b] = ["ann,bob", "ann,cat"].map(|link| add(&place, link));
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    place.cache.limit = size(&a) + size(&b) + size(&a) / 2;
    age(&a, 2);
    age(&b, 3);
    let c = add(&place, "bob,cat");
    assert!(a.exists() && !b.exists() && c.exists());
    // Being used counts, not being written.
    age(&c, 1);
    place.write("edges.csv", "source,target\nann,bob\n");
    place.load();
    let d = add(&place, "ann,dan");
    assert!(a.exists() && !c.exists() && d.exists());
}

#[test]
fn problems_of_the_cache_become_notes() {
    let mut place = Place::new();
    let plain = place.load().notes;
    place.cache.clear().unwrap();
    place.cache.limit = 100;
    let notes = place.load().notes;
    assert_eq!(notes[..notes.len() - 1], plain);
    assert!(notes.last().unwrap().ends_with("it exceeds the size limit, which SUPERGAT_CACHE_SIZE sets"), "{notes:?}");
    assert_eq!(fs::read_dir(&place.cache.folder).unwrap().count(), 0, "no incomplete file remains");
    fs::write(place.root.path().join("file"), "").unwrap();
    place.cache = Cache { folder: place.root.path().join("file/cache"), ..place.cache.clone() };
    let notes = place.load().notes;
    assert!(notes.last().unwrap().starts_with("not stored in the cache "), "{notes:?}");
}

#[test]
fn stores_only_what_takes_long_and_comes_from_files() {
    let mut place = Place::new();
    let spec = "random-partition:classes=2,nodes=170,degree=2";
    let dataset = load_with(spec, &place.options()).unwrap();
    let file = place.root.path().join("x.safetensors");
    convert(&dataset, &file).unwrap();
    load_with(file.to_str().unwrap(), &place.options()).unwrap();
    place.cache.slow = Duration::from_secs(3600);
    place.load();
    assert!(place.cache.entries().is_empty() && !place.cache.folder.exists());
}

#[test]
fn clearing_keeps_other_files() {
    let place = Place::new();
    place.load();
    for name in ["notes.txt", "people-12.prepared", ".supergat-left", ".supergat-new"] {
        fs::write(place.cache.folder.join(name), "x").unwrap();
    }
    // A killed process left a temporary file; another process is writing one.
    age(&place.cache.folder.join(".supergat-left"), 2);
    let removed = place.cache.clear().unwrap();
    assert_eq!((removed.len(), removed[0].name.as_str()), (1, "people"));
    assert!(place.cache.entries().is_empty());
    let mut left: Vec<_> = fs::read_dir(&place.cache.folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, [".supergat-new", "notes.txt", "people-12.prepared"]);
    assert!(Cache::new(place.root.path().join("missing")).clear().unwrap().is_empty());
}

/// Environment variable with the folder of a [`Place`], for child processes.
const PLACE: &str = "SUPERGAT_TEST_PLACE";

/// Loads the dataset of the parent process several times. Does nothing in an ordinary test run.
#[test]
fn child() {
    let Some(root) = std::env::var_os(PLACE) else { return };
    let root = Path::new(&root);
    let cache = Cache { slow: Duration::ZERO, ..Cache::new(root.join("new/cache")) };
    for k in 0..20 {
        let options = LoadOptions { cache: CacheChoice::In(cache.clone()), ..Default::default() };
        let dataset = load_with(root.join("people").to_str().unwrap(), &options).unwrap();
        convert(&dataset, &root.join(format!("{}-{k}.safetensors", std::process::id()))).unwrap();
        if k % 5 == 4 {
            cache.clear().unwrap();
        }
    }
}

/// Processes store, read and remove the same file at once.
#[test]
fn processes_share_the_cache() {
    let place = Place::new();
    let fresh = place.root.path().join("fresh.safetensors");
    let people = place.root.path().join("people");
    let options = LoadOptions { cache: CacheChoice::Off, ..Default::default() };
    convert(&load_with(people.to_str().unwrap(), &options).unwrap(), &fresh).unwrap();
    let start = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "cache::child", "--test-threads=1"]).env(PLACE, place.root.path());
        Running::start(command.stdout(Stdio::null()))
    };
    let children: Vec<Running> = (0..4).map(|_| start()).collect();
    children.into_iter().for_each(|mut child| assert!(child.wait().unwrap().success()));
    let fresh = fs::read(&fresh).unwrap();
    let results = fs::read_dir(place.root.path()).unwrap().map(|entry| entry.unwrap().path());
    let results: Vec<_> = results.filter(|path| path.is_file()).collect();
    assert_eq!(results.len(), 4 * 20 + 1);
    results.iter().for_each(|path| assert!(fs::read(path).unwrap() == fresh, "{path:?}"));
    place.load();
    assert_eq!(fs::read_dir(&place.cache.folder).unwrap().count(), 1, "no incomplete file remains");
}
