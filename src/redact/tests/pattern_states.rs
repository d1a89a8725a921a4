//! The patterns together are one automaton, whose states are made while a text is read. When the text asks for more of them than there is room
//! for, it is read hundreds of times as slowly. That no rule does so is counted, not timed (K-2).

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use regex_automata::hybrid::dfa::DFA;
use regex_automata::{Input, MatchKind, PatternSet, util::syntax};

use super::generator::{ALL, Draw, HEX};
use super::*;

/// How much of the room for states a text may take. The rest is for rules of users, and for texts that are not thought of here.
const STATE_BYTES_MAX: usize = 8 << 20;

/// How long each text is.
const TEXT_BYTES: usize = 128 << 10;

/// The states that these patterns make of a text: how many bytes they take, and how often they had to be thrown away.
fn states(patterns: &[String], text: &str) -> (usize, usize) {
    let config = DFA::config().match_kind(MatchKind::All).cache_capacity(rules::STATE_BYTES_MAX);
    let syntax = syntax::Config::new().unicode(false).utf8(false);
    let thompson = regex_automata::nfa::thompson::Config::new().utf8(false);
    let automaton = DFA::builder().configure(config).syntax(syntax).thompson(thompson).build_many(patterns).unwrap();
    let (mut cache, mut found) = (automaton.create_cache(), PatternSet::new(automaton.pattern_len()));
    automaton.try_which_overlapping_matches(&mut cache, &Input::new(text), &mut found).unwrap();
    (cache.memory_usage(), cache.clear_count())
}

fn shipped() -> Vec<String> {
    rules::shipped().unwrap().into_iter().map(|rule| rule.searched().clone()).collect()
}

fn texts() -> Vec<(&'static str, String)> {
    let mut draw = Draw(11);
    let bytes: Vec<u8> = (0..TEXT_BYTES * 3 / 4).map(|_| u8::try_from(draw.below(256)).unwrap()).collect();
    const WORDS: [&str; 12] =
        ["the", "key", "token", "of", "a", "pilot", "password", "is", "not", "https://x.example/a", "api-key:", "sk-"];
    let mut prose = String::new();
    while prose.len() < TEXT_BYTES {
        prose.push_str(WORDS[draw.below(WORDS.len())]);
        prose.push_str([" ", ", ", ".\n", "=", "_"][draw.below(5)]);
    }
    let lines = |text: String, length: usize| {
        text.as_bytes().chunks(length).map(|line| std::str::from_utf8(line).unwrap()).collect::<Vec<_>>().join("\n")
    };
    let event = |text: &str| {
        format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}\"}}}}\n\n"
        )
    };
    let stream = lines(draw.letters(ALL, TEXT_BYTES / 8), 12).lines().map(event).collect();
    vec![
        ("base64 in one piece", STANDARD.encode(&bytes)),
        ("base64 in lines", lines(STANDARD.encode(&bytes), 76)),
        ("base64 of URLs", URL_SAFE_NO_PAD.encode(&bytes)),
        ("hexadecimal digits", lines(draw.letters(HEX, TEXT_BYTES), 64)),
        ("letters and digits", draw.letters(ALL, TEXT_BYTES)),
        ("words", prose),
        ("a stream", stream),
    ]
}

#[test]
fn k_2_no_text_asks_for_more_states_of_the_patterns_than_there_is_room_for() {
    let patterns = shipped();
    for (what, text) in texts() {
        let (bytes, thrown_away) = states(&patterns, &text);
        println!("{what}: {bytes} bytes of states, thrown away {thrown_away} times");
        assert!(bytes <= STATE_BYTES_MAX && thrown_away == 0, "{what}: {bytes} bytes of states, thrown away {thrown_away} times");
    }
}

#[test]
fn k_2_a_pattern_that_makes_too_many_states_is_noticed() {
    let texts = texts();
    // From any place on, and from the beginning of each line on.
    for pattern in ["[A-Za-z0-9+/]{80,100}=", "(?:^|[^A-Za-z0-9+/])[A-Za-z0-9+/]{76}(?:APIM|ACDb)[A-Za-z0-9+/]{5,6}=="] {
        let mut patterns = shipped();
        patterns.push(pattern.to_owned());
        let most = texts.iter().map(|(_, text)| states(&patterns, text)).max();
        println!("{pattern}: {most:?}");
        assert!(most.is_some_and(|(bytes, thrown_away)| bytes > STATE_BYTES_MAX || thrown_away > 0), "{pattern}: {most:?}");
    }
}
