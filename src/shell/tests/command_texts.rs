//! The simple commands of a text, and the programs that it starts (P-1).

use crate::{command_texts, started_programs};
use reenact_wire::prelude::*;

#[test]
fn p_1_a_text_is_cut_into_its_simple_commands() {
    let of = |command: &str| {
        let shown = |text: crate::CommandText| format!("{}{}", if text.writes { "> " } else { "" }, text.text);
        command_texts(command).map(|texts| texts.into_iter().map(shown).collect::<Vec<_>>())
    };
    let table: [(&str, &[&str]); 15] = [
        ("git log", &["git log"]),
        (" a 'b;c' ; d\ne ", &["a 'b;c'", "d", "e"]),
        ("a && b || c & d | e", &["a", "b", "c", "d", "e"]),
        ("a $(b; c d) e; f", &["b", "c d", "a $(b; c d) e", "f"]),
        ("a \"$(b \"$(c)\")\"", &["c", "b \"$(c)\"", "a \"$(b \"$(c)\")\""]),
        ("(a; b) 2>&1", &["a", "b", "2>&1"]),
        ("a > b", &["> a > b"]),
        ("a >> b; c", &["> a >> b", "c"]),
        ("a > /dev/null 2>&1", &["a > /dev/null 2>&1"]),
        ("a >&b; a >&-", &["> a >&b", "a >&-"]),
        ("a < b", &["a < b"]),
        ("a < /dev/tcp/1.2.3.4/80", &["> a < /dev/tcp/1.2.3.4/80"]),
        ("a <<E; b\nx $y\nE\nc", &["a <<E", "b", "c"]),
        ("a # b; c", &["a # b; c"]),
        ("", &[]),
    ];
    for (command, expected) in table {
        assert_eq!(of(command).as_deref(), Some(&expected.iter().map(ToString::to_string).collect::<Vec<_>>()[..]), "{command:?}");
    }
    for command in ["a `b`", "a 'b", "a $((`b`))", "a <<E\n$(b)\nE"] {
        assert_eq!(of(command), None, "{command:?}");
    }
}

#[test]
fn p_1_started_programs_are_found_behind_wrappers() {
    let table: [(&str, &[&str]); 10] = [
        ("A=1 sudo -u x rm -r 'a b'; ls", &["sudo -u x rm -r a b", "rm -r a b", "ls"]),
        ("if a; then rm b; fi", &["a", "rm b"]),
        ("sh -c 'cd a && rm b'", &["sh -c cd a && rm b", "cd a", "rm b"]),
        ("echo $(curl x)", &["curl x", "echo $(…)"]),
        ("env A=1 nice -n 3 curl x", &["env A=1 nice -n 3 curl x", "nice -n 3 curl x", "curl x"]),
        ("rm a; curl b", &["rm a", "curl b"]),
        ("git rm a", &["git rm a"]),
        ("sudo /bin/rm a", &["sudo /bin/rm a", "/bin/rm a", "rm a"]),
        ("ls | xargs rm", &["ls", "xargs rm", "rm"]),
        ("'", &[]),
    ];
    for (command, expected) in table {
        assert_eq!(started_programs(command).texts, expected, "{command:?}");
    }
    for command in [
        "case x in x) rm a;; esac",
        "$'rm' a",
        "rm${IFS}a",
        "{rm,a}",
        "$x a",
        "echo rm a | sh",
        "for ((i=0;i<1;i++)); do rm a; done",
        "coproc rm a",
        "a[1]=x rm a",
        "echo ${x/$(rm a)/}",
    ] {
        assert!(!started_programs(command).are_all, "{command:?}");
    }
    assert!(started_programs("git log | head; A=1 make").are_all);
}
