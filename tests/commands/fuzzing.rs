//! `fuzz`, as a user types it (E-4).

use super::{HELLO, folder, reenact};

#[test]
fn e_4_cases_follow_from_the_seed_and_parts_are_disjoint() {
    let folder = folder(&[("hello.toml", HELLO), ("other.toml", HELLO)]);
    let at = folder.path();
    let (text, said, code) = reenact(at, &["fuzz", "hello.toml", "other.toml", "--cases", "60"]);
    assert!(
        text.contains("2 scenarios, 120 cases, 0 findings; never asked, so nothing is claimed of them: O-2, ")
            && said.contains("cases a second")
            && code == Some(0),
        "{text}{said}"
    );
    let (text, _, _) = reenact(at, &["fuzz", "hello.toml", "--cases", "61", "--shard", "2/3", "--strategy", "pct", "--fuzz-seed", "4"]);
    assert!(text.contains("1 scenario, 19 cases, 0 findings"), "{text}");
    let parts = ["1/3", "2/3", "3/3"].map(|part| reenact(at, &["fuzz", "hello.toml", "--cases", "10", "--shard", part]).0);
    let count = |text: &String| text.lines().last().and_then(|line| line.split(' ').nth(2)?.parse::<u64>().ok()).unwrap();
    assert_eq!(parts.iter().map(count).sum::<u64>(), 10, "{parts:?}");
    for (arguments, words) in [
        (&["fuzz", "hello.toml", "--cases", "5", "--time", "1"][..], "cannot be used with"),
        (&["fuzz", "hello.toml", "--cases", "0"][..], "no case was made, so nothing was looked at"),
        (&["fuzz", "hello.toml", "--cases", "1", "--shard", "2/2"][..], "no case was made, so nothing was looked at"),
        (&["fuzz", "hello.toml", "--shard", "17/20"][..], "a search has at most 16 parts"),
        (&["fuzz", "none.toml"][..], "none.toml: no such file or folder"),
        (&["fuzz", "hello.toml", "--shard", "0/2"][..], "as in `2/8`"),
        (&["fuzz", "hello.toml", "--strategy", "wild"][..], "possible values: mix, uniform, weighted, pct, swarm, guided"),
    ] {
        let (_, said, code) = reenact(at, arguments);
        assert!(said.contains(words) && code == Some(2), "{arguments:?}: {said}");
    }
}
