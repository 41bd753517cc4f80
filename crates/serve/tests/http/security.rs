//! The rules of `docs/reference/serve.md`, each broken in turn.

use quell_serve::Settings;

use crate::{Running, client, empty};

const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

fn has_headers(answer: &client::Answer, what: &str) {
    for (name, expected) in [
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cache-control", "no-store"),
    ] {
        assert_eq!(answer.header(name), Some(expected), "{what}: {name}");
    }
    let mut names = answer.headers.iter().map(|(name, _)| name);
    assert!(
        !names.any(|name| name.starts_with("access-control") || name == "set-cookie"),
        "{what}: {:?}",
        answer.headers
    );
}

#[test]
fn it_listens_at_a_loopback_address_and_any_free_port() {
    let running = Running::start(empty(), &Settings::default());
    assert!(running.address.ip().is_loopback());
    assert_ne!(running.address.port(), 0);
    assert_eq!(running.get("/api/about").status, 200);
}

#[test]
fn a_request_for_another_host_is_refused_whatever_it_is_for() {
    let running = Running::start(empty(), &Settings::default());
    let (bearer, port) = (running.bearer(), running.address.port());
    for (host, status) in [
        (format!("127.0.0.1:{port}"), 200),
        (format!("localhost:{port}"), 200),
        (format!("[::1]:{port}"), 200),
        ("127.0.0.1".to_owned(), 403),
        (format!("127.0.0.1:{}", port ^ 1), 403),
        (format!("rebound.example:{port}"), 403),
        (format!("127.0.0.1.example:{port}"), 403),
        (format!("user@127.0.0.1:{port}"), 403),
        (String::new(), 403),
    ] {
        for path in ["/", "/page.js", "/api/about"] {
            let headers = [("host", &*host), ("authorization", &*bearer)];
            let answer = running.send(&format!("GET {path}"), &headers, "");
            assert_eq!(answer.status, status, "{host} {path}");
            has_headers(&answer, &host);
        }
    }
    let right = running.host();
    let twice = [("host", &*right), ("host", "rebound.example")];
    assert!([400, 403].contains(&running.send("GET /", &twice, "").status));
    assert!([400, 403].contains(&running.send("GET /", &[], "").status));
    let absolute = [("host", &*right)];
    let answer = running.send("GET http://rebound.example/", &absolute, "");
    assert!([400, 403].contains(&answer.status), "{}", answer.status);
}

#[test]
fn everything_but_the_page_needs_the_token() {
    let running = Running::start(empty(), &Settings::default());
    let host = running.host();
    let token = &running.token;
    let mut nearly = token.clone();
    let last = if nearly.pop() == Some('0') { '1' } else { '0' };
    nearly.push(last);
    for path in ["/", "/index.html", "/page.js"] {
        let answer = running.send(&format!("GET {path}"), &[("host", &host)], "");
        assert_eq!(answer.status, 200, "{path}");
    }
    for path in [
        "/api/about",
        "/api/catalogue",
        "/api/messages",
        "/api/ask",
        "/api",
        "/other",
        "/%61pi/about",
        "//api/about",
    ] {
        let first = format!("GET {path}");
        for value in [
            None,
            Some(String::new()),
            Some("Bearer ".to_owned()),
            Some(format!("Bearer {nearly}")),
            Some(format!("Bearer {token}0")),
            Some(format!("Bearer {}", &token[..31])),
            Some(format!("Bearer  {token}")),
            Some(format!("Basic {token}")),
            Some(token.clone()),
        ] {
            let mut headers = vec![("host", &*host)];
            if let Some(value) = &value {
                headers.push(("authorization", value));
            }
            let answer = running.send(&first, &headers, "");
            assert_eq!(answer.status, 403, "{path} {value:?}");
            assert!(answer.why().contains("token"), "{}", answer.text());
            has_headers(&answer, path);
        }
    }
    // Nor in the address, where it would stand in logs.
    let first = format!("GET /api/about?token={token}");
    assert_eq!(running.send(&first, &[("host", &host)], "").status, 403);
    for path in ["/api/about", "/api/catalogue"] {
        assert_eq!(running.get(path).status, 200, "{path}");
    }
}

