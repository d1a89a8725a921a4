//! The living descendants of a process, as `/proc` shows them. A system without it shows a group of processes alone.

#[cfg(target_os = "linux")]
use std::collections::BTreeMap;
#[cfg(target_os = "linux")]
use std::fs;

/// A living process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Descendant {
    pub(super) id: u32,
    /// As the system shows it: 15 bytes at most.
    pub(super) name: String,
}

/// The group of processes as one process, while a process is in it.
#[cfg(not(target_os = "linux"))]
pub(super) fn find(_ancestor: u32, group: Option<u32>) -> Vec<Descendant> {
    let is_there = |id: &u32| {
        let group = i32::try_from(*id).ok().and_then(rustix::process::Pid::from_raw);
        group.is_some_and(|group| rustix::process::test_kill_process_group(group).is_ok())
    };
    group.filter(is_there).map(|id| Descendant { id, name: String::from("a process of the command's group") }).into_iter().collect()
}

/// All descendants of a process, in the order of their ids. A process that has ended and waits for its parent does not count. The group is for
/// systems that show groups alone.
#[cfg(target_os = "linux")]
pub(super) fn find(ancestor: u32, _group: Option<u32>) -> Vec<Descendant> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    // A process that is gone meanwhile is none.
    let all: BTreeMap<u32, ProcessStatus> =
        ids.filter_map(|id| Some((id, ProcessStatus::parse(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)?))).collect();
    let is_below = |id: u32| {
        // As long as the list: a chain cannot be longer, whatever happened while it was read.
        let mut parents = std::iter::successors(all.get(&id), |status| all.get(&status.parent)).take(all.len());
        parents.any(|status| status.parent == ancestor)
    };
    let living = all.iter().filter(|(id, status)| !status.is_over && is_below(**id));
    living.map(|(id, status)| Descendant { id: *id, name: status.name.clone() }).collect()
}

/// Of `/proc/ID/stat`.
#[cfg(target_os = "linux")]
#[derive(Debug, PartialEq, Eq)]
struct ProcessStatus {
    name: String,
    parent: u32,
    is_over: bool,
}

#[cfg(target_os = "linux")]
impl ProcessStatus {
    /// `12 (name) S 1 …`: the name may hold blanks and parentheses.
    fn parse(stat: &str) -> Option<Self> {
        let (before, after) = stat.rsplit_once(") ")?;
        let (_, name) = before.split_once(" (")?;
        let mut words = after.split(' ');
        let is_over = matches!(words.next()?, "Z" | "X" | "x");
        Some(Self { name: name.to_owned(), parent: words.next()?.parse().ok()?, is_over })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn k_13_the_line_of_a_process_is_read_whatever_its_name_is() {
        let parse = |stat| ProcessStatus::parse(stat).unwrap();
        assert_eq!(parse("7 (sleep) S 3 7 7 0"), ProcessStatus { name: "sleep".into(), parent: 3, is_over: false });
        assert_eq!(parse("7 (a) Z (b) Z 3 7"), ProcessStatus { name: "a) Z (b".into(), parent: 3, is_over: true });
        assert_eq!(ProcessStatus::parse("nothing"), None);
    }

    #[test]
    fn k_13_descendants_are_found_at_any_depth() {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "sh -c '(echo; cat); true'; true"]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        // The shell in the shell, and the shell in that.
        assert_eq!(find(child.id(), None).len(), 2);
        assert!(find(std::process::id(), None).iter().any(|found| found.id == child.id()));
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(find(child.id(), None), []);
    }
}
