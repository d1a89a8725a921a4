//! `[[interrupt]]` and `default_answer`.

use super::*;
use crate::boundary::BoundarySide;
use crate::interrupt::{InterruptKind, InterruptMoment, InterruptTrigger, ReachedState, ScriptedInterrupt};
use reenact_engine::contract::Agent;

fn with(interrupt: &str) -> String {
    format!("{SHORT}[[interrupt]]\n{interrupt}\n")
}

fn interrupt(text: &str) -> ScriptedInterrupt {
    read(&with(text)).interrupts.remove(0)
}

#[test]
fn m_8_the_example_of_the_format() {
    let read = interrupt("when = { tool = \"Read\", state = \"executing\" }\noffset = \"5ms\"\nkind = \"cancel\"");
    let anchor = InterruptTrigger::Tool { name: "Read".into(), state: ReachedState::Executing, nth: 1 };
    let moment = InterruptMoment::When { anchor, agent: Agent::ROOT, side: BoundarySide::After, offset: Micros::from_millis(5) };
    assert_eq!(read, ScriptedInterrupt { kind: InterruptKind::Cancel, moment, turns: Vec::new(), may: false });
}

#[test]
fn m_8_messages_with_answers_of_their_own() {
    let read = interrupt("at = \"5s\"\nkind = \"interrupt\"\ntext = \"stop\"\n[[interrupt.turn]]\ntext = \"Stopped.\"");
    assert_eq!(read.kind, InterruptKind::Interrupt(vec![Block::text("stop")]));
    assert_eq!(read.moment, InterruptMoment::At(Micros::from_secs(5)));
    assert_eq!(read.turns, [ScriptedTurn { content: vec![TurnBlock::Text("Stopped.".into())], ..ScriptedTurn::default() }]);
    assert_eq!(super::read(&format!("default_answer = \"Yes.\"\n{SHORT}")).default_answer.as_deref(), Some("Yes."));
}

#[test]
fn m_8_each_anchor() {
    let anchor = |when: &str| match interrupt(&format!("kind = \"cancel\"\nwhen = {{ {when} }}")).moment {
        InterruptMoment::When { anchor, .. } => anchor,
        InterruptMoment::At(_) => panic!("`when` says no time"),
    };
    assert_eq!(anchor("event = \"ping\", nth = 3"), InterruptTrigger::Event { name: "ping".into(), nth: 3 });
    assert_eq!(anchor("retry = 1"), InterruptTrigger::Retry { nth: 1 });
    assert_eq!(anchor("request = 2"), InterruptTrigger::Request { prompt: None, request: 2, attempt: 1 });
    assert_eq!(anchor("result = 1"), InterruptTrigger::Result { nth: 1 });
    assert_eq!(anchor("terminal = true"), InterruptTrigger::Terminal { nth: 1 });
    assert_eq!(anchor("terminal = 2"), InterruptTrigger::Terminal { nth: 2 });
}

#[test]
fn m_8_before_goes_with_inputs_alone() {
    let before = |when: &str| messages(&with(&format!("kind = \"cancel\"\nside = \"before\"\nwhen = {{ {when} }}")));
    assert_eq!(before("event = \"ping\""), [] as [&str; 0]);
    assert_eq!(before("tool = \"Read\", state = \"completed\""), [] as [&str; 0]);
    let never = ["no action can come before an effect of the engine"];
    for when in ["tool = \"Read\", state = \"executing\"", "retry = 1", "request = 1", "result = 1", "terminal = true"] {
        assert_eq!(before(when), never, "{when}");
    }
}
