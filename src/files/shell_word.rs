//! Words and paths in commands that are shown, so that a shell takes them as they are meant.

use std::path::Path;

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./=:,@+%".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_string() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// A path as a shell and a program take it: one that begins with a dash is no option. Bytes that no terminal shows as they are become octal figures that
/// `printf` reads.
pub fn quoted_path(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    let dot = if bytes.starts_with(b"-") { "./" } else { "" };
    match path.to_str().filter(|text| !text.contains(char::is_control)) {
        Some(text) => quoted(&format!("{dot}{text}")),
        None => format!("\"$(printf '{dot}{}')\"", bytes.iter().map(printf_byte).collect::<String>()),
    }
}

fn printf_byte(byte: &u8) -> String {
    match byte {
        b'%' => String::from("%%"),
        b'\\' | b'\'' | 0..=0x1f | 0x7f.. => format!("\\{byte:03o}"),
        _ => char::from(*byte).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_a_shell_would_cut_it() {
        assert_eq!(quoted("scenarios/a-b.toml"), "scenarios/a-b.toml");
        assert_eq!(quoted("chunking=\"bytes\""), "'chunking=\"bytes\"'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }

    #[cfg(unix)]
    #[test]
    fn v_1_sh_takes_each_path_as_it_is() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt as _;
        let names: [&[u8]; 9] = [
            b"a.toml",
            b"sp ace/x.toml",
            b"it's \"q\".toml",
            b"-x.toml",
            b"-'\xff.toml",
            b"a\nb.toml",
            b"\x1b[31m%s.toml",
            b"$(id)`x`.toml",
            b"\xc3\xa4.toml",
        ];
        for name in names {
            let path = Path::new(OsStr::from_bytes(name));
            let script = format!("printf %s {}", quoted_path(path));
            let output = std::process::Command::new("sh").arg("-c").arg(&script).output().expect("sh runs");
            let said = output.stdout.strip_prefix(b"./").filter(|_| name.starts_with(b"-")).unwrap_or(&output.stdout);
            assert_eq!(said, name, "{script}");
        }
    }
}