#[test]
fn what_changes_something_comes_from_our_page_as_json() {
    let running = Running::start(empty(), &Settings::default());
    let (host, bearer) = (running.host(), running.bearer());
    let (own, port) = (format!("http://{host}"), running.address.port());
    let ask = |origin: Option<&str>, kind: Option<&str>| {
        let mut headers = vec![("host", &*host), ("authorization", &*bearer)];
        headers.extend(origin.map(|origin| ("origin", origin)));
        headers.extend(kind.map(|kind| ("content-type", kind)));
        running.send("POST /api/ask", &headers, r#"{"ask":"speed","speed":1}"#)
    };
    let json = Some("application/json");
    assert_eq!(ask(Some(&own), json).status, 204);
    assert_eq!(
        ask(Some(&own), Some("application/json; charset=utf-8")).status,
        204
    );
    let other_port = format!("http://127.0.0.1:{}", port ^ 1);
    let secure = format!("https://{host}");
    for origin in [
        None,
        Some("null"),
        Some(""),
        Some("http://rebound.example"),
        Some(&*other_port),
        Some(&*secure),
        Some(&*host),
    ] {
        let answer = ask(origin, json);
        assert_eq!(answer.status, 403, "{origin:?}");
        assert!(answer.why().contains("origin"), "{}", answer.text());
        has_headers(&answer, "origin");
    }
    for kind in [
        None,
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
        Some("multipart/form-data"),
        Some("application/jsonp"),
    ] {
        assert_eq!(ask(Some(&own), kind).status, 415, "{kind:?}");
    }
}

#[test]
fn every_answer_has_the_headers_that_protect_it_and_none_that_opens_it() {
    let running = Running::start(empty(), &Settings::default());
    for (what, answer) in [
        ("page", running.get("/")),
        ("script", running.get("/page.js")),
        ("about", running.get("/api/about")),
        ("none", running.get("/none")),
        ("method", running.get("/api/ask")),
        ("ask", running.ask(r#"{"ask":"speed","speed":1}"#)),
        ("bad ask", running.ask("{")),
    ] {
        has_headers(&answer, what);
    }
    has_headers(&running.messages().head, "stream");
    let (host, bearer) = (running.host(), running.bearer());
    let preflight = [
        ("host", &*host),
        ("authorization", &*bearer),
        ("origin", "http://rebound.example"),
        ("access-control-request-method", "POST"),
    ];
    let answer = running.send("OPTIONS /api/ask", &preflight, "");
    assert_eq!(answer.status, 405);
    has_headers(&answer, "preflight");
}

#[test]
fn files_have_fixed_names() {
    let running = Running::start(empty(), &Settings::default());
    for path in [
        "/../Cargo.toml",
        "/..%2fCargo.toml",
        "/%2e%2e/Cargo.toml",
        "/page.js/",
        "/page.js%00",
        "/./page.js",
        "/.git/config",
        "/etc/passwd",
        "//etc/passwd",
        "/\\..\\Cargo.toml",
        "/index.html.gz",
        "/Page.js",
    ] {
        let answer = running.get(path);
        assert!(
            [400, 404].contains(&answer.status),
            "{path}: {}",
            answer.status
        );
    }
    let answer = running.get("/page.js?x=/../..");
    assert_eq!(answer.status, 200, "what stands behind ? is not looked at");
}

#[test]
fn files_are_packed_for_those_who_take_that() {
    let running = Running::start(empty(), &Settings::default());
    let host = running.host();
    let script = crate::script();
    for (accepted, is_packed) in [
        (None, false),
        (Some("gzip"), true),
        (Some("deflate, GZIP;q=0.5, br"), true),
        (Some("gzip;q=0"), false),
        (Some("br"), false),
    ] {
        let mut headers = vec![("host", &*host)];
        headers.extend(accepted.map(|accepted| ("accept-encoding", accepted)));
        let answer = running.send("GET /page.js", &headers, "");
        let encoding = answer.header("content-encoding");
        assert_eq!(encoding, is_packed.then_some("gzip"), "{accepted:?}");
        assert_eq!(
            answer.header("content-type"),
            Some("text/javascript; charset=utf-8")
        );
        let plain = match is_packed {
            true => {
                let mut plain = String::new();
                let mut inflated = flate2::read::GzDecoder::new(&*answer.body);
                std::io::Read::read_to_string(&mut inflated, &mut plain).unwrap();
                plain
            }
            false => answer.text(),
        };
        assert!(plain == script, "{accepted:?}");
    }
}
