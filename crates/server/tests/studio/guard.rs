//! Who may use the studio, and where it listens.

use std::net::TcpListener;

use serde_json::json;

use crate::http::{BUILD, OWN, ask, call, studio};
use crate::support::Server;
use crate::support::in_process::{Answer, Api as _, Http};

fn start(more: &[&str]) -> (Server, String) {
    let server = Server::start(&[&["--in-memory", "--studio-port", "0"], more].concat());
    let address = studio(&server).unwrap();
    (server, address)
}

const CREATE: &str = r#"{"TableName":"Tab","AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"}],"KeySchema":[{"AttributeName":"k","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"}"#;
const CREATE_TABLE: &str = "/api/dynamodb/CreateTable";

#[tokio::test]
async fn a_request_that_is_not_of_the_page_is_refused_without_effect() {
    let (server, address) = start(&[]);
    let host = ("Host", address.as_str());
    let own = format!("http://{address}");
    let other_port = format!("http://{}:1", address.split(':').next().unwrap());
    let secure = format!("https://{address}");
    let refused: Vec<Vec<(&str, &str)>> = vec![
        vec![host],
        vec![host, OWN, ("Origin", "null")],
        vec![host, OWN, ("Origin", "http://localhost:3000")],
        vec![host, OWN, ("Origin", "http://evil.example")],
        vec![host, OWN, ("Origin", &other_port)],
        vec![host, OWN, ("Origin", &secure)],
        vec![host, OWN, ("Origin", &own), ("Origin", &own)],
        vec![host, OWN, ("Sec-Fetch-Site", "cross-site")],
        vec![host, OWN, ("Sec-Fetch-Site", "same-site")],
        vec![host, OWN, ("Sec-Fetch-Site", "none")],
        vec![OWN],
        vec![("Host", "evil.example"), OWN],
        vec![("Host", "evil.example"), OWN, ("Origin", "http://evil.example")],
    ];
    for headers in refused {
        let answer = ask(&address, ("POST", CREATE_TABLE), &headers, CREATE.as_bytes());
        assert_eq!((answer.status, answer.kind().as_str()), (403, "foreign"), "{headers:?}");
        assert!(answer.headers.iter().all(|(name, _)| !name.starts_with("access-control")), "{headers:?}");
    }
    for method in ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"] {
        let answer = ask(&address, (method, CREATE_TABLE), &[host, OWN], b"");
        assert_eq!(answer.status, 403, "{method}");
    }
    for method in ["HEAD", "OPTIONS", "POST", "PUT", "DELETE"] {
        assert_eq!(ask(&address, (method, "/"), &[host, OWN], b"").status, 403, "{method}");
    }
    let http = Http::new(server.address());
    let Answer::Good(tables) = http.call("ListTables", &json!({})).await else { panic!("no list") };
    assert_eq!(tables, json!({"TableNames": []}), "nothing was made");
    let own = ask(&address, ("POST", CREATE_TABLE), &[host, OWN, ("Origin", &own)], CREATE.as_bytes());
    assert_eq!(own.status, 200, "the page itself may");
}

#[test]
fn a_page_of_another_build_is_asked_to_reload() {
    let (_server, address) = start(&[]);
    let headers = [("Host", address.as_str()), ("x-keywright-studio", "0.0.9-00000000")];
    let answer = ask(&address, ("POST", "/api/state"), &headers, b"{}");
    assert_eq!((answer.status, answer.kind().as_str()), (409, "stale-build"));
}

#[test]
fn a_body_of_17_megabytes_is_refused() {
    let (server, address) = start(&[]);
    let body = vec![b' '; 17_000_000];
    for path in ["/api/model/parse", "/api/dynamodb/PutItem"] {
        let answer = ask(&address, ("POST", path), &[("Host", &address), OWN], &body);
        assert_eq!((answer.status, answer.kind().as_str()), (413, "too-large"), "{path}");
    }
    assert_eq!(call(&server, "state", &json!({})).status, 200, "the server goes on");
}

