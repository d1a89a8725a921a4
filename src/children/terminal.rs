//! A terminal for a command: what it prints is read here, and what is written here is typed there (K-9).
//!
//! ```text
//!   starter: ChildTerminal <══ pseudoterminal ══> the command, leader of a session whose terminal it is
//! ```
//!
//! A helper makes its session, takes the terminal and becomes the command: what the standard library starts cannot have a terminal of its own.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use rustix::fs::OFlags;
use rustix::pty::OpenptFlags;
use rustix::termios::Winsize;
use tokio::net::unix::pipe::{Receiver, Sender};

pub(super) const ROLE: &str = "terminal";

/// The exit code of a helper that could not become the command, as shells have it.
const NOT_STARTED: u8 = 127;

/// The size of the terminal, in characters.
const SIZE: Winsize = Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };

/// How much is read at once.
const READ_BYTES: usize = 8 * 1024;

/// A terminal, as its user sees it.
#[derive(Debug)]
pub struct ChildTerminal {
    // The runtime has no type of its own for terminals, and waits for any file in the same way.
    screen: Receiver,
    keyboard: Sender,
    path: PathBuf,
}

impl ChildTerminal {
    /// Makes one.
    ///
    /// # Errors
    /// When the system has none to give.
    pub fn open() -> io::Result<Self> {
        let user_side = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        rustix::io::fcntl_setfd(&user_side, rustix::io::FdFlags::CLOEXEC)?;
        rustix::pty::grantpt(&user_side)?;
        rustix::pty::unlockpt(&user_side)?;
        rustix::fs::fcntl_setfl(&user_side, OFlags::RDWR | OFlags::NONBLOCK)?;
        let name = rustix::pty::ptsname(&user_side, Vec::new())?;
        let path = PathBuf::from(OsStr::from_bytes(name.as_bytes()));
        let screen = Receiver::from_owned_fd_unchecked(user_side.try_clone()?)?;
        Ok(Self { screen, keyboard: Sender::from_owned_fd_unchecked(user_side)?, path })
    }

    /// The path by which a command opens it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The output since then; `None` while no process has the terminal open.
    pub async fn read(&self) -> Option<Vec<u8>> {
        loop {
            self.screen.readable().await.ok()?;
            let mut bytes = vec![0; READ_BYTES];
            match self.screen.try_read(&mut bytes) {
                Ok(0) => return None,
                Ok(count) => {
                    bytes.truncate(count);
                    return Some(bytes);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => (),
                Err(_) => return None,
            }
        }
    }

    /// Types these bytes.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub async fn write(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.keyboard.writable().await?;
            match self.keyboard.try_write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => (),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The helper that becomes a command at a terminal.
pub(super) fn command(program: &super::WatcherProgram, terminal: &OsStr, words: &[OsString]) -> Command {
    let mut command = program.command(ROLE);
    command.arg(terminal).args(words);
    command
}

/// The helper's work: it does not return when the command runs.
pub(super) fn main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    use std::os::unix::process::CommandExt as _;
    let (Some(terminal), Some(program)) = (arguments.next(), arguments.next()) else { return ExitCode::from(2) };
    if let Err(error) = take(Path::new(&terminal)) {
        // Nobody reads what is printed without a terminal.
        return ExitCode::from(u8::try_from(error.raw_os_error().unwrap_or(1)).unwrap_or(NOT_STARTED));
    }
    let problem = Command::new(&program).args(arguments).exec();
    eprintln!("cannot start `{}`: {problem}", program.to_string_lossy());
    ExitCode::from(NOT_STARTED)
}

/// Makes a session of this process's own, with this terminal.
fn take(path: &Path) -> io::Result<()> {
    rustix::process::setsid()?;
    let terminal = std::fs::File::options().read(true).write(true).open(path)?;
    // On some systems opening it was enough, and on others it was not.
    let _ = rustix::process::ioctl_tiocsctty(&terminal);
    rustix::termios::tcsetwinsize(&terminal, SIZE)?;
    rustix::stdio::dup2_stdin(&terminal)?;
    rustix::stdio::dup2_stdout(&terminal)?;
    rustix::stdio::dup2_stderr(&terminal)?;
    Ok(())
}
