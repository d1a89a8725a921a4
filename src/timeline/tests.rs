//! Small tapes and what their timelines say.

mod prefixes;
mod story;

use std::string::ToString as _;

use self::story::{TapeStory, cut, ends, results, text, tool, user};
use super::*;

fn kinds(timeline: &SessionTimeline) -> Vec<RemarkKind> {
    timeline.remarks.iter().map(|remark| remark.kind).collect()
}

fn remark(timeline: &SessionTimeline, kind: RemarkKind) -> &str {
    let found = timeline.remarks.iter().find(|remark| remark.kind == kind);
    &found.unwrap_or_else(|| panic!("no remark {kind:?} in {:?}", timeline.remarks)).text
}

fn ms(span: Option<Micros>) -> u64 {
    span.expect("a time").0 / 1_000
}

/// Two tools of one answer, the first asked for while the stream is open, their results in another order.
fn parallel_tools() -> TapeStory {
    let asks = [text(200, 0, "I look."), tool(500, 1, "toolu_a", "Read"), tool(900, 2, "toolu_b", "Bash"), ends(1_000, "tool_use", 7)];
    TapeStory::new().exchange("main", 0, &[user("hi")], &asks).exchange(
        "main",
        3_000,
        &[user("hi"), results(&["toolu_b", "toolu_a"])],
        &[text(100, 0, "Done."), ends(200, "end_turn", 3)],
    )
}

#[test]
fn v_8_a_tool_is_an_interval_from_its_block_to_the_request_with_its_result() {
    let timeline = parallel_tools().timeline();
    let tools: Vec<_> =
        timeline.tools.iter().map(|tool| (&*tool.label, ms(tool.at), tool.returns[0].request, ms(tool.returns[0].at))).collect();
    assert_eq!(tools, [("1A", 500, 2, 3_000), ("1B", 900, 2, 3_000)]);
    assert_eq!(remark(&timeline, RemarkKind::Order), "request 2 has its results in another order than their tool uses: 1B 1A");
    let [gap] = &timeline.gaps[..] else { panic!("{:?}", timeline.gaps) };
    assert_eq!((gap.cause, gap.at, gap.end_at), (GapCause::Tools, Micros(1_000_000), Micros(3_000_000)));
    let time = timeline.time.unwrap();
    assert_eq!((time.first_bytes, time.answers, time.tools), (Micros(300_000), Micros(900_000), Micros(2_000_000)));
    assert_eq!(time.nothing, Micros::ZERO);
    assert_eq!(tools_at_once(&timeline), 2);
}

#[test]
fn v_8_threads_are_on_one_axis_and_overlap() {
    let timeline = parallel_tools()
        .exchange("thread-2", 1_500, &[user("look into it")], &[text(50, 0, "Found."), ends(4_000, "end_turn", 9)])
        .timeline();
    let threads: Vec<_> = timeline.threads.iter().map(|thread| (&*thread.name, thread.requests)).collect();
    assert_eq!(threads, [("main", 2), ("thread-2", 1)]);
    assert_eq!(timeline.until, Micros(5_500_000));
    let time = timeline.time.unwrap();
    assert_eq!(time.answers + time.first_bytes + time.requests + time.stalls + time.tools + time.retries + time.nothing, timeline.until);
    assert!(kinds(&timeline).contains(&RemarkKind::Stall), "3.950 s of nothing in thread-2: {:?}", timeline.remarks);
}

