//! `tools`: the built-in tools, their schemas, and the section of a system prompt about them (P-5).

use super::report::print_document;
use super::{CommandExit, output};
use crate::prelude::*;
use crate::scenario::parse::nearest::nearest;
use crate::tools::{BuiltinTool, instructions};

/// Arguments of `tools`.
#[derive(Debug, clap::Args)]
pub(super) struct ToolsArguments {
    /// Print the section of a system prompt about the tools
    #[arg(long, conflicts_with = "schema")]
    instructions: bool,
    /// Print the definitions as JSON, as a request has them in `tools`
    #[arg(long)]
    schema: bool,
    /// These tools alone; without names all of them
    #[arg(value_name = "TOOL")]
    names: Vec<String>,
}

/// Prints what is asked for; without an option a line for each tool.
pub(super) fn run(arguments: &ToolsArguments) -> CommandExit {
    let tools = match tools(&arguments.names) {
        Ok(tools) => tools,
        Err(problem) => {
            output::complain(&problem);
            return CommandExit::WrongInput;
        }
    };
    if arguments.instructions {
        output::print_line(instructions::instructions(&tools).trim_end());
    } else if arguments.schema {
        let definitions: Vec<_> = tools.iter().map(|tool| tool.definition().json.to_value()).collect();
        print_document(&definitions);
    } else {
        tools.iter().for_each(|tool| output::print_line(&format!("{:<11} {}", tool.as_str(), tool.texts().description)));
    }
    CommandExit::Fine
}

/// The tools of these names, in the order of [`BuiltinTool::ALL`].
fn tools(names: &[String]) -> Result<Vec<BuiltinTool>, String> {
    let all = || BuiltinTool::ALL.into_iter();
    if let Some(name) = names.iter().find(|name| BuiltinTool::from_name(name).is_none()) {
        let near = nearest(name, all().map(BuiltinTool::as_str)).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        return Err(format!("there is no built-in tool {name}{near}; `reenact tools` lists all"));
    }
    Ok(all().filter(|tool| names.is_empty() || names.iter().any(|name| name == tool.as_str())).collect())
}
