//! The tape's file: whole lines are appended, and nothing waits for it but the ends that must (K-3).

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;

use tokio::sync::oneshot;

use super::{RecordOptions, RecorderState};

/// Lines to append at once, and the answers that wait for them.
#[derive(Debug, Default)]
pub(super) struct LineBatch {
    pub(super) lines: String,
    pub(super) written: Vec<oneshot::Sender<()>>,
}

/// Makes the file. One that is there is left alone.
pub(super) fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create_new(true).open(path)
}

/// Appends what comes until nothing more can. The problem, if one ended the recording.
pub(super) fn run(
    mut file: File,
    path: &Path,
    batches: &Receiver<LineBatch>,
    shared: &RecorderState,
    options: &RecordOptions,
) -> Option<String> {
    let mut problem = None;
    let mut whole_bytes = 0;
    if options.durable {
        problem = sync_folder(path).err().map(|error| message(path, &error));
    }
    for batch in batches {
        if problem.is_none() && !batch.lines.is_empty() {
            let ends = !batch.written.is_empty();
            let appended =
                file.write_all(batch.lines.as_bytes()).and_then(|()| if options.durable && ends { file.sync_data() } else { Ok(()) });
            match appended {
                Ok(()) => whole_bytes += batch.lines.len() as u64,
                Err(error) => {
                    // What is cut would be left out on reading (F-2); without it nobody has to wonder.
                    let _ = file.set_len(whole_bytes);
                    problem = Some(message(path, &error));
                }
            }
            if let Some(problem) = &problem {
                shared.disk_failed.store(true, Ordering::Relaxed);
                (options.notice)(problem);
            }
        }
        shared.behind.fetch_sub(batch.lines.len(), Ordering::Relaxed);
        for waiting in batch.written {
            // Who does not wait any more has dropped the other side.
            let _ = waiting.send(());
        }
    }
    problem
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
