//! The tape's file: whole lines are appended, and nothing waits for it but the ends that must (K-3).

use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering as Atomicity;
use std::sync::mpsc::Receiver;

use tokio::sync::oneshot;

use super::summary::ExchangeCounts;
use super::{RecordOptions, RecorderState};
use reenact_files::atomic::{self, ExistingFile, FileAccess};
use reenact_files::open;

/// Lines to append at once, and the answers that wait for them.
#[derive(Debug, Default)]
pub(super) struct LineBatch {
    pub(super) lines: String,
    pub(super) written: Vec<oneshot::Sender<()>>,
}

/// The tape's file, and how much of it was written.
#[derive(Debug)]
pub(super) struct TapeFile {
    file: File,
    path: PathBuf,
    written: u64,
}

/// The report of the disk thread at the end.
#[derive(Debug, Default)]
pub(super) struct WrittenTape {
    /// Why the recording ended early.
    pub(super) problem: Option<String>,
    /// The exchanges on the tape, as it was read back.
    pub(super) counts: ExchangeCounts,
}

impl TapeFile {
    /// Makes the file, which only its owner may read. One that is there is left alone, unless it is to be replaced.
    pub(super) fn create(path: &Path, standing: ExistingFile) -> io::Result<Self> {
        let file = match standing {
            ExistingFile::IsAnError => atomic::create_new(path, FileAccess::Owner)?,
            ExistingFile::IsReplaced => atomic::replace_by_empty(path, FileAccess::Owner)?,
        };
        Ok(Self { file, path: path.to_path_buf(), written: 0 })
    }

    /// Appends the lines. Where the disk fails, the lines that came whole are kept.
    fn append(&mut self, lines: &str, sync: bool) -> io::Result<()> {
        let (whole, result) = write_whole_lines(&mut self.file, lines.as_bytes());
        self.written += whole as u64;
        if result.is_err() {
            // A cut line would be left out on reading (F-2); without it nobody has to wonder.
            let _ = self.file.set_len(self.written);
        }
        result?;
        if sync { self.file.sync_data() } else { Ok(()) }
    }

    /// The damage that another program has done to the tape meanwhile.
    fn damage(&self) -> Option<&'static str> {
        let (Ok(own), Ok(named)) = (self.file.metadata(), std::fs::metadata(&self.path)) else { return Some(GONE) };
        if (own.dev(), own.ino()) != (named.dev(), named.ino()) {
            return Some("another file has taken its place");
        }
        match named.len().cmp(&self.written) {
            Ordering::Less => Some("something has cut it, so that exchanges are lost"),
            Ordering::Equal => None,
            Ordering::Greater => Some("something else has written to it"),
        }
    }
}

const GONE: &str = "it was deleted or moved";

/// Appends what comes until nothing more can, and reads back what is there.
pub(super) fn run(mut tape: TapeFile, batches: &Receiver<LineBatch>, shared: &RecorderState, options: &RecordOptions) -> WrittenTape {
    let mut problem = None;
    if options.durable {
        problem = sync_folder(&tape.path).err().map(|error| message(&tape.path, &error));
    }
    for batch in batches {
        if problem.is_none() && !batch.lines.is_empty() {
            let ends = !batch.written.is_empty();
            match tape.append(&batch.lines, options.durable && ends) {
                Ok(()) => problem = tape.damage().map(|damage| damage_message(&tape.path, damage)),
                Err(error) => problem = Some(message(&tape.path, &error)),
            }
            if let Some(problem) = &problem {
                shared.disk_failed.store(true, Atomicity::Relaxed);
                (options.notice)(problem);
            }
        }
        shared.behind.fetch_sub(batch.lines.len(), Atomicity::Relaxed);
        for waiting in batch.written {
            // Who does not wait any more has dropped the other side.
            let _ = waiting.send(());
        }
    }
    if problem.is_none() {
        problem = tape.damage().map(|damage| damage_message(&tape.path, damage));
        problem.iter().for_each(|problem| (options.notice)(problem));
    }
    // Of a tape that is gone nothing is on the disk.
    let counts = open::open(&tape.path).and_then(|file| ExchangeCounts::read(BufReader::with_capacity(1 << 16, file)));
    WrittenTape { problem, counts: counts.unwrap_or_default() }
}

/// Writes lines as far as the sink takes them. The number of bytes is that of the lines written whole.
fn write_whole_lines(sink: &mut impl io::Write, lines: &[u8]) -> (usize, io::Result<()>) {
    let mut written = 0;
    while written < lines.len() {
        let problem = match sink.write(&lines[written..]) {
            Ok(0) => io::ErrorKind::WriteZero.into(),
            Ok(bytes) => {
                written += bytes;
                continue;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => error,
        };
        let whole = lines[..written].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        return (whole, Err(problem));
    }
    (written, Ok(()))
}

/// A new name is on the disk when its folder is.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

fn message(path: &Path, error: &io::Error) -> String {
    format!(
        "recording has stopped: {}: cannot be written ({error}). The client's traffic continues. \
         Exchanges that were complete before are on the tape; check the free space and record again",
        path.display()
    )
}

fn damage_message(path: &Path, damage: &str) -> String {
    format!(
        "recording has stopped: {}: {damage}. The client's traffic continues. Leave the tape alone until the recorder has ended, and record again",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with room for so many bytes, which takes three at a time.
    struct SmallDisk(usize);

    impl io::Write for SmallDisk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = bytes.len().min(3).min(self.0);
            self.0 -= taken;
            if taken == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(taken) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn k_3_the_lines_before_a_full_disk_are_kept_whole() {
        let lines = b"header\nfirst\nsecond\n";
        for room in 0..lines.len() {
            let (whole, result) = write_whole_lines(&mut SmallDisk(room), lines);
            assert_eq!(result.unwrap_err().kind(), io::ErrorKind::StorageFull);
            let expected = [7, 13].into_iter().rfind(|end| *end <= room).unwrap_or(0);
            assert_eq!(whole, expected, "with room for {room} bytes");
        }
        assert_eq!(write_whole_lines(&mut SmallDisk(lines.len()), lines).0, lines.len());
    }
}
