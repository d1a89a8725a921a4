//! Questions of a tool's server to the user while the tool runs (S-11).

use super::*;

/// Somebody answers, or nobody does.
fn bench(is_there: bool) -> ExecutorHarness {
    let mut settings = at_once(EmissionOrder::Eager);
    settings.session.elicitation_handler = is_there;
    ExecutorHarness::new(settings)
}

impl ExecutorHarness {
    fn ask(&mut self, run: ToolRun, message: &str) {
        let _ = self.input(Input::ElicitationAsked { run, message: message.into() });
    }

    fn say(&mut self, run: ToolRun, answer: Option<&str>) {
        let _ = self.input(Input::ElicitationAnswered { run, answer: answer.map(Into::into) });
    }

    /// The questions to the user and the answers to the tool since the last call.
    fn put(&mut self) -> Vec<String> {
        let told = |effect| match effect {
            Effect::Elicit { message, .. } => Some(format!("ask {message}")),
            Effect::AnswerElicitation { answer, .. } => Some(answer.map_or("decline".into(), |answer| format!("answer {answer}"))),
            Effect::WithdrawElicitation { .. } => Some("withdraw".into()),
            Effect::StopTool { .. } => Some("stop".into()),
            Effect::Emit(Emission::User(_)) => Some("result".into()),
            _ => None,
        };
        self.effects.drain().filter_map(|(_, effect)| told(effect)).collect()
    }
}

#[test]
fn s_11_what_a_server_asks_goes_to_the_user_and_the_answer_back() {
    let mut bench = bench(true);
    let run = bench.tool("W");
    bench.ask(run, "which?");
    assert_eq!(bench.put(), ["ask which?"]);
    assert!(bench.executor.blocks_interrupt(), "a tool that waits for its answer executes");
    bench.say(run, Some("this"));
    assert_eq!(bench.put(), ["answer this"]);
    bench.ask(run, "sure?");
    bench.say(run, None);
    assert_eq!(bench.put(), ["ask sure?", "decline"]);
    let _ = bench.end(run);
    assert_eq!(bench.put(), ["result"]);
}

#[test]
fn s_11_where_nobody_answers_a_question_is_declined_at_once() {
    let mut bench = bench(false);
    let run = bench.tool("W");
    bench.ask(run, "which?");
    assert_eq!(bench.put(), ["decline"]);
    bench.say(run, Some("this"));
    assert_eq!(bench.put(), [] as [&str; 0]);
}

#[test]
fn s_11_questions_of_one_run_are_put_one_at_a_time() {
    let mut bench = bench(true);
    let (first, second) = (bench.tool("R"), bench.tool("R"));
    bench.ask(first, "a");
    bench.ask(first, "b");
    bench.ask(second, "c");
    assert_eq!(bench.put(), ["ask a", "ask c"], "runs do not wait for each other");
    bench.say(first, Some("1"));
    assert_eq!(bench.put(), ["answer 1", "ask b"]);
}

#[test]
fn s_11_an_answer_that_nobody_waits_for_is_ignored() {
    let mut bench = bench(true);
    let run = bench.tool("W");
    bench.say(run, Some("early"));
    bench.ask(run, "which?");
    bench.say(run, Some("this"));
    bench.say(run, Some("twice"));
    bench.say(ToolRun { index: 7, ..run }, Some("nobody"));
    assert_eq!(bench.put(), ["ask which?", "answer this"]);
    let _ = bench.end(run);
    let over = bench.executor.clone();
    bench.ask(run, "late?");
    bench.say(run, Some("late"));
    assert_eq!((bench.put(), bench.executor), (vec!["result".into()], over));
}

#[test]
fn s_11_a_question_ends_with_its_tool() {
    let mut bench = bench(true);
    let run = bench.tool("W");
    bench.ask(run, "which?");
    let _ = bench.end(run);
    assert_eq!(bench.put(), ["ask which?", "withdraw", "result"], "the tool did not wait for the answer");
    let run = bench.tool("W");
    bench.ask(run, "and now?");
    bench.with(|executor, scope| executor.abort(scope, AbortKind::Cancel));
    assert_eq!(bench.put(), ["ask and now?", "withdraw", "stop"]);
    bench.say(run, Some("late"));
    bench.ask(run, "once more?");
    assert_eq!(bench.put(), ["decline"], "who is to stop waits for nobody");
}

#[test]
fn t_19_discarding_withdraws_what_is_asked() {
    let mut bench = bench(true);
    let run = bench.tool("W");
    bench.ask(run, "which?");
    bench.with(|executor, scope| executor.discard(scope));
    assert_eq!(bench.put(), ["ask which?", "withdraw", "stop"]);
    bench.say(run, Some("late"));
    assert_eq!(bench.put(), [] as [&str; 0]);
}
