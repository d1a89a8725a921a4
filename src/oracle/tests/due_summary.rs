//! A summary that is due is asked for (O-35).

use super::*;
use reenact_engine::contract::Note;
use reenact_engine::emission::{CompactTrigger, SessionPhase, Transition};
use reenact_engine::settings::{ContextWindow, QueuedMessagePlace};
use reenact_engine::texts::TextName;
use reenact_wire::usage::Usage;

/// The window has 100 tokens, and 80 are the threshold.
fn small(settings: &mut Settings) {
    settings.compaction.auto = true;
    settings.compaction.context_window = ContextWindow::Tokens(100);
    (settings.compaction.output_reserve, settings.compaction.margin) = (0, 20);
}

impl EventStory {
    /// An answer is counted with so many tokens, and the conversation goes on.
    fn counts(self, tokens: u64) -> Self {
        let usage = Usage { input_tokens: Some(tokens - 1), output_tokens: Some(1), ..Usage::default() };
        let (uuid, stop_reason) = (Some("u".into()), Some("tool_use".into()));
        self.effect(Effect::Emit(Emission::Answered { id: ASKED, uuid, stop_reason, usage }))
    }

    fn then(self, transition: Transition) -> Self {
        self.effect(Effect::Note(Note::Transition(transition)))
    }

    fn asks_on(self) -> Self {
        self.request(2, &[(Role::User, &[Block::text("a")]), (Role::Assistant, &[Block::text("b")]), (Role::User, &[Block::text("c")])])
    }

    fn asks_summary(self) -> Self {
        self.request(2, &[(Role::User, &[Block::text(TextName::SummaryPrompt.ours())])])
    }

    fn lacks_summary(&self) -> usize {
        self.times_broken("O-35")
    }
}

#[test]
fn o_35_and_c_4_a_context_at_the_threshold_is_summarised_before_the_next_request() {
    let counted = |tokens| EventStory::with(small).counts(tokens).then(Transition::NextTurn);
    assert_eq!(counted(79).asks_on().lacks_summary(), 0);
    assert_eq!(counted(80).asks_on().lacks_summary(), 1);
    assert_eq!(counted(80).asks_on().asks_on().lacks_summary(), 1, "once is enough");
    assert_eq!(counted(80).asks_summary().asks_on().lacks_summary(), 0);
    assert_eq!(counted(80).request(2, &[(Role::User, &[Block::text("c")])]).lacks_summary(), 0, "there is nothing to summarise");
    let off = EventStory::with(|settings| {
        small(settings);
        settings.compaction.auto = false;
    });
    assert_eq!(off.counts(80).then(Transition::NextTurn).asks_on().lacks_summary(), 0, "it is switched off");
    let of_model = EventStory::with(|settings| {
        small(settings);
        settings.compaction.context_window = ContextWindow::Auto;
    });
    assert_eq!(of_model.counts(80).then(Transition::NextTurn).asks_on().lacks_summary(), 0, "nobody knows the window of m");
    let silent = EventStory::with(small).counts(80).terminal();
    assert_eq!(silent.asks_on().lacks_summary(), 0, "an engine without notes may have other habits");
    let noted = EventStory::with(small).effect(Effect::Note(Note::Phase(SessionPhase::MainLoop)));
    assert_eq!(noted.counts(80).terminal().asks_on().lacks_summary(), 1, "the next prompt");
}

#[test]
fn o_35_and_c_4_in_doubt_no_summary_is_due() {
    let counted = |story: EventStory| story.counts(80).then(Transition::NextTurn);
    let due = || counted(EventStory::with(small));
    let snipped = Effect::Emit(Emission::SnipBoundary { names: Vec::new(), tokens_freed: 9 });
    assert_eq!(due().effect(snipped).asks_on().lacks_summary(), 0, "something was taken out");
    assert_eq!(EventStory::with(small).counts(80).then(Transition::RefusalRetry).asks_on().lacks_summary(), 0, "it was not kept");
    let asked = || due().asks_summary();
    assert_eq!(counted(asked()).asks_on().lacks_summary(), 1, "one failure opens no circuit breaker");
    let often = counted(counted(asked()).asks_summary()).asks_summary();
    assert_eq!(counted(often).asks_on().lacks_summary(), 0, "three in a row may have failed");
    let boundary = Emission::CompactBoundary { trigger: CompactTrigger::Auto, tokens_before: 80, tokens_after: 9, kept: Vec::new() };
    assert_eq!(counted(asked().effect(Effect::Emit(boundary))).asks_on().lacks_summary(), 1, "that one helped");
    let kept = EventStory::with(|settings| {
        small(settings);
        settings.compaction.keep_messages = 2;
    });
    assert_eq!(counted(kept).asks_on().lacks_summary(), 0, "what is kept may be all there is");
    let queued = |place| {
        let story = EventStory::with(|settings| {
            small(settings);
            settings.queued_messages = place;
        });
        let taken_in = Effect::Emit(Emission::QueuedCommand { prompt: 2, content: [Block::text("and?")].into() });
        story.counts(80).effect(taken_in).then(Transition::NextTurn).asks_on().lacks_summary()
    };
    assert_eq!(queued(QueuedMessagePlace::InResult), 0, "results stay that hold a message of the user");
    assert_eq!(queued(QueuedMessagePlace::default()), 1);
}
