//! Variables and substitutions inside of a word.

use reenact_wire::prelude::*;

use super::{DEPTH_MAX, Lexer, ShellError, ShellProblem, push_text};
use crate::lexeme::{CommandWord, WordPart};

impl Lexer<'_> {
    /// The expansion that a dollar sign or a backtick begins. A dollar sign before anything else stands for itself.
    pub(super) fn expansion(&mut self, word: &mut CommandWord, is_quoted: bool) -> Result<(), ShellError> {
        if self.byte() == Some(b'`') {
            let part = self.backticks(is_quoted)?;
            word.parts.push(part);
            return Ok(());
        }
        let rest = &self.rest()[1..];
        match rest.bytes().next() {
            Some(b'(') if rest.starts_with("((") => self.arithmetic(word),
            Some(b'(') => {
                self.at += 2;
                let part = self.substitution(is_quoted)?;
                word.parts.push(part);
                Ok(())
            }
            Some(b'{') => self.braced(word, is_quoted),
            Some(b'_' | b'a'..=b'z' | b'A'..=b'Z') => {
                let name = name_in(rest).to_owned();
                if goes_on(&rest[name.len()..]) {
                    return self.fail(ShellProblem::Ambiguous("a line that ends in an expansion"), self.at);
                }
                self.at += 1 + name.len();
                word.parts.push(WordPart::Variable { name, is_quoted });
                Ok(())
            }
            Some(b'1'..=b'9') => {
                let name = rest[..1].to_owned();
                self.at += 2;
                word.parts.push(WordPart::Variable { name, is_quoted });
                Ok(())
            }
            Some(b'0' | b'?' | b'$' | b'#' | b'@' | b'*' | b'!' | b'-') => {
                word.parts.push(WordPart::Expansion(self.rest()[..2].to_owned()));
                self.at += 2;
                Ok(())
            }
            Some(b'\'') if !is_quoted => self.fail(ShellProblem::Ambiguous("$'"), self.at),
            Some(b'"') if !is_quoted => self.fail(ShellProblem::Ambiguous("$\""), self.at),
            Some(b'[') => self.fail(ShellProblem::Ambiguous("$["), self.at),
            Some(b'\\') if goes_on(rest) => self.fail(ShellProblem::Ambiguous("a line that ends in an expansion"), self.at),
            _ => {
                push_text(word, "$", is_quoted);
                self.at += 1;
                Ok(())
            }
        }
    }

    /// The commands of a substitution, which has begun, and what closes it.
    pub(super) fn substitution(&mut self, is_quoted: bool) -> Result<WordPart, ShellError> {
        let opened = self.at.saturating_sub(2);
        if self.depth == DEPTH_MAX {
            return self.fail(ShellProblem::TooDeep, opened);
        }
        self.depth += 1;
        let first = self.at;
        let lexemes = self.lexemes(Some(opened))?;
        self.depth -= 1;
        let source = self.origin.is_none().then_some(first..self.at - 1);
        Ok(WordPart::Substitution { lexemes, source, is_quoted })
    }

    /// Between backticks a backslash takes away the meaning of `$`, a backtick and itself, in double quotes that of the quote as well.
    fn backticks(&mut self, is_quoted: bool) -> Result<WordPart, ShellError> {
        let at = self.at;
        if self.depth == DEPTH_MAX {
            return self.fail(ShellProblem::TooDeep, at);
        }
        self.at += 1;
        let mut inner = String::new();
        loop {
            let rest = self.rest();
            let Some(length) = rest.find(['`', '\\']) else { return self.fail(ShellProblem::OpenExpansion("`"), at) };
            inner.push_str(&rest[..length]);
            let is_end = rest.as_bytes()[length] == b'`';
            self.at += length + 1;
            if is_end {
                break;
            }
            match self.byte() {
                Some(next @ (b'`' | b'\\' | b'$')) => inner.push(char::from(next)),
                Some(b'"') if is_quoted => inner.push('"'),
                _ => {
                    inner.push('\\');
                    continue;
                }
            }
            self.at += 1;
        }
        let origin = Some(self.place(at));
        let lexemes = Lexer { text: &inner, at: 0, depth: self.depth + 1, origin }.lexemes(None)?;
        Ok(WordPart::Substitution { lexemes, source: None, is_quoted })
    }

    /// `${name}`, or more than a name: a default, a length, a cut.
    fn braced(&mut self, word: &mut CommandWord, is_quoted: bool) -> Result<(), ShellError> {
        let at = self.at;
        let inner = &self.rest()[2..];
        let name = name_in(inner);
        if !name.is_empty() && inner[name.len()..].starts_with('}') {
            let name = name.to_owned();
            self.at += name.len() + 3;
            word.parts.push(WordPart::Variable { name, is_quoted });
            return Ok(());
        }
        self.at += 2;
        self.skip_to(b'}', "${", at)?;
        // In quotes some take it for a quote, and some for itself.
        if is_quoted && self.text[at..self.at].contains('\'') {
            return self.fail(ShellProblem::Ambiguous("a quote in ${…}"), at);
        }
        word.parts.push(WordPart::Expansion(self.text[at..self.at].to_owned()));
        Ok(())
    }

    /// `$((…))`, kept as it is written.
    fn arithmetic(&mut self, word: &mut CommandWord) -> Result<(), ShellError> {
        let at = self.at;
        self.at += 2;
        self.skip_to(b')', "$((", at)?;
        word.parts.push(WordPart::Expansion(self.text[at..self.at].to_owned()));
        Ok(())
    }

    /// Behind the bracket that closes what began at `at`. Quotes, and brackets that open in it, are gone over.
    fn skip_to(&mut self, close: u8, opening: &'static str, at: usize) -> Result<(), ShellError> {
        let open = if close == b')' { b'(' } else { b'{' };
        let (mut open_count, mut quote) = (1_usize, None);
        while let Some(byte) = self.byte() {
            self.at += 1;
            match (quote, byte) {
                (Some(b'"') | None, b'\\') => self.at += 1,
                (Some(closing), _) if closing == byte => quote = None,
                (Some(_), _) => (),
                (None, b'\'' | b'"') => quote = Some(byte),
                (None, _) if byte == open => open_count += 1,
                (None, _) if byte == close => open_count -= 1,
                _ => (),
            }
            if open_count == 0 {
                return Ok(());
            }
        }
        self.fail(ShellProblem::OpenExpansion(opening), at)
    }
}

/// Whether a line ends here behind a backslash, and the next one begins with what might belong to an expansion.
fn goes_on(text: &str) -> bool {
    let next = text.trim_start_matches("\\\n");
    next.len() < text.len() && next.starts_with(|character: char| character.is_alphanumeric() || "_({[?$#@*!-'\"`".contains(character))
}

/// The name at the beginning of the text; empty where no name stands.
fn name_in(text: &str) -> &str {
    if text.starts_with(|character: char| character.is_ascii_digit()) {
        return "";
    }
    &text[..text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count()]
}
