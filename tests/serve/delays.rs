//! Clients that come too soon, too late, too often or not often enough (K-6, R-1, R-2).

use std::time::Duration;

use super::client::{body, in_some_try, post, served, setup};
use reenact::live::serve::{AnswerPace, ServeOptions};
use tokio::time::sleep;

const PATIENCE: Duration = Duration::from_secs(5);

/// The failures of a client that waits so long, in milliseconds, before each further attempt.
fn failures(waits: &[u64]) -> Vec<String> {
    let scenario = "[[prompt]]\ntext = \"Hello?\"\n\n[[prompt.turn]]\ntext = \"Hello.\"\n\n[[fault]]\nat = { attempt = \"1..=2\" }\nstatus = 529\n\n\
                    [expect]\ndelays = [\"500ms..600ms\", \"1s\"]\n";
    let options = ServeOptions { pace: AnswerPace::None, ..ServeOptions::default() };
    let (_, verdict) = served(&setup(scenario), options, |address| async move {
        let body = body(&[("user", "Hello?")]);
        assert_eq!(post(address, &body, PATIENCE).await.status(), 529);
        for wait in waits {
            sleep(Duration::from_millis(*wait)).await;
            post(address, &body, PATIENCE).await;
        }
    });
    verdict.failures
}

#[test]
fn k_6_a_client_that_waits_as_it_should_passes() {
    assert!(in_some_try(|| failures(&[510, 1_000]).is_empty()));
    assert!(in_some_try(|| failures(&[480, 1_050]).is_empty()), "a little too soon and a little too late");
}

#[test]
fn k_6_a_client_that_comes_too_soon_or_too_late_does_not() {
    let is_told = || {
        let failures = failures(&[300, 2_000]);
        let [soon, late] = &failures[..] else { return false };
        soon.starts_with("request 1.2 came 0.3")
            && soon.ends_with("after the answer to 1 was over; expected 0.500s..0.600s, and 0.450s..0.910s passes")
            && late.starts_with("request 1.3 came 2.")
            && late.ends_with("after the answer to 1.2 was over; expected 1.000s, and 0.950s..1.350s passes")
    };
    assert!(in_some_try(is_told));
}

#[test]
fn k_6_a_client_that_gives_up_is_told_of() {
    assert!(in_some_try(|| failures(&[510]) == ["expected a further attempt after 1.000s, and none came"]));
}
