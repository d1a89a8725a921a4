//! A value of a scenario as JSON.

use super::report::DiagnosticReport;
use super::tree::{TreeValue, TreeValueKind};
use reenact_wire::json::{Json, push_string};
use reenact_wire::prelude::*;

impl TreeValue {
    /// The value as JSON, members in the order in which they were written; `None` when it holds something that JSON has not, all of which
    /// is then reported.
    pub(crate) fn to_json(&self, report: &mut DiagnosticReport) -> Option<Json> {
        let mut out = String::new();
        self.write_json(&mut out, report).then(|| Json::trusted(out))
    }

    /// Whether all of it could be written.
    fn write_json(&self, out: &mut String, report: &mut DiagnosticReport) -> bool {
        match &self.kind {
            TreeValueKind::Text(text) => push_string(out, text),
            TreeValueKind::Integer(digits, radix) => match i64::from_str_radix(digits, *radix) {
                Ok(number) => out.push_str(&number.to_string()),
                Err(_) => return self.refuse("TOML has no integers beyond 64 bits", report),
            },
            TreeValueKind::Float(text) if text.contains(['n', 'i']) => return self.refuse("JSON has no such number", report),
            TreeValueKind::Float(text) => out.push_str(text.trim_start_matches('+')),
            TreeValueKind::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
            TreeValueKind::Date => return self.refuse("JSON has no dates", report),
            TreeValueKind::List(items) => return write_all(out, ['[', ']'], items, |out, item| item.write_json(out, report)),
            TreeValueKind::Table(table) => {
                return write_all(out, ['{', '}'], &table.members, |out, member| {
                    push_string(out, &member.key);
                    out.push(':');
                    member.value.write_json(out, report)
                });
            }
            TreeValueKind::StandIn => return false,
        }
        true
    }

    fn refuse(&self, message: &str, report: &mut DiagnosticReport) -> bool {
        report.value(self.place, message.into(), Some("write the whole value as text that holds JSON".into()));
        false
    }
}

/// Writes items with commas between brackets; goes on after one that could not be written, so that all problems are found.
fn write_all<T>(out: &mut String, [open, close]: [char; 2], items: &[T], mut write: impl FnMut(&mut String, &T) -> bool) -> bool {
    let mut whole = true;
    out.push(open);
    for (at, item) in items.iter().enumerate() {
        out.push_str(if at == 0 { "" } else { "," });
        whole &= write(out, item);
    }
    out.push(close);
    whole
}
