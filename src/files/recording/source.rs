//! The outer form of a file: compression, byte-order mark, syntax (K-5).
//!
//! Nothing here takes a file into memory: a beginning is looked at, the rest is read as it is asked for.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use crate::compression::CompressionFormat;

/// How much of a file is looked at before it is read.
const HEAD_BYTES: u64 = 64 << 10;

/// A compressed file that grows beyond this is no recording.
const UNPACKED_BYTES_MAX: u64 = 1 << 30;

/// More layers are not expected.
const PACKED_MAX: usize = 3;

/// A file that was opened.
pub struct RecordingSource<'a> {
    /// How it is written, as its beginning shows.
    pub syntax: FileSyntax,
    /// Its first bytes, without a byte order mark.
    pub head: Vec<u8>,
    /// All of it, `head` included.
    pub reader: Box<dyn BufRead + 'a>,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSyntax {
    /// JSON: one value, or several in a row.
    Json,
    /// Any other text.
    Yaml,
    /// Server-sent events.
    Sse,
    /// Raw HTTP messages with their sizes, as Go's httprr writes them.
    Httprr,
}

/// Why a file is not read any further.
#[derive(Debug)]
pub enum SourceError {
    /// It cannot be read, or not be unpacked.
    Io(io::Error),
    /// There is nothing in it but white space.
    Empty,
    /// It is no recording.
    Foreign(ForeignFile),
}

/// Something that people have and that is no recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignFile {
    /// Its kind.
    pub what: &'static str,
    /// The next step for the user.
    pub next: &'static str,
}

const UTF_16: ForeignFile = ForeignFile {
    what: "text in UTF-16",
    next: "write it again as UTF-8 (in PowerShell: `Get-Content FILE | Set-Content -Encoding utf8 OTHER`) and import that",
};
const ZIP: ForeignFile = ForeignFile { what: "a zip archive", next: "unpack it and import the files in it" };
const DATABASE: ForeignFile = ForeignFile {
    what: "an SQLite database, as opencode and crush keep their sessions: messages, not wire traffic",
    next: "record the agent at work with `reenact record`",
};
const FLOWS: ForeignFile =
    ForeignFile { what: "a flow file of mitmproxy", next: "export it with `mitmdump -nr FILE --set hardump=OUT.har` and import that" };

impl<'a> RecordingSource<'a> {
    /// Unpacks a file, and looks at its beginning: 64 KiB.
    ///
    /// # Errors
    /// When it cannot be read or unpacked, is empty, or is no recording.
    pub fn open(reader: impl Read + 'a) -> Result<Self, SourceError> {
        let mut reader: Box<dyn Read + 'a> = Box::new(reader);
        for _ in 0..=PACKED_MAX {
            let mut head = Vec::new();
            reader.by_ref().take(HEAD_BYTES).read_to_end(&mut head).map_err(SourceError::Io)?;
            let Some(format) = CompressionFormat::from_start(&head) else { return Self::plain(head, reader) };
            let unpacked = format.reader(BufReader::new(Cursor::new(head).chain(reader)));
            reader = Box::new(BoundedReader { reader: unpacked, left: UNPACKED_BYTES_MAX });
        }
        Err(SourceError::Io(io::Error::other("it is compressed in too many layers")))
    }

    fn plain(mut head: Vec<u8>, rest: Box<dyn Read + 'a>) -> Result<Self, SourceError> {
        if head.starts_with(b"\xef\xbb\xbf") {
            head.drain(..3);
        }
        if head.trim_ascii().is_empty() && (head.len() as u64) < HEAD_BYTES - 3 {
            return Err(SourceError::Empty);
        }
        if let Some(foreign) = foreign(&head) {
            return Err(SourceError::Foreign(foreign));
        }
        let syntax = syntax(&head);
        Ok(Self { syntax, reader: Box::new(BufReader::new(Cursor::new(head.clone()).chain(rest))), head })
    }
}

fn foreign(head: &[u8]) -> Option<ForeignFile> {
    let has = |word: &[u8]| memchr::memmem::find(head, word).is_some();
    // Text of ASCII in UTF-16 has a zero in every second byte, also without a mark.
    let utf_16 = head.starts_with(b"\xff\xfe")
        || head.starts_with(b"\xfe\xff")
        || matches!(head, [first, 0, second, 0, ..] | [0, first, 0, second, ..] if first.is_ascii_graphic() && *second != 0);
    match () {
        () if utf_16 => Some(UTF_16),
        () if head.starts_with(b"PK\x03\x04") => Some(ZIP),
        () if head.starts_with(b"SQLite format 3\0") => Some(DATABASE),
        () if head[0].is_ascii_digit() && has(b"client_conn") && has(b"8:response") => Some(FLOWS),
        () => None,
    }
}

