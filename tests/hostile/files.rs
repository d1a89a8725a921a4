//! Files that are made to hurt, from the standard library alone: the tests and `cargo xtask hostile` give them to the readers.

use std::fmt::Write as _;

/// Brotli of the letter `a`: 14 bytes for each 16 MiB, and a window of 16 MiB.
pub(crate) fn brotli_of_letters(pieces: usize) -> Vec<u8> {
    const FIRST: &[u8] = b"\xcf\xff\xff\x7f\x00\x24\xc2\xe2\xb1\x40\x72\xef\xff\x0d";
    const FURTHER: &[u8] = b"\xfc\xff\xff\x07\x40\x02\x20\x0e\x0b\x40\xf7\xfe\xdf\x00";
    [FIRST, &FURTHER.repeat(pieces - 1), b"\x03"].concat()
}

/// Requests of which each repeats the one before twice.
pub(crate) fn doubling_tape(first: &str, lines: u32) -> String {
    let hash = "0".repeat(64);
    let request = |id: u32, body: &str| {
        format!("{{\"request\":{id},\"method\":\"POST\",\"path\":\"/v1/messages\",\"body\":[{body}],\"body_hash\":\"{hash}\"}}\n")
    };
    let mut tape = format!("{{\"reenact_tape\":1}}\n{}", request(1, &format!("\"{first}\"")));
    for id in 2..=lines {
        let run = format!("{{\"of\":{},\"first\":0,\"count\":{}}}", id - 1, 1_u64 << (id - 2));
        tape.push_str(&request(id, &format!("{run},{run}")));
    }
    tape
}

/// Values of which each repeats the one before nine times.
pub(crate) fn alias_bomb(text: &str, levels: usize) -> String {
    let mut yaml = format!("interactions:\n- a0: &a0 \"{text}\"\n");
    for level in 1..=levels {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        let _ = writeln!(yaml, "  a{level}: &a{level} [{aliases}]");
    }
    yaml
}

/// An answer with these encodings.
pub(crate) fn har(encodings: &str, body: &[u8]) -> String {
    let body = base64(body);
    format!(
        r#"{{"log":{{"version":"1.2","entries":[{{"request":{{"method":"POST","url":"https://api.anthropic.com/v1/messages","headers":[],
        "postData":{{"text":"{{}}"}}}},"response":{{"status":200,"headers":[{{"name":"content-encoding","value":"{encodings}"}}],
        "content":{{"text":"{body}","encoding":"base64"}}}}}}]}}}}"#
    )
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |group: &[u8]| {
        let bits = (0..3).fold(0_usize, |bits, at| bits << 8 | usize::from(group.get(at).copied().unwrap_or(0)));
        let letters = [18, 12, 6, 0].map(|shift| char::from(LETTERS[bits >> shift & 63]));
        letters.into_iter().take(group.len() + 1).chain("=".repeat(3 - group.len()).chars().collect::<Vec<_>>()).collect::<String>()
    };
    bytes.chunks(3).map(group).collect()
}

/// A gzip file of text and then the letter `a` so many times 258: 13 bits for each of these.
pub(crate) fn gzip_of_letters(text: &[u8], runs: usize) -> Vec<u8> {
    let mut file = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff".to_vec();
    let (mut bits, mut count) = (0_u64, 0);
    let mut put = |file: &mut Vec<u8>, value: u64, length: u32| {
        bits |= value << count;
        count += length;
        while count >= 8 {
            file.push((bits & 255) as u8);
            bits >>= 8;
            count -= 8;
        }
    };
    // Codes of the fixed table, which begin with their highest bit.
    let code = |value: u64, length: u32| value.reverse_bits() >> (64 - length);
    put(&mut file, 1, 1);
    put(&mut file, 1, 2);
    for byte in text.iter().chain(b"a") {
        put(&mut file, code(0x30 + u64::from(*byte), 8), 8);
    }
    for _ in 0..runs {
        put(&mut file, code(0xc5, 8), 8);
        put(&mut file, 0, 5);
    }
    put(&mut file, 0, 7);
    put(&mut file, 0, 8);
    file
}
