//! The kinds of secrets that the generator plants, as their publishers describe them, and places where only a name tells.

use super::{ALL, Draw, HEX};

const CAPITALS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const SMALL: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const DIGITS: &str = "1234567890";
const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SIGNS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%^&*()-_=+[]{};:,.<>?/|~";

/// Forms: `{a20}` is twenty letters and digits, `c` capitals, `l` small letters, `h` hexadecimal, `d` decimal. A bar keeps this file free of what
/// looks like a secret.
pub(super) const FORMS: &[&str] = &[
    "sk-ant-api03-{a95}",
    "sk-ant-oat01-{a80}",
    "sk-proj-{a64}",
    "gh|p_{a36}",
    "gh|o_{a36}",
    "github_|pat_{a82}",
    "glpat|-{a20}",
    "xox|b-123456789012-{a24}",
    "sk_|live_{a24}",
    "rk_|live_{a24}",
    "npm|_{a36}",
    "pypi|-AgEI{a90}",
    "hf|_{a34}",
    "AKI|A{c16}",
    "AIz|a{a35}",
    "ya29|.{a70}",
    "hvs|.{a24}",
    "dckr|_pat_{a27}",
    "gs|k_{a52}",
    "xa|i-{a80}",
    "r8|_{a37}",
    "pp|lx-{a48}",
    "ATAT|T3{a180}",
    "da|pi{h32}",
    "sh|pat_{h32}",
    "AGE-SECRET|-KEY-1{c58}",
    "lin|_api_{a40}",
    "nt|n_{a46}",
    "pscale|_tkn_{a43}",
    "do|p_v1_{h64}",
    "do|o_v1_{h64}",
    "sq0|atp-{a22}",
    "ey|J{a30}.eyJ{a60}.{a43}",
    "PM|AK-{h24}-{h34}",
    "{a14}.atl|asv1.{a64}",
    "pu|l-{h40}",
    "dp.|pt.{a43}",
    "HR|KU-AA{a58}",
    "pa|t{a14}.{h64}",
    "S|G.{a22}.{a43}",
    "{h32}-u|s12",
    "ke|y-{h32}",
    "S|K{h32}",
    "M|T{a22}.{a6}.{a38}",
    "gl|sa_{a32}_{h8}",
    "NR|AK-{c27}",
    "sntr|yu_{h64}",
    "ls|v2_pt_{h32}_{h10}",
    "xkey|sib-{h64}-{a16}",
    "dt|0c01.{c24}.{c64}",
    "bk|ua_{h40}",
    "ruby|gems_{h48}",
    "sb|p_{h40}",
    "tv|ly-{a32}",
    "nv|api-{a64}",
    "CLO|JARS_{h60}",
    "sq|u_{h40}",
    "AK|Cp{a69}",
    "oy|2{l43}",
    "AV|NS_{a19}",
    "tg|p_v1_{a43}",
    "pc|sk_{a70}",
    "na|pi_{l64}",
    "ap|ify_api_{a36}",
    "rd|me_{l70}",
    "tf|p_{a59}",
    "ATT|A{h72}",
    "KEY|01{h30}_{a20}",
    "li|ve_{h35}",
    "1|/{d16}:{h32}",
    "0|.{h8}-{h4}-4{h3}-a{h3}-{h12}.{a30}:{a22}==",
    "s|t.{h24}.{h32}.{h32}",
    "$2|b$12${a53}",
    "$6|$rounds=5000${a8}${a86}",
    "{a3}8Q|~{a34}",
    "{a76}AP|IM{a6}==",
    "access-|production-{h8}-{h4}-{h4}-{h4}-{h12}",
    "pa|t-na1-{h8}-{h4}-{h4}-{h4}-{h12}",
    "sk.ey|J1Ijoi{a60}.{a22}",
    "{d10}:A|A{a33}",
    "r|e_{a8}_{a24}",
    "gl|rt-{a20}",
    "gl|ptt-{h40}",
    "fi|gd_{a40}",
    "fo|1_{a43}",
    "AB|SK{a110}=",
    "GO|CSPX-{a28}",
    "sk-|or-v1-{h64}",
];

