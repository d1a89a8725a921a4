//! Replaces the parts that may vary between equal runs of a client by the names of rules (K-10). Everything else must match.
//!
//! ```text
//!   {"session_id":"0b5c…","duration_ms":912}  ->  {"duration_ms":"<durations>","session_id":"<uuid 1>"}
//! ```
//!
//! Rules are looked up by name, so that a scenario can leave one out (`[drive] without`) or add its own (`[[normalise]]`).

mod folder_moves;
mod named_folder;
mod spans;

use alloc::collections::BTreeSet;

use serde_json::Value;

pub(crate) use folder_moves::FolderMoves;
use reenact_scenario::drive::{DriveScript, NormaliseRule, VaryingPlace};
use reenact_scenario::tape::ClientFolder;
use reenact_wire::prelude::*;

/// JSON members that are known to vary.
const MEMBERS: [&str; 12] = [
    "uuid",
    "timestamp",
    "pid",
    "messaging_socket_path",
    "time",
    "created_at",
    "started_at",
    "end_time",
    "run_id",
    "runId",
    "snapshot",
    "device_id",
];

/// How any folder is shown where requests of two clients are held against each other.
const ANY_FOLDER: &str = "<folder>";

/// Rules at work on one run: what was seen keeps its number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Normaliser {
    without: Vec<Arc<str>>,
    own: Vec<NormaliseRule>,
    /// Which of them replaced something.
    used: BTreeSet<usize>,
    folders: Vec<(spans::FolderSpan, &'static str)>,
    /// Whether members keep their values under all names.
    keeps_members: bool,
    uuids: Vec<String>,
    ids: Vec<String>,
    /// The shipped rules that replaced or moved something.
    acted: BTreeSet<&'static str>,
}

impl Normaliser {
    /// The rules of a scenario, for a run with these folders, each with the name that it is shown by.
    pub fn new(drive: &DriveScript, folders: &[(String, &'static str)]) -> Self {
        let named = folders.iter().flat_map(|(path, name)| spans::FolderSpan::from_path(path).into_iter().map(|folder| (folder, *name)));
        let mut folders: Vec<_> = named.collect();
        // The inner ones first.
        folders.sort_by_key(|(folder, _)| core::cmp::Reverse(folder.len()));
        Self { without: drive.without.clone(), own: drive.normalise.clone(), folders, ..Self::default() }
    }

    /// The same for requests of two clients that are held against each other, with the folders of both.
    ///
    /// All folders have one name there, because what is one folder for the one client may be two for the other. And the shipped rules know no
    /// members: in requests these are what the model gave a tool, or what the tool is, and both matter.
    pub fn for_requests(drive: &DriveScript, folders: &[(String, &'static str)]) -> Self {
        let folders: Vec<_> = folders.iter().map(|(path, _)| (path.clone(), ANY_FOLDER)).collect();
        Self { keeps_members: true, ..Self::new(drive, &folders) }
    }

    /// The same with the folder that a request says its client works in.
    pub(crate) fn for_request(&self, request: &Value) -> Self {
        let mut known = self.clone();
        for folder in named_folder::of_request(request).iter().flat_map(|path| spans::FolderSpan::from_path(path)) {
            known.folders.push((folder, ANY_FOLDER));
        }
        known.folders.sort_by_key(|(folder, _)| core::cmp::Reverse(folder.len()));
        known
    }

    /// Whether a shipped rule is at work.
    pub fn has(&self, rule: &str) -> bool {
        !self.without.iter().any(|without| &**without == rule)
    }

    /// The rules of the scenario that replaced nothing so far, by their names.
    pub fn unused(&self) -> impl Iterator<Item = &Arc<str>> {
        self.own.iter().enumerate().filter(|(index, _)| !self.used.contains(index)).map(|(_, rule)| &rule.name)
    }

    /// The shipped rules that replaced or moved something so far.
    pub fn acted(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.acted.clone().into_iter()
    }

    /// Lines of output in an order that is the same in every run, where the rule for it is at work; see [`lines_in_order`].
    pub fn order_lines(&mut self, lines: &mut [String]) {
        if self.has("order") {
            let before = lines.to_vec();
            lines_in_order(lines);
            self.note("order", before != lines);
        }
    }

    /// Takes note of a rule that acted.
    pub fn note(&mut self, rule: &'static str, has_acted: bool) {
        if has_acted {
            self.acted.insert(rule);
        }
    }

    /// A line of output: JSON member by member, other text as it is.
    pub fn line(&mut self, line: &str) -> String {
        match serde_json::from_str::<Value>(line) {
            Ok(value @ (Value::Object(_) | Value::Array(_))) => self.json(value).to_string(),
            _ => self.text(line),
        }
    }

    /// JSON with its varying members and texts replaced.
    pub fn json(&mut self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(items) => {
                let items = items.into_iter().map(|item| self.json(item)).collect();
                if !self.has("order") {
                    return Value::Array(items);
                }
                let (ordered, has_moved) = in_order(items);
                self.note("order", has_moved);
                Value::Array(ordered)
            }
            Value::Object(members) => {
                let is_kept = |name: &str| !(self.has("order") && name == "cache_control");
                let members: Vec<_> = members.into_iter().filter(|(name, _)| is_kept(name)).collect();
                Value::Object(members.into_iter().map(|(name, value)| self.member(name, value)).collect())
            }
            other => other,
        }
    }

    /// Text with what varies in it replaced.
    pub fn text(&mut self, text: &str) -> String {
        let mut text = text.to_string();
        for (index, NormaliseRule { name, place }) in self.own.iter().enumerate() {
            let VaryingPlace::Between { after, until } = place else { continue };
            let replaced = spans::between(&text, after, until.as_deref(), &format!("<{name}>"));
            if replaced != text {
                self.used.insert(index);
                text = replaced;
            }
        }
        if self.has("folders") {
            for at in 0..self.folders.len() {
                let (folder, name) = &self.folders[at];
                let replaced = folder.replaced(&text, name);
                self.take("folders", &mut text, replaced);
            }
        }
        if self.has("ports") {
            let replaced = spans::ports(&text);
            self.take("ports", &mut text, replaced);
        }
        if self.has("uuids") {
            let replaced = spans::replaced(&text, spans::uuid_at, |found| numbered(&mut self.uuids, "uuid", found));
            self.take("uuids", &mut text, replaced);
        }
        if self.has("ids") {
            let id_at = |bytes: &[u8], at| spans::id_at(bytes, at).or_else(|| spans::timed_id_at(bytes, at));
            let replaced = spans::replaced(&text, id_at, |found| numbered(&mut self.ids, "id", found));
            self.take("ids", &mut text, replaced);
        }
        if self.has("durations") {
            let replaced = spans::replaced(&text, spans::milliseconds_at, |_| String::from("<durations>"));
            self.take("durations", &mut text, replaced);
        }
        if self.has("dates") {
            let replaced = spans::replaced(&text, spans::date_at, |_| String::from("<date>"));
            self.take("dates", &mut text, replaced);
        }
        text
    }

    /// Takes what a rule makes of a text.
    fn take(&mut self, rule: &'static str, text: &mut String, replaced: String) {
        self.note(rule, *text != replaced);
        *text = replaced;
    }

    fn member(&mut self, name: String, value: Value) -> (String, Value) {
        let is_for = |rule: &NormaliseRule| matches!(&rule.place, VaryingPlace::Member(member) if **member == *name);
        let own = self.own.iter().enumerate().find(|(_, rule)| is_for(rule));
        self.used.extend(own.map(|(index, _)| index));
        let shown = match own {
            Some((_, rule)) => Some(format!("<{}>", rule.name)),
            None if self.keeps_members => None,
            None if self.has("durations") && name.ends_with("_ms") && value.is_number() => {
                self.note("durations", true);
                Some(String::from("<durations>"))
            }
            None if self.has("members") && MEMBERS.contains(&&*name) && is_plain(&value) => {
                self.note("members", true);
                Some(String::from("<members>"))
            }
            None => None,
        };
        match shown {
            Some(shown) => (name, Value::String(shown)),
            None => (name, self.json(value)),
        }
    }
}

/// The folders of a recorded client: as its recorder knows them, or as its first request names the one that it works in.
pub(super) fn recorded_folders(
    known: &[(ClientFolder, String)],
    first_request: impl FnOnce() -> Option<Value>,
) -> Vec<(ClientFolder, String)> {
    let is_work = |(folder, _): &(ClientFolder, String)| *folder == ClientFolder::Work;
    let named = || named_folder::of_request(&first_request()?);
    let work = if known.iter().any(is_work) { None } else { named() };
    known.iter().cloned().chain(work.map(|path| (ClientFolder::Work, path))).collect()
}

/// A plain value: no object and no array; but a begin and an end, `{"start":1,"end":2}`, are one time.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            !members.is_empty() && members.iter().all(|(name, value)| matches!(&**name, "start" | "end") && value.is_number())
        }
        Value::Array(_) => false,
        _ => true,
    }
}

