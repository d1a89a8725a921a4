//! The neighbourhood of a run that was recorded: how near it is to a finding (E-3n).

mod program;

use program::{folder, museum};

/// The exhibit, the words of its distance, and those of its reason. The figures follow from the times of the scenario: the second tool ends 140 ms after the first, and so on.
const DISTANCES: [(&str, &str, &str); 3] = [
    ("completion-order", "0.140s away", "fails when `tool 1B ends` comes before `tool 1A ends`"),
    ("last-hook-wins", "0.010s away", "fails when `hook 2 of tool 1A ends` comes before `hook 1 of tool 1A ends`"),
    ("lost-wake-up", "0.005s away", "of answer toolu_a/1` comes before `event 24 of answer 1`"),
];

#[test]
fn e_3n_a_log_is_so_far_from_a_finding() {
    for (name, distance, reason) in DISTANCES {
        let folder = folder(name);
        let (at, scenario) = (folder.path(), format!("{name}.toml"));
        let (_, said, code) = museum(at, &[name, "run", &scenario, "--log", "x.log"]);
        assert_eq!(code, Some(0), "{said}");
        let (shown, said, code) = museum(at, &[name, "explore", "x.log", "--budget", "1,0,0"]);
        assert!(code == Some(1) && shown.contains(&format!("1 finding, the nearest {distance}")), "{name}: {shown}{said}");
        assert!(said.contains(&format!("  {distance} from the run as it is")) && said.contains(reason), "{name}: {said}");
        let (shown, _, code) = museum(at, &["honest", "explore", &scenario, "--budget", "1,0,0"]);
        assert!(code == Some(0) && shown.contains("0 findings"), "{shown}");
    }
}

#[test]
fn e_3n_a_log_that_says_nothing_of_this_engine_is_refused() {
    let folder = folder("completion-order");
    let at = folder.path();
    museum(at, &["completion-order", "run", "completion-order.toml", "--log", "x.log"]);
    let refused = |engine: &str, arguments: &[&str], words: &str| {
        let (shown, said, code) = museum(at, &[&[engine, "explore", "x.log"][..], arguments].concat());
        assert!(code == Some(2) && said.contains(words), "{engine} {arguments:?}: {code:?} {shown}{said}");
    };
    refused("completion-order", &["--set", "seed=4"], "a log is of one run: leave out --seed, --seeds and --set");
    // The world answers by the scenario, which has to be the one of the log.
    let scenario = at.join("completion-order.toml");
    let text = std::fs::read_to_string(&scenario).unwrap();
    std::fs::write(&scenario, text.replace("300ms", "301ms")).unwrap();
    refused("completion-order", &[], "a simulated run of completion-order.toml is another one than that of the log");
    std::fs::write(&scenario, text).unwrap();
    let log = std::fs::read_to_string(at.join("x.log")).unwrap();
    let (head, rest) = log.split_once('\n').unwrap();
    let bare = head.replacen(r#","scenario":{"path":"completion-order.toml"}"#, "", 1);
    assert_ne!(bare, head);
    std::fs::write(at.join("x.log"), format!("{bare}\n{rest}")).unwrap();
    refused("completion-order", &[], "the log does not name its scenario");
    let other = rest.replacen("\"effects\":[{", "\"effects\":[{\"more\":1,", 1);
    std::fs::write(at.join("x.log"), format!("{head}\n{other}")).unwrap();
    refused("completion-order", &[], "this engine does not do what the log says");
}