#[test]
fn v_8_the_same_request_after_a_failure_is_a_further_attempt() {
    let timeline = TapeStory::new()
        .refused("main", 0, &[user("hi")], (529, "overloaded_error", "3"))
        .exchange("main", 2_000, &[user("hi")], &[text(100, 0, "Hello."), ends(200, "end_turn", 3)])
        .exchange("main", 9_000, &[user("hi")], &[text(100, 0, "Hello."), ends(200, "end_turn", 3)])
        .timeline();
    let attempts: Vec<_> = timeline.requests.iter().map(|call| call.attempts.len()).collect();
    assert_eq!(attempts, [2, 1], "after a success it is another request");
    let first = &timeline.requests[0].attempts[0];
    assert_eq!((first.end, first.status, first.retry_after), (RecordedEnd::Refused, Some(529), Some(Micros::from_secs(3))));
    assert_eq!(
        remark(&timeline, RemarkKind::Retry),
        "request 1 takes 2 attempts in 2.000s: 529 overloaded_error, answered; after 1.950s, and the server had asked for 3.000s"
    );
    assert_eq!(remark(&timeline, RemarkKind::Twice), "request 2 is request 1.2 once more, and both are answered: 10 in, 3 out");
    assert_eq!(timeline.gaps[0].cause, GapCause::Retry);
    assert_eq!(remark(&timeline, RemarkKind::Gap), "6.800s without a request of main, behind request 1");
}

#[test]
fn v_8_a_cut_stream_is_no_answer_and_its_tokens_were_paid_for() {
    let cut_stream = [text(200, 0, "I"), tool(300, 1, "toolu_a", "Read"), cut(900)];
    let timeline = TapeStory::new()
        .exchange("main", 0, &[user("hi")], &cut_stream)
        .exchange("main", 1_000, &[user("hi")], &[text(100, 0, "Hello."), ends(200, "end_turn", 3)])
        .timeline();
    let call = &timeline.requests[0];
    assert_eq!((call.attempts[0].end, call.attempts[1].end), (RecordedEnd::Cut, RecordedEnd::Answered));
    assert_eq!(timeline.tools[0].fate, ToolFate::Dropped);
    assert_eq!(remark(&timeline, RemarkKind::Twice), "request 1 is cut with 10 in, 1 out on its bill, and is made again");
    assert_eq!(timeline.tokens[0].usage.input_tokens, Some(20), "both were counted");
}

#[test]
fn v_8_a_silent_stream_stalls_and_pings_are_no_content() {
    let silent = [text(200, 0, "I"), story::ping(3_000), text(5_000, 1, "go"), ends(5_100, "end_turn", 3)];
    let timeline = TapeStory::new().exchange("main", 0, &[user("hi")], &silent).timeline();
    assert_eq!(timeline.requests[0].attempts[0].stalls, [StreamStall { at: Micros(200_000), end_at: Micros(5_000_000), pings: 1 }]);
    assert_eq!(remark(&timeline, RemarkKind::Stall), "request 1 is silent for 4.800s, but for 1 ping");
    let patient = TapeStory::new().exchange("main", 0, &[user("hi")], &silent).timeline_with(Micros::from_secs(5));
    assert_eq!(patient.requests[0].attempts[0].stalls, []);
}

#[test]
fn v_8_a_tape_that_is_being_written_shows_what_is_open() {
    let tape = parallel_tools().tape();
    // Up to the last but one line of the first exchange: its stream is open, and so is what it asks for.
    let lines: Vec<&str> = tape.split_inclusive('\n').collect();
    let begun = lines[..6].concat() + &lines[6][..9];
    let timeline = story::read(&begun, STALL_LIMIT);
    let attempt = &timeline.requests[0].attempts[0];
    assert_eq!((attempt.end, attempt.blocks.len(), timeline.tools[0].fate), (RecordedEnd::Open, 3, ToolFate::Open));
    let open: Vec<&str> = timeline.remarks.iter().filter(|remark| remark.kind == RemarkKind::Open).map(|remark| &*remark.text).collect();
    assert_eq!(
        open,
        [
            "the recording ends inside of a line",
            "request 1 has no end: 3 blocks so far",
            "1A Read, 1B Bash have no result, and the recording ends"
        ]
    );
}

