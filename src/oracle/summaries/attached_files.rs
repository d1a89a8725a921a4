//! O-24, of the files that are attached to a summary: each as it was read last, and no more of them than
//! the settings allow, in number and in tokens (C-4).

use crate::nothing_lost::ORACLE;
use crate::{OracleFindings, OracleRules};
use reenact_engine::contract::{Effect, Emission, ToolRun, ToolUse};
use reenact_wire::block::{BlockKind, ToolInput};
use reenact_wire::prelude::*;
use reenact_wire::raw_json::RawObject;
use reenact_wire::tokens;

/// The tool whose results are attached.
const READ: &str = "Read";

/// The reason of the hidden message that holds attachments.
const ATTACHMENTS: &str = "attachments";

/// The files that an agent has read.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct AttachedFileOracle {
    /// The tools that read, each with its path.
    reads: Vec<(ToolRun, Arc<str>)>,
    files: Vec<ReadFile>,
}

#[derive(Clone, Debug, Hash)]
struct ReadFile {
    path: Arc<str>,
    newest: Arc<str>,
    older: Vec<Arc<str>>,
}

impl AttachedFileOracle {
    pub(super) fn on_effect(&mut self, rules: &OracleRules, (effect, told): (&Effect, &str), found: &mut OracleFindings<'_>) {
        match effect {
            Effect::StartTool { run, tool_use } if &*tool_use.name == READ => {
                self.reads.extend(path(tool_use).map(|path| (*run, path)));
            }
            Effect::Emit(Emission::User(message)) => {
                let Some(at) = self.reads.iter().position(|(run, _)| *run == message.run) else { return };
                let (_, path) = self.reads.swap_remove(at);
                let is_fine = matches!(message.block.kind(), BlockKind::ToolResult { is_error: false, .. });
                if is_fine && !told.is_empty() {
                    self.on_read(path, told.into());
                }
            }
            Effect::Emit(Emission::Hidden { why, text, .. }) if &**why == ATTACHMENTS => {
                self.check(text, found);
                self.check_size(rules, text, found);
            }
            Effect::Finished { prompt, .. } => self.reads.retain(|(run, _)| run.request.prompt != *prompt),
            _ => (),
        }
    }

    fn on_read(&mut self, path: Arc<str>, text: Arc<str>) {
        match self.files.iter_mut().find(|file| file.path == path) {
            Some(file) if file.newest != text => file.older.push(core::mem::replace(&mut file.newest, text)),
            Some(_) => (),
            None => self.files.push(ReadFile { path, newest: text, older: Vec::new() }),
        }
    }

    fn check(&self, attached: &str, found: &mut OracleFindings<'_>) {
        for ReadFile { path, newest, older } in self.files.iter().filter(|file| !file.older.is_empty()) {
            found.ask(ORACLE);
            if !attached.contains(&**newest) && older.iter().any(|text| is_attached(attached, text, newest)) {
                found.add(ORACLE, format!("{path} is attached as it was read before, and it was read once more since"));
            }
        }
    }

    /// A text that stands in another one that is attached, or in the plan or a skill, is not counted: it may stand there for that reason alone.
    fn check_size(&self, rules: &OracleRules, attached: &str, found: &mut OracleFindings<'_>) {
        let settings = &rules.settings.compaction;
        let others = || settings.plan.iter().chain(&settings.skills);
        let mut counted: Vec<&str> = Vec::new();
        for ReadFile { newest, .. } in self.files.iter().filter(|file| file.newest.len() >= TELLING && attached.contains(&*file.newest)) {
            let is_elsewhere = |text: &str| text.contains(&**newest) || newest.contains(text);
            if !counted.iter().any(|text| is_elsewhere(text)) && !others().any(|text| is_elsewhere(text)) {
                counted.push(newest);
            }
        }
        if counted.is_empty() {
            return;
        }
        found.ask(ORACLE);
        let tokens: u64 = counted.iter().map(|text| tokens::tokens_of_text(text)).sum();
        if tokens > settings.attached_file_tokens || counted.len() > settings.attached_files as usize {
            let most = format!("{} files of {} tokens may be", settings.attached_files, settings.attached_file_tokens);
            found.add(ORACLE, format!("{} files of {tokens} tokens are attached to a summary, and {most}", counted.len()));
        }
    }
}

/// So long a text stands in no other one by chance, in bytes.
const TELLING: usize = 16;

/// Whether an older text is there, and not as a part of the newest one, which may be cut.
fn is_attached(attached: &str, older: &str, newest: &str) -> bool {
    older.len() >= TELLING && attached.contains(older) && !newest.contains(older)
}

fn path(tool_use: &ToolUse) -> Option<Arc<str>> {
    let ToolInput::Valid(input) = &tool_use.input else { return None };
    Some(RawObject::parse(input.as_str()).ok()?.string("file_path")?.into())
}
