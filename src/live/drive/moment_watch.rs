//! Watches a client's answers and signs, and acts on the client when the moment for it has come (K-9).
//!
//! ```text
//!   gates of answers ──┐
//!   start, markers ────┼──> MomentWatch ──> signals, lines and keys for the process; whether the held answer continues
//!   time that is up ───┘
//! ```

use alloc::sync::Weak;
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use super::action::{ActionOutcome, BoundaryAction, ClientAction};
use super::moment::ClientMoment;
use super::process_message::{ClientSign, ProcessAction};
use super::scripted_interrupt::{InterruptAct, TriggerProgress};
use crate::serve::gate::{AnswerBoundary, AnswerPart, HeldAnswer, HoldRelease, ServerHandle};
use reenact_wire::prelude::*;

/// The observations and the result of the action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WatchedMoments {
    /// Where answers were held, each with the name of the event that came next.
    pub(super) boundaries: Vec<(AnswerBoundary, Option<Arc<str>>)>,
    /// The answers whose tools showed a marker.
    pub(super) marked: Vec<u32>,
    /// The result of the action.
    pub(super) action: ActionOutcome,
    /// The interrupts of the scenario that were done, by their places.
    pub(super) interrupts: Vec<usize>,
    /// How many answers the first command got.
    pub(super) first_answers: usize,
    /// When the action was done.
    pub(super) acted_at: Option<SystemTime>,
    /// The first interrupt of the scenario that told the client to stop, as a client sweep would have done it. `None` where a message was typed as well.
    pub(super) abort: Option<BoundaryAction>,
}

/// The watch over one run.
#[derive(Debug)]
pub(super) struct MomentWatch<'a> {
    act: Option<&'a BoundaryAction>,
    interrupts: Vec<InterruptAct<'a>>,
    process: mpsc::UnboundedSender<ProcessAction>,
    seen: WatchedMoments,
    progress: TriggerProgress,
    /// When the action is due that waits for a while.
    due: Option<Instant>,
    /// The way to the server, once something was asked.
    server: Option<ServerHandle>,
    /// The client was acted on before the server could be told.
    is_untold: bool,
    has_ended: bool,
    /// Whether an interrupt of the scenario told the client to stop.
    has_interrupted: bool,
    /// Whether one typed a message.
    has_typed: bool,
    /// When an answer was held last.
    held_at: Instant,
    /// The newest answer, as long as it is in flight.
    in_flight: Weak<()>,
    /// Whether the scenario owes no further answer to this prompt.
    is_last: bool,
    /// The prompts that are typed when the client waits for them.
    prompts: Vec<String>,
}

impl<'a> MomentWatch<'a> {
    pub(super) fn new(
        act: Option<&'a BoundaryAction>,
        interrupts: Vec<InterruptAct<'a>>,
        process: mpsc::UnboundedSender<ProcessAction>,
    ) -> Self {
        let seen = WatchedMoments {
            boundaries: Vec::new(),
            marked: Vec::new(),
            action: ActionOutcome::NotDone,
            interrupts: Vec::new(),
            first_answers: usize::MAX,
            acted_at: None,
            abort: None,
        };
        Self {
            act,
            interrupts,
            process,
            seen,
            progress: TriggerProgress::default(),
            due: None,
            server: None,
            is_untold: false,
            has_ended: false,
            has_interrupted: false,
            has_typed: false,
            held_at: Instant::now(),
            in_flight: Weak::new(),
            is_last: false,
            prompts: Vec::new(),
        }
    }

    /// The same with further prompts for a client at a terminal.
    pub(super) fn with_prompts(mut self, mut prompts: Vec<String>) -> Self {
        prompts.reverse();
        self.prompts = prompts;
        self
    }

    /// Lets all answers continue, and does what is to be done when its moment comes. It ends when serving does.
    pub(super) async fn run(
        mut self,
        mut held: mpsc::UnboundedReceiver<HeldAnswer>,
        mut signs: mpsc::UnboundedReceiver<ClientSign>,
    ) -> WatchedMoments {
        loop {
            let next_due = self.due.into_iter().chain(self.interrupts.iter().filter_map(|act| act.due)).min();
            tokio::select! {
                biased;
                Some(sign) = signs.recv() => self.on_sign(sign),
                one = held.recv() => match one {
                    Some(one) => self.on_held(one).await,
                    None => break,
                },
                () = sleep_until(next_due.unwrap_or_else(Instant::now)), if next_due.is_some() => self.on_due(),
            }
        }
        if self.due.is_some() {
            self.seen.action = ActionOutcome::TooLate;
        }
        if self.has_typed {
            self.seen.abort = None;
        }
        self.seen
    }

