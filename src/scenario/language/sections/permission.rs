//! `[permissions]` and `[[permission]]`: which rules there are, and what the user answers (M-7, P-1).

use crate::language::description::{ValueShape, WrittenForm};
use crate::language::forms::{JsonObjectText, TextListOf, word_forms};
use crate::language::keys::{ConvertedTable, KeyForm, KeyPosition, keys};
use crate::language::sections::reply::Replies;
use crate::language::tables::Sections;
use crate::language::toml::TomlValue;
use crate::latency::Latency;
use crate::parse::reader::TableReader;
use crate::parse::report::DiagnosticReport;
use crate::parse::tree::{TreeValue, TreeValueKind};
use crate::replies::{AT_ONCE, ScriptedPermission, ScriptedReply};
use reenact_engine::permission::{PermissionAnswer, PermissionMode, PermissionRule, PermissionSettings, PermissionWord, RuleSource, rule};
use reenact_wire::json::Json;
use reenact_wire::prelude::*;

word_forms!(PermissionMode, PermissionWord, RuleSource);

/// A rule about tool uses: `Bash`, `Bash(git *)`.
pub(crate) struct RuleText;

impl KeyForm for RuleText {
    type Value = Arc<str>;

    fn shape() -> ValueShape {
        let help = "a rule about tool uses: a tool's name, or with a pattern in parentheses";
        ValueShape::Written(WrittenForm { noun: "a rule about tool uses", help, example: "\"Bash(git *)\"" }, Box::new(ValueShape::Text))
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Arc<str>> {
        let about = Arc::<str>::read(value, at, report)?;
        check_rule(value, report, &about);
        Some(about)
    }

    fn write(value: &Arc<str>) -> TomlValue {
        TomlValue::text(value)
    }
}

fn check_rule(value: &TreeValue, report: &mut DiagnosticReport, about: &str) {
    if let Some(problem) = rule::problem(about) {
        report.value(value.place, format!("`{about}` is not a rule: {problem}"), None);
    }
}

/// One rule or several.
struct RuleList;

impl KeyForm for RuleList {
    type Value = Vec<Arc<str>>;

    fn shape() -> ValueShape {
        ValueShape::Either(vec![RuleText::shape(), ValueShape::List(Box::new(RuleText::shape()))])
    }

    fn read(value: &TreeValue, at: KeyPosition<'_>, report: &mut DiagnosticReport) -> Option<Vec<Arc<str>>> {
        let rules = TextListOf::<Arc<str>>::read(value, at, report)?;
        let items = if let TreeValueKind::List(items) = &value.kind { &items[..] } else { core::slice::from_ref(value) };
        let texts = items.iter().filter(|item| matches!(item.kind, TreeValueKind::Text(_)));
        texts.zip(&rules).for_each(|(item, about)| check_rule(item, report, about));
        Some(rules)
    }

    fn write(rules: &Vec<Arc<str>>) -> TomlValue {
        TomlValue::list(rules.iter().map(RuleText::write))
    }
}

keys! {
    /// `[permissions]`: the settings' part of a decision about a tool use (P-1). Without this section every tool runs.
    pub(crate) struct PermissionsKeys {
        /// The treatment of a tool use that no rule decides.
        mode: PermissionMode = PermissionMode::default();
        /// Further folders in which the mode `accept_edits` allows edits.
        directories: Vec<Arc<str>> = Vec::new(), example("[\"/w/docs\"]");
        /// Whether a shell command is denied that a tool of its own could do: `find`, `grep`, `cat`, `head`, `tail`, `ls` (P-2).
        dedicated_tools: bool = false;
        /// The user's rules for tool uses that may run.
        allow: Vec<Arc<str>> as RuleList = Vec::new();
        /// The user's rules for tool uses that a person decides.
        ask: Vec<Arc<str>> as RuleList = Vec::new();
        /// The user's rules for tool uses that may not run.
        deny: Vec<Arc<str>> as RuleList = Vec::new();
        /// Rules with their source.
        rule: Vec<PermissionRule> as Sections<PermissionRule> = Vec::new(), example("[{ deny = \"Bash(rm *)\", source = \"project\" }]");
    }
}

impl PermissionsKeys {
    fn lists(&self) -> impl Iterator<Item = PermissionRule> {
        let lists = [(PermissionWord::Allow, &self.allow), (PermissionWord::Ask, &self.ask), (PermissionWord::Deny, &self.deny)];
        let entries = lists.into_iter().flat_map(|(word, rules)| rules.iter().map(move |about| (word, about.clone())));
        entries.map(|(word, about)| PermissionRule { word, about, source: RuleSource::User })
    }
}

impl ConvertedTable for PermissionSettings {
    type Keys = PermissionsKeys;

    fn from_keys(keys: PermissionsKeys, _: &mut TableReader<'_, '_>) -> Option<Self> {
        let rules = keys.lists().chain(keys.rule.iter().cloned()).collect();
        Some(Self { mode: keys.mode, rules, directories: keys.directories, dedicated_tools: keys.dedicated_tools })
    }