/// Results that follow each other, by the names of their tool uses; and whether that moved any.
fn in_order(mut items: Vec<Value>) -> (Vec<Value>, bool) {
    let of_result = |item: &Value| item["tool_use_id"].as_str().filter(|_| item["type"] == "tool_result").map(str::to_string);
    let mut has_moved = false;
    for run in items.chunk_by_mut(|one, next| of_result(one).is_some() && of_result(next).is_some()) {
        has_moved |= !run.is_sorted_by_key(of_result);
        run.sort_by_key(of_result);
    }
    (items, has_moved)
}

/// Lines of output in an order that is the same in every run: what belongs to agents and tasks that continue beside the conversation stands behind
/// it, each one's by itself; and where lines follow each other that are results of tools, they come in the order of their tool uses.
pub fn lines_in_order(lines: &mut [String]) {
    lines.sort_by_cached_key(|line| beside(line));
    results_in_order(lines);
}

/// The owner of a line that does not belong to the conversation itself.
fn beside(line: &str) -> Option<String> {
    let value: Value = serde_json::from_str(line).ok()?;
    let owner = value["parent_tool_use_id"].as_str().or_else(|| value["task_id"].as_str().filter(|_| value["type"] == "system"));
    owner.map(str::to_string)
}

fn results_in_order(lines: &mut [String]) {
    let of_line = |line: &str| {
        let value: Value = serde_json::from_str(line).ok()?;
        let content = &value["message"]["content"];
        let [result] = content.as_array()?.as_slice() else { return None };
        result["tool_use_id"].as_str().map(str::to_string)
    };
    for run in lines.chunk_by_mut(|one, next| of_line(one).is_some() && of_line(next).is_some()) {
        run.sort_by_key(|line| of_line(line));
    }
}

fn numbered(seen: &mut Vec<String>, what: &str, found: &str) -> String {
    let found = found.to_lowercase();
    let number = seen.iter().position(|known| *known == found).unwrap_or_else(|| {
        seen.push(found);
        seen.len() - 1
    });
    format!("<{what} {}>", number + 1)
}

#[cfg(test)]
mod tests;
