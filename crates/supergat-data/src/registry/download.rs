//! Downloads published datasets.
//!
//! The system's `curl` transfers the files: it supports TLS with the system's certificates and proxies, and
//! needs no build time. This module collects the files of a dataset in a hidden folder, resumes interrupted
//! transfers, compares checksums, unpacks archives, and renames the folder when it is complete.

use super::{Entry, RemoteFile, Unpack};
use crate::containers::zip::Zip;
use crate::error::{Error, Result};
use crate::files::{self, atomic, sha256};
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Maximum size of a file: 4 GiB.
const MOST_BYTES: u64 = 4 << 30;

/// Number of connections in a row that may end without data before the download fails.
const ATTEMPTS: usize = 3;

/// Exit codes of curl.
const HTTP_ERROR: i32 = 22;
const NO_RANGES: i32 = 33;

/// Progress of the download of a file.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// Name of the file.
    pub file: &'a str,
    /// Number of bytes received.
    pub bytes: u64,
    /// Size of the file, if the server reports it.
    pub total: Option<u64>,
}

/// Downloads a dataset into `root/NAME` and returns that folder. A `mirror` has the files at
/// `mirror/NAME/FILE`.
pub fn download(
    entry: &Entry,
    root: &Path,
    mirror: Option<&str>,
    mut observe: impl FnMut(Progress<'_>),
) -> Result<PathBuf> {
    let folder = root.join(entry.name);
    if folder.exists() {
        return Ok(folder);
    }
    let staging = root.join(format!(".{}.partial", entry.name));
    fs::create_dir_all(&staging).map_err(Error::write(&staging))?;
    let fetches = entry.files.iter().map(|file| {
        let url = match mirror {
            Some(mirror) => format!("{}/{}/{}", mirror.trim_end_matches('/'), entry.name, file.name),
            None => file.url.to_owned(),
        };
        Fetch { file, url, staging: &staging }
    });
    let fetches: Vec<_> = fetches.collect();
    fetches.iter().try_for_each(|fetch| fetch.run(&mut observe))?;
    for marker in fetches.iter().map(Fetch::unpacked).filter(|marker| marker.exists()) {
        fs::remove_file(&marker).map_err(Error::write(&marker))?;
    }
    fs::rename(&staging, &folder).map_err(Error::write(&folder))?;
    Ok(folder)
}

/// Download of one file.
struct Fetch<'a> {
    file: &'a RemoteFile,
    url: String,
    staging: &'a Path,
}

