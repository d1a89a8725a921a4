//! Presets: sets of settings under which the engine does what a real client was seen to do, each with the observations that it rests on (F-13).
//!
//! A preset is a file of the same language as a scenario, read by the same reader. `scenario::parse` lays its settings under those of a scenario that
//! names it. The observations are its evidence: each says what the client did in one case, and which scenarios show that the engine does the same.
//!
//! A new preset is a file in this folder and a line in `files`.

pub(crate) mod files;

use crate::language::forms::Readable;
use crate::language::keys::keys;
use crate::language::settings::EngineKeys;
use crate::language::tables::{Section, Sections};
use crate::parse::reader::TableReader;
use crate::parse::{Diagnostics, data_file};
use reenact_engine::budget::Date;
use reenact_engine::settings::Settings;
use reenact_engine::texts::ModelTexts;
use reenact_wire::prelude::*;

pub use files::{names, text};

/// A preset as it is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// The client that it describes, with its version.
    pub client: String,
    /// The last day on which the client was watched.
    pub date: Date,
    /// Under which circumstances, and what holds in every case.
    pub about: String,
    /// All settings, those included that have their default.
    pub settings: Settings,
    /// The observations of the client, by number.
    pub observations: Vec<Observation>,
}

/// The client's behaviour in one case.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// Its number.
    pub row: u32,
    /// The case.
    pub case: String,
    /// The client's behaviour.
    pub client: String,
    /// The scenarios below `scenarios/presets/NAME/` that show what the engine does.
    pub scenarios: Vec<String>,
    /// Those of them that the client itself was driven through, and that it met.
    pub driven: Vec<String>,
    /// The engine beside the client.
    pub verdict: ObservationVerdict,
}

/// The engine beside the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObservationVerdict {
    /// It does the same.
    Same,
    /// The client was not watched in this case; the engine does what the official SDKs do.
    AsSdks,
    /// It does something else, for this reason.
    Differs(String),
    /// The client was not watched in this case, and there is nothing to hold the engine against.
    NotObserved,
}

/// Reads a preset.
///
/// # Errors
/// Everything that is wrong in its file, with its place. No shipped preset has an error: a test holds that.
pub fn read(name: &str, text: &str) -> Result<Preset, Diagnostics> {
    let PresetKeys { client, date, about, engine, texts, observation } = data_file::read(&format!("preset {name}"), text)?;
    let settings = Settings { texts, ..engine.settings };
    let observations = observation.into_iter().map(ObservationKeys::into_observation).collect();
    Ok(Preset { client: client.unwrap_or_default(), date, about: about.unwrap_or_default(), settings, observations })
}

keys! {
    /// A preset: settings under which the engine does what a real client was seen to do.
    pub(crate) struct PresetKeys check check_rows {
        /// The client, with its version.
        client: Option<String> = None, required;
        /// The last day on which it was watched.
        date: Date as Readable<Date> = Date::default();
        /// Under which circumstances, and what holds in every case.
        about: Option<String> = None, required;
        /// The settings that differ from the default.
        engine: EngineKeys as Section<EngineKeys> = EngineKeys::default();
        /// The texts that the client sends.
        texts: ModelTexts as Section<ModelTexts> = ModelTexts::default();
        /// The observations of the client.
        observation: Vec<ObservationKeys> as Sections<ObservationKeys> = Vec::new();
    }
}

keys! {
    /// `[[observation]]`: the client's behaviour in one case, and the scenarios that show the same of the engine.
    pub(crate) struct ObservationKeys check check_verdict {
        /// Its number.
        row: u32 = 0, above_zero("rows are counted from 1");
        /// The case.
        case: Option<String> = None, required;
        /// The client's behaviour.
        client: Option<String> = None, required;
        /// The scenarios that show what the engine does.
        scenarios: Vec<String> = Vec::new();
        /// Those of the scenarios that the client itself was driven through, and that it met.
        driven: Vec<String> = Vec::new();
        /// Whether the client was not watched, and the engine does what the official SDKs do.
        as_sdks: bool = false;
        /// Whether the client was not watched, and nothing is held against it.
        not_observed: bool = false;
        /// Why the engine does something else.
        differs: Option<String> = None, not_blank("say why, or leave `differs` out");
    }
}

impl ObservationKeys {
    fn into_observation(self) -> Observation {
        let verdict = match (self.differs, self.as_sdks, self.not_observed) {
            (Some(reason), ..) => ObservationVerdict::Differs(reason),
            (None, true, _) => ObservationVerdict::AsSdks,
            (None, false, true) => ObservationVerdict::NotObserved,
            (None, false, false) => ObservationVerdict::Same,
        };
        let (case, client) = (self.case.unwrap_or_default(), self.client.unwrap_or_default());
        Observation { row: self.row, case, client, scenarios: self.scenarios, driven: self.driven, verdict }
    }
}

/// Rows are numbered one after another, so that none is missing.
fn check_rows(keys: &PresetKeys, reader: &mut TableReader<'_, '_>) {
    for (nth, observation) in keys.observation.iter().enumerate() {
        if usize::try_from(observation.row) != Ok(nth + 1) {
            let place = reader.entry_place("observation", nth);
            reader.report.value(
                place,
                format!("this is row {}, and its number is {}; count from 1 and leave none out", nth + 1, observation.row),
                None,
            );
        }
    }
}

