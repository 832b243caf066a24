//! Memory of this process: current and peak use, and the limit set by the machine or a container.

use std::path::{Path, PathBuf};

/// Memory used by this process, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Current use.
    pub now: u64,
    /// Peak use so far.
    pub peak: u64,
}

/// Upper limit of the memory of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// Limit in bytes.
    pub bytes: u64,
    /// Source of the limit, for messages.
    pub from: String,
}

/// Returns the memory used by this process; `None` on systems without `/proc`.
pub fn usage() -> Option<Usage> {
    usage_in(&std::fs::read_to_string("/proc/self/status").ok()?)
}

fn usage_in(status: &str) -> Option<Usage> {
    Some(Usage { now: kilobytes(status, "VmRSS:")?, peak: kilobytes(status, "VmHWM:")? })
}

/// Returns the number of bytes in a line such as `VmRSS:  123 kB`.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the number of bytes that this process may still use; `None` if that is not known.
pub fn free() -> Option<u64> {
    limit().map(|limit| limit.bytes.saturating_sub(usage().map_or(0, |usage| usage.now)))
}

/// Returns the lowest limit: free memory of the machine, the limit of a control group, or one that `ulimit` sets.
pub fn limit() -> Option<Limit> {
    limit_under(Path::new("/"), usage().map_or(0, |usage| usage.now))
}

/// Returns the lowest limit that `ulimit` sets, which the system enforces.
pub fn fixed_limit() -> Option<Limit> {
    let own = usage().map_or(0, |usage| usage.now);
    set_limits(Path::new("/"), own).into_iter().min_by_key(|limit| limit.bytes)
}

fn limit_under(root: &Path, own: u64) -> Option<Limit> {
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let free = read(&root.join("proc/meminfo")).and_then(|text| kilobytes(&text, "MemAvailable:"));
    let machine = free.map(|free| Limit { bytes: free + own, from: "free memory of this machine".into() });
    let groups = read(&root.join("proc/self/cgroup")).unwrap_or_default();
    let folders = groups.lines().flat_map(|line| group_folders(root, line));
    let groups = folders.filter_map(|(folder, most, used)| {
        // Without a limit, the file contains "max" or a number larger than any memory.
        let most = read(&folder.join(most))?.trim().parse::<u64>().ok().filter(|&bytes| bytes < 1 << 60)?;
        let used = read(&folder.join(used)).and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0);
        let bytes = most.saturating_sub(used.saturating_sub(own));
        Some(Limit { bytes, from: format!("limit of the control group {}", folder.display()) })
    });
    machine.into_iter().chain(groups).chain(set_limits(root, own)).min_by_key(|limit| limit.bytes)
}

/// Returns the limits of this process that `ulimit -v` and `ulimit -d` set. They count memory that is reserved but not
/// used, such as the stacks of threads; the process cannot use that much.
fn set_limits(root: &Path, own: u64) -> Vec<Limit> {
    let read = |name: &str| std::fs::read_to_string(root.join("proc/self").join(name)).unwrap_or_default();
    let (limits, status) = (read("limits"), read("status"));
    let set = |(name, counted, from): (&str, &str, &str)| {
        let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
        // Without a limit, the line contains "unlimited".
        let most = line.split_whitespace().next()?.parse::<u64>().ok()?;
        let reserved = kilobytes(&status, counted)?.saturating_sub(own);
        Some(Limit { bytes: most.saturating_sub(reserved), from: from.into() })
    };
    let kinds = [
        ("Max address space", "VmSize:", "limit of the address space, ulimit -v"),
        ("Max data size", "VmData:", "limit of the data segment, ulimit -d"),
    ];
    kinds.into_iter().filter_map(set).collect()
}

/// Returns the folders of the control group in a line of /proc/self/cgroup and of its ancestors, with the names of
/// the files that contain limit and use.
fn group_folders(root: &Path, line: &str) -> Vec<(PathBuf, &'static str, &'static str)> {
    let mut fields = line.splitn(3, ':');
    let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
        return Vec::new();
    };
    let mount = root.join("sys/fs/cgroup");
    let (mount, most, used) = match controllers {
        "" => (mount, "memory.max", "memory.current"),
        "memory" => (mount.join("memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"),
        _ => return Vec::new(),
    };
    Path::new(path.trim_start_matches('/')).ancestors().map(|group| (mount.join(group), most, used)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_current_and_peak_use() {
        let usage = usage_in("Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n").unwrap();
        assert_eq!(usage, Usage { now: 1 << 20, peak: 2 << 20 });
        assert_eq!(usage_in("VmHWM: many kB\nVmRSS: 1 kB"), None);
    }

    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn returns_the_lowest_limit() {
        let free = ("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable: 4000 kB\n");
        let limit = |files: &[(&str, &str)]| limit_under(machine(files).path(), 1 << 20).map(|limit| limit.bytes);
        assert_eq!(limit(&[]), None);
        assert_eq!(limit(&[free]), Some(4000 * 1024 + (1 << 20)));
        // Version 2: the parent group has a limit of 3 MiB. 1.5 MiB are used, 1 MiB of them by this process.
        let nested = ("proc/self/cgroup", "0::/outer/inner\n");
        let outer = [
            ("sys/fs/cgroup/outer/memory.max", "3145728\n"),
            ("sys/fs/cgroup/outer/memory.current", "1572864\n"),
            ("sys/fs/cgroup/outer/inner/memory.max", "max\n"),
        ];
        assert_eq!(limit(&[&[free, nested], &outer[..]].concat()), Some(5 << 19));
        // Version 1: the parent group contains the number that means no limit.
        let first = [
            free,
            ("proc/self/cgroup", "9:cpu:/\n4:memory:/box\n"),
            ("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "2097152\n"),
            ("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "1048576\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ];
        assert_eq!(limit(&first), Some(2 << 20));
    }

    #[test]
    fn limits_of_ulimit_count() {
        let of = |address: &str, data: &str| {
            let limits = format!(
                "Limit                     Soft Limit           Hard Limit           Units\n\
                 Max data size             {data:<20} unlimited            bytes\n\
                 Max address space         {address:<20} unlimited            bytes\n"
            );
            let status = "VmSize:\t    3072 kB\nVmRSS:\t    1024 kB\nVmData:\t    2048 kB\n";
            let files = [("proc/self/limits", &*limits), ("proc/self/status", status)];
            limit_under(machine(&files).path(), 1 << 20)
        };
        assert_eq!(of("unlimited", "unlimited"), None);
        // 2 MiB of the address space are reserved and not used.
        let address = of("8388608", "unlimited").unwrap();
        assert_eq!((address.bytes, &*address.from), (6 << 20, "limit of the address space, ulimit -v"));
        assert_eq!(of("8388608", "5242880").unwrap().bytes, 4 << 20);
        assert_eq!(of("1048576", "unlimited").unwrap().bytes, 0);
    }
}
