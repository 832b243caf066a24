//! Renaming a complete folder to its place.

use std::fs;
use std::io;
use std::path::Path;

/// Renames a folder to a new name or to the name of an empty folder. With `replaces`, a folder with files is replaced:
/// it has the temporary name `from` afterwards, and files that only it contains are moved to the new folder.
pub fn publish(from: &Path, to: &Path, replaces: bool) -> io::Result<()> {
    match fs::remove_dir(to) {
        Err(error) if replaces && is_taken(&error) => {
            exchange(from, to)?;
            carry_over(from, to);
            Ok(())
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::rename(from, to),
    }
}

/// Returns whether an error means that the name is in use.
pub fn is_taken(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory
    )
}

/// Exchanges the names of two folders.
fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
        if renameat2(AT_FDCWD, a, AT_FDCWD, b, RenameFlags::RENAME_EXCHANGE).is_ok() {
            return Ok(());
        }
    }
    // Not every file system can exchange names at once. If the process is killed between these steps, the
    // training can still be resumed.
    let aside = a.with_extension("old");
    fs::rename(b, &aside)?;
    fs::rename(a, b).inspect_err(|_| drop(fs::rename(&aside, b)))?;
    fs::rename(&aside, a)
}

/// Moves files that are not in `to`, such as the user's own. Errors are ignored: the run itself is complete.
fn carry_over(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let place = to.join(entry.file_name());
        if place.symlink_metadata().is_err() {
            let _ = fs::rename(entry.path(), place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn folders() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let base = tempfile::tempdir().unwrap();
        let (from, to) = (base.path().join("from"), base.path().join("to"));
        fs::create_dir(&from).unwrap();
        fs::write(from.join("file"), "new").unwrap();
        fs::create_dir(&to).unwrap();
        (base, from, to)
    }

    fn read(folder: &Path, name: &str) -> String {
        fs::read_to_string(folder.join(name)).unwrap()
    }

    #[test]
    fn renames_only_to_new_or_empty_folders() {
        let (_base, from, to) = folders();
        fs::write(to.join("file"), "old").unwrap();
        assert!(is_taken(&publish(&from, &to, false).unwrap_err()));
        assert_eq!(read(&to, "file"), "old");
        fs::remove_file(to.join("file")).unwrap();
        publish(&from, &to, false).unwrap();
        assert_eq!(read(&to, "file"), "new");
        assert!(!from.exists());
    }

    #[test]
    fn replaces_a_folder_and_keeps_the_files_of_others() {
        let (_base, from, to) = folders();
        fs::write(to.join("file"), "old").unwrap();
        fs::write(to.join("notes"), "mine").unwrap();
        publish(&from, &to, true).unwrap();
        assert_eq!(
            (read(&to, "file"), read(&to, "notes"), read(&from, "file")),
            ("new".into(), "mine".into(), "old".into())
        );
        assert!(!from.join("notes").exists());
        // A new name needs no exchange.
        let third = to.with_file_name("third");
        publish(&to, &third, true).unwrap();
        assert_eq!(read(&third, "file"), "new");
    }
}
