//! Contexts that are full, or look full, or are not what the API says that they are.

use std::fmt::Write as _;

use super::dice::Dice;

pub(crate) fn scenario(dice: &mut Dice) -> String {
    let mut text = String::from("title = \"A context\"\n[limits]\nrequests = 80\n");
    engine(dice, &mut text);
    if dice.hits(3) {
        let _ = writeln!(text, "[api]\ncontext_window = {}\ncount_tokens = {}", dice.one_of(&[300, 800, 2_000]), dice.hits(2));
    }
    for (name, safe) in [("Peek", true), ("Poke", false)] {
        let _ = writeln!(text, "[[tool]]\nname = \"{name}\"\nsafe = {safe}");
    }
    hooks(dice, &mut text);
    if dice.hits(4) {
        history(dice, &mut text);
    }
    let prompts = 1 + dice.up_to(3);
    for number in 1..=prompts {
        prompt(dice, number, &mut text);
    }
    faults(dice, &mut text);
    background(dice, &mut text);
    text
}

fn engine(dice: &mut Dice, text: &mut String) {
    let _ = writeln!(text, "[engine]\nresult_delivery = \"{}\"", dice.one_of(&["at_once", "next_item"]));
    let _ = writeln!(text, "stream = {}\npartial_messages = {}", !dice.hits(4), dice.hits(4));
    if dice.hits(4) {
        let _ = writeln!(text, "max_turns = {}", 1 + dice.up_to(3));
    }
    if dice.hits(4) {
        let _ = writeln!(text, "task_budget = 3000");
    }
    if dice.hits(4) {
        let _ = writeln!(text, "fallback_model = \"claude-haiku-4-5\"");
    }
    let _ = writeln!(text, "snip_replay = {}", dice.hits(2));
    let _ = writeln!(text, "[engine.retry]\nmax_retries = {}", dice.up_to(3));
    let _ = writeln!(text, "[engine.compaction]\ncontext_window = {}", dice.one_of(&[60_u64, 200, 1_000, 2_000, 200_000]));
    let _ = writeln!(text, "output_reserve = {}\nmargin = {}", dice.one_of(&[1, 20, 50]), dice.one_of(&[0, 10, 50]));
    let _ = writeln!(text, "warning_margin = {}\nhard_margin = {}", dice.one_of(&[0, 20, 100]), dice.one_of(&[0, 5, 10]));
    let _ = writeln!(text, "microcompact = \"{}\"\nkeep_results = {}", dice.one_of(&["off", "local", "cached"]), dice.up_to(2));
    let _ = writeln!(text, "keep_messages = {}\nsummary_drops = {}", dice.up_to(4), dice.up_to(3));
    let _ = writeln!(text, "max_failures = {}\ncollapse_percent = {}", 1 + dice.up_to(2), dice.one_of(&[10, 50, 90]));
    for switch in ["snip", "collapse", "auto", "reactive"] {
        let _ = writeln!(text, "{switch} = {}", !dice.hits(5));
    }
}

fn hooks(dice: &mut Dice, text: &mut String) {
    for event in ["pre_tool_use", "post_tool_use", "stop", "pre_compact", "post_compact"] {
        if dice.hits(4) {
            let _ = writeln!(text, "[[hook]]\nname = \"{event}\"\nevent = \"{event}\"\nlatency = \"3ms\"");
            let says = format!("context = \"{}\"", dice.words());
            let objects = format!("decision = \"deny\", reason = \"{}\"", dice.words());
            let answer = dice.one_of(&[&*says, &*objects, ""]);
            let _ = writeln!(text, "answers = [{{ {answer} }}, {{ }}]");
        }
    }
}

fn history(dice: &mut Dice, text: &mut String) {
    for _ in 0..=dice.up_to(3) {
        for role in ["user", "assistant"] {
            let _ = writeln!(text, "[[history]]\nrole = \"{role}\"\ntext = \"{}\"", dice.words());
        }
    }
}

fn prompt(dice: &mut Dice, number: u64, text: &mut String) {
    let says = if number > 1 && dice.hits(5) { String::from("/compact") } else { dice.words() };
    let _ = writeln!(text, "[[prompt]]\ntext = \"{says}\"");
    for _ in 0..(3 + dice.up_to(5)) {
        let _ = writeln!(text, "[[prompt.turn]]");
        if dice.hits(2) {
            let _ = writeln!(text, "input_tokens = {}", dice.one_of(&[0, 3, 40, 190, 900, 1_990, 175_000]));
        }
        if dice.hits(3) {
            let _ = writeln!(text, "output_tokens = {}", dice.one_of(&[0, 10, 2_000]));
        }
        if dice.hits(10) {
            let _ = writeln!(text, "stop_reason = \"{}\"", dice.one_of(&["max_tokens", "refusal", "pause_turn"]));
        }
        let mut blocks = vec![format!("{{ text = \"{}\" }}", dice.words())];
        for _ in 0..dice.one_of(&[0, 0, 1, 2]) {
            let (name, latency) = (dice.one_of(&["Peek", "Poke"]), dice.one_of(&["1ms", "1s", "90s"]));
            let (n, result) = (dice.up_to(9), dice.words());
            blocks.push(format!(
                "{{ tool = {{ name = \"{name}\", input = {{ n = {n} }}, result = \"{result}\", latency = \"{latency}\" }} }}"
            ));
        }
        let _ = writeln!(text, "content = [{}]", blocks.join(", "));
    }
}

fn faults(dice: &mut Dice, text: &mut String) {
    for _ in 0..dice.one_of(&[0, 0, 1, 2]) {
        let at = format!("at = {{ request = {}, attempt = {} }}", 1 + dice.up_to(4), dice.one_of(&["1", "\"1..=2\""]));
        let what = dice.one_of(&[
            "error = \"prompt_too_long\"",
            "error = \"image_too_large\"",
            "status = 529",
            "status = 500",
            "cut = { after_events = 4 }",
        ]);
        let _ = writeln!(text, "[[fault]]\n{at}\n{what}");
    }
}

fn background(dice: &mut Dice, text: &mut String) {
    if dice.hits(3) {
        let _ = writeln!(text, "[[dead]]\nnames = [\"p1\", \"p1.r1.a1\", \"p1.r1.a1.results\"]\nwhen = {{ terminal = 1 }}");
    }
    if dice.hits(3) {
        let (to, summary) = (dice.one_of(&["p1.r1.a1", "p1.r1.a1.results", "p1.r2.a1"]), dice.words());
        let _ = writeln!(text, "[[collapse]]\nfrom = \"p1\"\nto = \"{to}\"\nsummary = \"{summary}\"\nwhen = {{ request = 2 }}");
    }
    if dice.hits(3) {
        let kind = dice.one_of(&["kind = \"cancel\"", "kind = \"interrupt\"\ntext = \"wait\""]);
        let at = dice.one_of(&["100ms", "900ms", "2s", "5s", "11s"]);
        let _ = writeln!(text, "[[interrupt]]\n{kind}\nat = \"{at}\"");
    }
}
