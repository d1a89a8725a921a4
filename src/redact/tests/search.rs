//! The reach of a search, and the ends of secrets (K-2).

use super::*;

#[test]
fn k_2_scan_looks_into_base64_of_any_size_and_into_long_texts() {
    use base64::Engine as _;
    let key = format!("sk-ant-api03-{}", filled(40));
    let words = "words and more words\n".repeat(6_000);
    let packed = base64::engine::general_purpose::STANDARD.encode(format!("{words}{key}\n{words}"));
    assert!(packed.len() > 300_000);
    let found = |text: &str| scan(text.as_bytes(), &RULES).into_iter().map(|finding| finding.rule).collect::<Vec<_>>();
    assert_eq!(found(&format!("a = \"{packed}\"")), ["anthropic-key"]);
    // In an answer it comes in pieces.
    for size in [997, 40_000] {
        let chunks: Vec<Vec<u8>> = format!("{{\"a\":\"{packed}\"}}").as_bytes().chunks(size).map(<[u8]>::to_vec).collect();
        assert_eq!(found(&tape("/", &[], b"", &chunks)), ["anthropic-key"], "{size}");
        let out = streamed(&mut redactor(), AnswerRedactor::body(), &chunks).concat();
        assert_eq!(found(&String::from_utf8(out).unwrap()), [""; 0]);
    }
    let long = format!("{}{key}\n{words}{key}", words.repeat(33));
    assert_eq!(scan(long.as_bytes(), &RULES).len(), 2);
}

#[test]
fn k_2_the_comments_before_an_event_are_one_text() {
    let (begin, line) = (["-----BEGIN EC ", "PRIVATE KEY-----"].concat(), filled(64));
    let stream = format!(": x {begin}\n: {line}\n: {line}\n: -----END EC\n\nevent: ping\ndata: {{}}\n\n");
    let out = String::from_utf8(streamed(&mut redactor(), AnswerRedactor::events(), &[&stream[..40], &stream[40..]]).concat()).unwrap();
    assert!(!out.contains(&line[..12]) && out.starts_with(&format!(": x {begin}\n: REDACTED000001")), "{out}");
    assert!(out.ends_with("\n: -----END EC\n\nevent: ping\ndata: {}\n\n"), "{out}");
}

#[test]
fn k_2_a_key_in_a_path_ends_with_its_part() {
    let path = redactor().path(&format!("/gw/ABSK{}/v1/messages?beta=true", filled(60)));
    assert!(path.starts_with("/gw/REDACTED000001xx") && path.ends_with("xx/v1/messages?beta=true"), "{path}");
}

#[test]
fn k_2_scan_says_what_is_too_deep_for_it() {
    let nested = |depth: usize| (0..depth).fold(String::from("a\nb"), |text, _| format!("{{\"a\":\"{}\"}}", escaped(&text)));
    let is_complete = |text: &str| super::scan::scan(text.as_bytes(), &RULES).is_complete;
    assert!(is_complete(&nested(7)) && !is_complete(&nested(12)));
    let key = format!("ghp_{}", filled(36));
    let packed = |pack: &dyn Fn(String) -> String, depth: usize| (0..depth).fold(format!("the key {key} is here"), |text, _| pack(text));
    use base64::Engine as _;
    let base64 = |text: String| base64::engine::general_purpose::STANDARD.encode(text);
    let both = |text: String| format!("{{\"a\":\"{}\"}}", base64(text));
    for depth in 1..14 {
        for text in [packed(&base64, depth), packed(&both, depth)] {
            let scanned = super::scan::scan(text.as_bytes(), &RULES);
            assert!(!scanned.findings.is_empty() || !scanned.is_complete, "{depth}: {text}");
            let mut redactor = redactor();
            redactor.body(text.as_bytes());
            assert_eq!(redactor.unsearched().is_empty(), scanned.is_complete, "{depth}");
        }
    }
}

#[test]
fn k_2_scan_puts_fragments_together_in_files_that_are_no_tapes() {
    let key = format!("ghp_{}", filled(36));
    let delta =
        |text: &str| format!("{{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}\"}}}}");
    let foreign = |text: &str| format!("{{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}");
    for event in [&delta as &dyn Fn(&str) -> String, &foreign] {
        let parts: Vec<String> =
            format!("the key {key} is").as_bytes().chunks(11).map(|part| event(std::str::from_utf8(part).unwrap())).collect();
        let stream: String = parts.iter().map(|data| format!("event: x\ndata: {data}\n\n")).collect();
        let har = format!("{{\"log\":{{\"entries\":[{{\"response\":{{\"content\":{{\"text\":\"{}\"}}}}}}]}}}}", escaped(&stream));
        let lines = parts.join("\n");
        for text in [
            stream.clone(),
            har,
            lines.clone(),
            format!("[{}]", parts.join(",")),
            format!("HTTP/1.1 200 OK\r\n\r\n{stream}"),
            format!("log:\n{lines}"),
        ] {
            assert!(!scan(text.as_bytes(), &RULES).is_empty(), "{text}");
            let out = redactor().body(text.as_bytes());
            assert!(scan(&out, &RULES).is_empty(), "{}", String::from_utf8_lossy(&out));
        }
    }
}

