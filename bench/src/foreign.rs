//! The programs of others that the recorder is measured against: nginx and mitmdump, where this machine has them.
//!
//! `cargo xtask bench --fetch-peers` puts what is missing into the target folder, and nowhere else: nginx from the system's packages (Debian and its kin),
//! mitmproxy from Python's.

use std::path::PathBuf;
use std::process::Command;

/// The folder of what is built.
pub(crate) fn target() -> PathBuf {
    let this = std::env::current_exe().expect("this program has a path");
    this.ancestors().nth(2).expect("a program is built in a folder of the target folder").to_path_buf()
}

fn fetched() -> PathBuf {
    target().join("bench-peers")
}

/// nginx.
///
/// # Errors
/// How to get it.
pub(crate) fn nginx() -> Result<PathBuf, String> {
    found("nginx", "nginx/usr/sbin/nginx", "-v")
}

/// mitmdump.
///
/// # Errors
/// How to get it.
pub(crate) fn mitmdump() -> Result<PathBuf, String> {
    found("mitmdump", "mitmproxy/bin/mitmdump", "--version")
}

/// The fetched program, else that of the system.
fn found(program: &str, path: &str, version: &str) -> Result<PathBuf, String> {
    let candidates = [fetched().join(path), PathBuf::from(program), PathBuf::from("/usr/sbin").join(program)];
    let answers = |candidate: &&PathBuf| Command::new(candidate).arg(version).output().is_ok_and(|output| output.status.success());
    candidates
        .iter()
        .find(answers)
        .cloned()
        .ok_or_else(|| format!("{program} is not installed (install it, or run `cargo xtask bench --fetch-peers` once)"))
}

/// Fetches what is missing.
///
/// # Errors
/// The program that could not be fetched.
pub(crate) fn fetch() -> Result<(), String> {
    let folder = fetched();
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    if nginx().is_err() {
        run(Command::new("apt-get").args(["download", "nginx"]).current_dir(&folder))?;
        let packages = std::fs::read_dir(&folder).map_err(|error| error.to_string())?.filter_map(Result::ok).map(|entry| entry.path());
        let package = packages.filter(|path| path.extension().is_some_and(|extension| extension == "deb")).last();
        run(Command::new("dpkg-deb").arg("-x").arg(package.ok_or("apt-get left no package")?).arg(folder.join("nginx")))?;
    }
    if mitmdump().is_err() {
        let place = folder.join("mitmproxy");
        run(Command::new("python3").args(["-m", "venv"]).arg(&place))?;
        run(Command::new(place.join("bin/pip")).args(["install", "--quiet", "mitmproxy"]))?;
    }
    Ok(())
}

fn run(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?} ended with {status}")),
        Err(error) => Err(format!("{command:?} cannot be started: {error}")),
    }
}
