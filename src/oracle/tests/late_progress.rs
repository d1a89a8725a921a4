//! Nothing comes out of what a tool reports after it was told to stop (O-14).

use super::*;

impl EventStory {
    fn reports(self, text: &str) -> Self {
        self.input(Input::ToolProgress { run: run(0), text: text.into(), kind: None })
    }

    fn shows(self, text: &str) -> Self {
        let shown = Emission::Progress { run: run(0), tool_use_id: "t0".into(), text: text.into(), kind: None, details: None };
        self.effect(Effect::Emit(shown))
    }

    fn stops(self) -> Self {
        self.effect(Effect::StopTool { run: run(0) })
    }
}

#[test]
fn o_14_progress_comes_out() {
    let reported = || EventStory::new().asks("R", 0).reports("1 of 2");
    assert_eq!(reported().shows("1 of 2").ends(0).result(0).terminal().times_broken("O-14"), 0);
    assert_eq!(reported().ends(0).result(0).terminal().times_broken("O-14"), 1);
    assert_eq!(reported().stops().ends(0).result(0).terminal().times_broken("O-14"), 0, "it was stopped");
    assert_eq!(reported().terminal().times_broken("O-14"), 0, "its answer does not count");
}

#[test]
fn o_14_and_t_6_progress_after_the_stop_of_a_tool_does_not_come_out() {
    let asked = || EventStory::new().asks("R", 0);
    assert_eq!(asked().reports("1 of 2").shows("1 of 2").times_broken("O-14"), 0);
    assert_eq!(asked().stops().reports("1 of 2").shows("1 of 2").times_broken("O-14"), 1);
    assert_eq!(asked().stops().reports("1 of 2").times_broken("O-14"), 0, "it was dropped");
    assert_eq!(asked().reports("1 of 2").stops().shows("1 of 2").times_broken("O-14"), 0, "it was reported in time");
    assert_eq!(asked().reports("1 of 2").shows("1 of 2").stops().reports("1 of 2").shows("1 of 2").times_broken("O-14"), 1, "twice");
    let agent = || EventStory::new().effect(Effect::StartAgent { run: run(0), tool_use: Arc::new(tool_use("R", 0)) });
    assert_eq!(agent().stops().shows("1 of 2").times_broken("O-14"), 0, "its agents report inside of the engine");
}