/// Secrets that only a name tells: the text before, and the text behind.
pub(super) const NAMED: &[(&str, &str)] = &[
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
    ("postgres://", "@db.example:5432/x"),
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
    ("- name: DB_PASSWORD\n  value: ", "\n"),
    ("<add key=\"ApiKey\" value=\"", "\" />"),
    ("machine x\n  login me\n  password ", "\n"),
    ("{\"kty\":\"EC\",\"x\":\"short\",\"d\":\"", "\"}"),
    ("f(password=", ", x)"),
    ("https://x.example/?a=1&sig=", ")"),
    ("Set-Cookie: sid=", "; Path=/"),
    ("SMTP_PW=", "\n"),
    ("sshpass -p '", "' ssh me@x"),
    ("DB_PASS=", "\n"),
    ("wifi_psk=", "\n"),
    ("keytool -list -storepass ", " -v"),
    ("first\n#define API_SECRET \"", "\"\n"),
    ("pub const API_TOKEN: &'static str = \"", "\";"),
    ("first\nENV API_TOKEN ", "\n"),
    ("first\nsetx API_TOKEN \"", "\"\n"),
    ("api_key = \"\"\"", "\"\"\"\n"),
    ("k = os.environ.get(\"API_TOKEN\", \"", "\")"),
    ("first\naws configure set aws_secret_access_key ", "\n"),
    ("first\nnpm config set //r.example/:_authToken ", "\n"),
    ("first\n| API_KEY | `", "` |\n"),
    ("first\npassword: |\n  ", "\n"),
    ("first\npassword:\n  ", "\nuser: x\n"),
    ("first\napi_keys:\n  - ", "\nx: 1\n"),
    ("api_keys = [\"", "\"]"),
    ("<Password><![CDATA[", "]]></Password>"),
    ("<password>\n  ", "\n</password>"),
    ("<key>APIToken</key>\n<string>", "</string>"),
    ("[password] => ", "\n"),
    ("[\"password\"]=>\n  string(26) \"", "\""),
    ("variable \"db_password\" {\n  default = \"", "\"\n}"),
    ("{\"password\":{\"value\":\"", "\"}}"),
    ("grant_type=refresh_token&refresh_token=", "&x=1"),
    ("kubectl create secret generic db --from-literal=password=", " -n x"),
    ("CREATE USER x IDENTIFIED BY '", "';"),
    ("app:", "@tcp(db:3306)/x"),
    ("expect \"Password:\"\nsend \"", "\\r\""),
    ("log: {\"secrets\":{\"stripe\":\"", "\"}}"),
    ("[{\"value\":\"", "\",\"name\":\"DB_PASSWORD\"}]\nend"),
    ("curl -d \"grant_type=x&client_secret=", "\" https://x.example"),
    ("{\"name\":\"x-api-key\",\"value\":\"", "\"}"),
    ("{\"name\":\"API_TOKEN\",\"type\":\"text\",\"value\":\"", "\"}"),
    ("{\"key\":\"DB_PASSWORD\",\"value\":\"", "\"}"),
    ("{\"variable\":\"API_TOKEN\",\"default\":\"", "\"}"),
    ("first\nuser,password,role\nbob,", ",admin\n"),
    ("first\n\"user\";\"api_key\"\n\"bob\";\"", "\"\n"),
    ("first\n id | name | password\n----+------+---------\n  1 | bob | ", "\n"),
    ("first\n| user | token |\n|---|---|\n| bob | `", "` |\n"),
    ("first\npre-shared-key ", "\n"),
    ("username admin privilege 15 secret 5 ", "\nend"),
    ("token: Some(\"", "\"),"),
    ("  password: Some(String::from(\"", "\")),"),
    ("ApiToken: aws.String(\"", "\"),"),
    ("**Password:** ", "\n"),
    ("- **API key:** `", "`\n"),
    ("first\ndefine( 'AUTH_KEY', '", "' );\n"),
    ("first\nconfig set API_TOKEN ", "\nlast"),
    ("set -gx API_TOKEN ", "\nlast"),
    ("{User:bob Password:", " Port:1}"),
    ("curl -u \"admin:", "\" https://x.example"),
];

/// Text before and behind a secret that looks drawn and begins with a letter of an escape.
pub(super) const NEAR: &[(&str, &str)] = &[
    ("the API token is:\n", "\nend"),
    ("token for x\t", "\tend"),
    ("first\nAPI key\n", "\r\nend"),
    ("{\"a\":1,\"keyName\":\"key1\",\"value\":\"", "\"}"),
    ("{\"gitlab-token\":{\"git.example.com\":\"", "\"}}"),
    ("{\"github-oauth\":{\"x\":{\"github.com\":\"", "\"}}}"),
    ("log:\n{\n  \"credentials\": {\n    \"stripe\": \"", "\"\n  }\n}"),
];

