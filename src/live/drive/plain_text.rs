//! The picture of a terminal as plain lines: without colours, and without text that was written over (K-9).

use reenact_wire::prelude::*;

/// The lines of what was printed.
pub(super) fn lines(printed: &[u8]) -> Vec<String> {
    without_codes(&String::from_utf8_lossy(printed)).split('\n').map(shown).filter(|line| !line.is_empty()).collect()
}

/// The visible part of a line: a carriage return begins it again.
fn shown(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    line.rsplit('\r').next().unwrap_or_default().trim_end().to_string()
}

/// The text without escape sequences, and without control characters other than ends of lines.
fn without_codes(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text.chars());
    while let Some(next) = rest.next() {
        match next {
            '\u{1b}' => skip_code(&mut rest),
            '\n' | '\r' | '\t' => out.push(next),
            other if other.is_control() => (),
            other => out.push(other),
        }
    }
    out
}

/// Goes behind an escape sequence.
fn skip_code(rest: &mut core::str::Chars<'_>) {
    match rest.next() {
        // Control sequences end with a letter or the like.
        Some('[') => drop(rest.find(|next| ('\u{40}'..='\u{7e}').contains(next))),
        // Commands to the system, such as a title, end with BEL or ESC \.
        Some(']' | 'P' | '^' | '_') => {
            let mut is_escaped = false;
            for next in rest.by_ref() {
                if next == '\u{7}' || (is_escaped && next == '\\') {
                    return;
                }
                is_escaped = next == '\u{1b}';
            }
        }
        // The choice of a set of characters has one more.
        Some('(' | ')' | '#' | ' ') => drop(rest.next()),
        _ => (),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_9_what_a_terminal_shows_is_plain_text() {
        let printed =
            b"\x1b[1;31mred\x1b[0m\r\n\x1b]0;a title\x07work\x1b(B\r\n- 10%\r- 100%\r\n\x1b]8;;x\x1b\\link\x1b[?25l\x08\r\n\r\n^C";
        assert_eq!(lines(printed), ["red", "work", "- 100%", "link", "^C"]);
        assert_eq!(lines(b"an end \x1b["), ["an end"]);
    }
}
