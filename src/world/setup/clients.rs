//! A scenario made ready for clients other than our engine: all threads of its tape, and what may vary between the recorded client and this one.

use super::{PreparedAnswer, RecordedThread, RunSetup, recorded_answer};
use crate::normalise::{FolderMoves, Normaliser, recorded_folders};
use reenact_scenario::conversation::{OTHER, whole_bodies};
use reenact_scenario::script::AnswerOrigin;
use reenact_scenario::tape::{ClientFolder, Exchange, Tape};
use reenact_wire::prelude::*;

impl RunSetup {
    /// The folder that the recorded client worked in, as its recorder knows it, or as its first request names it.
    pub fn recorded_work_folder(&self) -> Option<String> {
        let first_request = || self.answers.iter().find_map(|answer| answer.request.as_ref())?.beginning();
        let folders = recorded_folders(&self.folders, first_request);
        folders.into_iter().find(|(folder, _)| *folder == ClientFolder::Work).map(|(_, path)| path)
    }

    /// The same for clients that have their side calls and sub-agents by themselves: all threads of the tape are answered, each as what it is by
    /// its first request (M-3). Those that are not the scenario's own may be left out.
    #[must_use]
    pub fn with_all_threads(mut self, tape: &Tape) -> Self {
        let Some(own) = self.scenario.tape.as_ref().map(|source| source.thread.clone()) else { return self };
        let asked = whole_bodies(&tape.exchanges);
        let mut names = vec![own];
        let others = tape.exchanges.iter().filter(|exchange| &*exchange.thread != OTHER);
        others.for_each(|exchange| {
            if !names.contains(&exchange.thread) {
                names.push(exchange.thread.clone());
            }
        });
        for (number, name) in (0..).zip(names) {
            let mut of_thread = tape.exchanges.iter().zip(&asked).filter(|(exchange, _)| exchange.thread == name).peekable();
            let first = of_thread.peek().and_then(|(_, asked)| core::str::from_utf8(asked).ok()).map(String::from);
            if number > 0 {
                let origin = Some(AnswerOrigin::Thread(number));
                let other = |(exchange, asked): (&Exchange, &Cow<'_, [u8]>)| {
                    let prepared = recorded_answer(&self.scenario, exchange, asked, None);
                    PreparedAnswer { name: format!("{} of {name}", prepared.name).into(), origin, ..prepared }
                };
                self.answers.extend(of_thread.map(other));
            }
            self.threads.push(RecordedThread { name, first });
        }
        self
    }

    /// The same for a client with these folders, each with the name that it is shown by: what may vary between equal runs of a client makes no
    /// difference to the recorded requests (K-10).
    #[must_use]
    pub fn for_client(mut self, folders: &[(String, &'static str)]) -> Self {
        self.folders = recorded_folders(&self.folders, || serde_json::from_str(self.threads.first()?.first.as_deref()?).ok());
        self.moves = FolderMoves::new(&self.folders, folders);
        let recorded = self.folders.iter().map(|(folder, path)| (path.clone(), folder.as_str()));
        let all: Vec<_> = folders.iter().cloned().chain(recorded).collect();
        self.varying = Some(Normaliser::for_requests(&self.scenario.drive, &all));
        self
    }
}
