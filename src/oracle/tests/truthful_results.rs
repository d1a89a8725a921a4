//! The model is told the truth about tools that were started (O-20).

use super::*;

impl EventStory {
    fn told(self, text: &str) -> usize {
        self.result_says(text).times_broken("O-20")
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
