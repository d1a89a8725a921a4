//! Tools of all kinds in one answer: safe and exclusive, unknown, failing, slow to stop, with hooks and people in their way.

use std::fmt::Write as _;

use super::dice::Dice;

pub(crate) fn scenario(dice: &mut Dice) -> String {
    let mut text = String::from("title = \"A batch\"\n[limits]\nrequests = 40\n");
    engine(dice, &mut text);
    tools(dice, &mut text);
    for event in ["pre_tool_use", "post_tool_use", "post_tool_failure"] {
        if dice.hits(5) {
            let latency = dice.one_of(&["1ms", "200ms", "2s"]);
            let _ = writeln!(text, "[[hook]]\nname = \"{event}\"\nevent = \"{event}\"\nlatency = \"{latency}\"");
            let says = ["{ }", "{ context = \"mind this\" }", "{ decision = \"deny\", reason = \"no\" }", "{ stop = \"enough\" }"];
            let _ = writeln!(text, "answers = [{}, {}]", dice.one_of(&says), dice.one_of(&says[..2]));
        }
    }
    if dice.hits(4) {
        let _ = writeln!(text, "[permissions]\nmode = \"default\"\nallow = [\"A\", \"C\"]");
        let answer = dice.one_of(&["allow", "refuse", "refuse_and_abort"]);
        let _ = writeln!(text, "[[permission]]\nfor = \"B\"\nlatency = \"20ms\"\nanswer = \"{answer}\"");
    }
    for _ in 0..=dice.up_to(1) {
        let _ = writeln!(text, "[[prompt]]\ntext = \"Go.\"");
        for _ in 0..=dice.up_to(2) {
            turn(dice, &mut text);
        }
        let _ = writeln!(text, "[[prompt.turn]]\ntext = \"Done.\"\n[[prompt.turn]]\ntext = \"Done again.\"");
    }
    if dice.hits(3) {
        let at = dice.one_of(&["{ request = 1 }", "{ request = 1, attempt = \"1..=3\" }", "{ request = 2 }"]);
        let what =
            dice.one_of(&["status = 529", "cut = { after_events = 9 }", "stall = { after_events = 9, time = \"5m\" }", "status = 400"]);
        let _ = writeln!(text, "[[fault]]\nat = {at}\n{what}");
    }
    for _ in 0..dice.one_of(&[0, 0, 1, 2]) {
        let kind = dice.one_of(&["kind = \"cancel\"", "kind = \"interrupt\"\ntext = \"wait\""]);
        let _ = writeln!(text, "[[interrupt]]\n{kind}\nat = \"{}ms\"", 10 * dice.up_to(300));
    }
    text
}

fn engine(dice: &mut Dice, text: &mut String) {
    let _ = writeln!(text, "[engine]\nstreaming_execution = {}\nstream = {}", dice.hits(3), !dice.hits(4));
    let _ = writeln!(text, "emission_order = \"{}\"", dice.one_of(&["eager", "arrival"]));
    let _ = writeln!(text, "result_order = \"{}\"", dice.one_of(&["tool_use", "emission"]));
    let _ = writeln!(text, "result_delivery = \"{}\"", dice.one_of(&["at_once", "next_item"]));
    let _ = writeln!(text, "sibling_abort = {}\nbatch_sibling_abort = {}", dice.hits(2), dice.hits(2));
    let _ = writeln!(text, "abort_results = \"{}\"", dice.one_of(&["at_once", "in_turn"]));
    let _ = writeln!(text, "queued_block = \"{}\"", dice.one_of(&["answered", "run"]));
    let _ = writeln!(text, "discarded_tools = \"{}\"", dice.one_of(&["stop", "ignore"]));
    let _ = writeln!(text, "max_batch_tools = {}\ntool_grace = \"{}\"", 1 + dice.up_to(3), dice.one_of(&["0s", "100ms", "5s"]));
    if dice.hits(3) {
        let _ = writeln!(text, "max_concurrent_tools = {}", 1 + dice.up_to(2));
    }
    if dice.hits(4) {
        let _ = writeln!(text, "max_turns = {}", 1 + dice.up_to(1));
    }
    if dice.hits(4) {
        let _ = writeln!(text, "fallback_model = \"claude-haiku-4-5\"");
    }
    let _ = writeln!(text, "[engine.retry]\nnonstreaming_fallback = {}\nmax_retries = 2", dice.hits(2));
    let _ = writeln!(
        text,
        "[timing]\nhead = \"100ms\"\nfirst_event = \"5ms\"\nbetween_events = \"{}\"",
        dice.one_of(&["0ms", "10ms", "200ms"])
    );
}

/// `A` and `B` are safe, `C` and `D` exclusive; `B` and `D` are shells.
fn tools(dice: &mut Dice, text: &mut String) {
    for (name, safe, shell) in [("A", true, false), ("B", true, true), ("C", false, false), ("D", false, true)] {
        let (interrupt, checks) = (dice.one_of(&["cancel", "block"]), dice.hits(5));
        let _ =
            writeln!(text, "[[tool]]\nname = \"{name}\"\nsafe = {safe}\nshell = {shell}\ninterrupt = \"{interrupt}\"\nchecks = {checks}");
    }
}

fn turn(dice: &mut Dice, text: &mut String) {
    let mut blocks = Vec::new();
    for _ in 0..=dice.up_to(6) {
        let name = dice.one_of(&["A", "A", "B", "B", "C", "D", "Nope"]);
        let latency = dice.one_of(&["0ms", "5ms", "100ms", "1s", "20s"]);
        let ends = dice.one_of(&["", "", ", is_error = true", ", aborts = \"it is no use\"", ", returns_twice = true"]);
        let stops = dice.one_of(&["", ", stop_takes = \"20ms\"", ", ignores_stop = \"20s\""]);
        let progress = if dice.hits(4) { ", progress = [{ at = \"3ms\", text = \"half\" }]" } else { "" };
        let input = dice.one_of(&["a = 1", "command = \"make\"", "b = 2"]);
        blocks.push(format!(
            "{{ tool = {{ name = \"{name}\", input = {{ {input} }}, result = \"r\", latency = \"{latency}\"{ends}{stops}{progress} }} }}"
        ));
        if dice.hits(4) {
            blocks.push(String::from("{ text = \"and\" }"));
        }
    }
    let _ = writeln!(text, "[[prompt.turn]]\ncontent = [{}]", blocks.join(", "));
}