#[test]
fn v_8_doubled_missing_and_strange_results_are_told() {
    let asks = [tool(100, 0, "toolu_a", "Read"), tool(200, 1, "toolu_b", "Bash"), ends(300, "tool_use", 7)];
    let done = [text(100, 0, "Done."), ends(200, "end_turn", 3)];
    let story = |sent: &[&str]| {
        TapeStory::new().exchange("main", 0, &[user("hi")], &asks).exchange("main", 1_000, &[user("hi"), results(sent)], &done)
    };
    let timeline = story(&["toolu_a", "toolu_a", "toolu_x"]).timeline();
    assert_eq!(remark(&timeline, RemarkKind::DoubledResult), "the result of 1A Read is sent twice in request 2");
    assert_eq!(remark(&timeline, RemarkKind::NoResult), "1B Bash has no result, and the thread goes on");
    assert_eq!(remark(&timeline, RemarkKind::StrangeResult), "request 2 carries 1 result of tool uses that are not in the recording");
    // Once more behind the next answer.
    let again = [user("hi"), results(&["toolu_a", "toolu_b"]), results(&["toolu_b"])];
    let timeline = story(&["toolu_a", "toolu_b"]).exchange("main", 3_000, &again, &done).timeline();
    assert_eq!(remark(&timeline, RemarkKind::DoubledResult), "the result of 1B Bash is sent in request 2 and again in request 3");
    // The same request again carries the same results, which is no doubling.
    let timeline = TapeStory::new()
        .exchange("main", 0, &[user("hi")], &asks)
        .refused("main", 1_000, &[user("hi"), results(&["toolu_a", "toolu_b"])], (529, "overloaded_error", "1"))
        .exchange("main", 3_000, &[user("hi"), results(&["toolu_a", "toolu_b"])], &done)
        .timeline();
    assert_eq!((kinds(&timeline), timeline.requests.len()), (vec![RemarkKind::Retry], 2));
    let doubled = [user("hi"), results(&["toolu_a", "toolu_b", "toolu_b"])];
    let timeline = TapeStory::new()
        .exchange("main", 0, &[user("hi")], &asks)
        .refused("main", 1_000, &doubled, (529, "overloaded_error", "1"))
        .exchange("main", 3_000, &doubled, &done)
        .timeline();
    assert_eq!(kinds(&timeline), [RemarkKind::DoubledResult, RemarkKind::Retry], "once, however often it is tried");
}

#[test]
fn v_8_a_result_is_for_the_tool_use_of_its_own_thread_and_place() {
    let asks = |name: &str| [tool(100, 0, "call_0", name), ends(300, "tool_use", 7)];
    let done = [text(100, 0, "Done."), ends(200, "end_turn", 3)];
    let sent = [user("hi"), results(&["call_0"])];
    let both = TapeStory::new().exchange("main", 0, &[user("hi")], &asks("Task")).exchange("thread-2", 500, &[user("ho")], &asks("Grep"));
    let timeline = both.exchange("main", 2_000, &sent, &done).timeline();
    let fates: Vec<_> = timeline.tools.iter().map(|tool| (&*tool.name, tool.fate)).collect();
    assert_eq!(fates, [("Task", ToolFate::Returned), ("Grep", ToolFate::Open)]);
    // One id twice in an answer: the order alone distinguishes the results.
    let twice = [tool(100, 0, "call_0", "Read"), tool(200, 1, "call_0", "Bash"), ends(300, "tool_use", 7)];
    let story = |ids: &[&str]| {
        TapeStory::new().exchange("main", 0, &[user("hi")], &twice).exchange("main", 1_000, &[user("hi"), results(ids)], &done).timeline()
    };
    let timeline = story(&["call_0", "call_0"]);
    assert_eq!(kinds(&timeline), [RemarkKind::DoubledId]);
    assert_eq!(remark(&timeline, RemarkKind::DoubledId), "1A Read and 1B Bash have one id");
    let timeline = story(&["call_0", "call_0", "call_0"]);
    assert_eq!(remark(&timeline, RemarkKind::DoubledResult), "the result of 1B Bash is sent twice in request 2");
    assert_eq!(remark(&story(&["call_0"]), RemarkKind::NoResult), "1B Bash has no result, and the thread goes on");
}

