//! Here-documents: their texts stand on the lines behind the one that names them.

use reenact_wire::prelude::*;

use super::{Lexer, ShellError, ShellProblem, push_text};
use crate::lexeme::{CommandWord, Lexeme, ShellToken, WordPart};

/// A here-document whose body has not been read.
pub(super) struct OpenDocument {
    /// Which of the lexemes it is.
    index: usize,
    /// The line that ends it.
    delimiter: String,
    /// Whether nothing in it is replaced: a part of its delimiter is quoted.
    is_quoted: bool,
    /// Whether tabs before its lines are left out (`<<-`).
    drops_tabs: bool,
}

impl Lexer<'_> {
    /// Reads `<<` and the word behind it.
    pub(super) fn open_document(&mut self, index: usize) -> Result<OpenDocument, ShellError> {
        let at = self.at;
        self.at += 2;
        let drops_tabs = self.byte() == Some(b'-');
        self.at += usize::from(drops_tabs);
        while matches!(self.byte(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let begin = self.at;
        let word = self.word()?;
        if word.parts.is_empty() {
            return self.fail(ShellProblem::NoDelimiter, at);
        }
        let is_quoted = word.parts.iter().any(|part| matches!(part, WordPart::Text { is_quoted: true, .. }));
        // Nothing is replaced in a delimiter: `<<$X` ends with the line `$X`.
        let delimiter = word.literal().unwrap_or_else(|| self.text[begin..self.at].to_owned());
        Ok(OpenDocument { index, delimiter, is_quoted, drops_tabs })
    }

    /// The lexer stands behind the end of a line: the bodies of the documents that this line names follow.
    pub(super) fn read_bodies(&mut self, documents: &mut Vec<OpenDocument>, lexemes: &mut [Lexeme]) -> Result<(), ShellError> {
        for document in documents.drain(..) {
            let body = self.body(&document)?;
            if let Some(Lexeme { token: ShellToken::HereDocument(word), .. }) = lexemes.get_mut(document.index) {
                *word = body;
            }
        }
        Ok(())
    }

    /// The body, up to the line of the delimiter or to the end of the text.
    fn body(&mut self, document: &OpenDocument) -> Result<CommandWord, ShellError> {
        let begin = self.at;
        let mut text = String::new();
        // A line behind a backslash goes on the one before it. Some shells let the whole be the end.
        let mut is_joined = false;
        let mut whole = String::new();
        while !self.rest().is_empty() {
            let rest = self.rest();
            let line = rest.split_inclusive('\n').next().unwrap_or_default();
            let kept = if document.drops_tabs && !is_joined { line.trim_start_matches('\t') } else { line };
            let content = kept.strip_suffix('\n').unwrap_or(kept);
            let is_end = !is_joined && content == document.delimiter;
            if !is_end {
                text.push_str(kept);
            }
            whole.push_str(content);
            if is_joined && whole == document.delimiter {
                return self.fail(ShellProblem::Ambiguous("a here-document that ends behind a backslash"), begin);
            }
            let backslashes = content.bytes().rev().take_while(|byte| *byte == b'\\').count();
            is_joined = !document.is_quoted && backslashes % 2 == 1;
            if is_joined {
                whole.pop();
            } else {
                whole.clear();
            }
            let length = line.len();
            self.at += length;
            if is_end {
                break;
            }
        }
        if document.is_quoted {
            return Ok(CommandWord { parts: vec![WordPart::Text { text, is_quoted: true }] });
        }
        let origin = Some(self.place(begin));
        Lexer { text: &text, at: 0, depth: self.depth, origin }.quoted_body()
    }

    /// A text in which the shell replaces as it does in double quotes. A double quote stands for itself.
    fn quoted_body(&mut self) -> Result<CommandWord, ShellError> {
        let mut word = CommandWord::default();
        push_text(&mut word, "", true);
        loop {
            let rest = self.rest();
            let length = rest.find(['\\', '$', '`']);
            push_text(&mut word, &rest[..length.unwrap_or(rest.len())], true);
            let Some(length) = length else { return Ok(word) };
            self.at += length;
            match self.byte() {
                Some(b'\\') => self.escaped_in_quotes(&mut word, b"$`\\"),
                _ => self.expansion(&mut word, true)?,
            }
        }
    }
}
