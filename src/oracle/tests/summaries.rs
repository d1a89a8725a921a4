//! O-35: requests for a summary, their tries, and what is cleared. O-12: answers are kept whole.

use super::*;
use reenact_engine::contract::Note;
use reenact_engine::emission::{CompactTrigger, CompactionLevel};
use reenact_engine::settings::MicrocompactMode;
use reenact_engine::texts::TextName;

const FIRST_FILE: &str = "the first file has this line";
const SECOND_FILE: &str = "another line is in the second";

fn asked(prompt: u32, turn: u32) -> RequestId {
    RequestId { prompt, turn, attempt: 1 }
}

impl EventStory {
    /// A request with these blocks of the user last; its tools are `[{}]` where it has some.
    fn asks_last(self, id: RequestId, last: &[Block], has_tools: bool) -> Self {
        let mut request = Request::new("m", 1).with_messages([Message::user(last.to_vec())]);
        request.tools = has_tools.then(|| Json::trusted("[{}]"));
        self.effect(Effect::Request { id, request: Arc::new(request) })
    }

    fn asks_for_summary(self, prompt: u32, turn: u32) -> Self {
        self.asks_last(asked(prompt, turn), &[Block::text("hi"), Block::text(TextName::SummaryPrompt.ours())], false)
    }

    fn talks_on(self, prompt: u32, turn: u32) -> Self {
        self.asks_last(asked(prompt, turn), &[Block::text("hi")], true)
    }

    /// The summary of a prompt fails, and the conversation goes on.
    fn fails_to_summarise(self, prompt: u32) -> Self {
        let failed = Note::Compaction { level: CompactionLevel::Auto, ran: false, why: "".into(), before: 9, after: 9 };
        self.asks_for_summary(prompt, 1).effect(Effect::Note(failed)).talks_on(prompt, 2).ends_prompt(prompt, Terminal::Completed)
    }

    fn ends_prompt(self, prompt: u32, terminal: Terminal) -> Self {
        self.effect(Effect::Finished { prompt, terminal })
    }

    fn compacts(self, trigger: CompactTrigger) -> Self {
        self.effect(Effect::Emit(Emission::CompactBoundary { trigger, tokens_before: 9, tokens_after: 1, kept: Vec::new() }))
    }

    fn o_35(&self) -> usize {
        self.times_broken("O-35")
    }

