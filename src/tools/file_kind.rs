//! The kind of a file, by its name and its first bytes: text, image, document, notebook, or binary.

/// The kind of a file, for Read and Grep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Text,
    /// With its media type.
    Image(&'static str),
    Pdf,
    Notebook,
    Binary,
}

/// So many bytes are looked at.
pub(crate) const HEAD_BYTES: usize = 8_192;

/// Endings of files that are not searched: media and archives (B-6).
const UNSEARCHED: [&str; 34] = [
    "7z", "aac", "avi", "avif", "bmp", "bz2", "flac", "gif", "gz", "heic", "ico", "jar", "jpeg", "jpg", "m4a", "mkv", "mov", "mp3", "mp4",
    "ogg", "pdf", "png", "rar", "tar", "tgz", "tif", "tiff", "wav", "webm", "webp", "wmv", "xz", "zip", "zst",
];

/// The kind of a file with this path, which begins with these bytes.
pub(crate) fn file_kind(path: &str, head: &[u8]) -> FileKind {
    let is_webp = head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP");
    match head {
        _ if head.starts_with(b"\x89PNG\r\n\x1a\n") => FileKind::Image("image/png"),
        _ if head.starts_with(b"\xff\xd8\xff") => FileKind::Image("image/jpeg"),
        _ if head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a") => FileKind::Image("image/gif"),
        _ if is_webp => FileKind::Image("image/webp"),
        _ if head.starts_with(b"%PDF-") => FileKind::Pdf,
        _ if head.contains(&0) => FileKind::Binary,
        _ if ending(path) == Some("ipynb") => FileKind::Notebook,
        _ => FileKind::Text,
    }
}

/// Whether the file's name says that it holds no text to search.
pub(crate) fn is_unsearched(path: &str) -> bool {
    ending(path).is_some_and(|ending| UNSEARCHED.iter().any(|known| known.eq_ignore_ascii_case(ending)))
}

fn ending(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').map(|(_, ending)| ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b_1_the_first_bytes_say_more_than_the_name() {
        let table = [
            ("/a.txt", &b"\x89PNG\r\n\x1a\nrest"[..], FileKind::Image("image/png")),
            ("/a", b"RIFF\0\0\0\0WEBPVP8 ", FileKind::Image("image/webp")),
            ("/a", b"RIFF\0\0\0\0WAVE", FileKind::Binary),
            ("/a.png", b"no image", FileKind::Text),
            ("/a.pdf", b"%PDF-1.7", FileKind::Pdf),
            ("/a.ipynb", b"{}", FileKind::Notebook),
            ("/a.rs", b"fn\0", FileKind::Binary),
            ("/a.rs", b"", FileKind::Text),
        ];
        for (path, head, kind) in table {
            assert_eq!(file_kind(path, head), kind, "{path}");
        }
        assert!(is_unsearched("/w/a.PNG") && is_unsearched("/w/x.tar.gz") && !is_unsearched("/w.png/a") && !is_unsearched("/w/png"));
    }
}
