//! The simple commands of a text: what stands between `;`, `|`, `&&` and their like.

use reenact_wire::prelude::*;

use crate::lexeme::{CommandWord, Lexeme, Operator, ShellToken};

/// A command with its words.
#[derive(Clone, Debug, Default)]
pub struct SimpleCommand<'a> {
    /// Its words, without what it redirects.
    pub words: Vec<&'a CommandWord>,
    /// Where it reads from and writes to.
    pub redirections: Vec<Redirection<'a>>,
    /// The operator or line end behind it; `None` at the end of the text.
    pub end: Option<CommandEnd>,
}

/// Where a command reads from or writes to.
#[derive(Clone, Copy, Debug)]
pub enum Redirection<'a> {
    /// An operator and the word behind it, if there is one.
    To(Operator, Option<&'a CommandWord>),
    /// The text behind `<<`.
    HereDocument(&'a CommandWord),
}

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CommandEnd {
    /// An operator.
    Operator(Operator),
    /// The end of the line.
    Newline,
}

impl SimpleCommand<'_> {
    /// Whether nothing stands there.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.redirections.is_empty()
    }
}

/// All of them in order, empty ones as well: `a;;b` has one in its middle. Parentheses end a command, too.
pub fn simple_commands(lexemes: &[Lexeme]) -> Vec<SimpleCommand<'_>> {
    let mut commands = Vec::new();
    let mut command = SimpleCommand::default();
    let mut redirection = None;
    for lexeme in lexemes {
        let end = match &lexeme.token {
            ShellToken::Operator(operator) if operator.is_redirection() => {
                command.redirections.extend(redirection.replace(*operator).map(|operator| Redirection::To(operator, None)));
                continue;
            }
            ShellToken::Word(word) => {
                match redirection.take() {
                    Some(operator) => command.redirections.push(Redirection::To(operator, Some(word))),
                    None => command.words.push(word),
                }
                continue;
            }
            ShellToken::HereDocument(body) => {
                command.redirections.push(Redirection::HereDocument(body));
                continue;
            }
            ShellToken::Descriptor(_) => continue,
            ShellToken::Operator(operator) => CommandEnd::Operator(*operator),
            ShellToken::Newline => CommandEnd::Newline,
        };
        command.redirections.extend(redirection.take().map(|operator| Redirection::To(operator, None)));
        command.end = Some(end);
        commands.push(core::mem::take(&mut command));
    }
    command.redirections.extend(redirection.map(|operator| Redirection::To(operator, None)));
    commands.push(command);
    commands
}
