//! The model is told the truth about tools that were started (O-20).

use super::*;

impl EventStory {
    fn told(self, text: &str) -> usize {
        let block = Block::tool_result("t0", &Json::from_value(text), true);
        let message = UserMessage { uuid: "u".into(), run: run(0), answers: "u".into(), block, structured: None, took: None };
        let story = self.effect(Effect::Emit(Emission::User(Arc::new(message))));
        story.oracles.violations().iter().filter(|violation| violation.oracle == "O-20").count()
    }
}

#[test]
fn o_20_a_tool_that_was_started_is_not_called_never_run() {
    let returns = |text: &str| Input::ToolEnded { run: run(0), outcome: Arc::new(ToolOutcome::error(text)) };
    assert_eq!(EventStory::new().asks("R", 0).told("The tool was Not Executed."), 1);
    assert_eq!(EventStory::new().asks("R", 0).told("Stopped by the user."), 0);
    assert_eq!(EventStory::new().says(use_block("R", 0)).told("The tool was not executed."), 0, "it never started");
    assert_eq!(EventStory::new().asks("R", 0).input(returns("step 2 was not run")).told("step 2 was not run"), 0, "its own words");
    assert_eq!(EventStory::new().asks("R", 0).input(returns("done")).told("It was not run."), 1, "it had even ended");
}
