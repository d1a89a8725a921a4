//! The table of planted secrets: what stands before one, the secret, what stands behind it.

use std::sync::LazyLock;

/// A secret in its surroundings.
pub(super) struct PlantedSecret {
    pub(super) rule: String,
    pub(super) before: String,
    pub(super) secret: String,
    pub(super) after: String,
}

/// Letters and digits that look drawn.
pub(super) fn filled(length: usize) -> String {
    "Zk7Qw9Xb2Lp4Rt6Vn8Mc3Hd5Jf1Gs0".chars().cycle().take(length).collect()
}

fn capitals(length: usize) -> String {
    filled(length).to_ascii_uppercase()
}

fn hex(length: usize) -> String {
    "3f786850e387550fdab836ed7e6dc881de23001b".chars().cycle().take(length).collect()
}

const UUID: &str = "7d9f2c1a-3b4e-4f5a-9c8d-0e1f2a3b4c5d";

pub(super) static PLANTED: LazyLock<Vec<PlantedSecret>> = LazyLock::new(|| {
    let mut planted = of_providers();
    planted.extend(of_services());
    planted.extend(in_context());
    planted.extend(of_accounts());
    planted
});

fn one(rule: &str, before: &str, secret: &str, after: &str) -> PlantedSecret {
    PlantedSecret { rule: rule.into(), before: before.into(), secret: secret.into(), after: after.into() }
}

fn of_providers() -> Vec<PlantedSecret> {
    let jwt = format!("eyJ{}.eyJ{}.{}", filled(30), filled(50), filled(43));
    let encrypted = format!("eyJ{}.{}..{}.{}", filled(30), filled(20), filled(40), filled(22));
    let pem = format!("{}\n{}", filled(64), filled(40));
    vec![
        one("anthropic api", "use ", &format!("sk-ant-api03-{}AA", filled(93)), " now"),
        one("anthropic admin", "(", &format!("sk-ant-admin01-{}AA", filled(93)), ")"),
        one("anthropic oauth", "token ", &format!("sk-ant-oat01-{}", filled(80)), "."),
        one("anthropic refresh", "", &format!("sk-ant-ort01-{}", filled(80)), ""),
        one("anthropic session", "sid ", &format!("sk-ant-sid01-{}-x_y", filled(60)), ", ok"),
        one("openai project", "key ", &format!("sk-proj-{}", filled(48)), " end"),
        one("openai", "key: ", &format!("sk-{}", filled(48)), "\nend"),
        one("jwt", "assertion ", &jwt, " sent"),
        one("jwe", "assertion ", &encrypted, " sent"),
        one("aws id", "id ", &format!("AKIA{}", capitals(16)), " end"),
        one("aws temporary id", "id ", &format!("ASIA{}", capitals(16)), ", end"),
        one(
            "aws credential",
            "AWS4-HMAC-SHA256 Credential=",
            &format!("AKIA{}/20260101/eu-west-1/bedrock/aws4_request", capitals(16)),
            ", SignedHeaders=host",
        ),
        one("aws signature", "SignedHeaders=host, Signature=", &hex(64), ""),
        one("aws secret", "aws_secret_access_key = ", &format!("{}/{}+", filled(20), filled(18)), "\nregion = x"),
        one("aws secret member", "{\"aws_secret_access_key\": \"", &format!("{}/{}+", filled(20), filled(18)), "\"}"),
        one("bedrock", "key ", &format!("ABSK{}==", filled(60)), " end"),
        one("bedrock short-term", "key ", &format!("bedrock-api-key-{}", filled(60)), " end"),
        one("google api", "key ", &format!("AIza{}", filled(35)), " end"),
        one("google oauth", "token ", &format!("ya29.{}", filled(60)), " end"),
        one("google client", "secret ", &format!("GOCSPX-{}", filled(28)), " end"),
        one("private key", "-----BEGIN RSA PRIVATE KEY-----\n", &pem, "\n-----END RSA PRIVATE KEY-----"),
        one(
            "private key on one line",
            "\"private_key\": \"-----BEGIN PRIVATE KEY-----\\n",
            &pem.replace('\n', "\\n"),
            "\\n-----END PRIVATE KEY-----\\n\"",
        ),
    ]
}

