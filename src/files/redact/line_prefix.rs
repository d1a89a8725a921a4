//! The prefixes that tools put before the lines of a text: numbers, marks, names of files, times (K-2).

/// How long a time before a line may be.
const TIME_BYTES_MAX: usize = 40;

/// The shortest has a day and an hour.
const TIME_BYTES_MIN: usize = 16;

/// How long what a tool put before a line is.
pub(super) fn line_prefix(line: &[u8]) -> usize {
    let blanks = line.iter().take_while(|byte| **byte == b' ').count();
    let digits = line[blanks..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let behind = &line[blanks + digits..];
    let marks: [&[u8]; 7] = ["→".as_bytes(), b"\t", b": ", b":", b" | ", b"- ", b"-"];
    if let Some(mark) = marks.iter().find(|mark| digits > 0 && behind.starts_with(mark)) {
        return blanks + digits + mark.len();
    }
    let marks: [&[u8]; 9] = [b"> ", b"- ", b" | ", b"| ", b"# ", b"// ", b"* ", b"+", b"-"];
    if let Some(mark) = marks.iter().find(|mark| line[blanks..].starts_with(mark)) {
        return blanks + mark.len();
    }
    // `2026-01-01T00:00:02.000Z `
    let word = line.iter().take(TIME_BYTES_MAX).take_while(|byte| byte.is_ascii_digit() || b"-:.TZ+".contains(byte)).count();
    if word >= TIME_BYTES_MIN && line.get(word) == Some(&b' ') && line[..word].contains(&b'T') {
        return word + 1;
    }
    // `file:2:`, and `file-2-` of the lines around it
    let name = line.iter().take(256).take_while(|byte| byte.is_ascii_alphanumeric() || b"_./-".contains(byte)).count();
    let number = line[name..].iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
    let is_place = name > 0 && number > 0 && line.get(name) == Some(&b':') && line.get(name + 1 + number) == Some(&b':');
    if is_place {
        return name + number + 2;
    }
    let number_from = |at: usize| line[at + 1..name].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut signs = memchr::memchr_iter(b'-', &line[..name]).filter(|at| *at > 0);
    let place = signs.find(|at| number_from(*at) > 0 && line.get(at + 1 + number_from(*at)) == Some(&b'-'));
    place.map_or(0, |at| at + number_from(at) + 2)
}
