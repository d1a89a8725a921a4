//! A command in the background (B-5): its task keeps what it prints until somebody asks, and ends it when nobody can ask any more. A listener that is gone misses
//! nothing, so what cannot be sent is dropped.

use core::fmt::Write as _;

use reenact_engine::contract::ToolOutcome;
use reenact_tools::inputs::BashInput;
use tokio::sync::{Notify, mpsc, oneshot};

use crate::command::CommandSite;

/// A question about a command.
#[derive(Debug)]
pub(crate) struct OutputRequest {
    /// Whether the command is ended first.
    pub(crate) kill: bool,
    /// Where the answer goes.
    pub(crate) reply: oneshot::Sender<String>,
}

/// Starts a command and answers the questions about it, until the session is over. Whether it has started is told at once.
pub(crate) async fn run(
    site: CommandSite,
    input: BashInput,
    started: oneshot::Sender<Result<(), String>>,
    requests: mpsc::Receiver<OutputRequest>,
) {
    let command = match site.start(&input).await {
        Ok(command) => command,
        Err(problem) => return drop(started.send(Err(problem))),
    };
    drop(started.send(Ok(())));
    let (sender, printed) = mpsc::unbounded_channel();
    let stop = Notify::new();
    // As much as is kept is told, so that the channel holds no more.
    let finishing = command.finish(stop.notified(), move |_, text: &str| drop(sender.send(text.to_owned())));
    BackgroundOutput::default().answer(finishing, &stop, printed, requests).await;
}

/// The state of a command, as far as it is known.
#[derive(Debug, Default)]
struct BackgroundOutput {
    unread: String,
    /// The result, when it is over.
    outcome: Option<ToolOutcome>,
    /// Those who wait for its end.
    waiting: Vec<oneshot::Sender<String>>,
}

impl BackgroundOutput {
    async fn answer(
        mut self,
        finishing: impl Future<Output = ToolOutcome>,
        stop: &Notify,
        mut printed: mpsc::UnboundedReceiver<String>,
        mut requests: mpsc::Receiver<OutputRequest>,
    ) {
        let mut finishing = core::pin::pin!(finishing);
        loop {
            tokio::select! {
                biased;
                Some(text) = printed.recv() => self.unread.push_str(&text),
                outcome = &mut finishing, if self.outcome.is_none() => {
                    while let Ok(text) = printed.try_recv() {
                        self.unread.push_str(&text);
                    }
                    self.outcome = Some(outcome);
                    for reply in core::mem::take(&mut self.waiting) {
                        drop(reply.send(self.take("ended")));
                    }
                }
                request = requests.recv() => match request {
                    None => return,
                    Some(OutputRequest { kill: true, reply }) if self.outcome.is_none() => {
                        stop.notify_one();
                        self.waiting.push(reply);
                    }
                    Some(OutputRequest { reply, .. }) => {
                        let state = self.state();
                        drop(reply.send(self.take(&state)));
                    }
                },
            }
        }
    }

    fn state(&self) -> String {
        match &self.outcome {
            None => String::from("running"),
            Some(outcome) => {
                outcome.structured.as_ref().map_or_else(|| String::from("ended"), |facts| format!("ended: {}", facts.as_str()))
            }
        }
    }

    /// The output that nobody has read, and the state of the command.
    fn take(&mut self, state: &str) -> String {
        let mut text = core::mem::take(&mut self.unread);
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let _ = write!(text, "{gap}({state})");
        text
    }
}
