//! Splits Rust source into code and comments, and code into tokens: enough to find paths, functions and test modules.
//!
//! Not a parser. A parser crate would be the library way, but it costs more build time than all of xtask, and the checks need only to
//! tell code from comments and strings, and to match braces. Every position keeps its line: what is left out becomes spaces.

/// One file's text in two layers of equal shape.
pub(crate) struct TextLayers {
    /// Code alone; comments, and what stands inside string and character literals, are spaces.
    pub(crate) code: String,
    /// Comments alone, with their slashes; all else is spaces.
    pub(crate) comments: String,
}

/// A word or a mark of the code, and the line it stands on (1-based).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// Separates code from comments and literals.
pub(crate) fn layers(text: &str) -> TextLayers {
    let chars: Vec<char> = text.chars().collect();
    let mut layers = TextLayers { code: String::new(), comments: String::new() };
    let mut at = 0;
    while at < chars.len() {
        let (kind, end) = piece(&chars, at);
        for &c in &chars[at..end] {
            let blank = if c == '\n' { '\n' } else { ' ' };
            layers.code.push(if kind == LexerPiece::Code { c } else { blank });
            layers.comments.push(if kind == LexerPiece::Comment { c } else { blank });
        }
        at = end;
    }
    layers
}

/// The code's words (identifiers, numbers, lifetimes as `'a`) and marks, `::` as one.
pub(crate) fn tokens(code: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    for (index, text) in code.split('\n').enumerate() {
        let line = index + 1;
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = if is_word(first) {
                rest.find(|c| !is_word(c)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            tokens.push(Token { text: rest[..length].to_string(), line });
            rest = rest[length..].trim_start();
        }
    }
    tokens
}

/// The index just behind the bracket that closes the one at `open`; the end of the tokens if none does.
pub(crate) fn behind_closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return index + 1;
                }
            }
            _ => (),
        }
    }
    tokens.len()
}

/// Takes out what is only built for tests: each item behind a `#[cfg(…test…)]`, and `#[test]` functions.
///
/// Also returns the names of the modules declared that way without a body (`#[cfg(test)] mod tests;`): their files are tests too.
pub(crate) fn without_tests(tokens: &[Token]) -> (Vec<Token>, Vec<String>) {
    let mut kept = Vec::new();
    let mut test_modules = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if !(is(tokens, at, "#") && is(tokens, at + 1, "[")) {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        let attribute_end = behind_closing(tokens, at + 1);
        if !is_test_attribute(&tokens[at + 2..attribute_end]) {
            kept.extend_from_slice(&tokens[at..attribute_end]);
            at = attribute_end;
            continue;
        }
        let item_end = item_end(tokens, attribute_end);
        let item = &tokens[attribute_end..item_end];
        if let Some(keyword) = item.iter().position(|token| token.text == "mod")
            && is(item, keyword + 2, ";")
        {
            test_modules.push(item[keyword + 1].text.clone());
        }
        at = item_end;
    }
    (kept, test_modules)
}

#[derive(Clone, Copy, PartialEq)]
enum LexerPiece {
    Code,
    Comment,
    Literal,
}

/// The piece that begins at `at`, and its end.
fn piece(chars: &[char], at: usize) -> (LexerPiece, usize) {
    let next = |offset: usize| chars.get(at + offset).copied();
    let after_word = at > 0 && is_word(chars[at - 1]);
    match (chars[at], next(1)) {
        ('/', Some('/')) => (LexerPiece::Comment, position(chars, at, |c| c == '\n')),
        ('/', Some('*')) => (LexerPiece::Comment, block_comment_end(chars, at)),
        ('"', _) => (LexerPiece::Literal, string_end(chars, at + 1)),
        ('r', Some('"' | '#')) if !after_word => raw_string(chars, at + 1),
        ('b' | 'c', Some('r')) if !after_word && matches!(next(2), Some('"' | '#')) => raw_string(chars, at + 2),
        ('\'', Some('\\')) => (LexerPiece::Literal, (position(chars, at + 3, |c| c == '\'') + 1).min(chars.len())),
        ('\'', Some(_)) if next(2) == Some('\'') => (LexerPiece::Literal, at + 3),
        _ => (LexerPiece::Code, at + 1),
    }
}

