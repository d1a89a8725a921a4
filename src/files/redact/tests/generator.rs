//! Secrets of many kinds in many places, seen in many ways and cut anywhere: none is left, nothing else is altered (K-2).
//!
//! The kinds are written apart from the rules. The draws have a fixed seed.

use super::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// How many cases are tried.
const CASES: usize = 6_000;

/// A generator of numbers.
struct Draw(u64);

impl Draw {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count
    }

    fn letters(&mut self, letters: &str, count: usize) -> String {
        (0..count).map(|_| char::from(letters.as_bytes()[self.below(letters.len())])).collect()
    }
}

const ALL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const CAPITALS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEX: &str = "0123456789abcdef";

/// What has a shape: the beginning, and how many letters of what follow.
const SHAPES: &[(&str, &str, usize)] = &[
    ("sk-ant-api03-", ALL, 95),
    ("sk-ant-oat01-", ALL, 80),
    ("sk-proj-", ALL, 64),
    ("gh|p_", ALL, 36),
    ("gh|o_", ALL, 36),
    ("github_|pat_", ALL, 82),
    ("glpat|-", ALL, 20),
    ("xox|b-123456789012-", ALL, 24),
    ("sk_|live_", ALL, 24),
    ("rk_|live_", ALL, 24),
    ("npm|_", ALL, 36),
    ("pypi|-AgEI", ALL, 90),
    ("hf|_", ALL, 34),
    ("AKI|A", CAPITALS, 16),
    ("AIz|a", ALL, 35),
    ("ya29|.", ALL, 70),
    ("hvs|.", ALL, 24),
    ("dckr|_pat_", ALL, 27),
    ("gs|k_", ALL, 52),
    ("xa|i-", ALL, 80),
    ("r8|_", ALL, 37),
    ("pp|lx-", ALL, 48),
    ("ATAT|T3", ALL, 180),
    ("da|pi", HEX, 32),
    ("sh|pat_", HEX, 32),
    ("AGE-SECRET|-KEY-1", CAPITALS, 58),
    ("lin|_api_", ALL, 40),
    ("nt|n_", ALL, 46),
    ("pscale|_tkn_", ALL, 43),
    ("do|p_v1_", HEX, 64),
    ("do|o_v1_", HEX, 64),
    ("sq0|atp-", ALL, 22),
    ("eyJ|", ALL, 0),
];

/// What only a name tells: what stands before it, and behind.
const NAMED: &[(&str, &str)] = &[
    ("export X_TOKEN=", "\n"),
    ("token: ", "\n"),
    ("DB_PASSWORD=", "\n"),
    ("{\"auth\":\"", "\"}"),
    ("{\"client-key-data\": \"", "\"}"),
    ("//r.example/:_authToken=", "\n"),
    ("aws_session_token = ", "\n"),
    ("tool --password ", " --verbose"),
    ("tool --api-key=", " x"),
    ("curl -u admin:", " https://x.example"),
    ("mysql -u root -p", " db"),
    ("machine x login me password ", "\n"),
    ("postgres://me:", "@db.example:5432/x"),
    ("x-litellm-api-key: ", "\n"),
    ("Ocp-Apim-Subscription-Key: ", "\n"),
    ("cf-access-client-secret: ", "\n"),
    ("x-vault-token: ", "\n"),
    ("private-token: ", "\n"),
    ("apikey: ", "\n"),
    ("https://x.example/?access_token=", "&page=2"),
    ("Authorization: Bearer ", "\n"),
    ("Password=", ";Database=x"),
    ("<password>", "</password>"),
    ("secret_key = '", "'"),
    ("apiKey: \"", "\","),
];

fn secret(draw: &mut Draw, kind: usize) -> (String, String, String) {
    let Some((start, letters, count)) = SHAPES.get(kind) else {
        let (before, after) = NAMED[kind - SHAPES.len()];
        let value = format!("{}{}", draw.letters(ALL, 22), "q7Zx");
        return (before.to_owned(), value, after.to_owned());
    };
    if *count == 0 {
        let jwt = format!("eyJ{}.eyJ{}.{}", draw.letters(ALL, 30), draw.letters(ALL, 60), draw.letters(ALL, 43));
        return (String::from("with "), jwt, String::from(" as"));
    }
    let (before, after) = [("with ", " as"), ("first\n", "\nlast"), ("(", ")"), ("", ""), ("\t", "\r\n"), ("`", "`")][draw.below(6)];
    (before.to_owned(), format!("{}{}", start.replace('|', ""), draw.letters(letters, *count)), after.to_owned())
}

/// A text in which another text stands as it is, in some spelling.
struct Spelt {
    start: String,
    inner: String,
    end: String,
}