fn of_services() -> Vec<PlantedSecret> {
    vec![
        one("github", "with ", &format!("ghp_{}", filled(36)), " as"),
        one("github oauth", "with ", &format!("gho_{}", filled(36)), " as"),
        one("github fine", "with ", &format!("github_pat_{}_{}", filled(22), filled(59)), " as"),
        one("gitlab", "with ", &format!("glpat-{}", filled(20)), " as"),
        one("slack bot", "with ", &format!("xoxb-{}-{}", "123456789012", filled(24)), " as"),
        one("slack app", "with ", &format!("xapp-1-{}", filled(40)), " as"),
        one("slack hook", "https://hooks.slack.com/services/", &format!("T{}/B{}/{}", capitals(8), capitals(8), filled(24)), " posted"),
        one("stripe", "with ", &format!("sk_live_{}", filled(24)), " as"),
        one("stripe restricted", "with ", &format!("rk_test_{}", filled(24)), " as"),
        one("stripe hook", "with ", &format!("whsec_{}", filled(32)), " as"),
        one("npm", "with ", &format!("npm_{}", filled(36)), " as"),
        one("pypi", "with ", &format!("pypi-{}", filled(80)), " as"),
        one("hugging face", "with ", &format!("hf_{}", filled(34)), " as"),
        one("sendgrid", "with ", &format!("SG.{}.{}", filled(22), filled(43)), " as"),
        one("digitalocean", "with ", &format!("dop_v1_{}", hex(64)), " as"),
        one("telegram", "bot ", &format!("123456789:AA{}", filled(33)), " runs"),
        one("azure", "DefaultEndpointsProtocol=https;AccountKey=", &format!("{}==", filled(86)), ";Suffix=x"),
    ]
}

fn in_context() -> Vec<PlantedSecret> {
    let opaque = filled(24);
    let opaque = opaque.as_str();
    vec![
        one("bearer", "Authorization: Bearer ", opaque, ""),
        one("basic", "proxy says Basic ", &format!("{}==", filled(22)), " no"),
        one("header in a command", "curl -H 'x-api-key: ", opaque, "' https://x"),
        one("header in code", "headers={\"x-api-key\": \"", opaque, "\"}"),
        one("header of azure", "api-key: ", opaque, "\n"),
        one("authorization member", "{\"Authorization\": \"", &filled(30), "\"}"),
        one("cookie", "Cookie: ", &format!("session={}; theme=dark", filled(20)), "\n"),
        one("url with password", "postgres://", &format!("admin:{}", filled(12)), "@db:5432/x"),
        one("url with token", "git clone https://", opaque, "@git.example/x.git"),
        one("parameter", "https://x.example/a?api_key=", opaque, "&page=2"),
        one("second parameter", "https://x.example/a?page=2&access_token=", opaque, " is"),
        one("signed url", "https://x.example/a?X-Amz-Date=1&X-Amz-Signature=", &hex(64), "&y=1"),
        one("session of a signed url", "https://x.example/a?X-Amz-Security-Token=", &filled(90), "&y=1"),
        one("shared access", "https://x.example/a?sv=1&sig=", &filled(40), ""),
        one("mcp server", "{\"url\":\"https://x\",\"authorization_token\":\"", opaque, "\"}"),
        one("access token", "{\"access_token\": \"", opaque, "\", \"expires_in\": 3600}"),
        one("refresh token", "{\"refresh_token\":\"", opaque, "\"}"),
        one("client secret", "{'client_secret': '", opaque, "'}"),
        one("api key", "{\"apiKey\": \"", opaque, "\"}"),
        one("password", "{\"password\": \"", "correct horse battery staple", "\"}"),
        one("short password", "{\"password\":\"", "hunter2", "\"}"),
        one("credit token", "{\"fallback_credit_token\":\"", opaque, "\"}"),
        one("variable", "export ANTHROPIC_API_KEY=", opaque, "\nexport X=1"),
        one("quoted variable", "DB_PASSWORD=\"", "hunterhunter", "\""),
        one("variable of a file", "GITHUB_TOKEN: ", opaque, "\n"),
        one("assignment", "password = ", "hunter2hunter2", "\n"),
    ]
}

fn of_accounts() -> Vec<PlantedSecret> {
    vec![
        one("organization", "This request would exceed your organization's rate limit (org: ", UUID, ")"),
        one("organization id", "organization id ", UUID, " has no credits"),
        one("account member", "{\"account_uuid\":\"", UUID, "\"}"),
        one("organization member", "{\"organization_id\": \"", &format!("o{}", filled(20)), "\"}"),
        one("user", "as ", &format!("user_{}_account_{UUID}_session_{UUID}", hex(64)), " in"),
        one("account", "in ", &format!("acct_{}", filled(20)), "."),
        one("workspace", "in ", &format!("wrkspc_{}", filled(24)), "."),
    ]
}
