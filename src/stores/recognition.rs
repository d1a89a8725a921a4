//! The format of a file's sessions, found by its path and its contents.

use reenact_wire::raw_json::{RawObject, elements};

use super::{StoreFormat, claude_code, sqlite};

/// The use of a file for a doctor of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreFileKind {
    /// It holds sessions in this format.
    Session(StoreFormat),
    /// It belongs to a store and holds no conversation: its use.
    Beside(&'static str),
    /// It holds sessions that are not read: the reason.
    Unread(&'static str),
    /// It is something else: the reason.
    Unknown(&'static str),
}

/// So many lines are looked at for one that tells the format.
const LINES_MAX: usize = 50;

/// Names of files that stand beside sessions, and what they are.
const BESIDE: [(&str, &str); 12] = [
    ("sessions.json", "the index of Continue's sessions"),
    ("sessions-index.json", "the index of Claude Code's sessions"),
    ("auth.json", "credentials, and not opened"),
    ("mcp-auth.json", "credentials, and not opened"),
    (".meta.json", "facts about a sub-agent of Claude Code"),
    ("-wal", "the log of a database"),
    ("-shm", "the index of a database's log"),
    ("-journal", "the log of a database"),
    ("history.jsonl", "the prompts of all sessions"),
    ("session_index.jsonl", "the index of codex's sessions"),
    ("settings.json", "settings"),
    ("config.json", "settings"),
];

/// Folders of older versions of opencode that hold no messages.
const OPENCODE_BESIDE: [&str; 6] =
    ["/storage/session/", "/storage/session_diff/", "/storage/session_share/", "/storage/project/", "/storage/todo/", "/storage/share/"];

/// The use of a file that stands beside sessions, by its path alone: it need not be opened.
pub fn beside(path: &str) -> Option<&'static str> {
    if let Some((_, what)) =
        BESIDE.iter().find(|(name, _)| if name.starts_with(['-', '.']) { path.ends_with(name) } else { file_name(path) == *name })
    {
        return Some(what);
    }
    OPENCODE_BESIDE.iter().any(|folder| path.contains(folder)).then_some("facts about a session of opencode")
}

/// The format of a file's sessions. `path` has `/` between its parts.
pub fn recognise(path: &str, bytes: &[u8]) -> StoreFileKind {
    if let Some(what) = beside(path) {
        return StoreFileKind::Beside(what);
    }
    if sqlite::is_database(bytes) {
        let is_of_crush = file_name(path) == "crush.db";
        return if is_of_crush {
            StoreFileKind::Unread("it is the database of crush, whose sessions are not read")
        } else {
            StoreFileKind::Session(StoreFormat::Opencode)
        };
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    if is_recording(text) {
        return StoreFileKind::Unknown("it is a recording or a log of reenact, and no session: `reenact show` reads it");
    }
    match text.first() {
        None => StoreFileKind::Unknown("it is empty: its writer may have been killed before it wrote"),
        Some(b'{') => of_objects(path, text),
        Some(b'[') => StoreFileKind::Unknown("it is a JSON array, and no session of an agent that is known has this form"),
        Some(_) => by_path(path).map_or(StoreFileKind::Unknown("it is neither JSON nor a database"), StoreFileKind::Session),
    }
}

fn of_objects(path: &str, text: &[u8]) -> StoreFileKind {
    // A document first: the last of its lines may be an object, too.
    let document = core::str::from_utf8(text).ok().and_then(|text| RawObject::parse(text).ok());
    let found = match document {
        Some(document) => of_document(path, &document),
        None => {
            let lines = text.split(|byte| *byte == b'\n').take(LINES_MAX).filter_map(|line| core::str::from_utf8(line).ok());
            lines.filter_map(|line| RawObject::parse(line).ok()).find_map(|line| of_line(path, &line))
        }
    };
    found.or_else(|| by_path(path)).map_or(StoreFileKind::Unknown("no agent that is known writes such an object"), StoreFileKind::Session)
}

/// Whether it begins with the head of a tape or of a boundary log.
fn is_recording(text: &[u8]) -> bool {
    let head = text.split(|byte| *byte == b'\n').next().and_then(|line| core::str::from_utf8(line).ok());
    head.and_then(|line| RawObject::parse(line).ok()).is_some_and(|head| head.get("reenact_tape").or(head.get("reenact_log")).is_some())
}

/// By one line of JSON lines.
fn of_line(path: &str, line: &RawObject<'_>) -> Option<StoreFormat> {
    let has = |name| line.get(name).is_some();
    let kind = line.string("type");
    let kind = kind.as_deref().unwrap_or_default();
    match kind {
        "session" if has("version") || has("cwd") => Some(StoreFormat::Pi),
        "session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted" if has("payload") => Some(StoreFormat::Codex),
        _ if claude_code::TYPES.contains(&kind) && ["uuid", "sessionId", "leafUuid", "messageId"].into_iter().any(has) => {
            Some(StoreFormat::ClaudeCode)
        }
        "function_call" | "function_call_output" if has("call_id") => Some(StoreFormat::Codex),
        "" if line.string("role").is_some() && line.string("content").is_some() => Some(StoreFormat::Gptme),
        _ if file_name(path).starts_with("rollout-") => Some(StoreFormat::Codex),
        _ => None,
    }
}

/// By one JSON document.
fn of_document(path: &str, document: &RawObject<'_>) -> Option<StoreFormat> {
    let has = |name| document.get(name).is_some();
    let is_array = |name| document.get(name).is_some_and(|value| elements(value).is_ok());
    match () {
        () if is_array("history") => Some(StoreFormat::Continue),
        () if is_array("messages") => Some(StoreFormat::Cline),
        () if has("sessionID") && has("id") => Some(StoreFormat::Opencode),
        () => of_line(path, document),
    }
}

/// By the path alone, where the contents cannot be read.
fn by_path(path: &str) -> Option<StoreFormat> {
    let name = file_name(path);
    let places: [(bool, StoreFormat); 6] = [
        (path.contains("/.claude/projects/"), StoreFormat::ClaudeCode),
        (path.contains("/.pi/agent/sessions/"), StoreFormat::Pi),
        (path.contains("/.continue/sessions/"), StoreFormat::Continue),
        (name.ends_with(".messages.json"), StoreFormat::Cline),
        (path.contains("/.codex/sessions/") || name.starts_with("rollout-"), StoreFormat::Codex),
        (name == "conversation.jsonl", StoreFormat::Gptme),
    ];
    places.into_iter().find(|(fits, _)| *fits).map(|(_, format)| format)
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v_9_a_format_is_found_from_contents_or_path() {
        let session = |format| StoreFileKind::Session(format);
        let cases = [
            ("a.jsonl", include_str!("../../tests/stores/claude-code.store.jsonl"), session(StoreFormat::ClaudeCode)),
            ("a.jsonl", include_str!("../../tests/stores/pi.store.jsonl"), session(StoreFormat::Pi)),
            ("a.json", include_str!("../../tests/stores/continue.store.json"), session(StoreFormat::Continue)),
            ("a.json", include_str!("../../tests/stores/cline.store.json"), session(StoreFormat::Cline)),
            ("a.jsonl", include_str!("../../tests/stores/codex.store.jsonl"), session(StoreFormat::Codex)),
            ("a.jsonl", include_str!("../../tests/stores/gptme.store.jsonl"), session(StoreFormat::Gptme)),
            ("a.json", "{\"messages\":[\n{\"role\":\"user\",\"content\":\"x\"}\n]}", session(StoreFormat::Cline)),
            ("a.json", r#"{"id":"msg_1","sessionID":"s","role":"user"}"#, session(StoreFormat::Opencode)),
            ("h/.continue/sessions/x.json", "{\"history\":[", session(StoreFormat::Continue)),
            ("h/x.messages.json", "{\"mess", session(StoreFormat::Cline)),
            ("h/.claude/projects/p/x.jsonl", "{\"type\":\"future\"}", session(StoreFormat::ClaudeCode)),
        ];
        for (path, text, kind) in cases {
            assert_eq!(recognise(path, text.as_bytes()), kind, "{path}: {text}");
        }
        let database = include_bytes!("../../tests/stores/opencode.store.db");
        assert_eq!(recognise("x/opencode.db", database), session(StoreFormat::Opencode));
        assert!(matches!(recognise("x/crush.db", database), StoreFileKind::Unread(_)));
        let tape = recognise("a.tape.jsonl", b"{\"reenact_tape\":1}\n{\"type\":\"user\",\"uuid\":\"1\"}");
        assert!(matches!(tape, StoreFileKind::Unknown(reason) if reason.contains("`reenact show` reads it")), "{tape:?}");
        for (path, text) in
            [("a.json", ""), ("a.json", "[1]"), ("a.txt", "hello"), ("a.json", "{\"a\":1}"), ("a.jsonl", "{\"a\":1}\n{\"b\":2}")]
        {
            assert!(matches!(recognise(path, text.as_bytes()), StoreFileKind::Unknown(_)), "{path}: {text}");
        }
        for path in
            ["h/.continue/sessions/sessions.json", "x/opencode.db-wal", "x/agent-1.meta.json", "o/storage/session/p/s.json", "o/auth.json"]
        {
            assert!(matches!(recognise(path, b"{}"), StoreFileKind::Beside(_)), "{path}");
        }
    }
}