/// Forms that may begin with the letter of an escape before them, on a line of their own.
pub(super) const LINED: &[&str] = &["{a76}AZ|DO{a4}", "n{a74}AZ|DO{a4}", "r{a72}AZ|DO{a4}", "b{a75}AZ|DO{a4}"];

/// Values between quotes, or in the ticks of a table, with signs and blanks of every kind: the text before, and the text behind.
pub(super) const QUOTED: &[(&str, &str)] = &[
    ("first\ndefine('SECURE_AUTH_SALT', '", "');\n"),
    ("first\nAPI_SECRET=\"", "\"\nX=1"),
    ("{\"client_secret\":\"", "\",\"a\":1}"),
    ("db = connect(user='x', db_password='", "', port=1)"),
    ("first\n  api_token: '", "'\nlast"),
    ("| LOGGED_IN_SALT | `", "` |\n"),
    ("first\nuser,api_key,role\nbob,\"", "\",admin\n"),
    ("const c = { 'privateToken': '", "', a: 1 };"),
];

/// Passwords without quotes that have a sign within.
pub(super) const BARE: &[(&str, &str)] = &[
    ("first\nDB_PASSWORD=", "\nX=1"),
    ("[s]\npassword = ", "\nz = 1"),
    ("first\nsmtp.password=", "\nlast"),
    ("a: 1\nadminPassword: ", "\nb: 2"),
    ("| DB_PASSWORD | `", "` |\n"),
];

/// Several words that are one secret.
pub(super) const PHRASES: &[(&str, &str)] = &[
    ("first\npassphrase: ", "\nlast"),
    ("first\nDB_PASSWORD=", "\nlast"),
    ("first\nseed_phrase = ", "\nlast"),
    ("[s]\nadmin.password = ", "\nz = 1"),
];

/// Names that are further away, or clear and in front of letters alone.
pub(super) const CLEAR: &[(&str, &str)] = &[
    ("first\nNAME    API_TOKEN    AGE\nbob     ", "    3d\n"),
    ("first\nid,client_secret\n1,", "\n"),
    ("The API key is ", " for now."),
    ("use the access token `", "` there"),
    ("text=tool+--api-token+", "+run&x=1"),
    ("first\nbody=user%2Cpassword%0Abob%2C", "%0A"),
    ("ENCRYPTIONKEY=", "\n"),
    ("first\n2026-01-01 10:00:00,123 INFO app: user,api_key\n2026-01-01 10:00:00,123 INFO app: bob,", "\n"),
    ("first\n[2026-01-01 10:00:00] private-token: ", "\n"),
    ("first\n2026 INFO {\"msg\": \"user,api_key\\nbob,", "\"}"),
    ("{\"patch\": \"-user,api_key\\n-bob,", "\"}"),
    ("first\nb' id | name | password\\n----+------+----------\\n  1 | bob | ", "\\n'\n"),
    ("first\napi_keys:\n  - ", "\n"),
    ("openssl rsa -in k.pem -passin pass:", " -out o.pem"),
];

/// The words of phrases.
const WORDS: [&str; 24] = [
    "apple", "river", "stone", "cloud", "tiger", "maple", "ocean", "ember", "frost", "willow", "cedar", "falcon", "meadow", "pepper",
    "harbor", "violet", "copper", "lantern", "basket", "thunder", "ladder", "canvas", "marble", "saddle",
];