#[test]
fn k_2_a_long_value_is_replaced_to_its_end_whatever_stands_where_its_head_ends() {
    let secret = filled(700);
    for sign in [".", ",", ";", ")", "]", "}", ":", "!", "(", "=", "'"] {
        let text = |value: &str| {
            [format!("export API_TOKEN={value}\n"), format!("the password is {value}\n"), format!("x: Authorization: Bearer {value}\n")]
        };
        let value = |at: usize| format!("{}{sign}{}", &secret[..at], &secret[at..]);
        // A sign may end a value. Then it does so wherever it stands.
        let is_end = text(&value(40)).map(|text| redactor().text(&text).contains(&secret[680..]));
        for at in 240..270 {
            for (text, is_end) in text(&value(at)).iter().zip(is_end) {
                assert_eq!(redactor().text(text).contains(&secret[680..]), is_end, "{sign} at {at}: {text}");
            }
        }
    }
}

#[test]
fn k_2_a_value_of_any_length_is_replaced_to_its_end() {
    let secret = filled(70_000);
    for text in [
        format!("export API_TOKEN={secret}\n"),
        format!("api_token = \"{secret}\"\n"),
        format!("<password>{secret}</password>\n"),
        format!("x: Authorization: Bearer {secret}\n"),
        format!("the password is {secret}\n"),
    ] {
        let out = redactor().text(&text);
        assert!(!out.contains(&secret[69_980..]), "{} … {}", &out[..200.min(out.len())], &out[out.len().saturating_sub(60)..]);
        assert!(out.ends_with(&text[text.find(&secret).unwrap() + secret.len()..]), "{out:?}");
    }
}

#[test]
fn k_2_a_value_of_a_setting_goes_on_over_signs_that_are_inside_of_it() {
    for value in ["tT7kQ<m2Zp<L9xWv", "tT7k`Qm2Zp>L9xWv", "tT7k\"Qm2Zp'L9xWv"] {
        for (before, after) in [("DB_PASSWORD=", "\n"), ("export X_TOKEN=", "\n"), ("f password=", "")] {
            assert_eq!(redactor().text(&format!("{before}{value}{after}")), format!("{before}REDACTED000001xx{after}"));
        }
    }
    assert_eq!(redactor().text("<v>API_TOKEN=tT7kQm2ZpL9xWv<br>x</v>"), "<v>API_TOKEN=REDACTED000001<br>x</v>");
    assert_eq!(redactor().text("{\"a\":\"x API_TOKEN=tT7kQm2ZpL9xWv\",\"b\":1} y"), "{\"a\":\"x API_TOKEN=REDACTED000001\",\"b\":1} y");
}

#[test]
fn k_2_maps_and_objects_of_secrets_are_known_in_json() {
    let key = filled(32);
    for (before, after) in
        [("{\"secrets\":{\"stripe\":\"", "\"}}"), ("{\"value\":\"", "\",\"name\":\"DB_PASSWORD\"}"), ("{\"passwords\":[\"a\",\"", "\"]}")]
    {
        let body = format!("{before}{key}{after}");
        let out = redactor().body(body.as_bytes());
        assert_replaced(body.as_bytes(), &out, before.len()..before.len() + key.len(), before);
    }
}

