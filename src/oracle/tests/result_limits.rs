//! A result that is too large for its tool does not go out whole (O-13).

use super::*;

#[test]
fn o_13_a_result_keeps_the_limit_of_its_tool() {
    let returned = |text: &str| {
        let story = EventStory::with(|settings| settings.pipeline.result_limit = 8);
        story.asks("R", 0).input(Input::ToolEnded { run: run(0), outcome: Arc::new(ToolOutcome::text(text)) })
    };
    assert_eq!(returned("8 places").result_says("8 places").times_broken("O-13"), 0);
    assert_eq!(returned("ninety-nine").result_says("ninety-nine").times_broken("O-13"), 1);
    assert_eq!(returned("ninety-nine").result_says("ninety-n [3 of 11 left out]").times_broken("O-13"), 0);
    assert_eq!(returned("zwölfmal").result_says("zwölfmal").times_broken("O-13"), 0, "characters count, not bytes");
    let stored = returned("ninety-nine").effect(Effect::StoreResult { run: run(0), content: Json::from_value("ninety-nine") });
    assert_eq!(stored.result_says("ninety-nine").times_broken("O-13"), 0, "it was stored");
}