impl Fetch<'_> {
    fn run(&self, observe: &mut impl FnMut(Progress<'_>)) -> Result<()> {
        let done = self.staging.join(self.file.name);
        if done.exists() || self.unpacked().exists() {
            return Ok(());
        }
        let part = self.staging.join(format!("{}.part", self.file.name));
        self.fetch(&part, observe)?;
        self.verify(&part)?;
        let failed = Error::write(&done);
        if let Unpack::Not = self.file.unpack {
            return fs::rename(&part, &done).map_err(failed);
        }
        self.unpack(&part)?;
        fs::remove_file(&part).map_err(failed)
    }

    /// Downloads the missing bytes, and reconnects as long as data arrives.
    fn fetch(&self, part: &Path, observe: &mut impl FnMut(Progress<'_>)) -> Result<()> {
        let mut fruitless = 0;
        loop {
            let before = length(part);
            match self.attempt(part, before, observe)? {
                Ended::Complete => return Ok(()),
                Ended::Refused(status) if before > 0 && status == 416 => restart(part)?,
                Ended::NoRanges => restart(part)?,
                Ended::Refused(status) => return Err(self.failed(format!("the server answers {status}"))),
                Ended::Cut(reason) => {
                    fruitless = if length(part) > before { 0 } else { fruitless + 1 };
                    if fruitless == ATTEMPTS {
                        return Err(self.failed(reason));
                    }
                }
            }
        }
    }

    fn failed(&self, reason: impl Into<String>) -> Error {
        Error::Download { url: self.url.clone(), reason: reason.into() }
    }

    /// Opens one connection and appends the bytes after the first `from` to the partial file.
    fn attempt(&self, part: &Path, from: u64, observe: &mut impl FnMut(Progress<'_>)) -> Result<Ended> {
        let io = Error::write(part);
        let mut out = atomic::append_entry(part).map_err(io)?;
        let headers = tempfile::NamedTempFile::new_in(self.staging).map_err(io)?;
        let mut child = self.curl(from, headers.path())?;
        let mut stream = child.stdout.take().expect("it was piped");
        let mut buffer = vec![0; 1 << 16];
        let mut bytes = from;
        loop {
            let read = stream.read(&mut buffer).map_err(io)?;
            if read == 0 {
                break;
            }
            bytes += read as u64;
            if bytes > MOST_BYTES {
                // The process may have ended already.
                let _ = child.kill();
                let _ = child.wait();
                return Err(self.failed(format!("more than {MOST_BYTES} bytes come")));
            }
            out.write_all(&buffer[..read]).map_err(io)?;
            observe(Progress { file: self.file.name, bytes, total: total(headers.path(), from) });
        }
        out.sync_all().map_err(io)?;
        let output = child.wait_with_output().map_err(io)?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let (reason, status) = said.trim_end().rsplit_once('\n').unwrap_or(("", said.trim_end()));
        let status = status.rsplit(' ').next().and_then(|code| code.parse().ok()).unwrap_or(0);
        Ok(match output.status.code() {
            Some(0) => Ended::Complete,
            Some(HTTP_ERROR) => Ended::Refused(status),
            Some(NO_RANGES) => Ended::NoRanges,
            _ => Ended::Cut(reason.split_whitespace().collect::<Vec<_>>().join(" ")),
        })
    }

    fn curl(&self, from: u64, headers: &Path) -> Result<Child> {
        let mut command = Command::new("curl");
        command.args(["--silent", "--show-error", "--fail", "--location", "--max-redirs", "10"]);
        command.args(["--proto", "=http,https", "--proto-redir", "=http,https"]);
        command.args(["--connect-timeout", "30", "--speed-limit", "1", "--speed-time", "60"]);
        command.args(["--write-out", "%{stderr}\n%{http_code}", "--dump-header"]).arg(headers);
        if from > 0 {
            command.args(["--continue-at", &from.to_string()]);
        }
        command.args(["--", &self.url]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => self.failed(
                "the program `curl` is not there: install it, or fetch the file by other means and put it into the dataset's folder",
            ),
            _ => self.failed(format!("cannot start curl: {error}")),
        })
    }

    fn verify(&self, part: &Path) -> Result<()> {
        let Some(expected) = self.file.sha256 else { return Ok(()) };
        let found = sha256(part)?;
        if found == expected {
            return Ok(());
        }
        restart(part)?;
        Err(self.failed(format!(
            "its SHA-256 is {found} instead of {expected}; it was removed, fetch it again or from another place"
        )))
    }

    fn unpack(&self, part: &Path) -> Result<()> {
        let zip = Zip::parse(part, files::read(part, MOST_BYTES)?)?;
        let names: Vec<String> = zip.names().filter(|name| !name.ends_with('/')).map(str::to_owned).collect();
        let wanted: Vec<(&str, PathBuf)> = match self.file.unpack {
            Unpack::Not => Vec::new(),
            Unpack::Members(members) => {
                let find = |ending: &str| names.iter().find(|name| name.rsplit('/').next() == Some(ending));
                let found = members.iter().map(|(ending, to)| {
                    let advice = "the archive has changed; fetch the file by other means";
                    let name = find(ending).ok_or_else(|| Error::not_found(part.join(ending), advice))?;
                    Ok((name.as_str(), PathBuf::from(to)))
                });
                found.collect::<Result<_>>()?
            }
            Unpack::Below(folder) => {
                let below = |name: &str| name.strip_prefix(folder)?.strip_prefix('/').and_then(plain);
                names.iter().filter_map(|name| Some((name.as_str(), below(name)?))).collect()
            }
        };
        for (name, to) in wanted {
            let path = self.staging.join(to);
            let failed = Error::write(&path);
            fs::create_dir_all(path.parent().unwrap_or(self.staging)).map_err(failed)?;
            fs::write(&path, zip.read(name)?).map_err(failed)?;
        }
        let marker = self.unpacked();
        fs::write(&marker, self.url.as_bytes()).map_err(Error::write(&marker))
    }

    /// Returns the path of the file that marks this archive as unpacked until the dataset is complete.
    fn unpacked(&self) -> PathBuf {
        self.staging.join(format!(".{}.unpacked", self.file.name))
    }
}

/// Result of a connection.
enum Ended {
    Complete,
    Refused(u32),
    NoRanges,
    Cut(String),
}

fn length(part: &Path) -> u64 {
    part.metadata().map_or(0, |about| about.len())
}

fn restart(part: &Path) -> Result<()> {
    fs::remove_file(part).map_err(Error::write(part))
}

/// Returns the path of a member if it stays below the folder that it is joined to.
fn plain(name: &str) -> Option<PathBuf> {
    let path = Path::new(name);
    let normal = path.components().all(|part| matches!(part, Component::Normal(_)));
    (normal && !name.is_empty() && !name.contains('\\')).then(|| path.to_owned())
}

/// Returns the size of the whole file according to the last headers.
fn total(headers: &Path, from: u64) -> Option<u64> {
    let text = fs::read_to_string(headers).ok()?;
    let last = text.trim_end().rsplit("\r\n\r\n").next()?;
    let value = |line: &str| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse::<u64>().ok();
    last.lines().find_map(value).map(|length| length.saturating_add(from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_paths_outside_the_folder() {
        assert_eq!(plain("raw/edge.csv.gz"), Some("raw/edge.csv.gz".into()));
        for bad in ["", "../x", "a/../../x", "/etc/passwd", "a\\b", "./x"] {
            assert_eq!(plain(bad), None, "{bad}");
        }
    }

    #[test]
    fn computes_known_checksums() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("abc");
        fs::write(&path, b"abc").unwrap();
        assert_eq!(sha256(&path).unwrap(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
