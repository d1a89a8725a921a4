//! The base URL of an API. It holds no password, so it can be printed.

use core::fmt;

use hyper::Uri;

use reenact_wire::prelude::*;

/// A base URL: scheme, host, port, and a path that stands before each request's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(Uri);

/// Why a text is not a base URL. What may be a password is not repeated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BaseUrlError {
    /// There is an `@` in it.
    #[error(
        "the URL holds a user name or a password (there is an `@` in it), and every program of this machine can read a command line: \
         leave it out; the client sends its key in a header"
    )]
    Password,
    /// There is a `?` in it.
    #[error("the URL holds a `?`, and a base URL ends with a path: leave out what follows the path; the client sends its key in a header")]
    Query,
    /// It is another kind of URL, or none.
    #[error("`{url}` is not a base URL: write it as https://HOST or http://HOST:PORT, for example http://127.0.0.1:8080")]
    Unusable {
        /// The given URL.
        url: String,
    },
}

impl BaseUrl {
    /// Reads one.
    ///
    /// # Errors
    /// When it is not a URL of `http` or `https` with a host, or when it holds more than a path behind it.
    pub fn read(text: &str) -> Result<Self, BaseUrlError> {
        let unusable = || BaseUrlError::Unusable { url: text.into() };
        // Before anything is parsed: a password may hold any character, so that the parts of the URL are not what they seem.
        if text.contains('@') {
            return Err(BaseUrlError::Password);
        }
        if text.contains(['?', '#']) {
            return Err(BaseUrlError::Query);
        }
        let uri: Uri = text.parse().map_err(|_| unusable())?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none_or(str::is_empty) {
            return Err(unusable());
        }
        Ok(Self(uri))
    }

    /// Whether connections are encrypted.
    pub fn is_secure(&self) -> bool {
        self.0.scheme_str() == Some("https")
    }

    /// The host, without the brackets of IPv6 addresses.
    pub fn host(&self) -> &str {
        self.0.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']')
    }

    /// The port that is written, or the scheme's.
    pub fn port(&self) -> u16 {
        self.0.port_u16().unwrap_or(if self.is_secure() { 443 } else { 80 })
    }

    /// Host and port as they are written.
    pub fn authority(&self) -> &str {
        self.0.authority().map_or("", |authority| authority.as_str())
    }

    /// The path before each request's path; without a slash at its end.
    pub fn prefix(&self) -> &str {
        self.0.path().trim_end_matches('/')
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_2_a_password_in_a_url_is_refused_and_not_repeated() {
        let secret = ["hunter", "2xyz"].concat();
        for url in [
            format!("https://user:{secret}@api.example"),
            format!("https://{secret}@api.example/x"),
            format!("https://user:{secret}/p@api.example"),
            format!("https://user:{secret}#p@api.example"),
            format!("https://user: {secret}@api.example"),
            format!("user:{secret}@api.example"),
            format!("https://api.example/?key={secret}"),
            format!("https://api.example/#{secret}"),
        ] {
            let error = BaseUrl::read(&url).unwrap_err();
            assert!(!format!("{error} {error:?}").contains(&secret), "{error}");
        }
    }

    #[test]
    fn k_1_a_base_url_has_a_host_a_port_and_a_prefix() {
        let read = |text: &str| {
            let url = BaseUrl::read(text).unwrap();
            (url.host().to_owned(), url.port(), url.prefix().to_owned(), url.is_secure())
        };
        assert_eq!(read("https://api.example"), ("api.example".into(), 443, String::new(), true));
        assert_eq!(read("http://[::1]:8080/a/b/"), ("::1".into(), 8080, "/a/b".into(), false));
        for wrong in ["", "api.example", "ftp://api.example", "https://", "/x", "http:///x"] {
            assert!(matches!(BaseUrl::read(wrong), Err(BaseUrlError::Unusable { .. })), "{wrong}");
        }
    }
}