#[test]
fn v_8_a_head_is_no_answer_and_the_silence_behind_it_is_told() {
    let tape = parallel_tools().tape();
    let lines: Vec<&str> = tape.split_inclusive('\n').collect();
    let cut = lines[..3].concat() + r#"{"end":1,"at":60000000,"how":"reset"}"# + "\n";
    let timeline = story::read(&cut, STALL_LIMIT);
    let attempt = &timeline.requests[0].attempts[0];
    assert_eq!((attempt.answer_at(), attempt.end), (None, RecordedEnd::Cut));
    assert_eq!(remark(&timeline, RemarkKind::Stall), "request 1 is silent for 59.950s");
    let time = timeline.time.as_ref().expect("it has times");
    assert_eq!((time.answers, time.first_bytes), (Micros::ZERO, Micros::from_secs(60)));
}

#[test]
fn v_8_a_prefix_that_was_cached_and_is_not_read_is_told() {
    let answer = |read: u64, written: u64| [story::starts(50, read, written), text(100, 0, "Yes."), ends(200, "end_turn", 3)];
    let story = |read: u64| {
        let first = TapeStory::new().exchange("main", 0, &[user("hi")], &answer(0, 40_000));
        first.exchange("main", 400_000, &[user("hi"), user("more")], &answer(read, 40_000 - read))
    };
    let of_another = kinds(&story(0).with_system().timeline());
    assert!(!of_another.contains(&RemarkKind::CacheMiss), "with another system prompt nothing of it is in the cache");
    let story = |read: u64| story(read).timeline();
    assert_eq!(
        remark(&story(0), RemarkKind::CacheMiss),
        "request 2 reads 0 of the 40,000 tokens that request 1 had in the cache, 6m40.000s later"
    );
    assert!(!kinds(&story(39_500)).contains(&RemarkKind::CacheMiss), "less than the API caches may be missing for other reasons");
}

#[test]
fn v_8_a_recording_without_times_has_an_order() {
    let timeline = parallel_tools().without_times().timeline();
    assert!(!timeline.has_times && timeline.time.is_none() && timeline.gaps.is_empty());
    let labels: Vec<&str> = timeline.tools.iter().map(|tool| &*tool.label).collect();
    assert_eq!((labels, timeline.tools[0].returns[0].request), (vec!["1A", "1B"], 2));
    assert!(remark(&timeline, RemarkKind::Untimed).starts_with("the recording has no times"));
}

#[test]
fn v_8_what_cannot_be_read_is_told_and_the_rest_is_shown() {
    let tape = parallel_tools().tape();
    let mut lines: Vec<&str> = tape.split_inclusive('\n').collect();
    lines.insert(3, "{\"chunk\":true}\n");
    lines.remove(4);
    let timeline = story::read(lines.concat(), STALL_LIMIT);
    let unread: Vec<&str> =
        timeline.remarks.iter().filter(|remark| remark.kind == RemarkKind::Unread).map(|remark| &*remark.text).collect();
    assert!(unread.len() == 2 && unread[0].starts_with("line 4: ") && unread[1].contains("and its end says"), "{unread:?}");
    assert_eq!(timeline.requests.len(), 2);
    assert_eq!(timeline.requests[1].number.to_string(), timeline.tools[0].returns[0].request.to_string());
}

#[test]
fn v_8_an_agent_of_a_log_is_a_thread_named_for_its_tool_use() {
    let log = include_str!("../../tests/formats/one.log");
    let timeline = read_log(log, STALL_LIMIT).unwrap();
    assert!(timeline.tools.iter().all(|tool| tool.runs.len() == 1 && tool.runs[0].at >= tool.at.unwrap()), "{:?}", timeline.tools);
    let threads: Vec<_> = timeline.threads.iter().map(|thread| (&*thread.name, thread.requests)).collect();
    assert_eq!((threads[0].0, threads[1].0), ("main", "agent 1A"), "{threads:?}");
    assert_eq!(timeline.tools[0].runs.len(), 1);
}
