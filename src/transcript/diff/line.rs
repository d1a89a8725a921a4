//! A line of a transcript's text, taken apart.

use alloc::collections::BTreeMap;
use core::hash::{Hash as _, Hasher};

use super::super::text::untimed;
use reenact_wire::prelude::*;

/// A line: `  +1.364s  model     text           Hello.`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TranscriptLine<'a> {
    /// All of it.
    pub whole: &'a str,
    /// Its time; `None` where the text has no times.
    time: Option<LineTime>,
    /// The sub-agent, by the id of the tool use that made it; empty for the root.
    pub agent: &'a str,
    /// Its actor: `model`, `tool 1A`.
    pub actor: &'a str,
    /// The event's name: `request 2`, `tool 1A`.
    pub name: &'a str,
    /// Its content.
    pub text: &'a str,
}

/// A time as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineTime {
    /// Since the run began.
    Run(i64),
    /// Since the agent's request before it.
    Request(i64),
}

/// So wide are the columns of actor and name.
const ACTOR: usize = 10;
const NAME: usize = 15;

impl<'a> TranscriptLine<'a> {
    /// A line above the events: the title, the seed.
    pub(super) fn heading(whole: &'a str) -> Self {
        Self { whole, time: None, agent: "", actor: "", name: whole, text: "" }
    }

    /// Reads the line of an event. Any other line is all name.
    pub(super) fn event(whole: &'a str) -> Self {
        let (time, rest) = match LineTime::read(whole) {
            Some((time, rest)) => (Some(time), rest),
            None => (None, whole),
        };
        let Some((actor, rest)) = rest.split_at_checked(ACTOR).filter(|(actor, _)| actor.ends_with(' ') && !actor.starts_with(' ')) else {
            return Self::heading(whole);
        };
        let actor = actor.trim_end();
        let (name, rest) = rest.split_at_checked(NAME).filter(|(name, _)| name.ends_with(' ')).unwrap_or_else(|| long_name(rest));
        let (agent, text) = rest.trim_start().strip_prefix('[').and_then(|rest| rest.split_once("] ")).unwrap_or(("", rest));
        Self { whole, time, agent, actor, name: name.trim_end(), text: text.trim_start() }
    }

    /// Whether both say the same, whenever they say it.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        let plain = |line: &Self| match line.has_foreign_words() {
            true => line.text.into(),
            false => without_attempts(&untimed(line.text)).into_owned(),
        };
        self.text == other.text || plain(self) == plain(other)
    }

    /// Whether its text is that of a model, a user or a tool. A span or a label in it is a word like any other.
    fn has_foreign_words(&self) -> bool {
        matches!(self.actor, "model" | "user" | "client") || self.name.starts_with("result ")
    }

    /// The hash of all that an event is known by. `request` is the request that it belongs to.
    pub(super) fn identity(&self, request: &str) -> u64 {
        let mut hash = Fnv::default();
        (self.agent, request, without_attempts(self.actor), without_attempts(self.name)).hash(&mut hash);
        hash.finish()
    }

    /// The name of a request that begins with this line, without its attempt: `request p2/1`.
    pub(super) fn request(&self) -> Option<&'a str> {
        let is_request = matches!(self.actor, "engine" | "client") && self.name.starts_with("request ");
        is_request.then(|| self.name.split('.').next().unwrap_or(self.name))
    }
}

/// A text with the names of tool uses as they are in a first attempt, `1A` for `1.3A`: one more attempt is another event, and its tools are the same.
fn without_attempts(text: &str) -> Cow<'_, str> {
    let mut rest = text;
    let mut out: Option<String> = None;
    while let Some(dot) = rest.find('.') {
        let (before, after) = (&rest[..dot], &rest[dot + 1..]);
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let is_attempt =
            digits > 0 && before.ends_with(|c: char| c.is_ascii_digit()) && after[digits..].starts_with(|c: char| c.is_ascii_uppercase());
        if !is_attempt && out.is_none() && !after.contains('.') {
            return Cow::Borrowed(text);
        }
        let out = out.get_or_insert_default();
        out.push_str(before);
        if !is_attempt {
            out.push('.');
        }
        rest = &after[if is_attempt { digits } else { 0 }..];
    }
    match out {
        Some(out) => Cow::Owned(out + rest),
        None => Cow::Borrowed(text),
    }
}

/// A name that is wider than its column ends at the agent, or where the text begins: behind its last digit or letter before a blank.
fn long_name(rest: &str) -> (&str, &str) {
    rest.find(" [").map_or((rest, ""), |end| rest.split_at(end))
}

impl LineTime {
    /// The time in front of a line, and the rest.
    fn read(line: &str) -> Option<(Self, &str)> {
        let (shown, rest) = line.trim_start().split_once("s  ")?;
        let (is_of_request, figures) = shown.strip_prefix('+').map_or((false, shown), |figures| (true, figures));
        let (seconds, thousandths) = figures.split_once('.').filter(|(_, thousandths)| thousandths.len() == 3)?;
        let time = seconds.parse::<i64>().ok()?.checked_mul(1_000)?.checked_add(thousandths.parse().ok()?)?;
        Some((if is_of_request { Self::Request(time) } else { Self::Run(time) }, rest))
    }
}

/// Reads one line after another, and keeps all that the next one depends on.
#[derive(Default)]
pub(super) struct LineReader<'a> {
    /// The newest request of each agent: its name, and when it was made.
    requests: BTreeMap<&'a str, (&'a str, i64)>,
    /// Whether the empty line below the title and the seed came.
    is_past_heading: bool,
    /// The line before.
    pub(super) last: Option<TranscriptLine<'a>>,
}

impl<'a> LineReader<'a> {
    /// Reads a line: with the hash of all that it is known by, and with its time in milliseconds since the run began. `None` for an empty line.
    pub(super) fn read(&mut self, line: &'a str) -> Option<(TranscriptLine<'a>, u64, Option<i64>)> {
        if line.is_empty() {
            self.is_past_heading = true;
            return None;
        }
        let line = if self.is_past_heading { TranscriptLine::event(line) } else { TranscriptLine::heading(line) };
        self.last = Some(line);
        if let Some(name) = line.request() {
            let made = match line.time {
                Some(LineTime::Run(time)) => time,
                _ => self.requests.get(line.agent).map_or(0, |(_, made)| *made),
            };
            self.requests.insert(line.agent, (name, made));
        }
        // A line that is no request belongs to the one before it of its agent.
        let (request, made) = self.requests.get(line.agent).copied().unwrap_or_default();
        let time = line.time.map(|time| match time {
            LineTime::Run(time) => time,
            LineTime::Request(time) => time + made,
        });
        Some((line, line.identity(request), time))
    }

    /// Passes over a part of the text, of which only the first line can be a request.
    pub(super) fn pass(&mut self, block: &'a str) {
        let mut lines = block.lines();
        if self.is_past_heading {
            lines.next().and_then(|line| self.read(line));
        } else {
            self.is_past_heading = block.lines().any(str::is_empty);
        }
        if let Some(last) = lines.next_back().filter(|_| self.is_past_heading) {
            self.last = Some(TranscriptLine::event(last));
        }
    }

    /// Whether lines of this part mean the same here and there.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.is_past_heading == other.is_past_heading && self.requests == other.requests
    }
}

/// Fowler, Noll and Vo's hash: short names are hashed in few steps, and nobody chooses them to collide.
#[derive(Clone, Copy)]
pub(super) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
