//! A name space of mounts in which everything but a few folders is read-only: not even permissions and times of a file can be changed elsewhere.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getgid, getuid};

/// File systems of the kernel itself, whose mounts may refuse.
const KERNEL_FOLDERS: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Moves this process into it. It must have one thread.
pub(super) fn make(writable: &[PathBuf]) -> io::Result<()> {
    let nothing: Option<&str> = None;
    if getuid().is_root() {
        unshare(CloneFlags::CLONE_NEWNS)?;
    } else {
        let (user, group) = (getuid(), getgid());
        unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)?;
        // Users and groups are who they were.
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    }
    mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing)?;
    let mut kept = Vec::new();
    for folder in writable.iter().filter_map(|folder| folder.canonicalize().ok()) {
        mount(Some(&folder), &folder, nothing, MsFlags::MS_BIND | MsFlags::MS_REC, nothing)?;
        kept.push(folder);
    }
    for (path, flags) in mounts(&fs::read("/proc/self/mountinfo")?) {
        if kept.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        let remounted = mount(nothing, &path, nothing, MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY | flags, nothing);
        if let Err(error) = remounted
            && !KERNEL_FOLDERS.iter().any(|folder| path.starts_with(folder))
        {
            return Err(error.into());
        }
    }
    // The folder of this process is still the one below the new mount.
    if let Ok(folder) = std::env::current_dir() {
        std::env::set_current_dir(folder)?;
    }
    Ok(())
}

/// The mounts of a table of the system, with the flags that they keep.
fn mounts(table: &[u8]) -> Vec<(PathBuf, MsFlags)> {
    let lines = table.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| {
            let mut fields = line.split(|byte| *byte == b' ');
            let (path, options) = (fields.nth(4)?, fields.next()?);
            let flags = options.split(|byte| *byte == b',').map(flag).collect();
            Some((unescaped(path), flags))
        })
        .collect()
}

fn flag(option: &[u8]) -> MsFlags {
    match option {
        b"nosuid" => MsFlags::MS_NOSUID,
        b"nodev" => MsFlags::MS_NODEV,
        b"noexec" => MsFlags::MS_NOEXEC,
        b"noatime" => MsFlags::MS_NOATIME,
        b"nodiratime" => MsFlags::MS_NODIRATIME,
        b"relatime" => MsFlags::MS_RELATIME,
        _ => MsFlags::empty(),
    }
}

/// Blanks and backslashes are written as three octal digits behind a backslash.
fn unescaped(path: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((first, more)) = rest.split_first() {
        let digits = more.get(..3).and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        match digits.filter(|_| *first == b'\\') {
            Some(byte) => {
                bytes.push(byte);
                rest = &more[3..];
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_3_mounts_are_read_with_their_flags() {
        let table = b"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/x rw\n30 22 0:5 / /a\\040b rw,nosuid,noexec - tmpfs t rw\nbroken\n";
        let expected = [(PathBuf::from("/"), MsFlags::MS_RELATIME), (PathBuf::from("/a b"), MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC)];
        assert_eq!(mounts(table), expected);
    }
}
