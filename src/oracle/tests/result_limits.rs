//! A result that is too large for its tool does not go out whole, and any other one does (O-13).

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

#[test]
fn o_13_and_t_27_a_result_that_fits_its_tool_goes_out_whole() {
    let asked = || EventStory::with(|settings| settings.pipeline.result_limit = 8).asks("R", 0);
    let returned = |text: &str| Input::ToolEnded { run: run(0), outcome: Arc::new(ToolOutcome::text(text)) };
    let text = "ééééé 😀\n";
    let fits = || asked().input(returned(text));
    let stores = |story: EventStory| story.effect(Effect::StoreResult { run: run(0), content: Json::from_value(text) });
    assert_eq!(fits().result_says(text).times_broken("O-13"), 0);
    assert_eq!(fits().result_says(&format!("{text}\n\nThe user says: go on.")).times_broken("O-13"), 0, "more may stand behind it");
    assert_eq!(fits().result_says("ééé [5 left out]").times_broken("O-13"), 1, "it was cut");
    assert_eq!(stores(fits()).times_broken("O-13"), 1, "it was stored");
    assert_eq!(stores(asked().input(returned(""))).times_broken("O-13"), 0, "words of the engine stand for nothing");
    assert_eq!(fits().result_says("Other words.").times_broken("O-13"), 0, "these are for another rule");
    assert_eq!(fits().input(Input::Cancel).result_says("Stopped.").times_broken("O-13"), 0, "the user ended it");
    let stopped = asked().effect(Effect::StopTool { run: run(0) }).input(returned(text));
    assert_eq!(stopped.result_says("Stopped.").times_broken("O-13"), 0, "it was told to stop");
}

#[test]
fn o_13_and_t_27_as_much_goes_out_of_a_cut_result_as_may() {
    let told = |text: &str| {
        let story = EventStory::with(|settings| settings.pipeline.result_limit = 8);
        let returned = Arc::new(ToolOutcome::text("ninety-nine"));
        story.asks("R", 0).input(Input::ToolEnded { run: run(0), outcome: returned }).result_says(text).times_broken("O-13")
    };
    assert_eq!(told("ninety-n [3 of 11 left out]"), 0);
    assert_eq!(told("ninety [5 of 11 left out]"), 1, "it may have more");
    assert_eq!(told(&format!("ninety-n{}", "o".repeat(2_000))), 1, "it may not have so much");
}