#[test]
fn k_2_lines_of_a_key_keep_what_tools_and_headers_put_between_them() {
    let (one, last) = (filled(64), "Jf==");
    let header = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,3F786850E387550FDAB836ED7E6DC881\n\n";
    let key = |header: &str| {
        format!("{}\n{header}{one}\n{one}\n{last}\n-----END RSA PRIVATE KEY-----\n", ["-----BEGIN RSA ", "PRIVATE KEY-----"].concat())
    };
    let prefixes: [&dyn Fn(usize) -> String; 7] = [
        &|_| String::new(),
        &|number| format!("{number:6}\u{2192}"),
        &|number| format!("2026-01-01T10:00:0{number}.123Z "),
        &|number| format!("src/conf.txt:{number}:"),
        &|_| String::from("web_1  | "),
        &|number| format!("I0101 10:00:0{number}.000000       1 main.go:42] "),
        &|_| String::from("\u{1b}[1;31m\u{1b}[K"),
    ];
    for prefix in prefixes {
        for header in ["", header, "Version: GnuPG v2\n\n"] {
            let text: String = key(header).lines().enumerate().map(|(number, line)| format!("{}{line}\n", prefix(number))).collect();
            let out = redactor().text(&text);
            let placeholder = |line: &str| line.replace(&one, &"x".repeat(64)).replace(last, "xxxx");
            let expected = placeholder(&text).replacen(&"x".repeat(64), &format!("REDACTED000001{}", "x".repeat(50)), 1);
            assert_eq!(out, expected);
            assert_eq!(redactor().text(&out), out);
            assert!(scan(out.as_bytes(), &RULES).is_empty());
        }
    }
}

#[test]
fn k_2_an_entity_between_two_pairs_ends_the_first() {
    let credential = format!("{}%2F20261122%2Fus-east-1%2Fs3%2Faws4_request", filled(20).to_uppercase());
    let text = format!(
        "<a href=\"https://h.example/x?X-Amz-Credential={credential}&amp;X-Amz-Date=20261122T100000Z&amp;api_token={}&amp;page=2\">",
        filled(40)
    );
    let out = redactor().text(&text);
    assert!(out.contains("&amp;X-Amz-Date=20261122T100000Z&amp;api_token=") && out.ends_with("&amp;page=2\">"), "{out}");
    assert!(!out.contains(&filled(40)), "{out}");
    assert_eq!(redactor().text(&out), out);
}

#[test]
fn k_2_a_search_finds_nothing_in_a_body_that_was_redacted_however_it_is_read() {
    let broken = format!("event: ping\ndata: {{}}\n\n      set-cookie:\n      - session={}; Path=/\n", filled(24));
    let long = format!("{}api_token: {}\n", "a line of prose that goes on\n".repeat(3_000), filled(40));
    // The head of a value that is looked at ends within the placeholder of the next.
    let chain = format!("{}{}\n", "token=".repeat(3_000), filled(40));
    for body in [broken, long, chain] {
        let out = redactor().body(body.as_bytes());
        assert_eq!(super::scan::scan(&out, &RULES).findings, [], "{}", String::from_utf8_lossy(&out[out.len() - 200.min(out.len())..]));
        assert_eq!(redactor().body(&out), out);
    }
}

#[test]
fn k_2_fragments_of_one_name_are_numbered_in_order() {
    let event = |count: usize| format!("[{}]", vec![r#"{"input":[{"content":"one"}]}"#; count].join(","));
    let fragments = super::super::blocks::foreign_fragments(event(300).as_bytes());
    let numbers: Vec<usize> = fragments
        .iter()
        .map(|(block, _)| if let super::super::blocks::BlockId::Keys(_, _, number) = block { *number } else { 0 })
        .collect();
    assert_eq!(numbers, (0..300).collect::<Vec<_>>());
}

#[test]
fn k_2_a_quote_behind_a_placeholder_is_no_part_of_a_value() {
    let text = format!("]}},\n token={}\"toolCallStates\":[{{\"id\":\"t1\"}}]\n", "token=".repeat(12));
    let out = redactor().text(&text);
    assert!(out.contains("x\"toolCallStates\":[") || out.contains("=\"toolCallStates\":["), "{out}");
    assert_eq!(streamed(&mut redactor(), AnswerRedactor::body(), &[out.clone().into_bytes()]).concat(), out.as_bytes());
}

/// Equal strings at two places are two places: what was read at one says nothing of the other.
#[test]
fn k_2_a_secret_that_stands_twice_is_found_twice() {
    use base64::Engine as _;
    // No text but a view of it has the name, and the view is nearly as long as the text.
    let words = "words and more words ".repeat(12);
    let inner = [
        format!("{words}\\npass\\u0077ord=hunter2-Zk7Qw9Xb\\nlast"),
        format!("{words} pass&#119;ord=hunter2-Zk7Qw9Xb&#10;"),
        base64::engine::general_purpose::STANDARD.encode(format!("{words} pass&#119;ord=hunter2-Zk7Qw9Xb&#10;")),
    ];
    for text in inner {
        for body in [format!("{{\"a\":\"{text}\",\"b\":\"{text}\"}}"), format!("x {{\"a\":\"{text}\"}}\ny {{\"b\":\"{text}\"}}\n")] {
            assert_eq!(scan(body.as_bytes(), &RULES).len(), 2, "{body}");
        }
    }
}
