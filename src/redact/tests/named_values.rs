//! Values that only their names tell of, in every form that one may have, and text that only looks so (K-2).

use super::*;

/// The text between the marks `«` and `»` is the secret.
fn assert_marked(cases: &[&str]) {
    assert_all_fine(cases.iter().flat_map(|case| {
        let text = case.replace(['«', '»'], "");
        let start = case.find('«').unwrap();
        let end = case.find('»').unwrap() - '«'.len_utf8();
        let json = format!("{{\"content\":\"{}\"}}", escaped(&text));
        let shift = "{\"content\":\"".len() + escaped(&text[..start]).len() - start;
        let same = escaped(&text[start..end]).len() == end - start;
        let inner =
            same.then(|| difference(json.as_bytes(), &redactor().body(json.as_bytes()), start + shift..end + shift, case)).flatten();
        [difference(text.as_bytes(), &redactor().body(text.as_bytes()), start..end, case), inner].into_iter().flatten().collect::<Vec<_>>()
    }));
}

#[test]
fn k_2_letters_alone_are_a_secret_behind_a_clear_name() {
    assert_marked(&[
        "private-token: «fumjgrfxewOKHKAnfADHHeqZx»\n",
        "passphrase => «QgiwVulBBdwe»\n",
        "The admin password is «AmwZLPkSHNux» and you log in.",
        "Your API key is `«IbrPSuryTMuVtqItDRjKscWXuJNrvCiK»`.",
        "use the access token `«5f1bd3a07c2be894d1c0a96fe41b7d28»` there",
        "curl -H \"Authorization: Bearer «WfTWObosqKBIZUTarbII»\" x",
        "| DB_PASSWORD | «xvfpHkXGkNdWIByn» |\n",
        "| AZURE_DEVOPS_EXT_PAT | «dsctpnmuqlgkiwvoopvtusdfbbzvikl» |\n",
        "openssl rsa -in k.pem -passin pass:«WXeMzNtLdwmA» -out o.pem",
        "token = os.environ.get(\"API_TOKEN\", \"«KMYszguowlocqrqKPELddoaiyoLrr»\")",
        "{\"secrets\":{\"stripe\":\"«npLXuKGosNKyCPnjoMgujqMNxL»\"}}",
        "ENCRYPTIONKEY=«xlnqvigrjcqilohnqdny»\n",
    ]);
}

#[test]
fn k_2_a_quoted_value_ends_at_its_quote_and_one_of_a_line_at_its_end() {
    assert_marked(&[
        "define('SECURE_AUTH_SALT', '«zmy2I(e; bQ.[x]k<W1}tR|vU,7 c:p>Dh_=Ys5^Fn&Lq+Gj*Ko%Em#Ba»');",
        "REDIS_PASSWORD=\"«MYj4SM~)CCo%dJ82»\" done",
        "[s]\nsasl.password = «i_(Cq(aWb2~nxQ9B»\nz = 1",
        "app.DB_PASSWORD=«veN>}eHDu[ZGUL;[k]ml»\n",
        "[s]\npassword = «I>B1>[<kUft{ifjq/p8W»\nz = 1",
        "|spring.password|«EbBlX|Yb[t3CB]OTMTHw»|\n",
        "| passwd | `«2mpAWuIb|bI4nV8|4VwM»` |\n",
        "| AUTH_SALT | `«6uZ64rV.,%icFdBt>5XB .ji?yMl5ZstS@u)49gC nDaD7XlTwQ9c»` |\n",
        "user,api_key,role\nbob,\"«U_dSF(lgRKF>Usoq{qCW,zejl ?HfW0HD7mdP|BSV<+Kcd»\",admin\n",
        "DB_PASSWORD: |\r\n  «xvfpHkXGkNdWIByn»\r\nx: 1\r\n",
        "passphrase: «apple river stone cloud tiger»\nx",
        "DB_PASSWORD=«apple river stone cloud»\nX=1",
    ]);
}

#[test]
fn k_2_a_table_is_read_behind_every_prefix_and_in_every_writing() {
    assert_marked(&[
        "NAME    API_TOKEN       AGE\nbob     «PnaIChSSHIckMEtu»   3d\n",
        "+user,password,role\n+bob,«EbThFjIwTuKq»,admin\n",
        "a\nb\nc\nd\ne\nf\ng\nh\nweb_1  | user,api_key\nweb_1  | bob,«EbThFjIwTuKq»\n",
        "2026-01-01 10:00:00,123 INFO app: user,api_key\n2026-01-01 10:00:00,123 INFO app: bob,«EbThFjIwTuKq»\n",
        "[2026-01-01 10:00:00] user,api_key\n[2026-01-01 10:00:00] bob,«EbThFjIwTuKq»\n",
        "2026 INFO {\"msg\": \"user,api_key\\nbob,«EbThFjIwTuKq»\"}",
        "b' id | name | password\\n----+------+------\\n  1 | bob | «uPmGrXcaELpt»\\n'",
        "body=user%2Cpassword%2Crole%0Abob%2C«EbThFjIwTuKq»%2Cadmin%0A",
        "text=tool+--bearer-token+«guYsqmmTDPNnKdiwAmGId»+run",
    ]);
}

#[test]
fn k_2_base64_of_coloured_and_numbered_text_is_looked_into() {
    use base64::Engine as _;
    let (secret, line) =
        ("QgiwVulBBdwePnXz", |number: usize, text: &str| format!("{number:6}\u{2192}\u{1b}[1;31m\u{1b}[K{text}\u{1b}[m\u{1b}[K\n"));
    let text = format!("{}{}{}", line(1, "{"), line(2, &format!("\"api_key\": \"{secret}\",")), line(3, "}"));
    let body = format!("{{\"data\":\"{}\"}}", base64::engine::general_purpose::STANDARD.encode(&text));
    let out = redactor().body(body.as_bytes());
    let out: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let read = base64::engine::general_purpose::STANDARD.decode(out["data"].as_str().unwrap()).unwrap();
    let read = String::from_utf8(read).unwrap();
    assert!(!read.contains(&secret[4..12]) && read.len() == text.len() && read.starts_with(&text[..20]), "{read}");
}

#[test]
fn k_2_words_of_code_and_of_prose_stay_behind_a_clear_name() {
    for text in [
        "private-token: SecKeyRef\nclient_secret: optional-parameter\nauthToken: tokenFromRequestHeader,",
        "password: the password of the user\npassword: must contain at least eight characters\nDB_PASSWORD=see the vault for it\n",
        "NAME       TOKEN      AGE\nbuiltin    none       3d\n",
        "Options:  token   The token of the user\n          key     its value\n",
        "token,count\nhello,12345678\n",
        "INFO password: must be longer\n[ERROR] token expired\n",
        "GIT_ASKPASS: 'echo', \"minipass\": \"^7.0.2\", IFLA_VXLAN_LOCALBYPASS: _bindgen_ty_22",
        "the token for commit 3f786850e387550fdab836ed7e6dc881de23001b was used; the hash of the key is 3f786850e387550fdab836ed7e6dc881",
        "logging.Formatter(fmt=\"%(asctime)s [%(levelname)s] %(name)s: %(message)s\", secret=\"%s: %d of {} {0}\")",
        "x = a+b; key=x+y; sum=first+second&b=1",
    ] {
        assert_eq!(String::from_utf8_lossy(&redactor().body(text.as_bytes())), text);
    }
}
