//! The look of a tool at its input before it runs (T-22, P-2, P-4).

use reenact_engine::permission::path::PathAccessDecision;
use reenact_engine::permission::{PermissionWord, ToolCheck, command};
use reenact_shell::only_reads;
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

use crate::builtin::BuiltinTool;
use crate::inputs::ToolInputs;
use crate::site::ToolSite;
use crate::workspace::{Workspace, resolved_path};

impl BuiltinTool {
    /// Whether a use with this input changes nothing. An input that does not fit may change anything.
    pub fn is_read_only(self, input: &Json) -> bool {
        let only_reads_files = || ToolInputs::parse(self, input).is_ok_and(|inputs| inputs.command().is_some_and(only_reads));
        if self.is_shell() { only_reads_files() } else { self.reads_only() }
    }

    /// The look at an input before it runs: mistakes in its values (T-22), and whether somebody must be asked (P-2, P-4). Nothing is changed by it.
    pub fn check<W: Workspace>(self, input: &Json, site: &ToolSite<'_, W>) -> ToolCheck {
        let inputs = match ToolInputs::parse(self, input) {
            Ok(inputs) => inputs,
            Err(problem) => return ToolCheck { problem: Some(problem.into()), ..ToolCheck::default() },
        };
        if inputs.command().is_some() {
            return command::check(self.as_str(), input);
        }
        let permission = match inputs.path() {
            Some(path) => check_path(path, site),
            None => ToolCheck::default(),
        };
        // Before somebody has agreed to a path outside, nothing is said about what is there.
        if permission.permission.is_some() {
            return permission;
        }
        ToolCheck { problem: inputs.problem(site).map(Into::into), ..permission }
    }
}

/// Whether the path may be used unasked (P-4).
fn check_path<W: Workspace>(path: &str, site: &ToolSite<'_, W>) -> ToolCheck {
    let decision = |permission, reason: String| ToolCheck {
        permission: Some(permission),
        reason: Some(reason.into()),
        is_about_path: true,
        ..ToolCheck::default()
    };
    let resolved = match resolved_path(site.workspace, path) {
        Ok(resolved) => resolved,
        Err(problem) => return decision(PermissionWord::Ask, problem),
    };
    match site.access.decision(&resolved) {
        PathAccessDecision::Denied => decision(PermissionWord::Deny, format!("{resolved} is never to be read or written")),
        PathAccessDecision::Outside => decision(PermissionWord::Ask, format!("{resolved} lies outside of the working directories")),
        PathAccessDecision::Inside => match site.workspace.facts(&resolved) {
            Ok(facts) if facts.names > 1 && !facts.is_folder => {
                decision(PermissionWord::Ask, format!("{resolved} has another name, which may lie outside of the working directories"))
            }
            _ => ToolCheck::default(),
        },
    }
}