    fn on_sign(&mut self, sign: ClientSign) {
        match sign {
            ClientSign::Started => {
                if let Some(ClientMoment::Start(after)) = self.waited_for() {
                    self.due = Some(Instant::now() + *after);
                }
            }
            ClientSign::Marker => self.on_marker(),
            ClientSign::Quiet => self.on_quiet(),
            ClientSign::Ended => {
                self.has_ended = true;
                self.seen.first_answers = self.progress.answer as usize;
                if self.due.take().is_some() {
                    self.seen.action = ActionOutcome::TooLate;
                }
            }
        }
    }

    /// A client at a terminal that has its answers, or was acted on, waits for somebody to type: it is sent away.
    fn on_quiet(&mut self) {
        if self.in_flight.strong_count() > 0 {
            return;
        }
        let is_stopped = self.seen.action == ActionOutcome::Done || self.has_interrupted;
        let has_all = self.is_last && self.due.is_none();
        // A client that is gone need not go.
        if !has_all && !is_stopped {
            return;
        }
        match self.prompts.pop().filter(|_| !is_stopped) {
            Some(prompt) => {
                self.is_last = false;
                self.type_line(&prompt);
            }
            None => _ = self.process.send(ProcessAction::SendAway),
        }
    }

    /// Types a line. The Return key is a key of its own: a client takes what comes at once for pasted text.
    fn type_line(&self, line: &str) -> bool {
        [line, "\n"].into_iter().all(|part| self.process.send(ProcessAction::Line(part.to_owned())).is_ok())
    }

    fn on_marker(&mut self) {
        let answer = self.progress.answer;
        if self.has_ended || answer == 0 {
            return;
        }
        if !self.seen.marked.contains(&answer) {
            self.seen.marked.push(answer);
        }
        if self.waited_for() == Some(&ClientMoment::Marker { answer }) {
            self.do_action();
        }
        let now = Instant::now();
        for act in &mut self.interrupts {
            act.on_marker(&self.progress, now);
        }
    }

    async fn on_held(&mut self, one: HeldAnswer) {
        self.server = Some(one.server.clone());
        if core::mem::take(&mut self.is_untold) {
            one.disturb();
        }
        let is_over = matches!(one.boundary.before, AnswerPart::End | AnswerPart::Left);
        // What follows an answer begins with the next one.
        if !is_over && self.due.take().is_some() {
            self.seen.action = ActionOutcome::TooLate;
        }
        self.progress.on_held(&one);
        self.seen.boundaries.push((one.boundary.clone(), one.event.clone()));
        self.held_at = Instant::now();
        if self.has_ended {
            let _ = one.go.send(HoldRelease::On);
            return;
        }
        let now = Instant::now();
        self.interrupts.iter_mut().for_each(|act| act.on_held(&one, &self.progress, now));
        if !is_over {
            (self.in_flight, self.is_last) = (one.in_flight.clone(), one.is_last);
        } else if self.in_flight.ptr_eq(&one.in_flight) {
            self.in_flight = Weak::new();
        }
        match (self.waited_for(), self.act) {
            (Some(ClientMoment::Answer(boundary)), Some(act)) if *boundary == one.boundary => {
                self.hold(one, act).await;
                return;
            }
            (Some(ClientMoment::Tools { answer, after }), _) if is_over && *answer == one.boundary.answer => self.due = Some(now + *after),
            (Some(ClientMoment::Done(after)), Some(act)) if is_over && act.last_answer == one.boundary.answer => {
                self.due = Some(now + *after);
            }
            _ => (),
        }
        self.hold_for_interrupts(one).await;
    }

