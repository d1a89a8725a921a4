//! Names that tell and names that do not, and values that are secrets.

use super::*;

#[test]
fn k_2_names_are_known_by_their_parts() {
    let telling = |name: &str| telling(name.as_bytes());
    let strong = [
        "x-litellm-api-key",
        "Ocp-Apim-Subscription-Key",
        "cf-access-client-secret",
        "apikey",
        "x-vault-token",
        "private-token",
        "x-amz-security-token",
        "APIKey",
        "XApiKey",
        "client-key-data",
        "_authToken",
        "aws_session_token",
        "PGPASSWORD",
        "db.password",
        "fallback_credit_token",
        "accessToken",
        "AWS_SECRET_ACCESS_KEY",
        "encryption_key",
        "clientSecret",
        "x-functions-key",
    ];
    for name in strong {
        assert!(telling(name) >= Some(TellingName::Strong), "{name}: {:?}", telling(name));
    }
    assert_eq!(["token", "auth", "Cookie"].map(telling), [Some(TellingName::Medium); 3]);
    assert_eq!(["key", "session_id"].map(telling), [Some(TellingName::Weak); 2]);
    let harmless = [
        "max_tokens",
        "input_tokens",
        "cache_control",
        "x-ratelimit-remaining-tokens",
        "idempotency-key",
        "tokenizer",
        "token_type",
        "next_page_token",
        "eos_token",
        "primary_key",
        "public_key",
        "author",
        "monkey",
        "keyboard",
        "signature",
        "encrypted_content",
        "password_length",
        "token_count",
        "prompt_cache_key",
        "tool_use_id",
        "model",
        "cost_per_token",
        "sec-websocket-key",
    ];
    for name in harmless {
        assert_eq!(telling(name), None, "{name}");
    }
}

#[test]
fn k_2_a_value_must_be_one() {
    let quoted = |name, value: &str| is_secret_value(name, value.as_bytes(), ValuePlace::Quoted);
    assert!(quoted(TellingName::Medium, "Zk7Qw9Xb2Lp4") && quoted(TellingName::Password, "two words"));
    for value in ["ident", "get_user_v2", "next", "${TOKEN}", "<your-token>", "a b c d e f 1 2"] {
        assert!(!quoted(TellingName::Medium, value), "{value}");
    }
    assert!(!is_drawn(b"123e4567-e89b-12d3-a456-426614174000") && !is_drawn(b"3f786850e387550fdab836ed7e6dc881de23001b"));
}
