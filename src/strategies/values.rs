//! Single values: text, spans, latencies, models; and a value of which some fields are not as usual.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use reenact_engine::time::Micros;
use reenact_scenario::latency::Latency;
use reenact_wire::prelude::*;

/// A value like `$usual`, of which each field has one of its own values with the probability `$share`. It shrinks to the usual one.
macro_rules! vary {
    ($usual:expr, $share:expr; $($($field:ident).+ : $values:expr),+ $(,)?) => {{
        let whole = proptest::prelude::Just($usual).boxed();
        $(let whole = (whole, proptest::option::weighted($share, $values))
            .prop_map(|(mut whole, value)| {
                if let Some(value) = value {
                    whole.$($field).+ = value;
                }
                whole
            })
            .boxed();)+
        whole
    }};
}
pub(crate) use vary;

/// Plain text of a few words.
pub fn words() -> impl Strategy<Value = Arc<str>> {
    let word = select(vec!["look", "at", "the", "parser", "then", "mend", "what", "is", "wrong", "with", "it", "please"]);
    vec(word, 1..9).prop_map(|words| words.join(" ").into())
}

/// Text as it should not be: control characters, quotes, several lines, other scripts; never blank.
pub fn odd_text() -> BoxedStrategy<Arc<str>> {
    let known = select(vec![
        "two\nlines",
        "'''",
        "\"\"\"",
        "a\\b",
        "tab\tbed",
        "\u{1F980} crab",
        "a\u{301}",
        "\u{202e}rtl",
        "\r\nx",
        "#no comment",
        "nul \u{0}.",
        "data: x\n\n",
        "$ARGUMENTS",
        " leading",
        "trailing ",
        "/w/etc",
    ]);
    let drawn = "\\PC{1,24}".prop_filter("blank text is refused by the API", |text| !text.trim().is_empty());
    prop_oneof![known.prop_map(Arc::from), drawn.prop_map(Arc::from)].boxed()
}

/// Mostly plain, sometimes long.
pub fn text() -> BoxedStrategy<Arc<str>> {
    let long = (words(), 2_usize..120).prop_map(|(words, times)| vec![&*words; times].join(". ").into());
    prop_oneof![8 => words(), 1 => long].boxed()
}

/// A span of time: nothing, a moment, seconds, minutes.
pub fn span() -> BoxedStrategy<Micros> {
    prop_oneof![
        1 => Just(Micros::ZERO),
        1 => Just(Micros(1)),
        4 => (1_u64..400).prop_map(Micros::from_millis),
        3 => (1_u64..12).prop_map(Micros::from_secs),
        1 => select(vec![Micros::from_secs(61), Micros::from_secs(91), Micros::from_secs(301)]),
    ]
    .boxed()
}

/// A span that is not nothing.
pub fn some_time() -> impl Strategy<Value = Micros> {
    span().prop_map(|span| span.max(Micros(1)))
}

/// How long something takes.
pub fn latency() -> BoxedStrategy<Latency> {
    let ends = || (span(), some_time()).prop_map(|(low, more)| (low, low + more));
    prop_oneof![
        5 => span().prop_map(Latency::Fixed),
        2 => ends().prop_map(|(low, high)| Latency::Uniform(low, high)),
        1 => ends().prop_map(|(low, high)| Latency::LogUniform(low, high)),
        // With a wider tail, one draw in some thousands is longer than a run may last.
        1 => ends().prop_map(|(p50, p99)| Latency::LogNormal { p50: p50.max(Micros(p99.0 / 1_000)), p99 }),
        1 => vec(span(), 1..4).prop_map(|spans| Latency::Table(spans.into())),
    ]
    .boxed()
}

/// A model of any generation, and an unknown one.
pub fn model() -> impl Strategy<Value = Arc<str>> {
    select(vec![
        "claude-haiku-4-5",
        "claude-sonnet-4-5",
        "claude-3-7-sonnet",
        "claude-opus-4-6",
        "claude-sonnet-5",
        "claude-sonnet-5-5",
        "claude-opus-5-5",
        "house-model",
    ])
    .prop_map(Arc::from)
}

/// A rule on tools.
pub fn rule() -> impl Strategy<Value = Arc<str>> {
    select(vec!["Bash", "Bash(git *)", "Bash(ls)", "Edit", "Edit(/w/src/*)", "Read", "Read(/w/*)", "Agent", "mcp__*", "Write", "*"])
        .prop_map(Arc::from)
}

/// One of the names that messages have in transcripts, some of which there will not be.
pub fn message_name() -> impl Strategy<Value = Arc<str>> {
    select(vec![
        "p1",
        "p1.r1.a1",
        "p1.r1.a1.results",
        "p1.r2.a1",
        "p1.r2.a1.results",
        "p1.r3.a1",
        "p2",
        "p2.r1.a1",
        "p2.r1.a1.results",
        "h1",
        "h2",
        "h3",
        "nowhere",
    ])
    .prop_map(Arc::from)
}

/// The id of a scripted tool use, as the scenario gives it.
pub fn tool_use_id() -> impl Strategy<Value = Arc<str>> {
    (1_u32..3, 1_u32..4, 1_u32..3).prop_map(|(prompt, turn, tool)| format!("toolu_p{prompt}t{turn}n{tool}").into())
}
