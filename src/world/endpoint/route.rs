//! The purpose of a request, by its method and path (K-6).
//!
//! Anything may stand before `/v1`: a client may have a path of its own. Some clients add `/v1` to their base URL and some want it there, so that a
//! wrong base URL shows as a path with `/v1` twice or without it.

use reenact_wire::prelude::*;

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ApiRoute<'a> {
    /// A message.
    Message,
    /// The tokens of a request.
    CountTokens,
    /// The list of models.
    Models,
    /// One model, by its id.
    Model(&'a str),
    /// Whether anybody is there.
    Alive,
    /// `/v1` stands twice; with what stands before it.
    DoubledVersion(&'a str),
    /// `/v1` is missing; with what stands before the rest.
    MissingVersion(&'a str),
    /// Anything else.
    Unknown,
}

/// The paths of the API below `/v1`, each with its method. An id may follow `/models`.
const PATHS: [(&str, &str, ApiRoute<'static>); 3] = [
    ("POST", "/messages", ApiRoute::Message),
    ("POST", "/messages/count_tokens", ApiRoute::CountTokens),
    ("GET", "/models", ApiRoute::Models),
];

impl<'a> ApiRoute<'a> {
    /// Reads method and path; the path may have a query.
    pub(super) fn read(method: &str, path: &'a str) -> Self {
        let path = path.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        if path.is_empty() {
            return if matches!(method, "GET" | "HEAD") { Self::Alive } else { Self::Unknown };
        }
        if let Some((before, id)) = path.rsplit_once("/models/")
            && method == "GET"
        {
            return Self::Model(id).below(before);
        }
        let found = PATHS.iter().find_map(|(of, end, route)| Some((path.strip_suffix(end)?, *route)).filter(|_| *of == method));
        found.map_or(Self::Unknown, |(before, route)| route.below(before))
    }

    /// The route where `/v1` ends what stands before it, once.
    fn below(self, before: &'a str) -> Self {
        match before.strip_suffix("/v1") {
            Some(prefix) => prefix.strip_suffix("/v1").map_or(self, Self::DoubledVersion),
            None => Self::MissingVersion(before),
        }
    }
}

/// Advice about a path that is none of the API's; `None` where none helps.
pub(super) fn advice(route: ApiRoute<'_>, base: &str) -> Option<String> {
    match route {
        ApiRoute::DoubledVersion(prefix) => Some(format!(
            "the path has `/v1` twice, because this client adds `/v1` to its base URL: set its base URL to {base}{prefix} (`serve -- COMMAND` and \
             `drive` do so)"
        )),
        ApiRoute::MissingVersion(prefix) => Some(format!(
            "the path lacks `/v1`, because this client adds no `/v1` to its base URL: set its base URL to {base}{prefix}/v1, for example with \
             `--base-url-var ANTHROPIC_BASE_URL=/v1`"
        )),
        ApiRoute::Unknown => Some(String::from(
            "there is no such endpoint here: POST /v1/messages, POST /v1/messages/count_tokens, GET /v1/models and GET /v1/models/ID are answered",
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_6_the_table_of_paths() {
        let table = [
            ("POST", "/v1/messages", ApiRoute::Message),
            ("POST", "/v1/messages?beta=true", ApiRoute::Message),
            ("POST", "/a/b/v1/messages/", ApiRoute::Message),
            ("POST", "/v1/messages/count_tokens", ApiRoute::CountTokens),
            ("GET", "/v1/models", ApiRoute::Models),
            ("GET", "/v1/models/claude-x", ApiRoute::Model("claude-x")),
            ("GET", "/", ApiRoute::Alive),
            ("HEAD", "", ApiRoute::Alive),
            ("POST", "/v1/v1/messages", ApiRoute::DoubledVersion("")),
            ("POST", "/a/v1/v1/messages/count_tokens", ApiRoute::DoubledVersion("/a")),
            ("GET", "/v1/v1/models/x", ApiRoute::DoubledVersion("")),
            ("POST", "/messages", ApiRoute::MissingVersion("")),
            ("POST", "/a/messages", ApiRoute::MissingVersion("/a")),
            ("GET", "/models", ApiRoute::MissingVersion("")),
            ("GET", "/v1/messages", ApiRoute::Unknown),
            ("POST", "/v1/models/x", ApiRoute::Unknown),
            ("POST", "/v1/chat/completions", ApiRoute::Unknown),
            ("POST", "/", ApiRoute::Unknown),
        ];
        for (method, path, route) in table {
            assert_eq!(ApiRoute::read(method, path), route, "{method} {path}");
        }
    }

    #[test]
    fn k_6_a_wrong_base_url_is_answered_with_the_right_one() {
        let of = |path| advice(ApiRoute::read("POST", path), "http://127.0.0.1:7").unwrap_or_default();
        assert!(of("/v1/v1/messages").contains("set its base URL to http://127.0.0.1:7 ("), "{}", of("/v1/v1/messages"));
        assert!(of("/a/messages").contains("set its base URL to http://127.0.0.1:7/a/v1,"), "{}", of("/a/messages"));
        assert!(of("/v1/chat/completions").contains("no such endpoint"));
        assert_eq!(of("/v1/messages"), "");
    }
}
