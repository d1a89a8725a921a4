//! The facts that the system tells of a process that runs: its program, its words, its age. Linux tells them; elsewhere nothing is known.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reenact_wire::prelude::*;

/// The unit of the kernel for other programs.
const TICKS_PER_SECOND: f64 = 100.0;

/// The time that all processes have computed which ended below this one, to a hundredth of a second.
pub(super) fn computed_by_the_ended() -> Option<Duration> {
    /// The places behind the name of the time in programs and in the kernel.
    const OF_CHILDREN: [usize; 2] = [13, 14];
    let fields = stat_fields("/proc/self/stat")?;
    let ticks: Option<f64> = OF_CHILDREN.iter().map(|place| fields.get(*place)?.parse::<f64>().ok()).sum();
    Some(Duration::from_secs_f64(ticks? / TICKS_PER_SECOND))
}

/// The fields of such a file behind the name, which may have blanks and brackets.
fn stat_fields(path: &str) -> Option<Vec<String>> {
    let stat = fs::read_to_string(path).ok()?;
    let (_, behind_name) = stat.rsplit_once(") ")?;
    Some(behind_name.split(' ').map(String::from).collect())
}

/// A process that runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunningProcess(pub(super) u32);

impl RunningProcess {
    /// The name of its program's file. An interpreter counts, and not its script.
    pub(super) fn program(self) -> Option<String> {
        let path = fs::read_link(self.place("exe")).ok()?;
        let name = path.file_name()?.to_string_lossy().into_owned();
        // The file was replaced.
        Some(name.trim_end_matches(" (deleted)").into())
    }

    /// Its name and its arguments; none for a moment while it begins. An interpreter has its script among them.
    pub(super) fn words(self) -> Vec<String> {
        let line = fs::read(self.place("cmdline")).unwrap_or_default();
        let mut words: Vec<String> = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        // A zero ends each word.
        words.pop();
        words
    }

    /// A path as it knows it.
    pub(super) fn path(self, path: &str) -> PathBuf {
        Path::new(&self.place("cwd")).join(path)
    }

    /// How long it has been there, to a hundredth of a second.
    pub(super) fn age(self) -> Option<Duration> {
        /// The place of the start behind the name.
        const START: usize = 19;
        let started = stat_fields(&self.place("stat"))?.get(START)?.parse::<f64>().ok()? / TICKS_PER_SECOND;
        let now = fs::read_to_string("/proc/uptime").ok()?.split(' ').next()?.parse::<f64>().ok()?;
        Some(Duration::from_secs_f64((now - started).max(0.0)))
    }

    fn place(self, name: &str) -> String {
        format!("/proc/{}/{name}", self.0)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Read as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn k_9_the_system_tells_how_long_ended_processes_have_computed() {
        let before = computed_by_the_ended().unwrap();
        let busy = "n=0; while [ $n -lt 200000 ]; do n=$((n+1)); done";
        // A child of a child counts too.
        assert!(Command::new("sh").args(["-c", &format!("sh -c '{busy}'; :")]).status().unwrap().success());
        let computed = computed_by_the_ended().unwrap().saturating_sub(before);
        assert!(computed >= Duration::from_millis(20), "{computed:?}");
    }

    #[test]
    fn k_9_the_system_tells_of_a_process() {
        let script = "echo begun; sleep 5; :";
        let mut child = Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        // Who has started it may be faster than its words.
        child.stdout.take().unwrap().read_exact(&mut [0; 5]).unwrap();
        let process = RunningProcess(child.id());
        assert_eq!(process.words()[1..], ["-c", script]);
        assert!(process.program().is_some() && process.age().unwrap() < Duration::from_secs(4));
        assert!(process.path("x").starts_with(format!("/proc/{}/cwd", child.id())));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((process.program(), process.age()), (None, None));
    }
}
