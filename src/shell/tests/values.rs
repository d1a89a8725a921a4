//! Variables, and structured values through a command line (W-2).

use reenact_wire::prelude::*;
use std::collections::BTreeMap;

use crate::{Operator, Sentinel, ShellWord, words};
use reenact_wire::json::Json;

fn variables() -> BTreeMap<Arc<str>, Json> {
    let of = |(name, value): (&str, &str)| (Arc::from(name), Json::parse(value).unwrap());
    let all = [
        ("CONFIG", r#"{"a": 1}"#),
        ("LIST", "[1,2]"),
        ("ZERO", "0"),
        ("NO", "false"),
        ("NULL", "null"),
        ("TEXT", r#""a b""#),
        ("BIG", "1e3"),
    ];
    all.into_iter().map(of).collect()
}

/// The words, values as their JSON between `<` and `>`.
fn shown(command: &str) -> Vec<String> {
    let variables = variables();
    let of = |word: ShellWord| match word {
        ShellWord::Text(text) => text,
        ShellWord::Value(value) => format!("<{value}>"),
        ShellWord::Operator(operator) => operator.to_string(),
        ShellWord::Input(text) => format!("<<{text}"),
        ShellWord::Newline => String::from("\\n"),
    };
    words(command, &variables, &Sentinel::new(1, command, &variables)).unwrap().into_iter().map(of).collect()
}

#[test]
fn w_2_a_structured_value_comes_out_as_a_value() {
    let expected = ["tool", "--config", r#"<{"a": 1}>"#];
    for command in ["tool --config=$CONFIG", "tool --config $CONFIG", "tool --config=\"$CONFIG\"", "tool --config ${CONFIG}"] {
        assert_eq!(shown(command), expected, "{command}");
    }
    assert_eq!(shown("tool x${CONFIG}y"), ["tool", "x", r#"<{"a": 1}>"#, "y"]);
    assert_eq!(shown("tool $LIST$CONFIG x=$LIST"), ["tool", "<[1,2]>", r#"<{"a": 1}>"#, "x=", "<[1,2]>"]);
    assert_eq!(shown("tool --name=test --a= '--b=' --c=$TEXT"), ["tool", "--name=test", "--a=", "--b=", "--c=a", "b"]);
    assert_eq!(shown("tool '$CONFIG' \\$CONFIG"), ["tool", "$CONFIG", "$CONFIG"]);
    assert_eq!(shown("cat <<E | x\n$CONFIG\nE\n"), ["cat", "<<{\"a\": 1}\n", "|", "x", "\\n"]);
}

#[test]
fn w_2_unset_is_empty_and_zero_and_false_keep_their_text() {
    assert_eq!(shown("a $ZERO $NO $NULL $UNSET \"$UNSET\" $TEXT \"$TEXT\" $BIG"), ["a", "0", "false", "", "a", "b", "a b", "1e3"]);
}

#[test]
fn w_2_a_text_that_looks_like_a_sentinel_is_no_value() {
    let sentinel = Sentinel::new(1, "", &BTreeMap::new());
    let looks_alike = format!("tool {} $CONFIG", sentinel.placeholder(0));
    let like = sentinel.placeholder(0).trim_end_matches(';').to_owned();
    assert_eq!(shown(&looks_alike), ["tool", &like, ";", r#"<{"a": 1}>"#], "outside of quotes the shell cuts it");
    let expected = sentinel.placeholder(0);
    let quoted = format!("tool '{expected}' $CONFIG");
    assert_eq!(shown(&quoted), ["tool", &expected, r#"<{"a": 1}>"#]);
    let mut with_text = variables();
    with_text.insert("LIKE".into(), Json::from_value(&sentinel.placeholder(0)));
    let command = "tool $LIKE $CONFIG";
    let words = words(command, &with_text, &Sentinel::new(1, command, &with_text)).unwrap();
    assert!(matches!(&words[..], [_, ShellWord::Text(text), ShellWord::Value(_)] if *text == expected), "{words:?}");
}

#[test]
fn w_2_what_is_known_only_when_it_runs_is_an_error() {
    for command in ["a $(b)", "a `b`", "a $?", "a ${b:-c}", "a \"x$((1))\"", "a <<E\n$(b)\nE\n"] {
        let error = words(command, &variables(), &Sentinel::new(1, command, &variables())).unwrap_err();
        assert!(error.to_string().contains("known only when it runs"), "{error}");
    }
    assert_eq!(words("a & b", &variables(), &Sentinel::new(1, "", &variables())).unwrap()[1], ShellWord::Operator(Operator::Background));
}
