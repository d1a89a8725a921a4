//! Secrets of many kinds in many places, seen in many ways and cut anywhere: none is left, nothing else is altered, a search finds each (K-2).
//!
//! The kinds are written apart from the rules. The draws have a fixed seed.

use self::kinds::{FORMS, NAMED, PlantedKind};
use super::*;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

mod kinds;

/// How many cases are tried.
const CASES: usize = 6_000;

/// How many ways there are to write a text.
const VIEWS: usize = 25;

/// A generator of numbers.
pub(super) struct Draw(pub(super) u64);

impl Draw {
    pub(super) fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count
    }

    pub(super) fn letters(&mut self, letters: &str, count: usize) -> String {
        (0..count).map(|_| char::from(letters.as_bytes()[self.below(letters.len())])).collect()
    }
}

pub(super) const ALL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
pub(super) const HEX: &str = "0123456789abcdef";

/// Every character another: what stands where it stands is the secret.
fn other(secret: &str) -> String {
    let next = |c: char| match c {
        'z' => 'a',
        'Z' => 'A',
        '9' => '0',
        'f' => 'a',
        c if c.is_ascii_alphanumeric() => char::from(c as u8 + 1),
        '\n' => '\n',
        '!' => '#',
        _ => '!',
    };
    secret.chars().map(next).collect()
}