/// A row has one verdict, and something that shows it.
fn check_verdict(keys: &ObservationKeys, reader: &mut TableReader<'_, '_>) {
    let verdicts = [keys.as_sdks, keys.not_observed, keys.differs.is_some()].into_iter().filter(|is_given| *is_given).count();
    if verdicts > 1 {
        let message = String::from("a row has one verdict: keep one of `as_sdks`, `not_observed` and `differs`");
        reader.report.value(reader.place, message, None);
    }
    if let Some(unknown) = keys.driven.iter().find(|name| !keys.scenarios.contains(name)) {
        let message = format!("the client was driven through `{unknown}`, which is not among the `scenarios` of this row; add it there");
        reader.report.value(reader.place, message, None);
    }
    if keys.scenarios.is_empty() && keys.differs.is_none() && !keys.not_observed {
        let message = String::from(
            "nothing shows that the engine does the same; name a scenario in `scenarios`, or say in `differs` why it does not",
        );
        reader.report.value(reader.place, message, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    #[test]
    fn f_13_every_shipped_preset_is_read_without_a_diagnostic() {
        for (name, text) in files::FILES {
            let preset = read(name, text).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
            assert_ne!(preset.settings, Settings::default(), "{name} sets something");
            assert!(!preset.observations.is_empty(), "{name} rests on observations");
        }
    }

    const HELLO: &str = "[[prompt]]\ntext = \"Hello?\"\n\n[[prompt.turn]]\ntext = \"Hello.\"\n";

    fn settings_of(engine: &str, overrides: &[(&str, &str)]) -> Settings {
        let overrides: Vec<_> = overrides.iter().map(|(key, value)| (String::from(*key), String::from(*value))).collect();
        let parsed = parse::scenario("a.toml", &format!("[engine]\n{engine}\n{HELLO}"), &overrides);
        parsed.unwrap_or_else(|diagnostics| panic!("{diagnostics}")).scenario.settings
    }

    #[test]
    fn f_13_a_preset_is_applied_first_and_the_keys_of_the_scenario_win() {
        let (name, text) = files::FILES[0];
        let preset = read(name, text).unwrap().settings;
        let named = format!("preset = {name:?}");
        assert_eq!(settings_of(&named, &[]), preset);
        let mut own = preset.clone();
        (own.max_tokens, own.retry.max_retries) = (9, 4);
        assert_eq!(settings_of(&format!("{named}\nmax_tokens = 9\nretry.max_retries = 4"), &[]), own, "in the same tables");
        own.texts.replaced.insert(reenact_engine::texts::TextName::Interrupted, "Stop.".into());
        let with_texts = format!("{named}\nmax_tokens = 9\nretry.max_retries = 4\n[texts]\ninterrupted = \"Stop.\"");
        assert_eq!(settings_of(&with_texts, &[]), own, "text by text");
        assert_eq!(settings_of("", &[("engine.preset", name)]), preset, "named from outside");
        let again = settings_of(&named, &[("engine.retry.on_overload", "give_up")]);
        assert_eq!(again.retry.on_overload, reenact_engine::settings::OverloadPolicy::GiveUp, "what is set from outside wins");
        assert_eq!(again.retry.broken_streams, preset.retry.broken_streams);
    }

    #[test]
    fn f_13_a_preset_can_be_varied() {
        let (name, _) = files::FILES[0];
        let text = format!("{HELLO}\n[matrix]\nengine.preset = [{name:?}]\nengine.max_tokens = [1, 2]\n");
        let file = parse::SourceText { name: "a.toml".into(), text };
        let runs = parse::scenarios(&file, &[], &mut |_, _| Err(String::new())).unwrap();
        let of = |run: &parse::ParsedScenario| (run.scenario.settings.max_tokens, run.scenario.settings.retry_refusal);
        assert_eq!(runs.iter().map(of).collect::<Vec<_>>(), [(1, true), (2, true)]);
    }

    #[test]
    fn f_13_a_slip_in_a_preset_is_found_with_its_place() {
        let start = "client = \"c\"\nabout = \"a\"\n";
        let table = [
            ("[engine.retry]\nmax_retires = 2\n", "did you mean `max_retries`"),
            ("[engine]\non_pause = \"endd\"\n", "did you mean `end`"),
            ("[texts]\ninterupted = \"x\"\n", "did you mean `interrupted`"),
            ("[[observation]]\nrow = 1\ncase = \"c\"\nclient = \"d\"\n", "nothing shows that the engine does the same"),
            ("[[observation]]\nrow = 2\ncase = \"c\"\nclient = \"d\"\nnot_observed = true\n", "this is row 1"),
            ("[[observation]]\nrow = 1\ncase = \"c\"\nclient = \"d\"\nnot_observed = true\ndiffers = \"x\"\n", "one verdict"),
        ];
        for (rest, expected) in table {
            let error = read("p", &format!("{start}{rest}")).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("preset p:"), "{error}");
        }
    }
}