/// `at` is behind the `r`: a raw string, or a raw identifier such as `r#type`.
fn raw_string(chars: &[char], at: usize) -> (LexerPiece, usize) {
    let quote = position(chars, at, |c| c != '#');
    if chars.get(quote) != Some(&'"') {
        return (LexerPiece::Code, at);
    }
    let hashes = quote - at;
    let mut end = quote + 1;
    while end < chars.len() {
        let closes = chars[end] == '"' && chars[end + 1..].iter().take(hashes).filter(|&&c| c == '#').count() == hashes;
        if closes {
            return (LexerPiece::Literal, end + 1 + hashes);
        }
        end += 1;
    }
    (LexerPiece::Literal, chars.len())
}

fn string_end(chars: &[char], mut at: usize) -> usize {
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

/// Rust's block comments nest.
fn block_comment_end(chars: &[char], mut at: usize) -> usize {
    let mut depth = 0;
    while at + 1 < chars.len() {
        match (chars[at], chars[at + 1]) {
            ('/', '*') => (depth, at) = (depth + 1, at + 2),
            ('*', '/') => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    chars.len()
}

fn position(chars: &[char], from: usize, found: impl Fn(char) -> bool) -> usize {
    (from..chars.len()).find(|&index| found(chars[index])).unwrap_or(chars.len())
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is(tokens: &[Token], at: usize, text: &str) -> bool {
    tokens.get(at).is_some_and(|token| token.text == text)
}

/// The tokens between an attribute's brackets: `test ]`, or `cfg ( … test … ) ]` where `test` is not negated. `cfg(any(test, feature = "…"))`, with
/// `test` in front, is for tests too: the tests of other crates ask for the feature.
fn is_test_attribute(tokens: &[Token]) -> bool {
    let negated = tokens.iter().any(|token| token.text == "not" || token.text == "any");
    let names_test = tokens.iter().any(|token| token.text == "test");
    let begins = |words: &[&str]| words.iter().enumerate().all(|(at, word)| is(tokens, at, word));
    let is_for_tests_elsewhere = begins(&["cfg", "(", "any", "(", "test", ",", "feature"]);
    is_for_tests_elsewhere || names_test && !negated && (begins(&["cfg"]) || begins(&["test"]))
}

/// Where the item that begins at `at` ends: behind its body, or behind its semicolon; further attributes belong to it.
fn item_end(tokens: &[Token], mut at: usize) -> usize {
    while at < tokens.len() {
        match tokens[at].text.as_str() {
            ";" => return at + 1,
            "{" => return behind_closing(tokens, at),
            "(" | "[" => at = behind_closing(tokens, at),
            _ => at += 1,
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(code: &str) -> Vec<String> {
        tokens(code).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn comments_and_literals_leave_the_code() {
        let text =
            "let a = \"std::fs // no\"; // std::env\nlet b = r#\"a \" b\"#; /* x /* y */ std */ let c = '\"'; let d: &'a str = b'\\'';";
        let layers = layers(text);
        assert_eq!(words(&layers.code).join(" "), "let a = ; let b = ; let c = ; let d : & ' a str = b ;");
        assert!(layers.comments.contains("// std::env") && layers.comments.contains("std */"));
        assert!(!layers.comments.contains("std::fs"));
        assert_eq!(layers.code.matches('\n').count(), 1);
    }

    #[test]
    fn raw_identifiers_are_code() {
        assert_eq!(words(&layers("r#type::r#fn; for bar\"x\"").code).join(" "), "r # type :: r # fn ; for bar");
    }

    #[test]
    fn tests_are_taken_out_and_named() {
        let text = "use a; #[cfg(test)] mod tests; #[cfg(all(test, feature = \"std\"))] mod more { fn f() { std::x() } } #[cfg(not(test))] fn g() {}";
        let (kept, modules) = without_tests(&tokens(&layers(text).code));
        let kept: Vec<&str> = kept.iter().map(|token| token.text.as_str()).collect();
        assert_eq!(kept.join(" "), "use a ; # [ cfg ( not ( test ) ) ] fn g ( ) { }");
        assert_eq!(modules, ["tests"]);
    }

    #[test]
    fn lines_are_counted_from_one() {
        assert_eq!(tokens("\na::b")[1], Token { text: "::".to_string(), line: 2 });
    }
}