/// The kind of a planted secret.
pub(super) enum PlantedKind {
    /// It has a form of its own.
    Form(&'static str),
    /// The text before it and behind it tells.
    Named(&'static str, &'static str),
    /// A name somewhere before it tells, and how it looks.
    Near(&'static str, &'static str),
    /// It has signs and blanks of every kind.
    Quoted(&'static str, &'static str),
    /// It has one sign that ends other values.
    Bare(&'static str, &'static str),
    /// It is several words.
    Phrase(&'static str, &'static str),
    /// A clear name tells, and it has letters alone, or one digit, or is a number.
    Clear(&'static str, &'static str),
    /// It has a form of its own and stands on a line of its own.
    Lined(&'static str),
    /// A private key of this many lines.
    Key(usize),
}

impl PlantedKind {
    pub(super) fn all() -> Vec<Self> {
        let forms = FORMS.iter().map(|form| Self::Form(form));
        let named = NAMED.iter().map(|(before, after)| Self::Named(before, after));
        let near = NEAR.iter().map(|(before, after)| Self::Near(before, after));
        let lined = LINED.iter().map(|form| Self::Lined(form));
        let quoted = QUOTED.iter().map(|(before, after)| Self::Quoted(before, after));
        let bare = BARE.iter().map(|(before, after)| Self::Bare(before, after));
        let phrases = PHRASES.iter().map(|(before, after)| Self::Phrase(before, after));
        let clear = CLEAR.iter().map(|(before, after)| Self::Clear(before, after));
        let further = quoted.chain(bare).chain(phrases).chain(clear);
        forms.chain(named).chain(further).chain(near).chain(lined).chain([Self::Key(1), Self::Key(4)]).collect()
    }

    /// The text before a secret, the secret, and the text behind it.
    pub(super) fn draw(&self, draw: &mut Draw) -> (String, String, String) {
        match self {
            Self::Form(form) => {
                let places = [
                    ("with ", " as"),
                    ("first\n", "\nlast"),
                    ("(", ")"),
                    ("", ""),
                    ("\t", "\r\n"),
                    ("`", "`"),
                    ("It is ", "."),
                    ("['", "']"),
                ];
                let (before, after) = places[draw.below(places.len())];
                (before.to_owned(), drawn(draw, form), after.to_owned())
            }
            Self::Named(before, after) => {
                let user = if before.ends_with("://") { "me:" } else { "" };
                let secret = opaque(draw);
                ((*before).to_owned(), format!("{user}{secret}"), (*after).to_owned())
            }
            Self::Quoted(before, after) => {
                let parts: Vec<String> = (0..3).map(|_| format!("{}{}", draw.letters(LETTERS, 4), draw.letters(SIGNS, 18))).collect();
                let last = draw.letters(LETTERS, 2);
                ((*before).to_owned(), format!("{}{last}", parts.join(" ")), (*after).to_owned())
            }
            Self::Bare(before, after) => {
                let secret = format!("{}{}{}7", draw.letters(ALL, 9), draw.letters("{}[]|,;()<>", 1), draw.letters(ALL, 9));
                ((*before).to_owned(), secret, (*after).to_owned())
            }
            Self::Phrase(before, after) => {
                let words: Vec<&str> = (0..4 + draw.below(9)).map(|_| WORDS[draw.below(WORDS.len())]).collect();
                ((*before).to_owned(), words.join(" "), (*after).to_owned())
            }
            Self::Clear(before, after) => ((*before).to_owned(), opaque(draw), (*after).to_owned()),
            Self::Near(before, after) => {
                ((*before).to_owned(), format!("{}{}q7Zx3R9", draw.letters("nrtbf", 1), draw.letters(ALL, 22)), (*after).to_owned())
            }
            Self::Lined(form) => (String::from("first\n"), drawn(draw, form), String::from("\nlast")),
            Self::Key(lines) => {
                let lines: Vec<String> = (0..=*lines).map(|number| draw.letters(ALL, if number == *lines { 24 } else { 64 })).collect();
                (["-----BEGIN RSA ", "PRIVATE KEY-----\n"].concat(), lines.join("\n"), String::from("\n-----END RSA PRIVATE KEY-----"))
            }
        }
    }
}

/// A value that only a name tells of: a number, letters with some digits, with one, and with none.
fn opaque(draw: &mut Draw) -> String {
    match draw.below(4) {
        0 => draw.letters(HEX, 32),
        1 => format!("{}4q7Z3x91", draw.letters(ALL, 18)),
        2 => format!("{}{}{}", draw.letters(LETTERS, 12), draw.letters(DIGITS, 1), draw.letters(LETTERS, 11)),
        _ => draw.letters(LETTERS, 26),
    }
}

/// A form with its letters drawn.
fn drawn(draw: &mut Draw, form: &str) -> String {
    let (mut out, mut rest) = (String::new(), form);
    while let Some((before, after)) = rest.split_once('{') {
        let (place, after) = after.split_once('}').unwrap();
        let letters = match &place[..1] {
            "a" => ALL,
            "c" => CAPITALS,
            "l" => SMALL,
            "h" => HEX,
            _ => DIGITS,
        };
        out.push_str(&before.replace('|', ""));
        out.push_str(&draw.letters(letters, place[1..].parse().unwrap()));
        rest = after;
    }
    out + &rest.replace('|', "")
}