fn percent(text: &str) -> String {
    text.bytes().map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// A text as it stands in one of the views.
fn spelt(view: usize, depth: usize, text: &str) -> String {
    let prefixed = |prefix: &dyn Fn(usize) -> String| {
        format!("one\n{text}\nlast")
            .split('\n')
            .enumerate()
            .map(|(number, line)| format!("{}{line}\n", prefix(number + 1)))
            .collect::<String>()
    };
    match view {
        0 => format!("{{\"content\":\"{}\"}}", escaped(text)),
        1 => (0..=depth).fold(text.to_owned(), |inner, _| format!("{{\"content\":\"{}\"}}", escaped(&inner))),
        2 => format!("state=1&body={}&x=1", percent(text)),
        3 => format!("[error] 401: {text}\n"),
        4 => format!("{{ broken: {text} }}"),
        5 => format!("{{\"body\":\"{}\"}}", STANDARD.encode(format!("some words: {text} and so on"))),
        6 => text.to_owned(),
        7 => format!("{{\"content\":\"log: {{\\\"a\\\": \\\"{}\\\"}}\"}}", escaped(&escaped(text))),
        8 => format!("{{\"a\":\"{}\"}}", text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect::<String>()),
        9 => prefixed(&|number| format!("{number:6}\u{2192}")),
        10 => prefixed(&|number| format!("src/a.env:{number}:")),
        11 => format!("\u{1b}[32m{text}\u{1b}[0m done"),
        12 => format!("x {} y", URL_SAFE_NO_PAD.encode(format!("some words: {text} and so on"))),
        13 => format!("{{\"body\":\"{}\"}}", escaped(&wrapped(text, [60, 64, 76][depth % 3], "\n"))),
        14 => format!("body:\r\n    {}\r\nend", wrapped(text, [60, 64, 76][depth % 3], "\r\n    ")),
        15 => format!("<p>{}</p>", entities(text)),
        16 => text.chars().enumerate().map(|(at, c)| if at % 7 == 3 { format!("{c}\u{1b}[m\u{1b}[K") } else { c.to_string() }).collect(),
        17 => prefixed(&|_| String::from("web_1  | ")),
        18 => prefixed(&|number| format!("I0101 10:00:0{}.000000       1 main.go:42] ", number % 10)),
        19 => prefixed(&|number| format!("Jan  1 10:00:0{} host app[12]: ", number % 10)),
        20 => prefixed(&|number| format!("2026-01-01T10:00:0{}.123Z ", number % 10)),
        21 => format!("{{\"log\":\"{}\"}}", escaped(&events(text))),
        22 => format!("answer:\n{}", events(text)),
        23 => format!("{{\"type\":\"text\",\"media_type\":\"text/plain\",\"data\":\"{}\"}}", escaped(text)),
        _ => {
            let packed = STANDARD.encode(format!("some words of a document: {text} and so on"));
            format!("{{\"type\":\"base64\",\"media_type\":\"text/plain\",\"data\":\"{packed}\"}}")
        }
    }
}

/// Base64 in lines.
fn wrapped(text: &str, width: usize, end: &str) -> String {
    let packed = STANDARD.encode(format!("some words: {text} and so on"));
    packed.as_bytes().chunks(width).map(|line| String::from_utf8_lossy(line).into_owned()).collect::<Vec<_>>().join(end)
}

fn entities(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

/// The events of an answer that streams a text in short fragments.
fn events(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let event = |part: &[char]| {
        let part = escaped(&part.iter().collect::<String>());
        format!("data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{part}\"}}}}\n\n")
    };
    characters.chunks(9).map(event).collect()
}

/// Whether a view is base64: neighbours share letters there.
fn is_packed(view: usize) -> bool {
    matches!(view, 5 | 12..=14 | 24)
}

/// The text that a reader of a view sees; nothing when its form is broken.
fn read(view: usize, text: &str) -> Option<String> {
    let string = |name: &str| {
        let value: serde_json::Value = serde_json::from_str(text).ok()?;
        value[name].as_str().map(str::to_owned)
    };
    let content = |events: &str| -> Option<String> {
        let data = events.split("\n\n").filter_map(|event| event.split_once("data: ").map(|(_, data)| data));
        data.map(|data| Some(serde_json::from_str::<serde_json::Value>(data).ok()?["delta"]["text"].as_str()?.to_owned())).collect()
    };
    Some(match view {
        13 => unpacked(view, &string("body")?.replace('\n', "")),
        14 => unpacked(view, &text.replace("\r\n    ", "")),
        16 => text.replace("\u{1b}[m\u{1b}[K", ""),
        21 => content(&string("log")?)?,
        22 => content(text)?,
        0 => string("content")?,
        7 => {
            let log = string("content")?;
            serde_json::from_str::<serde_json::Value>(log.strip_prefix("log: ")?).ok()?["a"].as_str()?.to_owned()
        }
        8 => string("a")?,
        23 => string("data")?,
        view if is_packed(view) => unpacked(view, text),
        _ => text.to_owned(),
    })
}

/// The bytes of base64 in a text.
fn unpacked(view: usize, text: &str) -> String {
    let runs = text.split(|c: char| !c.is_ascii_alphanumeric() && !"+/=-_".contains(c)).filter(|run| run.len() > 24);
    let bytes = |run: &str| if view == 12 { URL_SAFE_NO_PAD.decode(run).ok() } else { STANDARD.decode(run).ok() };
    runs.filter_map(bytes).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
}

/// Where a text stands: it gives what a redactor makes of it, and nothing where such a text cannot stand there.
type Place = fn(&mut Draw, &str) -> Option<String>;

/// In a body as it goes through a redactor: whole, cut anywhere, as the data of an event, or in fragments of a block.
fn in_a_body(draw: &mut Draw, body: &str) -> Option<String> {
    let mut redactor = redactor();
    let out = match draw.below(4) {
        0 => redactor.body(body.as_bytes()),
        1 => {
            let cut = draw.below(body.len());
            streamed(&mut redactor, AnswerRedactor::body(), &[&body.as_bytes()[..cut], &body.as_bytes()[cut..]]).concat()
        }
        2 if !body.contains(['\n', '\r']) => {
            let event = format!("data: {body}\n\n");
            streamed(&mut redactor, AnswerRedactor::events(), &[&event]).concat()["data: ".len()..event.len() - 2].to_vec()
        }
        _ => {
            let size = 1 + draw.below(40);
            let cuts: Vec<usize> = (size..body.len()).step_by(size).filter(|cut| body.is_char_boundary(*cut)).collect();
            let events = block("text_delta", "text", body, &cuts);
            return Some(content(&streamed(&mut redactor, AnswerRedactor::events(), &events), "text"));
        }
    };
    Some(String::from_utf8_lossy(&out).into_owned())
}

/// In a header of any name.
fn in_a_header(_: &mut Draw, value: &str) -> Option<String> {
    let headers = [HttpHeader::new("content-type", "text/plain"), HttpHeader::new("x-note", value)];
    let is_value = !value.contains(|c: char| c.is_ascii_control());
    is_value.then(|| redactor().headers(&headers).swap_remove(1).value.to_string())
}

/// In the query of an address, or as a part of its path.
fn in_an_address(draw: &mut Draw, text: &str) -> Option<String> {
    let is_query = draw.below(2) == 0;
    let is_url = |c: char| c.is_ascii_alphanumeric() || "%-._~:@!$'()*+,=".contains(c) || is_query && "/&".contains(c);
    let before = if is_query { "/v1/files?limit=2&" } else { "/v1/files/" };
    let shown = text.chars().all(is_url).then(|| redactor().path(&format!("{before}{text}")))?;
    Some(shown.strip_prefix(before).unwrap_or("the address before it is altered").to_owned())
}

/// Whether a part of a secret stands in a text.
fn is_left(secret: &str, shown: &str) -> bool {
    let is_line_left = |line: &str| {
        line.len() >= 9 && (shown.contains(&line[line.len() / 2 - 4..line.len() / 2 + 5]) || shown.contains(&line[line.len() - 6..]))
    };
    secret.split('\n').any(is_line_left)
}

/// The failure of one case.
fn problem(draw: &mut Draw, kind: &PlantedKind, view: usize, place: Place) -> Option<String> {
    let depth = 1 + draw.below(4);
    let (before, secret, after) = kind.draw(draw);
    let text = |secret: &str| spelt(view, depth, &format!("{before}{secret}{after}"));
    let (body, marked) = (text(&secret), text(&other(&secret)));
    let out = place(draw, &body)?;
    let margin = match view {
        view if is_packed(view) => 4,
        // The first signs of an escape are those of others, too.
        2 => 2,
        8 | 15 => 5,
        _ => 0,
    };
    let differ = |pair: &(u8, u8)| pair.0 != pair.1;
    let start = body.bytes().zip(marked.bytes()).position(|pair| differ(&pair))?.saturating_sub(margin);
    let tail = body.bytes().rev().zip(marked.bytes().rev()).position(|pair| differ(&pair))?.saturating_sub(margin);
    let Some(shown) = read(view, &out) else { return Some(format!("its form is broken: view {view}:{depth}: {body}\n  {out}")) };
    let mut again = redactor();
    let twice = String::from_utf8_lossy(&again.body(out.as_bytes())).into_owned();
    let problem = match () {
        () if is_left(&secret, &shown) => "left",
        () if !out.starts_with(&body[..start]) || !out.ends_with(&body[body.len() - tail..]) => "something else is altered",
        () if twice != out => "it is altered again when it is redacted again",
        () if scan(body.as_bytes(), &RULES).is_empty() => "not found by a search",
        () => return None,
    };
    let again = if twice == out { String::new() } else { format!("\n  {twice}\n  {:?}", again.explained()) };
    Some(format!("{problem}: view {view}:{depth}: {body}\n  {out}{again}"))
}

#[test]
fn k_2_no_generated_secret_is_left_and_nothing_else_is_altered() {
    let (mut draw, kinds) = (Draw(7), PlantedKind::all());
    assert!(FORMS.len() + NAMED.len() >= 100, "{} kinds", FORMS.len() + NAMED.len());
    let problems: Vec<String> =
        (0..CASES).filter_map(|case| problem(&mut draw, &kinds[case % kinds.len()], case / kinds.len() % VIEWS, in_a_body)).collect();
    assert!(problems.is_empty(), "{} of {CASES}\n{}", problems.len(), problems[..problems.len().min(25)].join("\n"));
}

#[test]
fn k_2_no_generated_secret_is_left_in_headers_and_addresses() {
    let (mut draw, kinds, mut places) = (Draw(8), PlantedKind::all(), 0);
    let mut problems = Vec::new();
    for (number, kind) in kinds.iter().enumerate() {
        for view in 0..VIEWS {
            for place in [in_a_header as Place, in_an_address] {
                let mut counted = Draw(number as u64);
                places += usize::from(place(&mut counted, &spelt(view, 1, &kind.draw(&mut draw).1)).is_some());
                problems.extend(problem(&mut draw, kind, view, place));
            }
        }
    }
    assert!(places >= 1_000, "only {places} texts can stand there");
    assert!(problems.is_empty(), "{} of {places}\n{}", problems.len(), problems[..problems.len().min(25)].join("\n"));
}

/// Equal texts are read once, wherever they stand: each of them must be redacted all the same.
#[test]
fn k_2_no_generated_secret_is_left_where_it_stands_more_than_once() {
    let (mut draw, kinds) = (Draw(9), PlantedKind::all());
    let mut problems = Vec::new();
    for case in 0..2_000 {
        let kind = &kinds[case % kinds.len()];
        let view = [0, 1, 5, 7, 8, 21][draw.below(6)];
        let depth = 1 + draw.below(3);
        let (before, secret, after) = kind.draw(&mut draw);
        let text = spelt(view, depth, &format!("{before}{secret}{after}"));
        let length = 1 + draw.below(3_000);
        let filler = format!("{{\"content\":\"{}\"}}", draw.letters("abc def ghi ", length));
        let copies = 2 + draw.below(3);
        let body = format!("[{filler},{},{filler}]", vec![text.as_str(); copies].join(&format!(",{filler},")));
        let out = String::from_utf8(redactor().body(body.as_bytes())).unwrap();
        let parts: Vec<Box<serde_json::value::RawValue>> = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"));
        assert_eq!(parts.len(), 2 * copies + 1);
        for part in parts.iter().skip(1).step_by(2) {
            if read(view, part.get()).is_none_or(|shown| is_left(&secret, &shown)) {
                problems.push(format!("view {view}:{depth}, {copies} copies: {text}\n  {}", part.get()));
            }
        }
        let fillers = parts.iter().step_by(2).all(|part| part.get() == filler);
        assert!(fillers, "something else is altered: {out}");
        let found = scan(body.as_bytes(), &RULES).len();
        if found < copies {
            problems.push(format!("view {view}:{depth}: a search finds {found} of {copies}: {text}"));
        }
    }
    assert!(problems.is_empty(), "{}\n{}", problems.len(), problems[..problems.len().min(25)].join("\n"));
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
            for number in 0..VIEWS {
                let body = spelt(number, 2, &text);
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
    // Code and settings in which names tell and values are words.
    let words = [
        "getpass(prompt=\"Password: \", stream=None); x = input('Password:') or x; expect \"Password:\"",
        "self.token = nextchar\n privateKey: SecKeyRef,\n current_exporter_secret: OkmBlock,\nPseudoToken = Whitespace + group(PseudoExtras, Number)",
        "auth_str = base64.standard_b64encode(credentials).decode()\n__all__ = ['HTTPPasswordMgr', 'HTTPPasswordMgrWithDefaultRealm', 'x']",
        "def f(user, password=getpass_unicode):\n  kSecKeyX963SHA1 => kSecKeyAlgorithmECIESEncryptionCofactorX963SHA256AESGCM,",
        "usage: tool --password PASSWORD [--token TOKEN]\nTOKEN_KEY = \"auth.token\"\nTOKEN_TYPE=bearer\nsecrets: inherit\nauth: basic",
        "password: { type: String, required: true, minlength: 8 }, token: { type: String, default: null },\npassword:\n  type: string\n  minLength: 8",
        "credentials:\n  - read\n  - write\ntokens: [\"(\", \")\", \"{\", \"}\"]\nos.environ.get(\"API_TOKEN\", default_token); config.get(\"token\", \"default\")",
        "| Name | Type | password | string |\n| password | The password of the user |\nlet render_pass = shadow_mapping(); compass: northwest-direction",
        "we set password afterwards; if password == expected_password: pass\nmatch token { Token::Ident(s) => s, Token::Eof => return None }",
        "token_text = &token_text[1..];\nparen_token: parenthesized!(content in input),\nexports.Minipass = exports.isWritable = 1\nAUTH=CRAM-MD5",
        "password = self._users['x']; ENCODED_AUTH = base64.b64encode(USER_PASSWD.encode('ascii'))",
        "const TOKEN: &str = \"name\"; localStorage.setItem(\"token\", token); {\"passwords\":[\"one\",\"two\"],\"token\":{\"value\":\"int\"}}",
    ];
    let mut texts: Vec<String> = words.into_iter().map(str::to_owned).collect();
    texts.extend(code.into_iter().map(str::to_owned));
    texts.extend([lock, picture, uuids.join("\n"), hashes.join("\n"), ids, include_str!("../../../README.md").to_owned()]);
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

/// How many bytes of views and of values are looked at for each byte of a text, at most.
const WORK_PER_BYTE: u64 = 256;

/// How much is looked at in an answer that streams this text.
fn work(text: &str) -> u64 {
    let mut redactor = redactor();
    let mut answer = AnswerRedactor::events();
    for part in text.as_bytes().chunks(20) {
        let part = escaped(std::str::from_utf8(part).unwrap());
        let event =
            format!("data: {{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{part}\"}}}}\n\n");
        answer.feed(&mut redactor, HeldChunk { at: Micros(0), bytes: event.into_bytes() }, &mut |_| ());
    }
    answer.finish(&mut redactor, &mut |_| ());
    redactor.work
}

fn assert_linear(what: &str, text: &dyn Fn(usize) -> String) {
    // From tens of thousands of bytes on all kinds of views are looked at: smaller texts have less than all of the work.
    let [small, large] = [100_000, 400_000].map(|size| (size as u64, work(&text(size))));
    for (size, work) in [small, large] {
        assert!(work <= WORK_PER_BYTE * size, "{what}: {work} bytes are looked at for {size}");
    }
    assert!(large.1 <= 6 * small.1 + WORK_PER_BYTE * 1_000, "{what}: four times the text takes {} and not {}", large.1, small.1);
}

#[test]
fn k_2_the_work_is_linear_in_the_bytes() {
    assert_linear("key", &|size| format!("sk-ant-api03-{}", "aB3".repeat(size / 3)));
    assert_linear("private key", &|size| {
        format!("{}\n{}", ["-----BEGIN ", "PRIVATE KEY-----"].concat(), "Zk7Qw9Xb2Lp4Rt6Vn8Mc3Hd5Jf1Gs0Zk\n".repeat(size / 33))
    });
    assert_linear("names", &|size| "key=".repeat(size / 4));
    assert_linear("names in a row of dots", &|size| format!("{}{}", "key=.".repeat(size / 10), ".".repeat(size / 2)));
    assert_linear("percent", &|size| "%2541".repeat(size / 5));
    assert_linear("numbered lines in colour", &|size| "1: \u{1b}[0m1: -----BEGIN ".repeat(size / 22));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 24, ..Default::default() })]

    /// Repeated parts: words that tell, signs, quotes, escapes, the beginnings of keys.
    #[test]
    fn k_12_the_work_is_linear_whatever_is_repeated(
        parts in proptest::collection::vec(proptest::sample::select(vec![
            "token", "password", "the key", "auth", "secret-", "cookie", "=", ":", " ", ": ", "\"", "'", "`", "\\", "\\\"", "<", ">", "+", "/", ".", ",",
            "&", ";", "%41", "%3D", "(", ")", "[", "{", "}", "\n", "1: ", "- ", "aB3x9", "MIIE", "eyJ", "sk-ant-", "https://a:b@", "--", "bearer ",
            "-----BEGIN ", "-----END", "\u{1b}[0m",
        ]), 1..5)
    ) {
        let unit = parts.concat();
        assert_linear(&format!("{unit:?}"), &|size| unit.repeat(size / unit.len()));
    }
}
