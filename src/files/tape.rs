//! Tape files: read a line at a time, written whole.

use std::borrow::Borrow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::atomic::{ExistingFile, FileAccess, UnnamedFile};
use super::open::BYTE_ORDER_MARK;
use super::{atomic, open, recording};
use reenact_scenario::tape::line::{LineError, TapeDecoder, TapeError, TapeLine, encode_exchanges, encode_to};
use reenact_scenario::tape::{Exchange, Tape, TapeHeader, UnusableCause, UnusableEntry};

/// Why a tape file could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadTapeError {
    /// There is no such file.
    #[error("{}: there is no such file: check the path, which is relative to the scenario's folder in a scenario", path.display())]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// It is a directory.
    #[error("{}: this is a directory: name one `.tape.jsonl` file in it", path.display())]
    IsDirectory {
        /// The path.
        path: PathBuf,
    },
    /// The file system refuses.
    #[error("{}: cannot be read ({source}): check its permissions", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// It is a recording in another format.
    #[error("{}: not a tape, it looks like {format}: run `reenact import {}`", path.display(), path.display())]
    OtherFormat {
        /// The path.
        path: PathBuf,
        /// The format.
        format: &'static str,
    },
    /// It holds no tape that this version can read.
    #[error("{}: {source}", path.display())]
    NoTape {
        /// The path.
        path: PathBuf,
        /// The reason.
        source: TapeError,
    },
}

/// Why a tape file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot be written ({source}): check the folder's permissions and the free space", path.display())]
pub struct WriteTapeError {
    /// The path.
    pub path: PathBuf,
    /// The error of the file system.
    pub source: io::Error,
}

/// Reads a whole tape for replay. Unusable parts are listed in [`Tape::left_out`], see [`warnings`] (F-2).
///
/// # Errors
/// When there is no file, or nothing in it that is a tape of a version that can be read.
pub fn read(path: &Path) -> Result<Tape, ReadTapeError> {
    let mut decoder = TapeDecoder::new();
    read_lines(path, |line| decoder.feed(line))?;
    decoder.finish().map_err(|source| no_tape(path, source))
}

/// Hands each line of a tape on, with its line end. Memory does not grow with the file.
///
/// # Errors
/// When there is no file, or no line in it, or `take` refuses a line.
#[doc(hidden)]
pub fn read_lines(path: &Path, mut take: impl FnMut(&[u8]) -> Result<(), TapeError>) -> Result<(), ReadTapeError> {
    let mut lines = TapeLines::open(path)?;
    let mut is_empty = true;
    while let Some(line) = lines.next_raw()? {
        is_empty = false;
        take(line).map_err(|source| no_tape(path, source))?;
    }
    if is_empty { Err(no_tape(path, TapeError::Empty)) } else { Ok(()) }
}

/// Writes a tape whole or not at all.
///
/// # Errors
/// Those of the file system.
pub fn write(path: &Path, tape: &Tape) -> Result<(), WriteTapeError> {
    atomic::write_with(path, FileAccess::Owner, |file| encode_to(tape, &mut |lines| file.write_all(lines.as_bytes())))
        .map_err(|source| WriteTapeError { path: path.to_path_buf(), source })
}

/// The same for exchanges that come one by one.
///
/// # Errors
/// Those of the file system.
pub fn write_exchanges(
    path: &Path,
    header: &TapeHeader,
    exchanges: impl IntoIterator<Item = impl Borrow<Exchange>>,
) -> Result<(), WriteTapeError> {
    fill(path, header, exchanges)
        .and_then(|file| file.publish(ExistingFile::IsReplaced))
        .map_err(|source| WriteTapeError { path: path.to_path_buf(), source })
}

/// A tape that has no name yet.
///
/// # Errors
/// Those of the file system.
#[doc(hidden)]
pub fn fill(path: &Path, header: &TapeHeader, exchanges: impl IntoIterator<Item = impl Borrow<Exchange>>) -> io::Result<UnnamedFile> {
    let mut file = UnnamedFile::create(path, FileAccess::Owner)?;
    encode_exchanges(header, exchanges, &mut |lines| file.write_all(lines.as_bytes()))?;
    file.flush()?;
    Ok(file)
}

/// The entries that were left out of a tape, for users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapeWarning {
    /// One line.
    pub text: String,
    /// How it came about: what its recorder did not finish is a remark, and everything else is wrong.
    pub cause: UnusableCause,
}

/// One line for each thing that was left out of a tape, `path:line:column: what`.
pub fn warnings(path: &Path, tape: &Tape) -> Vec<TapeWarning> {
    let warning = |UnusableEntry { line, column, problem, cause }: &UnusableEntry| {
        let note = if *cause == UnusableCause::Unfinished { "note: " } else { "" };
        TapeWarning { text: format!("{note}{}:{line}:{column}: {problem}", path.display()), cause: *cause }
    };
    tape.left_out.iter().map(warning).collect()
}

/// The limit of a line, its end included. A recorder's line for one request or one piece of an answer is far shorter. Not one byte more is read, because the
/// memory for a line doubles as it comes.
const LINE_BYTES_MAX: u64 = 256 << 20;

/// A tape file line by line. Memory does not grow with the file, only with its longest line (F-2).
#[derive(Debug)]
pub struct TapeLines {
    path: PathBuf,
    reader: BufReader<File>,
    buffer: Vec<u8>,
    number: usize,
}

