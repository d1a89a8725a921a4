//! The machine that summarises, driven by hand: what scenarios cannot ask for, or would not see.

use super::rounds::tests::items;
use super::*;
use crate::contract::{AnswerEnd, Effect, HookEvent, HookOutcome, HttpHeader, Input, RequestId};
use crate::conversation::{ConversationItem, ItemKind};
use crate::emission::{CompactTrigger, Emission};
use crate::hook::HookDefinition;
use crate::session::prompt::RequestFrame;
use crate::settings::{Environment, NeighbourMerging, ToolDefinition};
use crate::time::{Micros, Time};
use reenact_wire::block::{Block, BlockKind};
use reenact_wire::json::Json;
use reenact_wire::request::Request;
use reenact_wire::tokens;

struct CompactionHarness {
    env: Environment,
    conversation: Conversation,
    effects: AgentEffects,
}

const FIRST: RequestId = RequestId { prompt: 3, turn: 5, attempt: 1 };

impl CompactionHarness {
    /// A prompt of so many characters and its answer, then a prompt that is not answered.
    fn with_characters(characters: usize) -> Self {
        let mut conversation = Conversation::default();
        conversation.push_user("p1", ItemKind::Prompt, vec![Block::text(&"x".repeat(characters))]);
        conversation.push_answer(RequestId::first(1), vec![Block::text("yes")], None);
        conversation.push_user("p2", ItemKind::Prompt, vec![Block::text("and now?")]);
        Self { env: Environment::default(), conversation, effects: AgentEffects::default() }
    }

    fn start(&mut self, cause: CompactionCause) -> Result<Compaction, Box<FailedCompaction>> {
        self.start_after(CompactionUsage::default(), cause)
    }

    /// Starts one that continues from what another has left.
    fn start_after(&mut self, spent: CompactionUsage, cause: CompactionCause) -> Result<Compaction, Box<FailedCompaction>> {
        let frame = RequestFrame::from_environment(&self.env);
        let standing = (spent.standing, spent.refusals);
        let mut started = Compaction::start(&self.env, Time::ZERO, cause, FIRST, &frame, &self.conversation, standing, &mut self.effects);
        started.iter_mut().for_each(|compaction| self.make(compaction));
        started
    }

    /// Makes the request that is due, as an owner with money does.
    fn make(&mut self, compaction: &mut Compaction) {
        if compaction.is_due() {
            compaction.make(&self.env, Time::ZERO, &mut self.effects);
        }
    }

    /// The requests that were made so far.
    fn requests(&self) -> Vec<(RequestId, Arc<Request>)> {
        let request = |effect: &Effect| match effect {
            Effect::Request { id, request } => Some((*id, request.clone())),
            _ => None,
        };
        self.effects.iter().filter_map(|(_, effect)| request(effect)).collect()
    }

    /// Answers the request with this status and body.
    fn answer(&mut self, compaction: &mut Compaction, id: RequestId, status: u16, body: &str) -> CompactionVerdict {
        let headers: Arc<[HttpHeader]> = [].into();
        let inputs =
            [Input::Head { id, status, headers }, Input::Body { id, body: body.into() }, Input::End { id, how: AnswerEnd::Complete }];
        let mut verdict = CompactionVerdict::Running;
        for input in inputs {
            verdict = compaction.step(&self.env, Time::ZERO + Micros::from_secs(1), &input, &mut self.effects);
            self.make(compaction);
        }
        verdict
    }

    fn emitted(&self) -> Vec<String> {
        let name = |effect: &Effect| match effect {
            Effect::Emit(Emission::CompactBoundary { trigger, .. }) => Some(format!("boundary {}", trigger.as_str())),
            Effect::Emit(Emission::Hidden { why, .. }) => Some(why.to_string()),
            Effect::Emit(Emission::HookContext { text, .. }) => Some(format!("hook: {text}")),
            _ => None,
        };
        self.effects.iter().filter_map(|(_, effect)| name(effect)).collect()
    }
}

