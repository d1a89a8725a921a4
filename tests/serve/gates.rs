//! Gates: an answer is held at every boundary until the driver of the client releases it (K-9).

use std::sync::mpsc;
use std::time::Duration;

use super::client::{End, Seen, body, post, served, setup};
use reenact::foreign::verdict::SessionVerdict;
use reenact::live::serve::gate::{AnswerGates, AnswerPart, HeldAnswer, HoldRelease};
use reenact::live::serve::{AnswerPace, ServeOptions};

const PATIENCE: Duration = Duration::from_secs(5);

const HELLO: &str = "[[prompt]]\ntext = \"Hello?\"\n\n[[prompt.turn]]\ntext = \"Hello.\"\n";

/// Asks once, with each held answer given to `decide`; what the client saw, where it was held, and the verdict.
fn held_with(decide: impl Fn(&HeldAnswer) -> HoldRelease + Send + 'static) -> (Seen, Vec<String>, SessionVerdict) {
    let (gates, mut held) = AnswerGates::new();
    let options = ServeOptions { pace: AnswerPace::None, gates: Some(gates), ..ServeOptions::default() };
    let (tell, places) = mpsc::channel();
    let (seen, verdict) = served(&setup(HELLO), options, |address| async move {
        tokio::spawn(async move {
            while let Some(one) = held.recv().await {
                tell.send(format!("{} {}", one.boundary, one.event.as_deref().unwrap_or("-"))).unwrap();
                let go = decide(&one);
                let _ = one.go.send(go);
            }
        });
        post(address, &body(&[("user", "Hello?")]), PATIENCE).await
    });
    (seen, places.into_iter().collect(), verdict)
}

#[test]
fn k_9_an_answer_is_held_before_its_head_each_event_and_its_end() {
    let (seen, places, verdict) = held_with(|_| HoldRelease::On);
    assert_eq!(seen.end, End::Whole);
    let expected = [
        "1:head -",
        "1:1 message_start",
        "1:2 content_block_start",
        "1:3 ping",
        "1:4 content_block_delta",
        "1:5 content_block_stop",
        "1:6 message_delta",
        "1:7 message_stop",
        "1:end -",
    ];
    assert_eq!(places, expected);
    assert!(verdict.is_fine(), "{verdict}");
}

#[test]
fn k_9_what_is_behind_a_boundary_is_not_sent_before_it_opens() {
    for (number, go, end) in [(3, HoldRelease::Close, End::Closed), (4, HoldRelease::Reset, End::Broken)] {
        let (seen, places, verdict) =
            held_with(move |held| if held.boundary.before == AnswerPart::Event(number) { go } else { HoldRelease::On });
        assert_eq!((seen.end, seen.chunks().len()), (end, number as usize - 1), "{}", seen.text());
        assert_eq!(places.len(), 1 + number as usize, "nothing is held after it");
        assert!(verdict.to_string().contains("at a gate"), "{verdict}");
    }
    let (seen, _, _) = held_with(|held| if held.boundary.before == AnswerPart::Head { HoldRelease::Reset } else { HoldRelease::On });
    assert_eq!((seen.end, seen.bytes().len()), (End::Broken, 0));
    let (seen, _, _) = held_with(|held| if held.boundary.before == AnswerPart::End { HoldRelease::Close } else { HoldRelease::On });
    assert_eq!((seen.end, seen.chunks().len()), (End::Closed, 7), "all is said but the end");
}