    /// Each rule with its source where the lists would change their order or their source.
    fn to_keys(&self) -> PermissionsKeys {
        let Self { mode, rules, directories, dedicated_tools } = self;
        let about = |word| rules.iter().filter(|rule| rule.word == word).map(|rule| rule.about.clone()).collect();
        let keys = PermissionsKeys {
            mode: *mode,
            directories: directories.clone(),
            dedicated_tools: *dedicated_tools,
            ..PermissionsKeys::default()
        };
        let lists = PermissionsKeys {
            allow: about(PermissionWord::Allow),
            ask: about(PermissionWord::Ask),
            deny: about(PermissionWord::Deny),
            ..keys.clone()
        };
        if lists.lists().eq(rules.iter().cloned()) { lists } else { PermissionsKeys { rule: rules.clone(), ..keys } }
    }
}

keys! {
    /// `[[permissions.rule]]`: a rule with its source. It needs exactly one of `allow`, `ask` and `deny`.
    pub(crate) struct PermissionRuleKeys {
        /// A rule for tool uses that may run.
        allow: Option<Arc<str>> as Option<RuleText> = None;
        /// A rule for tool uses that a person decides.
        ask: Option<Arc<str>> as Option<RuleText> = None;
        /// A rule for tool uses that may not run.
        deny: Option<Arc<str>> as Option<RuleText> = None;
        /// Where the rule comes from. A higher source wins.
        source: RuleSource = RuleSource::default();
    }
}

impl ConvertedTable for PermissionRule {
    type Keys = PermissionRuleKeys;

    fn from_keys(keys: PermissionRuleKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        const WORDS: [&str; 3] = ["allow", "ask", "deny"];
        if reader.one_of(&WORDS).is_none() {
            let message = format!("{} needs one of `allow`, `ask`, `deny`", reader.title());
            reader.lacks(&WORDS, message, None);
        }
        let words = [(PermissionWord::Allow, keys.allow), (PermissionWord::Ask, keys.ask), (PermissionWord::Deny, keys.deny)];
        let (word, about) = words.into_iter().find_map(|(word, about)| Some((word, about?)))?;
        Some(Self { word, about, source: keys.source })
    }

    fn to_keys(&self) -> PermissionRuleKeys {
        let Self { word, about, source } = self;
        let given = |wanted| (*word == wanted).then(|| about.clone());
        PermissionRuleKeys {
            allow: given(PermissionWord::Allow),
            ask: given(PermissionWord::Ask),
            deny: given(PermissionWord::Deny),
            source: *source,
        }
    }
}

keys! {
    /// `[[permission]]`: the user's answer to a question about a tool use. Without one the user allows everything at once.
    pub(crate) struct PermissionKeys {
        /// The questions that this answers, written as a rule. By default all. The first entry that fits a question counts.
        about: Option<Arc<str>> as Option<RuleText> = None, key("for");
        /// How long an answer takes that has no latency of its own.
        latency: Latency = AT_ONCE;
        /// This need not come to pass (F-10).
        may: bool = false;
        /// The answers.
        replies: Vec<ScriptedReply<PermissionAnswer>> as Replies<PermissionAnswer> = Vec::new();
    }
}

impl ConvertedTable for ScriptedPermission {
    type Keys = PermissionKeys;

    fn from_keys(keys: PermissionKeys, _: &mut TableReader<'_, '_>) -> Option<Self> {
        let PermissionKeys { about, latency, may, replies } = keys;
        Some(Self { about, latency, replies, may })
    }

    fn to_keys(&self) -> PermissionKeys {
        let Self { about, latency, replies, may } = self.clone();
        PermissionKeys { about, latency, may, replies }
    }
}

words! {
    /// The three answers to a question about a tool use (T-24).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum AnswerWord default Allow {
        /// The tool may run.
        Allow = "allow",
        /// The tool may not run; the turn continues.
        Refuse = "refuse",
        /// The tool may not run, and the query is aborted (T-14).
        RefuseAndAbort = "refuse_and_abort",
    }
}

word_forms!(AnswerWord);

keys! {
    /// The answer to a question about a tool use (T-24).
    pub(crate) struct PermissionAnswerKeys {
        /// The answer. By default `allow`.
        answer: Option<AnswerWord> = None;
        /// With `allow`: rules that hold from now on, so that the question is not asked again.
        rules: Vec<Arc<str>> as Vec<RuleText> = Vec::new();
        /// With `allow`: another input for the tool, as a JSON object.
        updated_input: Option<Json> as Option<JsonObjectText> = None;
        /// Why. Only with the other answers than `allow`.
        reason: Arc<str> = "".into();
    }
}

impl ConvertedTable for PermissionAnswer {
    type Keys = PermissionAnswerKeys;

    fn from_keys(keys: PermissionAnswerKeys, reader: &mut TableReader<'_, '_>) -> Option<Self> {
        let PermissionAnswerKeys { answer, rules, updated_input, reason } = keys;
        let answer = answer.unwrap_or_default();
        let (idle, message): (&[&'static str], &str) = match answer {
            AnswerWord::Allow => (&["reason"], "`allow` takes no reason: remove it, or refuse"),
            _ => (&["rules", "updated_input"], "a refusal changes nothing: remove this key, or allow"),
        };
        for key in idle.iter().filter(|key| reader.member(key).is_some()).copied().collect::<Vec<_>>() {
            reader.key_problem(key, message.into());
        }
        Some(match answer {
            AnswerWord::Allow => Self::Allow { updated_input, rules },
            AnswerWord::Refuse => Self::Refuse { reason },
            AnswerWord::RefuseAndAbort => Self::RefuseAndAbort { reason },
        })
    }

    fn to_keys(&self) -> PermissionAnswerKeys {
        let refusal = |answer, reason: &Arc<str>| PermissionAnswerKeys {
            answer: Some(answer),
            reason: reason.clone(),
            ..PermissionAnswerKeys::default()
        };
        match self {
            Self::Allow { updated_input, rules } => PermissionAnswerKeys {
                answer: Some(AnswerWord::Allow),
                rules: rules.clone(),
                updated_input: updated_input.clone(),
                ..PermissionAnswerKeys::default()
            },
            Self::Refuse { reason } => refusal(AnswerWord::Refuse, reason),
            Self::RefuseAndAbort { reason } => refusal(AnswerWord::RefuseAndAbort, reason),
        }
    }
}