/// An answer with this text.
fn says(text: &str) -> String {
    let usage = r#""usage":{"input_tokens":7,"output_tokens":3}"#;
    let content = Block::text(text).json().to_string();
    format!(r#"{{"id":"msg","type":"message","role":"assistant","model":"m","content":[{content}],"stop_reason":"end_turn",{usage}}}"#)
}

const TOO_LONG: &str = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"}}"#;

fn last_text(request: &Request) -> &str {
    match request.messages.last().and_then(|message| message.content.last()).map(Block::kind) {
        Some(BlockKind::Text(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn c_9_instructions_are_minded_and_the_summary_takes_the_conversation_s_place() {
    let mut bench = CompactionHarness::with_characters(900);
    let instructions = Some("the tests".into());
    let mut compaction = bench.start(CompactionCause { instructions, ..CompactionCause::new(CompactTrigger::Manual) }).unwrap();
    let (id, request) = bench.requests().remove(0);
    assert_eq!(id, FIRST);
    assert!(request.tools.is_none() && last_text(&request).ends_with("Mind this in particular: the tests"), "{request:?}");
    let CompactionVerdict::Done(done) = bench.answer(&mut compaction, id, 200, &says("short")) else { panic!("{:?}", bench.effects) };
    let names: Vec<_> = done.conversation.items().iter().map(|item| item.name.to_string()).collect();
    assert_eq!(names, ["p3.r5.a1.summary", "p2"]);
    assert_eq!(bench.emitted(), ["boundary manual", "summary"]);
    assert_eq!(done.spent.last, Some(FIRST));
    assert_eq!(done.spent.usage.len(), 1, "what it cost is counted");
}

#[test]
fn c_6_the_figure_is_what_the_context_held_before() {
    let mut bench = CompactionHarness::with_characters(900);
    let frame = RequestFrame::from_environment(&bench.env).tokens();
    let mut compaction = bench.start(CompactionCause::new(CompactTrigger::Auto)).unwrap();
    let CompactionVerdict::Done(done) = bench.answer(&mut compaction, FIRST, 200, &says("short")) else { panic!("{:?}", bench.effects) };
    assert_eq!(done.tokens.0, frame + tokens::messages(&bench.conversation.messages(NeighbourMerging::Joined)));
    assert_eq!(done.tokens.1, frame + tokens::messages(&done.conversation.messages(NeighbourMerging::Joined)));
}

#[test]
fn c_4_what_comes_after_stands_in_its_order() {
    let mut bench = CompactionHarness::with_characters(900);
    bench.env.settings.compaction.plan = Some("the plan".into());
    let event = HookEvent::PostCompact;
    bench.env.hooks = vec![HookDefinition { name: "h".into(), event, matcher: None, timeout: HookDefinition::TIMEOUT }];
    let mut compaction = bench.start(CompactionCause::new(CompactTrigger::Auto)).unwrap();
    assert_eq!(bench.answer(&mut compaction, FIRST, 200, &says("short")), CompactionVerdict::Running, "hooks are told");
    assert_eq!(bench.emitted(), [] as [&str; 0]);
    let hook = bench.effects.iter().find_map(|(_, effect)| if let Effect::RunHook { hook, .. } = effect { Some(*hook) } else { None });
    let outcome = Arc::new(HookOutcome { context: Some("by the way".into()), ..HookOutcome::default() });
    let input = Input::HookEnded { hook: hook.unwrap(), outcome };
    let CompactionVerdict::Done(done) = compaction.step(&bench.env, Time::ZERO, &input, &mut bench.effects) else {
        panic!("{:?}", bench.effects)
    };
    let kinds: Vec<_> = done.conversation.items().iter().map(|item| (&*item.name, item.kind)).collect();
    let expected = [
        ("p3.r5.a1.summary", ItemKind::Summary),
        ("p2", ItemKind::Prompt),
        ("p3.r5.a1.attachments", ItemKind::Hidden),
        ("p3.r5.a1.summary.hooks", ItemKind::Hidden),
    ];
    assert_eq!(kinds, expected);
    assert_eq!(bench.emitted(), ["boundary auto", "summary", "attachments", "hook: by the way"]);
}

#[test]
fn c_4_tracking_begins_anew_and_the_user_s_own_failures_open_no_breaker() {
    let mut tracking = CompactionTracking { failures: 2, has_warned: true, ..CompactionTracking::default() };
    tracking.on_failed(CompactTrigger::Manual);
    assert_eq!(tracking.failures, 2);
    tracking.on_failed(CompactTrigger::Reactive);
    assert_eq!(tracking.failures, 3);
    tracking.reactively_compacted = true;
    let mut bench = CompactionHarness::with_characters(900);
    let mut compaction = bench.start(CompactionCause::new(CompactTrigger::Auto)).unwrap();
    let CompactionVerdict::Done(done) = bench.answer(&mut compaction, FIRST, 200, &says("short")) else { panic!("{:?}", bench.effects) };
    tracking.on_done(&done);
    let last = Some(LastCompaction { id: "p3.r5.a1.summary".into(), turns: 0 });
    assert_eq!(
        tracking,
        CompactionTracking { last, reactively_compacted: true, ..CompactionTracking::default() },
        "the chain goes on (Q-13)"
    );
}

#[test]
fn c_4_each_try_without_the_oldest_rounds_is_a_request_of_its_own() {
    let mut bench = CompactionHarness::with_characters(900);
    bench.conversation = Conversation::from_items(items("p a p a p a p a p"));
    let mut compaction = bench.start(CompactionCause::new(CompactTrigger::Auto)).unwrap();
    let mut lengths = Vec::new();
    let verdict = loop {
        let (id, request) = bench.requests().pop().unwrap();
        lengths.push((id.turn, id.attempt, request.messages.len()));
        match bench.answer(&mut compaction, id, 400, TOO_LONG) {
            CompactionVerdict::Running => (),
            other => break other,
        }
    };
    let CompactionVerdict::Failed(failed) = verdict else { panic!("{verdict:?}") };
    // The prompt that follows the last answer, the summarising prompt with it; then the same without a round each.
    assert_eq!(lengths, [(5, 1, 9), (6, 1, 7), (7, 1, 5), (8, 1, 3)]);
    assert_eq!(failed.spent.last, Some(RequestId { turn: 8, ..FIRST }));
    assert!(failed.failure.too_long, "{failed:?}");

    let again = bench.start_after(failed.spent.clone(), CompactionCause::new(CompactTrigger::Reactive)).unwrap_err();
    assert_eq!((&*again.failure.kind, again.spent.last), ("summary_too_long", None), "Q-13: none of this is asked again");
    assert_eq!(bench.requests().len(), 4);
    bench.env.settings.compaction.summary_drops = 4;
    let _ = bench.start_after(failed.spent, CompactionCause::new(CompactTrigger::Reactive)).unwrap_err();
    bench.conversation = Conversation::from_items(items("p a p a p a p a p a p"));
    let _ = bench.start_after(again.spent, CompactionCause::new(CompactTrigger::Reactive)).unwrap();
    assert_eq!(bench.requests().len(), 5, "what is longer by a round was not asked");
}

/// How often the newest request sends thinking.
fn thoughts(bench: &CompactionHarness) -> usize {
    let (_, request) = bench.requests().pop().unwrap();
    request.messages.iter().flat_map(|message| &message.content).filter(|block| block.is_thinking()).count()
}

#[test]
fn q_19_thinking_stays_in_a_summary_request_as_long_as_what_is_before_it_stays() {
    let with_tools = |keeps_tools: bool, without_media: bool| {
        let mut bench = CompactionHarness::with_characters(900);
        bench.env.tools = vec![ToolDefinition::new("Read", None, Json::trusted(r#"{"name":"Read"}"#))];
        bench.env.settings.compaction.summary_tools = keeps_tools;
        let image = r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}"#;
        bench.conversation = Conversation::default();
        for (turn, text) in (1..).zip(["one", "two", "three"]) {
            let mut content = vec![Block::text(text)];
            content.extend((turn == 2).then(|| Block::from(Json::trusted(image))));
            bench.conversation.push_user(format!("p{turn}"), ItemKind::Prompt, content);
            let thinking = Block::from(Json::trusted(format!(r#"{{"type":"thinking","thinking":"{text}","signature":"s"}}"#)));
            bench.conversation.push_answer(RequestId { prompt: turn, ..FIRST }, vec![thinking, Block::text("yes")], None);
        }
        let compaction = bench.start(CompactionCause { without_media, ..CompactionCause::new(CompactTrigger::Auto) }).unwrap();
        (bench, compaction)
    };
    assert_eq!(thoughts(&with_tools(false, false).0), 0, "the thoughts were signed behind tools");
    assert_eq!(thoughts(&with_tools(true, true).0), 1, "those behind the image are gone with it");
    let (mut bench, mut compaction) = with_tools(true, false);
    assert_eq!(thoughts(&bench), 3, "it begins as the request before it, so that the cache is read");
    assert_eq!(bench.answer(&mut compaction, FIRST, 400, TOO_LONG), CompactionVerdict::Running);
    assert_eq!((bench.requests().len(), thoughts(&bench)), (2, 0), "the oldest round is not before them any more");
}

#[test]
fn c_8a_what_is_not_smaller_fails() {
    let of = |characters, summary: usize| {
        let mut bench = CompactionHarness::with_characters(characters);
        let mut compaction = bench.start(CompactionCause::new(CompactTrigger::Auto)).unwrap();
        bench.answer(&mut compaction, FIRST, 200, &says(&"s".repeat(summary)))
    };
    assert!(matches!(of(900, 100), CompactionVerdict::Done(_)));
    let CompactionVerdict::Failed(failed) = of(900, 900) else { panic!("it is as long and has a head") };
    assert_eq!(&*failed.failure.kind, "summary_not_smaller");
}

#[test]
fn c_8_an_abort_closes_what_is_open_and_says_what_it_cost() {
    let mut bench = CompactionHarness::with_characters(900);
    let mut compaction = bench.start(CompactionCause::new(CompactTrigger::Auto)).unwrap();
    let spent = compaction.abort(Time::ZERO + Micros::from_secs(2), &mut bench.effects);
    assert_eq!((spent.last, spent.api_time), (Some(FIRST), Micros::from_secs(2)));
    assert!(bench.effects.iter().any(|(_, effect)| matches!(effect, Effect::CloseRequest { id } if *id == FIRST)));
    assert_eq!(bench.answer(&mut compaction, FIRST, 200, &says("late")), CompactionVerdict::Running, "what comes late counts for nothing");
}

#[test]
fn c_5_with_nothing_to_summarise_it_fails_at_once() {
    let mut bench = CompactionHarness::with_characters(900);
    bench.conversation = Conversation::from_items(items("p"));
    let failed = bench.start(CompactionCause::new(CompactTrigger::Reactive)).unwrap_err();
    assert_eq!((&*failed.failure.kind, failed.spent.last), ("nothing_to_summarise", None));
    assert_eq!(bench.requests(), []);
}

#[test]
fn c_4_what_the_api_counted_for_kept_answers_counts_no_more() {
    let mut bench = CompactionHarness::with_characters(900);
    bench.env.settings.compaction.keep_messages = 2;
    let usage = reenact_wire::usage::Usage { input_tokens: Some(9_000), ..Default::default() };
    let items = bench.conversation.items().iter();
    let with_usage = |item: &Arc<ConversationItem>| {
        Arc::new(ConversationItem { usage: item.is_answer().then_some(usage), ..ConversationItem::clone(item) })
    };
    let mut all: Vec<_> = items.map(with_usage).collect();
    let older = ConversationItem::user("h1", ItemKind::Earlier, vec![Block::text(&"x".repeat(900))]);
    let answer = ConversationItem { name: "h2".into(), ..ConversationItem::clone(&all[1]) };
    all.splice(0..0, [Arc::new(older), Arc::new(answer)]);
    bench.conversation = Conversation::from_items(all);
    let mut compaction = bench.start(CompactionCause::new(CompactTrigger::Auto)).unwrap();
    let CompactionVerdict::Done(done) = bench.answer(&mut compaction, FIRST, 200, &says("short")) else { panic!("{:?}", bench.effects) };
    assert_eq!(done.conversation.items().len(), 3, "the summary, an answer, a prompt");
    assert!(!done.conversation.is_counted(), "the figure held all that is gone now");
}