    /// A file is read.
    fn reads(self, path: &str, index: u32, text: &str) -> Self {
        let input = ToolInput::read(&format!(r#"{{"file_path":"{path}"}}"#));
        let tool_use = ToolUse { name: "Read".into(), input, ..tool_use("R", index) };
        let story = self.effect(Effect::StartTool { run: run(index), tool_use: tool_use.into() });
        story.effect(result_effect(run(index), Block::tool_result(&format!("t{index}"), &Json::from_value(text), false)))
    }

    /// This is attached to a summary: how often O-24 complains.
    fn attaches(self, text: &str) -> usize {
        let attachments = Emission::Hidden { uuid: "s".into(), why: "attachments".into(), text: text.into() };
        self.effect(Effect::Emit(attachments)).times_broken("O-24")
    }
}

#[test]
fn o_35_a_summary_is_asked_of_what_was_said() {
    let prompt = || Block::text(TextName::SummaryPrompt.ours());
    let asked_of = |blocks: &[Block]| EventStory::new().talks_on(1, 1).asks_last(asked(1, 2), blocks, false).o_35();
    assert_eq!(asked_of(&[Block::text("hi"), prompt()]), 0);
    assert_eq!(asked_of(&[prompt()]), 1);
    let collapsed = Note::Compaction { level: CompactionLevel::Collapse, ran: true, why: "".into(), before: 9, after: 1 };
    let story = EventStory::new().talks_on(1, 1).effect(Effect::Note(collapsed));
    assert_eq!(story.asks_last(asked(1, 2), &[prompt()], false).o_35(), 0, "a staged summary has taken its place");
    assert_eq!(EventStory::new().asks_for_summary(1, 1).o_35(), 0, "nothing was said before");
}

#[test]
fn o_35_a_request_for_a_summary_has_no_tools() {
    let prompt = [Block::text(TextName::SummaryPrompt.ours())];
    assert_eq!(EventStory::new().asks_last(asked(1, 1), &prompt, true).o_35(), 1);
    assert_eq!(EventStory::new().asks_last(asked(1, 1), &prompt, false).o_35(), 0);
    let keeping = EventStory::with(|settings| settings.compaction.summary_tools = true);
    assert_eq!(keeping.asks_last(asked(1, 1), &prompt, true).o_35(), 0, "the setting says so");
    let other_words = || EventStory::new().talks_on(1, 1);
    assert_eq!(other_words().compacts(CompactTrigger::Auto).o_35(), 1, "what it was for shows afterwards");
    let says =
        AssistantMessage { uuid: "u".into(), id: asked(1, 1), api_id: "".into(), model: "".into(), block: Block::text("so"), error: None };
    let heard = other_words().effect(Effect::Emit(Emission::Assistant(Arc::new(says))));
    assert_eq!(heard.compacts(CompactTrigger::Auto).o_35(), 0, "its answer came out, so it was for no summary");
}

#[test]
fn o_35_a_summary_is_tried_again_so_often() {
    let tries = |story: EventStory, count| (1..=count).fold(story, |story, turn| story.asks_for_summary(1, turn)).o_35();
    assert_eq!((tries(EventStory::new(), 4), tries(EventStory::new(), 5), tries(EventStory::new(), 6)), (0, 1, 1));
    let tagged = || EventStory::with(|settings| settings.compaction.summary_tags = true);
    assert_eq!((tries(tagged(), 5), tries(tagged(), 6)), (0, 1));
    let attempts = (1..9).fold(EventStory::new(), |story, attempt| {
        story.asks_last(RequestId { attempt, ..asked(1, 1) }, &[Block::text(TextName::SummaryPrompt.ours())], false)
    });
    assert_eq!(attempts.o_35(), 0, "attempts are no tries");
    let two = (1..4).fold(EventStory::new(), |story, turn| story.asks_for_summary(1, turn)).compacts(CompactTrigger::Auto);
    assert_eq!((4..8).fold(two, |story, turn| story.asks_for_summary(1, turn)).o_35(), 0, "another summary");
}

#[test]
fn o_35_after_three_failures_in_a_row_there_are_no_more_summaries() {
    let failed = |times| (1..=times).fold(EventStory::new(), EventStory::fails_to_summarise);
    let next = |story: EventStory| story.asks_for_summary(9, 1);
    let table = [
        (next(failed(2)).talks_on(9, 2).o_35(), 0, "two are not enough"),
        (next(failed(3)).talks_on(9, 2).o_35(), 1, "the breaker is open"),
        (next(failed(3)).compacts(CompactTrigger::Auto).o_35(), 1, "also where it would have helped"),
        (next(failed(3)).compacts(CompactTrigger::Manual).o_35(), 0, "the user asked for it"),
        (next(failed(3)).ends_prompt(9, Terminal::Completed).o_35(), 0, "the user asked for it, and it failed"),
        (next(failed(3)).ends_prompt(9, Terminal::BlockingLimit).o_35(), 1, "the user asked for something else"),
        (failed(3).talks_on(9, 1).asks_for_summary(9, 2).talks_on(9, 3).o_35(), 1, "after a refusal"),
        (
            next(failed(2).asks_for_summary(3, 1).compacts(CompactTrigger::Auto).fails_to_summarise(4)).talks_on(9, 2).o_35(),
            0,
            "one helped",
        ),
    ];
    for (broken, expected, reason) in table {
        assert_eq!(broken, expected, "{reason}");
    }
    let aborted = |prompt: u32| {
        let failed = Note::Compaction { level: CompactionLevel::Auto, ran: false, why: "".into(), before: 9, after: 9 };
        move |story: EventStory| {
            story
                .talks_on(prompt, 1)
                .asks_for_summary(prompt, 2)
                .effect(Effect::Note(failed))
                .ends_prompt(prompt, Terminal::AbortedStreaming)
        }
    };
    let story = (1..=3).fold(EventStory::new(), |story, prompt| aborted(prompt)(story));
    assert_eq!(next(story).talks_on(9, 2).o_35(), 0, "what was broken off did not fail");
}

/// Three results of Read; those with a number in `cleared` show the placeholder.
fn three_reads(cleared: &[u32]) -> [(Role, Vec<Block>); 2] {
    let read = |index: &u32| use_block("Read", *index);
    let result = |index: &u32| match cleared.contains(index) {
        true => Block::tool_result(&format!("t{index}"), &Json::from_value(TextName::ClearedResult.ours()), false),
        false => result_block(*index),
    };
    [(Role::Assistant, [0, 1, 2].iter().map(read).collect()), (Role::User, [0, 1, 2].iter().map(result).collect())]
}

#[test]
fn o_35_the_newest_results_are_not_cleared() {
    let with = |mode, change: fn(EventStory) -> EventStory, cleared: &[u32]| {
        let story = EventStory::with(|settings| {
            settings.compaction.microcompact = mode;
            settings.compaction.keep_results = 1;
        });
        let messages = three_reads(cleared);
        let messages: Vec<(Role, &[Block])> = messages.iter().map(|(role, blocks)| (*role, &**blocks)).collect();
        change(story).request(1, &messages).o_35()
    };
    assert_eq!(with(MicrocompactMode::Local, |story| story, &[]), 0);
    assert_eq!(with(MicrocompactMode::Local, |story| story, &[0, 1]), 0);
    assert_eq!(with(MicrocompactMode::Local, |story| story, &[0, 1, 2]), 1, "the last is to be kept");
    assert_eq!(with(MicrocompactMode::Off, |story| story, &[2]), 0, "nothing is cleared, so a tool gave this");
    let collapsed = |story: EventStory| {
        story.effect(Effect::Note(Note::Compaction { level: CompactionLevel::Collapse, ran: true, why: "".into(), before: 9, after: 8 }))
    };
    assert_eq!(with(MicrocompactMode::Local, collapsed, &[2]), 0, "newer ones are out of sight");
}

#[test]
fn o_35_the_api_is_told_to_keep_the_newest() {
    let with = |keep: u32| {
        let story = EventStory::with(|settings| {
            settings.compaction.microcompact = MicrocompactMode::Cached;
            settings.compaction.keep_results = 2;
        });
        let edit = format!(r#"{{"type":"clear_tool_uses_20250919","keep":{{"type":"tool_uses","value":{keep}}}}}"#);
        let messages = three_reads(&[]).map(|(role, content)| Message { role, content });
        let mut request = Request::new("m", 1).with_messages(messages);
        request.extra = Json::trusted(format!(r#"{{"context_management":{{"edits":[{edit}]}}}}"#));
        story.effect(Effect::Request { id: ASKED, request: Arc::new(request) })
    };
    assert_eq!((with(2).o_35(), with(3).o_35(), with(1).o_35()), (0, 0, 1));
    let cleared = |id: &str| {
        let boundary = Emission::MicrocompactBoundary { tool_use_ids: vec![id.into()], tokens_freed: 1 };
        with(2).effect(Effect::Emit(boundary)).o_35()
    };
    assert_eq!((cleared("t0"), cleared("t1"), cleared("t2")), (0, 1, 1));
}

#[test]
fn o_12_a_compaction_keeps_an_answer_whole_or_not_at_all() {
    let (one, two) = (Block::text("one"), Block::text("two"));
    let said = || EventStory::new().request(1, &[]).says(one.clone()).says(two.clone()).says(use_block("R", 0));
    let cut = || said().compacts(CompactTrigger::Auto);
    let table: [(EventStory, &[Block], usize, &str); 5] = [
        (cut(), &[], 0, "all of it is gone"),
        (cut(), &[one.clone(), two.clone(), use_block("R", 0)], 0, "all of it is there"),
        (cut(), &[two.clone(), use_block("R", 0)], 1, "a part is gone"),
        (said(), core::slice::from_ref(&two), 0, "nothing was compacted"),
        (cut(), &[Block::text("else")], 0, "another answer"),
    ];
    for (story, blocks, expected, reason) in table {
        let story = story.request(2, &[(Role::User, &[Block::text("s")]), (Role::Assistant, blocks)]);
        let parts = story.oracles.violations().iter().filter(|violation| violation.text.contains("a part of answer")).count();
        assert_eq!(parts, expected, "{reason}");
    }
}

#[test]
fn o_12_a_compaction_says_itself_that_it_makes_the_context_smaller_and_they_do_not_follow_each_other_for_ever() {
    let boundary = |tokens_before, tokens_after| {
        Effect::Emit(Emission::CompactBoundary { trigger: CompactTrigger::Auto, tokens_before, tokens_after, kept: Vec::new() })
    };
    let once = |before, after| EventStory::new().effect(boundary(before, after)).times_broken("O-12");
    assert_eq!((once(9, 8), once(9, 9), once(0, 0)), (0, 1, 0));
    let times = |count| (0..count).fold(EventStory::new(), |story, _| story.compacts(CompactTrigger::Auto)).times_broken("O-12");
    assert_eq!((times(4), times(5)), (0, 1));
}

#[test]
fn o_12_a_snip_takes_out_what_is_marked_and_nothing_else() {
    let marked = || EventStory::new().input(Input::MarkedDead { names: ["a".into(), "b".into()].into() });
    let snips = |names: &[&str]| {
        let names = names.iter().map(|name| Arc::from(*name)).collect();
        marked().effect(Effect::Emit(Emission::SnipBoundary { names, tokens_freed: 1 })).times_broken("O-12")
    };
    assert_eq!((snips(&["a"]), snips(&["b", "a"]), snips(&["a", "c"])), (0, 0, 1));
}

#[test]
fn o_5_a_summary_is_of_one_attempt() {
    let (first, second) = (asked(1, 1), RequestId { attempt: 2, ..asked(1, 1) });
    let delta = |text: &str| format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}"#);
    let cut = "The tests of the parser pass again now";
    let summary = |text: &str| {
        let prompt = [Block::text(TextName::SummaryPrompt.ours())];
        let story = EventStory::new().asks_last(first, &prompt, false).hears(first, &[&delta(cut)]);
        let story = story.input(Input::End { id: first, how: AnswerEnd::Reset }).asks_last(second, &prompt, false);
        let story = story.hears(second, &[&delta("All tests pass"), r#"{"type":"message_stop"}"#]).compacts(CompactTrigger::Auto);
        story.effect(Effect::Emit(Emission::Hidden { uuid: "s".into(), why: "summary".into(), text: text.into() })).times_broken("O-5")
    };
    assert_eq!(summary("All tests pass"), 0);
    assert_eq!(summary(&format!("{cut}All tests pass")), 1);
}

#[test]
fn o_5_a_closed_attempt_may_speak_on_and_the_next_one_may_not_be_streamed() {
    let (first, second) = (asked(1, 1), RequestId { attempt: 2, ..asked(1, 1) });
    let end = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}"#;
    let delta = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"The tests of the parser"}}"#;
    let content = r#"[{"type":"text","text":"The tests of the parser"},{"type":"text","text":"All tests pass"}]"#;
    let body = format!(
        r#"{{"id":"a","type":"message","role":"assistant","model":"m","content":{content},"stop_reason":"end_turn","usage":{{}}}}"#
    );
    let summary = |text: &str| {
        let prompt = [Block::text(TextName::SummaryPrompt.ours())];
        let story = EventStory::new().asks_last(first, &prompt, false).hears(first, &[delta]).asks_last(second, &prompt, false);
        let story = story.hears(first, &[end, r#"{"type":"message_stop"}"#]);
        let story = story.input(Input::Body { id: second, body: body.as_str().into() }).compacts(CompactTrigger::Auto);
        story.effect(Effect::Emit(Emission::Hidden { uuid: "s".into(), why: "summary".into(), text: text.into() })).times_broken("O-5")
    };
    assert_eq!(summary("The tests of the parser\nAll tests pass"), 0);
    assert_eq!(summary("The tests of the parser"), 1, "words are lost");
    assert_eq!(summary("The tests of the parser\nThe tests of the parser\nAll tests pass"), 1, "those of both attempts");
}

#[test]
fn o_35_an_answer_that_was_cut_off_is_no_summary() {
    let summary = |stop_reason: &str| {
        let end = format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{stop_reason}"}},"usage":{{}}}}"#);
        let story = EventStory::new().asks_for_summary(1, 1).hears(asked(1, 1), &[&end]).compacts(CompactTrigger::Auto);
        story.effect(Effect::Emit(Emission::Hidden { uuid: "s".into(), why: "summary".into(), text: "All".into() })).o_35()
    };
    assert_eq!(summary("end_turn"), 0);
    assert_eq!(summary("max_tokens"), 1);
}

#[test]
fn o_24_no_more_files_are_attached_than_the_settings_allow() {
    let attached = |files: u32, tokens: u64, text: &str| {
        let story = EventStory::with(|settings| {
            (settings.compaction.attached_files, settings.compaction.attached_file_tokens) = (files, tokens);
        });
        story.reads("/a", 0, FIRST_FILE).reads("/b", 1, SECOND_FILE).attaches(text)
    };
    let both = format!("{FIRST_FILE} {SECOND_FILE}");
    assert_eq!(attached(2, 1000, &both), 0);
    assert_eq!(attached(1, 1000, &both), 1, "one may be");
    assert_eq!(attached(1, 1000, FIRST_FILE), 0);
    assert_eq!(attached(2, 10, &both), 1, "together they have more tokens");
    assert_eq!(attached(2, 10, FIRST_FILE), 0);
}

#[test]
fn o_24_a_file_is_attached_as_it_was_read_last() {
    let story = || EventStory::new().reads("/b", 0, "b is old, and has a line").reads("/b", 1, "b is new, and has a line");
    let attached = |text: &str| story().attaches(text);
    assert_eq!(attached("/b: b is new, and has a line"), 0);
    assert_eq!(attached("/b: b is old, and has a line"), 1);
    assert_eq!(attached("nothing"), 0);
}

#[test]
fn o_35_and_s_3_a_summary_is_asked_for_as_the_user_wishes() {
    let asked_for = |command: &str, words: &str| {
        let story = EventStory::new().input(Input::Prompt { prompt: 2, content: [Block::text(command)].into() });
        let prompt = format!("{}{words}", TextName::SummaryPrompt.ours());
        story.asks_last(asked(2, 1), &[Block::text("hi"), Block::text(&prompt)], false).o_35()
    };
    assert_eq!(asked_for("/compact keep the names", " Also: keep the names"), 0);
    assert_eq!(asked_for("/compact keep the names", ""), 1);
    assert_eq!(asked_for("/compact", ""), 0);
    assert_eq!(asked_for("/compacted keep the names", ""), 0, "it is another command");
}

#[test]
fn o_35_and_c_4_a_summary_that_came_whole_is_taken() {
    let old = "What was said. ".repeat(60);
    let said_in = |story: EventStory, text: &str, end: &str| {
        let old = Message::user(vec![Block::text(&old)]);
        let request = Request::new("m", 1).with_messages([old, Message::user(vec![Block::text(TextName::SummaryPrompt.ours())])]);
        let story = story.effect(Effect::Request { id: ASKED, request: Arc::new(request) });
        let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
        let delta = format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{text:?}}}}}"#);
        let end = format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{end}"}},"usage":{{"output_tokens":7}}}}"#);
        story.hears(ASKED, &[start, &delta, &end, r#"{"type":"message_stop"}"#])
    };
    let said = |text: &str, end: &str| said_in(EventStory::new(), text, end);
    let failed = || Effect::Note(Note::Compaction { level: CompactionLevel::Auto, ran: false, why: "".into(), before: 9, after: 9 });
    assert_eq!(said("In short.", "end_turn").effect(failed()).o_35(), 1);
    assert_eq!(said("", "end_turn").effect(failed()).o_35(), 0, "it is empty");
    assert_eq!(said("In short.", "max_tokens").effect(failed()).o_35(), 0, "it was cut off");
    assert_eq!(said(&"In short. ".repeat(90), "end_turn").effect(failed()).o_35(), 0, "it is no smaller");
    assert_eq!(said("In short.", "end_turn").input(Input::Cancel).effect(failed()).o_35(), 0, "the user ended it");
    let ends = |how| said("In short.", "end_turn").input(Input::End { id: ASKED, how }).effect(failed()).o_35();
    assert_eq!(ends(AnswerEnd::Complete), 1);
    assert_eq!(ends(AnswerEnd::Truncated), 0, "it broke behind its last event");
    let with_context = EventStory::with(|settings| settings.user_context = Some(old.as_str().into()));
    assert_eq!(
        said_in(with_context, "In short.", "end_turn").effect(failed()).o_35(),
        0,
        "the user's context is no part of what it stands for"
    );
    let hidden = |text: &str| Effect::Emit(Emission::Hidden { uuid: "u".into(), why: "summary".into(), text: text.into() });
    let taken = |text: &str| said("In short.\nAnd so on.", "end_turn").effect(hidden(text)).times_broken("O-5");
    assert_eq!(taken("Before:\n\nIn short.\nAnd so on."), 0);
    assert_eq!(taken("Before:\n\nIn short."), 1, "words are lost");
    let twice = said("A summary of many words.", "end_turn");
    let next = RequestId { attempt: 2, ..ASKED };
    let again = twice.asks_last(next, &[Block::text("hi"), Block::text(TextName::SummaryPrompt.ours())], false);
    let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"A summary of many words."}}"#;
    let holds = |text: &str| again.hears(next, &[start]).effect(hidden(text)).times_broken("O-5");
    assert_eq!(holds("A summary of many words.\nA summary of many words."), 1, "those of both attempts");
}

#[test]
fn o_35_and_c_2_what_is_older_than_the_newest_results_is_cleared() {
    let story = || {
        EventStory::with(|settings| {
            settings.compaction.microcompact = MicrocompactMode::Local;
            settings.compaction.keep_results = 1;
        })
    };
    let long = "Many words of a file. ".repeat(9);
    let old = |text: &str| Block::tool_result("t0", &Json::from_value(text), false);
    let asks = |old: Block| {
        let uses: &[Block] = &[use_block("Read", 0), use_block("Read", 1)];
        let newest = Block::tool_result("t1", &Json::from_value(&*long), false);
        story().request(1, &[(Role::User, &[]), (Role::Assistant, uses), (Role::User, &[old, newest])]).o_35()
    };
    assert_eq!(asks(old(TextName::ClearedResult.ours())), 0);
    assert_eq!(asks(old(&long)), 1);
    assert_eq!(asks(old("x")), 0, "the placeholder would be longer");
}
