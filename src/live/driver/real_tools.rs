//! Real tools of a live session: in a directory that is named, asking as P-1 says (B-1 to B-7). The listener is gone when the session is over: what cannot be
//! sent then is dropped.

use reenact_engine::contract::{Agent, Input, PermissionAnswer, ToolOutcome, ToolRun};
use reenact_engine::permission::rule::RuleTarget;
use reenact_engine::permission::{PermissionRule, PermissionWord, RuleSource};
use reenact_sim::outside_tools::{OutsideToolCall, ToolOrder};
use reenact_tool_host::ToolHost;
use reenact_tools::BuiltinTool;
use reenact_tools::inputs::{WebFetchInput, read_input};
use reenact_wire::block::ToolUse;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::web_fetch::WebFetch;

/// The real tools of a session.
#[derive(Debug)]
pub struct RealTools {
    /// The host that carries them out.
    pub host: ToolHost,
    /// Where questions to a person go; `None` where the scenario answers them.
    pub asker: Option<mpsc::UnboundedSender<PermissionRequest>>,
    /// The fetcher of pages.
    pub web: WebFetch,
    /// The rules of the session: a path outside that one of them allows needs no question.
    pub rules: Vec<PermissionRule>,
}

/// A question to a person.
#[derive(Debug)]
pub struct PermissionRequest {
    /// The tool use.
    pub tool_use: Arc<ToolUse>,
    /// The reason of the question.
    pub reason: Arc<str>,
    /// Rules that would make the question needless.
    pub suggestions: Vec<Arc<str>>,
    /// Where the answer goes. It is closed when the question need not be answered any more.
    pub reply: oneshot::Sender<PermissionAnswer>,
}

/// Tools at work.
#[derive(Debug)]
pub(super) struct ToolsAtWork {
    tools: RealTools,
    stops: Vec<(Agent, ToolRun, oneshot::Sender<()>)>,
    /// The tasks that wait for an answer.
    questions: Vec<(Agent, ToolRun, tokio::task::AbortHandle)>,
    /// The runs that a person has agreed to.
    agreed: Vec<(Agent, ToolRun)>,
    sender: mpsc::UnboundedSender<ToolArrival>,
}

/// Something came of a tool.
#[derive(Debug)]
pub(super) struct ToolArrival {
    pub(super) agent: Agent,
    pub(super) input: Input,
}

impl ToolsAtWork {
    pub(super) fn new(tools: RealTools) -> (Self, mpsc::UnboundedReceiver<ToolArrival>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self { tools, stops: Vec::new(), questions: Vec::new(), agreed: Vec::new(), sender }, receiver)
    }

    /// Whether questions go to a person.
    pub(super) fn asks(&self) -> bool {
        self.tools.asker.is_some()
    }

    /// Notes what is known from what came, before the engine gets it.
    pub(super) fn note(&mut self, arrival: &ToolArrival) {
        if let Input::PermissionAnswered { run, answer } = &arrival.input
            && let PermissionAnswer::Allow { rules, .. } = &**answer
        {
            self.agreed.push((arrival.agent.clone(), *run));
            let learnt =
                |about: &Arc<str>| PermissionRule { word: PermissionWord::Allow, about: about.clone(), source: RuleSource::CommandLine };
            self.tools.rules.extend(rules.iter().map(learnt));
        }
    }

    /// Carries an order out. What comes of it is told later.
    pub(super) fn carry_out(&mut self, OutsideToolCall { agent, run, order }: OutsideToolCall, tasks: &mut JoinSet<()>) {
        let sender = self.sender.clone();
        match order {
            ToolOrder::Check(tool, tool_use) => {
                let check = self.tools.host.check(tool, &input_of(&tool_use));
                tasks.spawn(async move {
                    let input = Input::ToolChecked { run, check: check.await };
                    drop(sender.send(ToolArrival { agent, input }));
                });
            }
            ToolOrder::Start(tool, tool_use) => self.start((agent, run), tool, &tool_use, tasks),
            ToolOrder::Stop => {
                let at = self.stops.iter().position(|(of, running, _)| (of, *running) == (&agent, run));
                if let Some(at) = at {
                    let _ = self.stops.swap_remove(at).2.send(());
                }
            }
            ToolOrder::Ask { tool_use, reason, suggestions } => {
                let (reply, answer) = oneshot::channel();
                if let Some(asker) = &self.tools.asker {
                    drop(asker.send(PermissionRequest { tool_use, reason, suggestions, reply }));
                }
                let of_task = agent.clone();
                let task = tasks.spawn(async move {
                    let nobody = |_| PermissionAnswer::Refuse { reason: "nobody is there who could be asked".into() };
                    let answer = Arc::new(answer.await.unwrap_or_else(nobody));
                    drop(sender.send(ToolArrival { agent: of_task, input: Input::PermissionAnswered { run, answer } }));
                });
                self.questions.push((agent, run, task));
            }
            ToolOrder::WithdrawQuestion => self.questions.retain(|(of, asked, task)| {
                let is_it = (of, *asked) == (&agent, run);
                if is_it {
                    task.abort();
                }
                !is_it
            }),
        }
    }

    fn start(&mut self, (agent, run): (Agent, ToolRun), tool: BuiltinTool, tool_use: &ToolUse, tasks: &mut JoinSet<()>) {
        let (stop, stopped) = oneshot::channel::<()>();
        self.stops.push((agent.clone(), run, stop));
        let input = input_of(tool_use);
        let target = RuleTarget::new(&tool_use.name, tool.is_shell(), &input);
        let is_allowed = target.deciding(self.tools.rules.iter()).is_some_and(|verdict| verdict.word == PermissionWord::Allow);
        let is_agreed = is_allowed || self.agreed.contains(&(agent.clone(), run));
        let (progress_sender, progress_agent, sender) = (self.sender.clone(), agent.clone(), self.sender.clone());
        let progress = move |kind, text: &str| {
            let input = Input::ToolProgress { run, text: text.into(), kind: Some(kind) };
            drop(progress_sender.send(ToolArrival { agent: progress_agent.clone(), input }));
        };
        let stop = async {
            if stopped.await.is_err() {
                // The sender goes with the session, and this task with it.
                core::future::pending::<()>().await;
            }
        };
        if tool == BuiltinTool::WebFetch {
            let web = self.tools.web.clone();
            tasks.spawn(async move {
                let outcome = tokio::select! {
                    biased;
                    () = stop => ToolOutcome::error("stopped"),
                    outcome = page(&web, &input) => outcome,
                };
                drop(sender.send(ToolArrival { agent, input: Input::ToolEnded { run, outcome: Arc::new(outcome) } }));
            });
            return;
        }
        let call = self.tools.host.call((tool, &input), is_agreed, stop, progress);
        tasks.spawn(async move {
            let outcome = Arc::new(call.await);
            drop(sender.send(ToolArrival { agent, input: Input::ToolEnded { run, outcome } }));
        });
    }
}

/// The text of a page; the question about it is left to the model.
async fn page(web: &WebFetch, input: &Json) -> ToolOutcome {
    let fetched = match read_input::<WebFetchInput>(input) {
        Ok(input) => web.text(&input.url).await,
        Err(problem) => Err(problem),
    };
    fetched.map_or_else(|problem| ToolOutcome::error(&problem), |text| ToolOutcome::text(&text))
}

fn input_of(tool_use: &ToolUse) -> Json {
    Json::trusted(tool_use.input.as_str())
}
