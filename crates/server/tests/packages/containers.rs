//! The image and the compose file: what they set is what the binary reads, so that the API, the studio and
//! the health check work in a container. No engine for containers is needed.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use keywright_model::{Node, read_yaml};
use serde_json::Value;

/// A start may take this long on a busy machine.
const TRIES_MAX: u32 = 600;

fn packaged(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/docker");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn compose() -> Node {
    let file = read_yaml(&packaged("compose.yaml")).unwrap();
    file.get("services").and_then(|services| services.get("keywright")).unwrap().clone()
}

/// The variables of the image.
fn of_image() -> BTreeMap<String, String> {
    let text = packaged("Dockerfile");
    let line = text.lines().find_map(|line| line.strip_prefix("ENV ")).unwrap();
    let pairs = line.split_whitespace().map(|pair| pair.split_once('=').unwrap());
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The variables that the compose file adds.
fn of_compose() -> BTreeMap<String, String> {
    let service = compose();
    let pairs = service.get("environment").unwrap().members();
    pairs.map(|(name, value)| (name.to_owned(), value.scalar().unwrap())).collect()
}

/// `keywright serve` with these variables, free ports and its own folder.
fn serve(folder: &Path, variables: &BTreeMap<String, String>) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
    command.arg("serve").envs(variables).env("KEYWRIGHT_DATA", folder.join("data"));
    command
        .env("KEYWRIGHT_PORT", "0")
        .env("KEYWRIGHT_STUDIO_PORT", "0")
        .env("KEYWRIGHT_MANAGEMENT_PORT", "0");
    command.env("KEYWRIGHT_READY_FILE", folder.join("ready.json"));
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The ready file's content, once it is there.
fn wait_for(folder: &Path) -> Value {
    for _ in 0..TRIES_MAX {
        if let Ok(text) = std::fs::read_to_string(folder.join("ready.json")) {
            return serde_json::from_str(&text).unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("the server did not start");
}

/// The status of a page of the studio for a browser that reached it under this name.
fn page(port: &str, host: &str) -> u16 {
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let request = format!("GET / HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    let _cut = stream.read_to_string(&mut answer);
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn the_composed_server_has_api_studio_and_health_and_refuses_foreign_names() {
    let folder = tempfile::tempdir().unwrap();
    let mut variables = of_image();
    variables.extend(of_compose());
    let mut process = serve(folder.path(), &variables);
    let ready = wait_for(folder.path());
    let port = |name: &str| ready[name].as_str().unwrap().rsplit(':').next().unwrap().to_owned();
    let studio = port("studio");
    let pages = ["127.0.0.1", "localhost", "rebound.example"].map(|host| page(&studio, host));
    let health = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
        command.arg("health").env("KEYWRIGHT_MANAGEMENT_PORT", port("management"));
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().code()
    };
    let healthy = health();
    process.kill().unwrap();
    process.wait().unwrap();
    assert_eq!(pages, [200, 200, 403]);
    assert_eq!((healthy, health()), (Some(0), Some(1)));
}

#[test]
fn the_image_alone_refuses_to_serve_everyone() {
    let folder = tempfile::tempdir().unwrap();
    let ended = serve(folder.path(), &of_image()).wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&ended.stderr).contains("--allow-anonymous-network"));
}

#[test]
fn the_ports_are_published_on_loopback_and_the_health_check_is_a_command_of_the_binary() {
    let ports: Vec<String> =
        compose().get("ports").unwrap().elements().iter().filter_map(Node::scalar).collect();
    assert_eq!(ports, ["127.0.0.1:8000:8000", "127.0.0.1:8100:8100"]);
    let image = packaged("Dockerfile");
    assert!(image.lines().any(|line| line == "EXPOSE 8000 8100"), "{image}");
    let check = image.lines().find(|line| line.starts_with("HEALTHCHECK ")).unwrap();
    assert!(check.ends_with(r#"CMD ["/keywright", "health"]"#), "{check}");
    // The folder of the build has what the image copies, here and in the archive.
    let ignored = packaged(".dockerignore");
    for copied in image.lines().filter_map(|line| line.strip_prefix("COPY ")) {
        let source = copied.split(' ').rev().nth(1).unwrap();
        assert!(ignored.lines().any(|line| line == format!("!{source}")), "{copied}");
    }
}