#[test]
fn a_foreign_host_gets_nothing_and_allowed_ones_everything() {
    let (_server, address) = start(&["--allowed-host", "db.example"]);
    let asset = format!("/assets/{BUILD}/vendor/lit-html/lit-html.js");
    for request in
        [("GET", "/"), ("GET", "/tables"), ("GET", &asset), ("GET", "/favicon.ico"), ("POST", "/api/state")]
    {
        for host in ["evil.example", "evil.example:8100", "0.0.0.0:8100", "localhost.evil.example"] {
            let origin = format!("http://{host}");
            for headers in [&[("Host", host), OWN][..], &[("Host", host), OWN, ("Origin", &origin)]] {
                let answer = ask(&address, request, headers, b"");
                assert_eq!(answer.status, 403, "{request:?} {headers:?}");
                assert!(!answer.body.contains("script"), "nothing of the page");
            }
        }
        for host in [address.as_str(), "localhost:1", "[::1]:8100", "db.example:80"] {
            let answer = ask(&address, request, &[("Host", host), OWN], b"");
            assert_ne!(answer.status, 403, "{request:?} {host}: {}", answer.body);
        }
    }
}

#[test]
fn every_answer_has_the_policy_and_no_cors_header() {
    let (_server, address) = start(&[]);
    let host = ("Host", address.as_str());
    let asset = format!("/assets/{BUILD}/vendor/lit-html/lit-html.js");
    for (request, headers) in [
        (("GET", "/"), vec![host]),
        (("GET", "/nowhere/at/all"), vec![host]),
        (("GET", asset.as_str()), vec![host]),
        (("GET", "/assets/other/app.js"), vec![host]),
        (("POST", "/api/state"), vec![host, OWN]),
        (("POST", "/api/dynamodb/ListTables"), vec![host, OWN]),
        (("POST", "/api/nothing"), vec![host, OWN]),
        (("POST", "/api/state"), vec![host]),
    ] {
        let answer = ask(&address, request, &headers, b"{}");
        let policy = answer.header("content-security-policy").unwrap();
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types lit-html",
        ] {
            assert!(policy.split("; ").any(|own| own == part), "{request:?}: {policy}");
        }
        for (name, value) in [
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{request:?}");
        }
        assert!(answer.headers.iter().all(|(name, _)| !name.starts_with("access-control")), "{request:?}");
    }
}

#[test]
fn files_beyond_the_pages_are_not_served() {
    let (_server, address) = start(&[]);
    for path in
        ["../Cargo.toml", "%2e%2e/Cargo.toml", "vendor/build/package.json", ".git", "vendor/../../Cargo.toml"]
    {
        let answer = ask(&address, ("GET", &format!("/assets/{BUILD}/{path}")), &[("Host", &address)], b"");
        assert_eq!(answer.status, 404, "{path}");
    }
}

#[test]
fn without_flags_there_is_no_studio_beyond_loopback() {
    let open = ["--in-memory", "--host", "0.0.0.0", "--allow-anonymous-network"];
    let server = Server::start(&open);
    assert_eq!(studio(&server), None, "{}", server.banner);
    let void = Server::try_start(&[&open[..], &["--studio-port", "0"]].concat());
    let fault = void.err().expect("a port without an address has no effect");
    assert!(fault.contains("--studio-host ADDRESS"), "{fault}");
    let named = Server::start(&[&open[..], &["--studio-port", "0", "--studio-host", "0.0.0.0"]].concat());
    assert!(studio(&named).is_some(), "{}", named.banner);
    let refused = Server::try_start(&["--in-memory", "--studio-host", "0.0.0.0", "--studio-port", "0"]);
    let fault = refused.err().expect("no studio for a network without credentials");
    assert!(fault.contains("0.0.0.0"), "{fault}");
    let off = Server::start(&["--in-memory", "--studio-port", "off"]);
    assert_eq!(studio(&off), None, "{}", off.banner);
}

#[test]
fn a_taken_port_is_replaced_by_a_free_one_and_the_banner_says_so() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let server = Server::start(&["--in-memory", "--studio-port", &port]);
    assert!(server.banner.contains(&format!("(port {port} is taken)")), "{}", server.banner);
    assert_eq!(call(&server, "state", &json!({})).status, 200);
}