/// A line of a tape file.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberedLine {
    /// Its number, from 1.
    pub number: usize,
    /// The content of the line; or why it cannot be read, which ends nothing.
    pub line: Result<TapeLine, LineError>,
}

impl TapeLines {
    /// Opens the file; whether it is a tape shows with its first line.
    ///
    /// # Errors
    /// When there is no such file, or it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, ReadTapeError> {
        let file = open::open(path).map_err(|source| io_error(path, source))?;
        Ok(Self { path: path.to_path_buf(), reader: BufReader::with_capacity(1 << 16, file), buffer: Vec::new(), number: 0 })
    }

    /// The next line; empty ones are passed over.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn next_line(&mut self) -> Result<Option<NumberedLine>, ReadTapeError> {
        loop {
            let Some(line) = self.next_raw()? else { return Ok(None) };
            let line = line.trim_ascii();
            if !line.is_empty() {
                let line = TapeLine::read(line);
                return Ok(Some(NumberedLine { number: self.number, line }));
            }
        }
    }

    fn next_raw(&mut self) -> Result<Option<&[u8]>, ReadTapeError> {
        self.buffer.clear();
        self.number += 1;
        let mut line = self.reader.by_ref().take(LINE_BYTES_MAX);
        let length = line.read_until(b'\n', &mut self.buffer).map_err(|source| io_error(&self.path, source))?;
        if length as u64 == LINE_BYTES_MAX {
            let problem = format!("line {} takes {} MiB or more", self.number, LINE_BYTES_MAX >> 20);
            return Err(io_error(&self.path, io::Error::new(ErrorKind::FileTooLarge, problem)));
        }
        if self.number == 1 && self.buffer.starts_with(BYTE_ORDER_MARK) {
            self.buffer.drain(..BYTE_ORDER_MARK.len());
        }
        Ok((length > 0).then_some(&*self.buffer))
    }
}

fn io_error(path: &Path, source: io::Error) -> ReadTapeError {
    let path = path.to_path_buf();
    match source.kind() {
        ErrorKind::NotFound => ReadTapeError::Missing { path },
        ErrorKind::IsADirectory => ReadTapeError::IsDirectory { path },
        _ => ReadTapeError::Io { path, source },
    }
}

/// Says which recording it is instead, if it is one: people try what they have.
fn no_tape(path: &Path, source: TapeError) -> ReadTapeError {
    let other = matches!(source, TapeError::NotATape { .. } | TapeError::HeaderCut { .. });
    match other.then(|| open::open(path).ok().and_then(recording::format_name)).flatten() {
        Some(format) => ReadTapeError::OtherFormat { path: path.to_path_buf(), format },
        None => ReadTapeError::NoTape { path: path.to_path_buf(), source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_scenario::tape::TapeHeader;
    use reenact_scenario::tape::line::LineKind;

    fn message_of(contents: &[u8]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.tape.jsonl");
        std::fs::write(&path, contents).unwrap();
        read(&path).unwrap_err().to_string().replace(&path.display().to_string(), "X")
    }

    #[test]
    fn f_2_errors_say_what_to_do_next() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(read(&folder.path().join("none")).unwrap_err(), ReadTapeError::Missing { .. }));
        assert!(matches!(read(folder.path()).unwrap_err(), ReadTapeError::IsDirectory { .. }));
        assert_eq!(message_of(b""), "X: it is empty, and a tape begins with a header line: record or import again");
        let har = b"{\"log\": {\"version\": \"1.2\", \"entries\": []}}";
        assert_eq!(message_of(har), "X: not a tape, it looks like a HAR file: run `reenact import X`");
        assert_eq!(message_of(b"{\n  \"log\": {\"version\": \"1.2\",\n \"entries\": []}}"), message_of(har));
        let cut = "X: line 1, column 10: the header line is cut off, so nothing was recorded after it: record or import again";
        assert_eq!(message_of(b"{\"reenact"), cut);
        assert!(message_of(b"hello\n").starts_with("X: line 1, column 1: not a tape"));
        assert!(message_of(b"{\"reenact_tape\":7}\n").contains("version 7"));
    }

    #[test]
    fn f_2_a_file_can_be_read_line_by_line_and_what_is_cut_is_warned_of() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.tape.jsonl");
        let tape = Tape { header: TapeHeader { recorder: String::from("test"), ..TapeHeader::default() }, ..Tape::default() };
        write(&path, &tape).unwrap();
        assert_eq!(read(&path).unwrap(), tape);

        std::fs::write(&path, "{\"reenact_tape\":1}\n\n{\"end\":").unwrap();
        let mut lines = TapeLines::open(&path).unwrap();
        let NumberedLine { number, line: first } = lines.next_line().unwrap().unwrap();
        assert!(number == 1 && matches!(first.unwrap().kind, LineKind::Header { version: 1, .. }));
        let NumberedLine { number, line: last } = lines.next_line().unwrap().unwrap();
        assert!(number == 3 && last.unwrap_err().unfinished);
        assert!(lines.next_line().unwrap().is_none());
        let warnings = warnings(&path, &read(&path).unwrap());
        let text = format!("note: {}:3:8: the line is cut off here; it was left out", path.display());
        assert_eq!(warnings, [TapeWarning { text, cause: UnusableCause::Unfinished }]);
    }
}
