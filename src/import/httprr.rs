//! Go's httprr: requests and responses as they travelled, each with its size (K-5).
//!
//! ```text
//! httprr trace v1
//! <bytes of the request> <bytes of the response>
//! POST https://api.anthropic.com/v1/messages HTTP/1.1\r\n…
//! ```

use std::io::{BufRead, Read};
use std::ops::ControlFlow;

use super::collect::FoundExchange;

/// A size beyond this is none.
const MESSAGE_BYTES_MAX: u64 = 64 << 20;

/// Gives each exchange, or what is wrong with it, to `sink`. An error is at the line of this number.
pub(super) fn read(
    mut reader: Box<dyn BufRead + '_>,
    sink: &mut dyn FnMut(String, Result<FoundExchange, String>) -> ControlFlow<()>,
) -> Result<(), String> {
    next_line(&mut reader)?;
    for number in 1.. {
        let line = next_line(&mut reader)?;
        if line.trim().is_empty() {
            break;
        }
        match messages(&mut reader, &line) {
            Ok((request, response)) => {
                if sink(format!("exchange {number}"), exchange(&request, response)).is_break() {
                    break;
                }
            }
            Err(problem) if number == 1 => return Err(format!("exchange 1: {problem}")),
            // What was read before is whole; nothing tells where the next one begins.
            Err(problem) => {
                let _: ControlFlow<()> = sink(format!("exchange {number}"), Err(format!("{problem}; nothing after it was read")));
                break;
            }
        }
    }
    Ok(())
}

/// Request and response of these sizes. The line is not named: where a size is wrong it is a part of a message, which may hold secrets.
fn messages(reader: &mut dyn BufRead, sizes: &str) -> Result<(Vec<u8>, Vec<u8>), String> {
    let sizes: Vec<u64> = sizes.split_whitespace().map_while(|size| size.parse().ok()).collect();
    let &[request, response] = sizes.as_slice() else {
        return Err(String::from("before it there should be a line with two sizes, as in `812 1024`"));
    };
    let mut next = |size| message(reader, size).ok_or_else(|| String::from("the file ends in the middle of it"));
    Ok((next(request)?, next(response)?))
}

fn next_line(reader: &mut dyn BufRead) -> Result<String, String> {
    let mut line = Vec::new();
    reader.take(4096).read_until(b'\n', &mut line).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&line).into_owned())
}

fn message(reader: &mut dyn BufRead, size: u64) -> Option<Vec<u8>> {
    let mut message = Vec::new();
    reader.take(size.min(MESSAGE_BYTES_MAX)).read_to_end(&mut message).ok()?;
    (message.len() as u64 == size).then_some(message)
}

fn exchange(request: &[u8], response: Vec<u8>) -> Result<FoundExchange, String> {
    let (asks, request_body) = parts(request)?;
    let (answers, response_body) = parts(&response)?;
    let mut line = asks.first.split(' ');
    let (method, target) = (line.next().unwrap_or_default(), line.next().unwrap_or_default());
    let host = asks.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host")).map(|(_, host)| host);
    let url = match host {
        Some(host) if target.starts_with('/') => format!("https://{host}{target}"),
        _ => target.to_owned(),
    };
    let status = answers.first.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok(FoundExchange {
        method: method.to_owned(),
        url,
        request_headers: asks.headers,
        request_body: request_body.to_vec(),
        status: status.ok_or("the answer has no HTTP status")?,
        response_headers: answers.headers,
        response_body: response_body.to_vec(),
        ..FoundExchange::default()
    })
}

/// The head before a body.
struct HttprrHead {
    first: String,
    headers: Vec<(String, String)>,
}

fn parts(message: &[u8]) -> Result<(HttprrHead, &[u8]), String> {
    let find = |end: &[u8]| memchr::memmem::find(message, end).map(|at| (at, at + end.len()));
    // Git may have changed the line ends; a body may hold a blank line of either kind.
    let end = [find(b"\r\n\r\n"), find(b"\n\n")].into_iter().flatten().min().ok_or("a message without a blank line after its headers")?;
    let text = std::str::from_utf8(&message[..end.0]).map_err(|_| "headers that are not text")?;
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default().trim().to_owned();
    let header = |line: &str| line.split_once(':').map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
    Ok((HttprrHead { first, headers: lines.filter_map(header).collect() }, &message[end.1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Result<Vec<Result<FoundExchange, String>>, String> {
        let mut all = Vec::new();
        read(Box::new(text.as_bytes()), &mut |_, found| {
            all.push(found);
            ControlFlow::Continue(())
        })?;
        Ok(all)
    }

    #[test]
    fn k_5_raw_messages_are_cut_by_their_sizes() {
        let request = "POST /v1/messages HTTP/1.1\r\nHost: x.example\r\nA: b: c\r\n\r\n{\"a\":\"\n\n\"}";
        let response = "HTTP/2.0 200 OK\nC: d\n\nevent: x\r\n\r\n";
        let text = format!("httprr trace v1\n{} {}\n{request}{response}", request.len(), response.len());
        let [Ok(found)] = &all(&text).unwrap()[..] else { panic!() };
        assert_eq!((&*found.method, &*found.url, found.status), ("POST", "https://x.example/v1/messages", 200));
        assert_eq!(found.request_headers[1], ("A".into(), "b: c".into()));
        assert_eq!((&*found.request_body, &*found.response_body), (&b"{\"a\":\"\n\n\"}"[..], &b"event: x\r\n\r\n"[..]));
        for cut in [text.len() - 1, text.len() - response.len() - 3] {
            assert_eq!(all(&text[..cut]).unwrap_err(), "exchange 1: the file ends in the middle of it");
        }
        let again = text.split_once('\n').unwrap().1;
        for (rest, problem) in [(&again[..again.len() - 9], "in the middle of it"), ("key sk-ant-api03-x\n", "two sizes, as in `812 1024`")]
        {
            let found = all(&format!("{text}{rest}")).unwrap();
            let problem_told = found[1].as_ref().unwrap_err();
            assert!(found[0].is_ok() && problem_told.contains(problem) && !problem_told.contains("sk-ant"), "{problem_told}");
        }
        assert!(all("httprr trace v1\n1 two\n").unwrap_err().contains("two sizes"));
        assert!(all("httprr trace v1\n1 1\nab").unwrap()[0].is_err());
        assert_eq!(all("httprr trace v1\n").unwrap().len(), 0);
    }
}
