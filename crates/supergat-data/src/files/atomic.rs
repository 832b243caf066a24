//! Atomic writing of single files.
//!
//! ```
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("result.txt");
//! supergat_data::atomic::replace(&path, |out| writeln!(out, "84.4"))?;
//! assert_eq!(std::fs::read_to_string(&path)?, "84.4\n");
//! # Ok::<(), std::io::Error>(())
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Number of symbolic links that are followed, as in Linux.
const MAX_LINKS: usize = 40;

/// First characters of the names of temporary files. One that is found later was left by a process that was killed.
pub const TEMPORARY: &str = ".supergat-";

/// Destination of a write, after following symbolic links.
#[derive(Debug, PartialEq)]
enum Destination {
    /// Regular file or new name, replaced by a rename. The permissions are those of an existing file.
    Replace(PathBuf, Option<fs::Permissions>),
    /// Device, FIFO or open file descriptor, written in place.
    InPlace(PathBuf),
    /// Standard output of this process.
    Stdout,
}

/// Writes a file that the user has named, so that readers see either the old content or the complete new content.
///
/// `fill` writes to a temporary file beside the destination, which is synced and renamed. Symbolic links are
/// followed: the link stays, and its target is replaced. Special files, such as a FIFO or `/dev/stdout`, are
/// written in place. A folder is an error.
pub fn replace(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let (path, permissions) = match destination(path)? {
        Destination::Replace(path, permissions) => (path, permissions),
        Destination::InPlace(path) => return buffered(OpenOptions::new().append(true).open(path)?, fill),
        Destination::Stdout => return buffered(io::stdout().lock(), fill),
    };
    rename_over(&path, permissions, fill)
}

/// Writes a file of a folder as [`replace`] does, but follows no symbolic link: the link is replaced, and its target
/// stays as it is. Programs use it for names that the user has not given, because the folder may come from others.
pub fn replace_entry(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let existing = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(metadata) => Some(metadata).filter(fs::Metadata::is_file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    rename_over(path, existing.map(|metadata| metadata.permissions()), fill)
}

/// Opens a file of a folder for reading and appending, and creates it if it is missing. A symbolic link is an error:
/// its target may be a file of someone else.
pub fn append_entry(path: &Path) -> io::Result<File> {
    match path.is_symlink() {
        true => Err(io::Error::other("it is a symbolic link, which is not followed: replace it by a copy of the file")),
        false => OpenOptions::new().read(true).append(true).create(true).open(path),
    }
}

/// Creates a folder in another one, unless it is there. A symbolic link is an error.
pub fn create_folder_entry(path: &Path) -> io::Result<()> {
    match path.is_symlink() {
        true => Err(io::Error::other("it is a symbolic link, which is not followed: remove it")),
        false => fs::create_dir_all(path),
    }
}

/// Writes a temporary file beside `path` and renames it.
fn rename_over(
    path: &Path,
    permissions: Option<fs::Permissions>,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY);
    // Temporary files are private by default; this one becomes an ordinary file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    // The full error names the temporary file, which is of no use to the user.
    let file = builder.tempfile_in(parent(path)).map_err(|error| io::Error::from(error.kind()))?;
    buffered(file.as_file(), fill)?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.as_file().sync_all()?;
    file.persist(path)?;
    sync_folder(parent(path));
    Ok(())
}

/// Writes and syncs a file in a folder that is published as a whole later.
pub fn create(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let file = File::create(path)?;
    buffered(&file, fill)?;
    file.sync_all()
}

/// Returns the folder that contains a file or folder.
pub fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Syncs the names in a folder. Errors are ignored: some systems cannot do it, and the files are synced already.
pub fn sync_folder(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

fn buffered(out: impl Write, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    fill(&mut out)?;
    out.flush()
}

fn destination(path: &Path) -> io::Result<Destination> {
    let existing = match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(metadata) => Some(metadata),
        // A new name, or a symbolic link to one.
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let is_special = existing.as_ref().is_some_and(|metadata| !metadata.is_file());
    let permissions = existing.map(|metadata| metadata.permissions());
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        // A file descriptor looks like a link to a file. Replacing that file would leave the descriptor behind.
        if ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|stdout| path == Path::new(stdout)) {
            return Ok(Destination::Stdout);
        }
        if path.starts_with("/dev/fd") || path.starts_with("/proc") {
            return Ok(Destination::InPlace(path));
        }
        match fs::read_link(&path) {
            Ok(target) => path = parent(&path).join(target),
            Err(_) if is_special => return Ok(Destination::InPlace(path)),
            Err(_) => return Ok(Destination::Replace(path, permissions)),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn write(path: &Path, text: &str) -> io::Result<()> {
        replace(path, |out| out.write_all(text.as_bytes()))
    }

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn replaces_files_and_keeps_their_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write(&path, "old").unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        write(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(names(folder.path()), 1);
    }

    #[test]
    fn keeps_the_old_content_when_writing_fails() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write(&path, "old").unwrap();
        let failed = replace(&path, |out| {
            out.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(names(folder.path()), 1);
    }

    #[test]
    fn follows_chains_of_links_to_existing_and_new_files() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("inner")).unwrap();
        symlink("inner/second", at("first")).unwrap();
        symlink("target", at("inner/second")).unwrap();
        for text in ["new", "replaced"] {
            write(&at("first"), text).unwrap();
            assert_eq!(fs::read_to_string(at("inner/target")).unwrap(), text);
        }
        assert!(at("first").is_symlink() && at("inner/second").is_symlink());
        symlink("circle", at("circle")).unwrap();
        assert!(write(&at("circle"), "").is_err());
        assert_eq!((names(folder.path()), names(&at("inner"))), (3, 2));
    }

    #[test]
    fn entries_of_folders_replace_links_and_keep_targets() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("target"), "mine").unwrap();
        symlink("target", at("file")).unwrap();
        symlink("missing", at("dangling")).unwrap();
        symlink(".", at("folder")).unwrap();
        for name in ["file", "dangling", "new", "new"] {
            replace_entry(&at(name), |out| out.write_all(b"new")).unwrap();
            assert!(!at(name).is_symlink());
            assert_eq!(fs::read_to_string(at(name)).unwrap(), "new");
        }
        assert_eq!(fs::read_to_string(at("target")).unwrap(), "mine");
        assert!(!at("missing").exists());
        symlink("target", at("log")).unwrap();
        assert!(append_entry(&at("log")).is_err() && append_entry(&at("new")).is_ok());
        assert!(create_folder_entry(&at("folder")).is_err() && create_folder_entry(&at("other")).is_ok());
    }

    #[test]
    fn writes_devices_and_descriptors_in_place() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("null");
        symlink("/dev/null", &link).unwrap();
        assert_eq!(destination(&link).unwrap(), Destination::InPlace("/dev/null".into()));
        symlink("/dev/stdout", folder.path().join("out")).unwrap();
        assert_eq!(destination(&folder.path().join("out")).unwrap(), Destination::Stdout);
        assert_eq!(destination(Path::new("/dev/stdout")).unwrap(), Destination::Stdout);
        assert_eq!(destination(folder.path()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
    }
}
