//! Temporary working folder and the command under test.

use crate::running;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Graph that trains within a second.
pub const SMALL: &str = "random-partition:classes=3,nodes=180,degree=6";

/// Temporary folder in which commands run, and their home folder.
pub struct Workspace {
    folder: TempDir,
    home: TempDir,
}

/// Output of a finished command.
#[derive(Debug)]
pub struct Done {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Workspace {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), home: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// Returns the sorted names in a folder, including hidden ones.
    pub fn list(&self, name: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(name)).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_supergat"));
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null());
        // Tests run in parallel already.
        command.env("RAYON_NUM_THREADS", "1");
        for variable in
            ["SUPERGAT_DATA", "SUPERGAT_MIRROR", "SUPERGAT_NO_CACHE", "NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR"]
        {
            command.env_remove(variable);
        }
        // Tests may run in a job of Slurm.
        for variable in ["SUPERGAT_MPI", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "PMIX_RANK"] {
            command.env_remove(variable);
        }
        // The user's cache is in the home folder on some systems, and in XDG_CACHE_HOME on others.
        command.env("HOME", self.home.path()).env("XDG_CACHE_HOME", self.home.path());
        command
    }

    pub fn run(&self, args: &[&str]) -> Done {
        Done::of(self.command(args))
    }

    /// Runs a command that must succeed.
    pub fn good(&self, args: &[&str]) -> Done {
        let done = self.run(args);
        assert_eq!(done.code, 0, "{args:?}: {done:?}");
        done
    }

    /// Trains on the small graph into the folder `name`.
    pub fn train(&self, name: &str, more: &[&str]) -> Done {
        let args = ["train", SMALL, "--max-epochs", "20", "--out", name];
        self.good(&[&args[..], more].concat())
    }
}

impl Done {
    pub fn of(mut command: Command) -> Self {
        let output = running::output(&mut command);
        Self {
            code: output.status.code().expect("not killed"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }
}

/// Returns the sorted names of the fields of an object.
pub fn keys(object: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// Parses a CSV table into header and rows.
pub fn table(text: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let fields = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect::<Vec<_>>();
    let header = fields(reader.headers().unwrap());
    (header, reader.records().map(|record| fields(&record.unwrap())).collect())
}

/// Returns the folder of a published dataset, if it is available.
pub fn published(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("SUPERGAT_TEST_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from)
        .join(name);
    if !folder.is_dir() {
        println!("skipped: no data folder");
        return None;
    }
    Some(folder)
}
