//! Whether a TOML file is a scenario, as far as its keys tell: a folder may hold others.

use super::nearest::nearest;
use super::recovery::recover;
use super::tree;
use crate::language::keys::KeyTable as _;
use crate::language::sections::file::ScenarioKeys;

/// Keys that a scenario has and other TOML files do not.
const OWN: [&str; 7] = ["prompt", "tape", "extends", "matrix", "fault", "interrupt", "expect"];

/// Whether a text is meant as a scenario. One that has none of a scenario's own keys is none, unless a misspelt `prompt` tells it.
pub fn is_scenario(text: &str) -> bool {
    let table = tree::from_file(&recover(text), text, 0);
    let is_own = |key: &str| OWN.contains(&key) || nearest(key, ["prompt"]).is_some();
    table.members.iter().any(|member| is_own(&member.key))
}

/// Whether a text can be meant as a part of a scenario, which others extend: it has some key of a scenario, or nothing at all.
pub fn is_scenario_part(text: &str) -> bool {
    let recovered = recover(text);
    let table = tree::from_file(&recovered, text, 0);
    let known = ScenarioKeys::names();
    let is_empty = table.members.is_empty() && recovered.errors.is_empty();
    is_empty || table.members.iter().any(|member| known.contains(&&*member.key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f_6_a_scenario_is_known_by_its_keys() {
        for text in
            ["[[prompt]]\ntext = \"a\"", "tape = \"x\"", "extends = \"_x.toml\"", "[[promt]]\ntext = 1", "x = \n[expect]\nrequests = 1"]
        {
            assert!(is_scenario(text), "{text}");
        }
        for text in [
            "",
            "[package]\nname = \"x\"",
            "max_width = 140",
            "[[rule]]\nname = \"x\"",
            "title = \"x\"",
            "extend = \"ruff.toml\"",
            "not toml",
        ] {
            assert!(!is_scenario(text), "{text}");
        }
        for text in ["", "# nothing yet", "title = \"x\"", "[engine]\nmodel = 1"] {
            assert!(is_scenario_part(text), "{text}");
        }
        for text in ["root:x:0:0", "KEY=a b", "[registry]\ntoken = \"x\"", "[package]\nname = \"x\""] {
            assert!(!is_scenario_part(text), "{text}");
        }
    }
}