    /// Acts while an answer stands still.
    async fn hold(&mut self, mut one: HeldAnswer, act: &BoundaryAction) {
        one.disturb();
        self.seen.action = ActionOutcome::Done;
        rest(&mut one, act.lead).await;
        let how = match act.what {
            ClientAction::Close => HoldRelease::Close,
            ClientAction::Reset => HoldRelease::Reset,
            // A client that is gone needs no signal and no line.
            _ => {
                let _ = self.tell_process(&act.what);
                rest(&mut one, act.wait).await;
                HoldRelease::On
            }
        };
        let _ = one.go.send(how);
    }

    /// The same for interrupts of the scenario that are due at this boundary.
    async fn hold_for_interrupts(&mut self, mut one: HeldAnswer) {
        if self.interrupts.iter().any(|act| act.is_due_now) {
            rest(&mut one, InterruptAct::LEAD).await;
            self.do_interrupts(|act| core::mem::take(&mut act.is_due_now));
            rest(&mut one, InterruptAct::WAIT).await;
        }
        let _ = one.go.send(HoldRelease::On);
    }

    fn on_due(&mut self) {
        let now = Instant::now();
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            self.do_action();
        }
        self.do_interrupts(|act| act.due.take_if(|due| *due <= now).is_some());
    }

    /// The moment that is still to come.
    fn waited_for(&self) -> Option<&'a ClientMoment> {
        self.act.filter(|_| self.seen.action == ActionOutcome::NotDone && self.due.is_none()).map(|act| &act.at)
    }

    /// Acts between answers.
    fn do_action(&mut self) {
        let Some(act) = self.act else { return };
        self.tell_server();
        self.seen.action = if self.tell_process(&act.what) { ActionOutcome::Done } else { ActionOutcome::TooLate };
    }

    fn do_interrupts(&mut self, mut is_due: impl FnMut(&mut InterruptAct<'a>) -> bool) {
        let due: Vec<(usize, ClientAction, bool)> =
            self.interrupts.iter_mut().filter_map(|act| is_due(act).then(|| (act.index, act.what.clone(), act.is_at_marker()))).collect();
        for (index, what, is_at_marker) in due {
            self.tell_server();
            if self.tell_process(&what) {
                self.seen.interrupts.push(index);
                self.has_interrupted |= what.is_abort();
                self.has_typed |= !what.is_abort();
                if what.is_abort() && self.seen.abort.is_none() {
                    self.seen.abort = Some(self.abort(what, is_at_marker));
                }
            }
        }
    }

    /// An interrupt of the scenario that is done now, as an action of a client sweep.
    fn abort(&self, what: ClientAction, is_at_marker: bool) -> BoundaryAction {
        let (after, last_answer) = (self.held_at.elapsed(), self.progress.answer);
        let at = match self.seen.boundaries.last() {
            None => ClientMoment::Start(after),
            Some(_) if is_at_marker => ClientMoment::Marker { answer: last_answer },
            Some((AnswerBoundary { answer, before: AnswerPart::End | AnswerPart::Left }, _)) => {
                ClientMoment::Tools { answer: *answer, after }
            }
            Some((boundary, _)) => ClientMoment::Answer(boundary.clone()),
        };
        BoundaryAction { at, last_answer, what, lead: Duration::ZERO, wait: Duration::ZERO, usual_results: Arc::default() }
    }

    /// Later requests of the client may exist because it was acted on.
    fn tell_server(&mut self) {
        match &self.server {
            Some(server) => server.disturb(),
            None => self.is_untold = true,
        }
    }

    /// Whether the process was there to be told.
    #[expect(clippy::disallowed_methods, reason = "it is compared with the times of files, which the system sets")]
    fn tell_process(&mut self, what: &ClientAction) -> bool {
        let send = |action| self.process.send(action).is_ok();
        let is_done = !self.has_ended
            && match what {
                ClientAction::Close | ClientAction::Reset => false,
                ClientAction::Signal(signal, target) => send(ProcessAction::Signal(*signal, *target)),
                ClientAction::Line(line) => self.type_line(line),
                ClientAction::Keys(keys) => send(ProcessAction::Keys(keys.clone())),
            };
        if is_done {
            self.seen.acted_at = Some(SystemTime::now());
        }
        is_done
    }
}

/// Waits while an answer stands still, and no longer than somebody waits for it.
async fn rest(one: &mut HeldAnswer, time: Duration) {
    let _ = timeout(time, one.go.closed()).await;
}
