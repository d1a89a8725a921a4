//! Patterns for paths: `*`, `?`, `[a-z]`, `{a,b}`, `**`.

use reenact_wire::prelude::*;
use regex::Regex;

/// A pattern for a path, compiled.
#[derive(Clone, Debug)]
pub struct GlobPattern {
    compiled: Regex,
    /// Whether it is held against the file's name alone.
    is_for_name: bool,
}

impl GlobPattern {
    /// A pattern for a whole path below a folder.
    ///
    /// # Errors
    /// A bracket or a brace is not closed.
    pub fn for_path(pattern: &str) -> Result<Self, String> {
        let expression = expression(pattern, true)?;
        let compiled = Regex::new(&expression).map_err(|error| format!("the pattern `{pattern}` cannot be read: {error}"))?;
        Ok(Self { compiled, is_for_name: false })
    }

    /// A pattern that is for the file's name if no slash stands in it, and for its path otherwise.
    ///
    /// # Errors
    /// As [`GlobPattern::for_path`].
    pub fn for_name_or_path(pattern: &str) -> Result<Self, String> {
        let path_pattern = pattern.strip_prefix('/').unwrap_or(pattern);
        Ok(Self { is_for_name: !pattern.contains('/'), ..Self::for_path(path_pattern)? })
    }

    /// Whether a path below the folder fits.
    pub fn fits(&self, path: &str) -> bool {
        let text = if self.is_for_name { path.rsplit('/').next().unwrap_or_default() } else { path };
        self.compiled.is_match(text)
    }
}

/// The regular expression of a pattern. Braces are alternatives only if `has_braces`.
pub(super) fn expression(pattern: &str, has_braces: bool) -> Result<String, String> {
    let mut rest = pattern;
    let mut out = String::from("(?s)^");
    let mut open_braces = 0_usize;
    while let Some(character) = rest.chars().next() {
        let is_start = rest.len() == pattern.len() || pattern[..pattern.len() - rest.len()].ends_with('/');
        if is_start && let Some(behind) = rest.strip_prefix("**/") {
            out.push_str("(?:.*/)?");
            rest = behind;
            continue;
        }
        if rest == "**" && is_start {
            out.push_str(".*");
            break;
        }
        rest = &rest[character.len_utf8()..];
        match character {
            '*' => {
                rest = rest.trim_start_matches('*');
                out.push_str("[^/]*");
            }
            '?' => out.push_str("[^/]"),
            '[' => {
                let (class, behind) = class(rest).ok_or_else(|| format!("the pattern `{pattern}` has a bracket that is not closed"))?;
                out.push_str(&class);
                rest = behind;
            }
            '{' if has_braces => {
                open_braces += 1;
                out.push_str("(?:");
            }
            '}' if has_braces && open_braces > 0 => {
                open_braces -= 1;
                out.push(')');
            }
            ',' if open_braces > 0 => out.push('|'),
            '\\' => {
                let escaped = rest.chars().next().unwrap_or('\\');
                rest = rest.get(escaped.len_utf8()..).unwrap_or_default();
                out.push_str(&regex::escape(escaped.encode_utf8(&mut [0; 4])));
            }
            other => out.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
    }
    if open_braces > 0 {
        return Err(format!("the pattern `{pattern}` has a brace that is not closed"));
    }
    out.push('$');
    Ok(out)
}

/// A class of characters behind its bracket, and what stands behind it. It never fits a slash.
fn class(rest: &str) -> Option<(String, &str)> {
    let inner = rest.strip_prefix(['!', '^']);
    let is_negated = inner.is_some();
    let inner = inner.unwrap_or(rest);
    // A bracket at the beginning stands for itself.
    let from = inner.chars().next().map_or(0, char::len_utf8);
    let end = from + inner.get(from..)?.find(']')?;
    let mut class = String::from(if is_negated { "[^/" } else { "[" });
    for character in inner[..end].chars() {
        if matches!(character, '\\' | '[' | ']' | '^' | '&' | '~') {
            class.push('\\');
        }
        class.push(character);
    }
    class.push(']');
    Some((class, &inner[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b_7_patterns_for_paths() {
        let table = [
            ("*.rs", "a.rs", true),
            ("*.rs", "src/a.rs", false),
            ("**/*.rs", "a.rs", true),
            ("**/*.rs", "src/b/a.rs", true),
            ("src/**", "src/b/a.rs", true),
            ("src/**", "src", false),
            ("src/**/a.rs", "src/a.rs", true),
            ("src/**/a.rs", "src/b/c/a.rs", true),
            ("a?c", "abc", true),
            ("a?c", "a/c", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "dx", true),
            ("[!a-c]x", "/x", false),
            ("[]]x", "]x", true),
            ("*.{rs,toml}", "a.toml", true),
            ("*.{rs,toml}", "a.md", false),
            ("a,b", "a,b", true),
            ("a.b", "axb", false),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("a**b", "axxb", true),
            ("a**b", "a/b", false),
        ];
        for (pattern, path, expected) in table {
            assert_eq!(GlobPattern::for_path(pattern).unwrap().fits(path), expected, "{pattern} {path}");
        }
        assert!(GlobPattern::for_name_or_path("*.rs").unwrap().fits("src/a.rs"));
        assert!(!GlobPattern::for_name_or_path("/*.rs").unwrap().fits("src/a.rs"));
        assert!(GlobPattern::for_path("{a").is_err() && GlobPattern::for_path("[a").is_err());
    }
}