fn percent(text: &str) -> String {
    text.bytes().map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// The body in one view: what is around, and how the text is written there.
fn view(number: usize, depth: usize, text: &str) -> (Spelt, fn(&str) -> String) {
    let around = |start: &str, inner: String, end: &str| Spelt { start: start.to_owned(), inner, end: end.to_owned() };
    match number {
        0 => (around("{\"content\":\"", escaped(text), "\"}"), escaped),
        1 => {
            let mut inner = text.to_owned();
            (0..depth).for_each(|_| inner = format!("{{\"content\":\"{}\"}}", escaped(&inner)));
            (around("{\"content\":\"", escaped(&inner), "\"}"), escaped)
        }
        2 => (around("state=1&body=", percent(text), "&x=1"), percent),
        3 => (around("[error] 401: ", text.to_owned(), "\n"), str::to_owned),
        4 => (around("{ broken: ", text.to_owned(), " }"), str::to_owned),
        5 => (around("{\"body\":\"", STANDARD.encode(format!("some words: {text} and so on")), "\"}"), |text| STANDARD.encode(text)),
        6 => (around("", text.to_owned(), ""), str::to_owned),
        _ => (around("{\"content\":\"log: {\\\"a\\\": \\\"", escaped(&escaped(text)), "\\\"}\"}"), |text| escaped(&escaped(text))),
    }
}

#[test]
fn k_2_no_generated_secret_is_left_and_nothing_else_is_altered() {
    let mut draw = Draw(7);
    let mut problems = Vec::new();
    for case in 0..CASES {
        let kind = case % (SHAPES.len() + NAMED.len());
        let (before, secret, after) = secret(&mut draw, kind);
        let text = format!("{before}{secret}{after}");
        let (number, depth) = (draw.below(8), 1 + draw.below(4));
        let (spelt, _) = view(number, depth, &text);
        let body = format!("{}{}{}", spelt.start, spelt.inner, spelt.end);
        let mut redactor = redactor();
        let out = match draw.below(3) {
            0 => redactor.body(body.as_bytes()),
            1 => {
                let cut = draw.below(body.len());
                streamed(&mut redactor, AnswerRedactor::body(), &[&body.as_bytes()[..cut], &body.as_bytes()[cut..]]).concat()
            }
            _ => {
                let event = format!("data: {}\n\n", body.replace(['\n', '\r'], " "));
                streamed(&mut redactor, AnswerRedactor::events(), &[&event]).concat()["data: ".len()..event.len() - 2].to_vec()
            }
        };
        let shown = String::from_utf8_lossy(&out).into_owned();
        let what = format!("kind {kind}, view {number}:{depth}: {body}\n  {shown}");
        // The parts of a secret that are spelt alike in each view; of base64 the groups.
        let middle = &secret[secret.len() / 2 - 4..secret.len() / 2 + 5];
        let left = match number {
            5 => shown[spelt.start.len()..shown.len().min(spelt.start.len() + spelt.inner.len())].to_owned(),
            _ => shown.clone(),
        };
        let left =
            if number == 5 { STANDARD.decode(&left).map_or(left, |bytes| String::from_utf8_lossy(&bytes).into_owned()) } else { left };
        let tail = &secret[secret.len() - 6..];
        if left.contains(middle) || left.contains(tail) {
            problems.push(format!("left: {what}"));
        }
        // Nothing else: what was not a part of the secret reads as before.
        if out.len() != body.len()
            || !shown.starts_with(&spelt.start)
            || !shown.ends_with(spelt.end.trim_end()) && !spelt.end.contains('\n')
        {
            problems.push(format!("altered: {what}"));
        }
    }
    assert!(problems.is_empty(), "{} of {CASES}\n{}", problems.len(), problems[..problems.len().min(25)].join("\n"));
}

#[test]
fn k_2_fragments_of_other_apis_are_put_together() {
    let key = format!("gh{}_{}", "p", filled(36));
    let streams: [&dyn Fn(&str) -> String; 4] = [
        &|part| format!("data: {{\"id\":\"c1\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{part}\"}}}}]}}\n\n"),
        &|part| {
            format!(
                "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"index\":0,\"function\":{{\"arguments\":\"{part}\"}}}}]}}}}]}}\n\n"
            )
        },
        &|part| format!("data: {{\"type\":\"response.output_text.delta\",\"item_id\":\"i\",\"delta\":\"{part}\"}}\n\n"),
        &|part| format!("data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\"{part}\"}}]}}}}]}}\n\n"),
    ];
    for stream in streams {
        for size in [3, 7, 20] {
            let text = format!("the key {key} is");
            let events: Vec<String> = text.as_bytes().chunks(size).map(|part| stream(std::str::from_utf8(part).unwrap())).collect();
            let out = String::from_utf8(streamed(&mut redactor(), AnswerRedactor::events(), &events).concat()).unwrap();
            let parts = key.as_bytes().chunks(size).map(|part| std::str::from_utf8(part).unwrap());
            assert!(parts.filter(|part| part.len() == size).all(|part| !out.contains(&format!("\"{part}\""))), "{out}");
            assert!(!out.contains(&key[20..23]), "{out}");
        }
    }
}

#[test]
fn k_2_every_example_of_a_rule_holds_in_every_view() {
    let mut problems = Vec::new();
    let rules = &RedactionRules::with_options(&RedactionOptions { personal: true, ..RedactionOptions::default() }).unwrap();
    for rule in rules::shipped().unwrap() {
        rules::check_vectors(&rule, &rules::compile(&rule).unwrap()).unwrap();
        for hit in &rule.hits {
            let text = rules::filled(hit);
            for number in 0..8 {
                let (spelt, _) = view(number, 2, &text);
                let body = format!("{}{}{}", spelt.start, spelt.inner, spelt.end);
                let mut redactor = Redactor::new(rules);
                if redactor.body(body.as_bytes()) == body.as_bytes() {
                    problems.push(format!("{} in view {number}: {body}", rule.name));
                }
            }
        }
    }
    assert_all_fine(problems);
}

/// Bytes of text that no name and no shape tells of.
fn ordinary() -> Vec<String> {
    let mut draw = Draw(3);
    let mut lock = String::new();
    for number in 0..40 {
        lock.push_str(&format!(
            "[[package]]\nname = \"token-{number}\"\nversion = \"1.{number}.0\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"{}\"\n\n",
            draw.letters(HEX, 64)
        ));
        lock.push_str(&format!("\"node_modules/auth-{number}\": {{\"integrity\": \"sha512-{}==\"}},\n", draw.letters(ALL, 86)));
    }
    let picture = format!(
        "{{\"type\":\"image\",\"source\":{{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"iVBORw0KGgo{}\"}}}}",
        draw.letters(ALL, 4001)
    );
    let uuids: Vec<String> = (0..20)
        .map(|_| {
            format!(
                "{}-{}-4{}-a{}-{}",
                draw.letters(HEX, 8),
                draw.letters(HEX, 4),
                draw.letters(HEX, 3),
                draw.letters(HEX, 3),
                draw.letters(HEX, 12)
            )
        })
        .collect();
    let hashes: Vec<String> = [32, 40, 64].iter().map(|length| format!("commit {}", draw.letters(HEX, *length))).collect();
    let code =
        [include_str!("../assignments.rs"), include_str!("../explore.rs"), include_str!("../text_map.rs"), include_str!("../answer.rs")];
    let ids = format!(
        "{{\"id\":\"msg_01{}\",\"tool_use_id\":\"toolu_01{}\",\"usage\":{{\"input_tokens\":12,\"max_tokens\":3}}}}",
        draw.letters(ALL, 22),
        draw.letters(ALL, 22)
    );
    let mut texts: Vec<String> = code.into_iter().map(str::to_owned).collect();
    texts.extend([lock, picture, uuids.join("\n"), hashes.join("\n"), ids, include_str!("../../../../README.md").to_owned()]);
    texts
}

#[test]
fn k_2_ordinary_text_stays_byte_for_byte() {
    let mut problems = Vec::new();
    for text in ordinary() {
        for body in [text.clone(), format!("{{\"content\":\"{}\"}}", escaped(&text))] {
            let mut redactor = redactor();
            if redactor.body(body.as_bytes()) != body.as_bytes() {
                let out = redactor.body(body.as_bytes());
                let at = out.iter().zip(body.as_bytes()).position(|(one, other)| one != other).unwrap();
                let around = &body.as_bytes()[at.saturating_sub(60)..body.len().min(at + 60)];
                problems.push(format!("{:?}\n   {}", redactor.explained(), String::from_utf8_lossy(around)));
            }
        }
    }
    assert_all_fine(problems);
}

#[test]
fn k_2_the_work_is_linear_in_the_bytes() {
    let cases: [(&str, &dyn Fn(usize) -> String); 4] = [
        ("key", &|size| format!("sk-ant-api03-{}", "aB3".repeat(size / 3))),
        ("private key", &|size| {
            format!("{}\n{}", ["-----BEGIN ", "PRIVATE KEY-----"].concat(), "Zk7Qw9Xb2Lp4Rt6Vn8Mc3Hd5Jf1Gs0Zk\n".repeat(size / 33))
        }),
        ("names", &|size| "key=".repeat(size / 4)),
        ("percent", &|size| "%2541".repeat(size / 5)),
    ];
    for (what, text) in cases {
        for size in [20_000, 80_000] {
            let text = text(size);
            let mut redactor = redactor();
            let mut answer = AnswerRedactor::events();
            for part in text.as_bytes().chunks(20) {
                let part = escaped(std::str::from_utf8(part).unwrap());
                let event = format!(
                    "data: {{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{part}\"}}}}\n\n"
                );
                answer.feed(&mut redactor, HeldChunk { at: Micros(0), bytes: event.into_bytes() }, &mut |_| ());
            }
            answer.finish(&mut redactor, &mut |_| ());
            assert!(redactor.work <= 24 * size as u64, "{what}: {} bytes of views for {size}", redactor.work);
        }
    }
}