fn syntax(head: &[u8]) -> FileSyntax {
    let first = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).find(|line| !line.is_empty()).unwrap_or_default();
    let has_data = || head.starts_with(b"data:") || memchr::memmem::find(head, b"\ndata:").is_some();
    match () {
        () if first.starts_with(b"httprr trace") => FileSyntax::Httprr,
        () if [&b"event:"[..], b"data:", b"id:", b"retry:", b":"].iter().any(|field| first.starts_with(field)) && has_data() => {
            FileSyntax::Sse
        }
        () if matches!(first.first(), Some(b'{' | b'[')) => FileSyntax::Json,
        () => FileSyntax::Yaml,
    }
}

/// A reader that gives an error when there is too much to read.
struct BoundedReader<R> {
    reader: R,
    left: u64,
}

impl<R: Read> Read for BoundedReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(out)?;
        self.left = self.left.checked_sub(length as u64).ok_or_else(|| {
            io::Error::other(format!("unpacked it is larger than {} MiB: unpack it and import parts of it", UNPACKED_BYTES_MAX >> 20))
        })?;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compression::packed::{gzip, zstd, zstd_with_window};

    fn opened(bytes: &[u8]) -> Result<(FileSyntax, Vec<u8>), SourceError> {
        RecordingSource::open(bytes).map(|mut source| {
            let mut whole = Vec::new();
            source.reader.read_to_end(&mut whole).unwrap();
            (source.syntax, whole)
        })
    }

    #[test]
    fn k_5_a_syntax_is_seen_in_how_a_file_begins() {
        let table: [(&[u8], FileSyntax); 8] = [
            (b"event: message_start\r\ndata: {}\r\n\r\n", FileSyntax::Sse),
            (b": hello\n\ndata: {}\n\n", FileSyntax::Sse),
            (b"data: {}\n\n", FileSyntax::Sse),
            (b"\n {\"a\": 1}", FileSyntax::Json),
            (b"[]", FileSyntax::Json),
            (b"httprr trace v1\n1 2\n", FileSyntax::Httprr),
            (b"interactions: []\n", FileSyntax::Yaml),
            (b"event: a thing of YAML\n", FileSyntax::Yaml),
        ];
        for (bytes, syntax) in table {
            assert_eq!(opened(bytes).unwrap(), (syntax, bytes.to_vec()), "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn k_5_packed_files_and_marks_are_taken_off() {
        for packed in [gzip(b"{}"), gzip(&gzip(b"\xef\xbb\xbf{}")), zstd(b"{}"), [zstd(b"{"), zstd(b"}")].concat()] {
            assert_eq!(opened(&packed).unwrap(), (FileSyntax::Json, b"{}".to_vec()));
        }
        assert!(matches!(opened(&zstd_with_window(24)), Err(SourceError::Io(_))));
        let too_often = (0..5).fold(b"{}".to_vec(), |bytes, _| gzip(&bytes));
        assert!(matches!(opened(&too_often), Err(SourceError::Io(_))));
        assert!(matches!(opened(&gzip(b"{}")[..12]), Err(SourceError::Io(_)) | Err(SourceError::Empty)));
    }

    #[test]
    fn k_5_what_is_no_recording_is_known_for_what_it_is() {
        let table: [(&[u8], ForeignFile); 5] = [
            (b"\xff\xfe{\0", UTF_16),
            (b"{\0\"\0", UTF_16),
            (b"PK\x03\x04", ZIP),
            (b"SQLite format 3\0...", DATABASE),
            (b"812:9:websocket;0:~8:response;11:client_conn;", FLOWS),
        ];
        for (bytes, foreign) in table {
            match opened(bytes) {
                Err(SourceError::Foreign(known)) => assert_eq!(known, foreign),
                other => panic!("{other:?}"),
            }
        }
        assert!(matches!(opened(b" \n"), Err(SourceError::Empty)));
    }

    #[test]
    fn k_5_an_unpacked_file_is_bounded() {
        let mut bounded = BoundedReader { reader: io::repeat(b'a'), left: 10 };
        assert_eq!(bounded.read(&mut [0; 8]).unwrap(), 8);
        assert!(bounded.read(&mut [0; 8]).unwrap_err().to_string().contains("larger than 1024 MiB"));
    }
}
