//! Policies that change under load: which one judges a request, and what a killed server keeps of it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::signed::{Scene, Signed, put_policy, schema};
use crate::support::{Server, add_key};

/// Policies by their number: each allows another half of what the transaction needs, and reads every other
/// time. No whole policy allows the transaction.
fn policy(number: u64) -> Value {
    let is_even = number.is_multiple_of(2);
    let half = if is_even { "dynamodb:PutItem" } else { "dynamodb:DeleteItem" };
    let mut statements = vec![json!({"Effect": "Allow", "Action": half, "Resource": "*"})];
    if is_even {
        statements.push(json!({"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*"}));
    }
    json!(statements)
}

/// Changes of the policy that were begun, and that were answered.
#[derive(Default)]
struct Changes {
    begun: AtomicU64,
    answered: AtomicU64,
    /// Answers that were certain to be judged by one policy.
    certain: AtomicU64,
    is_over: AtomicBool,
}

impl Changes {
    /// Waits for some answers that the present policy judges, however slow the machine is.
    fn wait_for_answers(&self) {
        let before = self.certain.load(Ordering::SeqCst);
        let judged = || {
            std::thread::sleep(Duration::from_millis(5));
            self.certain.load(Ordering::SeqCst) >= before + 3
        };
        let _enough = (0..200).any(|_| judged());
    }
}

/// Reads and writes as the user until the end.
fn ask(mut ann: Signed, changes: &Changes) {
    let key = json!({"pk": {"S": "a"}, "sk": {"S": "a"}});
    let get = json!({"TableName": "Tab", "Key": key});
    let both = json!({"TransactItems": [
        {"Put": {"TableName": "Tab", "Item": {"pk": {"S": "b"}, "sk": {"S": "b"}}}},
        {"Delete": {"TableName": "Tab", "Key": {"pk": {"S": "c"}, "sk": {"S": "c"}}}},
    ]});
    while !changes.is_over.load(Ordering::SeqCst) {
        let answered = changes.answered.load(Ordering::SeqCst);
        let answer = ann.call("GetItem", &get);
        if changes.begun.load(Ordering::SeqCst) == answered {
            let wanted = if answered.is_multiple_of(2) { 200 } else { 400 };
            assert_eq!(answer.status, wanted, "policy {answered}: {}", answer.text());
            changes.certain.fetch_add(1, Ordering::SeqCst);
        }
        let answer = ann.call("TransactWriteItems", &both);
        assert_eq!(answer.status, 400, "halves of two policies allow it");
        assert!(answer.text().contains("AccessDeniedException"), "{}", answer.text());
    }
}

fn start(folder: &Path) -> Server {
    let (data, keys) = (folder.join("data"), folder.join("keys.toml"));
    Server::start(&["--data", data.to_str().unwrap(), "--credentials", keys.to_str().unwrap()])
}

#[test]
fn a_policy_judges_whole_from_its_answer_on_and_outlives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let root_key = add_key(&folder.path().join("keys.toml"), &[]);
    let mut server = start(folder.path());
    let sign_in = |server: &Server, key: &(String, String)| Signed::new(server, &key.0, &key.1);
    let mut root = sign_in(&server, &root_key);
    root.good("CreateTable", &schema("Tab"));
    let ann_key = crate::support::signed::user(&mut root, "Ann");
    let mut number = 0;
    put_policy(&mut root, "Ann", &policy(number));
    for _ in 0..3 {
        let changes = Changes { begun: number.into(), answered: number.into(), ..Changes::default() };
        std::thread::scope(|scope| {
            for _ in 0..3 {
                let (ann, changes) = (sign_in(&server, &ann_key), &changes);
                std::thread::Builder::new().spawn_scoped(scope, move || ask(ann, changes)).unwrap();
            }
            for _ in 0..40 {
                number += 1;
                changes.begun.store(number, Ordering::SeqCst);
                put_policy(&mut root, "Ann", &policy(number));
                changes.answered.store(number, Ordering::SeqCst);
                changes.wait_for_answers();
            }
            // An odd number: the last policy denies what the one before it allows.
            number += 1;
            changes.begun.store(number, Ordering::SeqCst);
            put_policy(&mut root, "Ann", &policy(number));
            changes.is_over.store(true, Ordering::SeqCst);
        });
        let certain = changes.certain.load(Ordering::SeqCst);
        assert!(certain > 100, "{certain} answers while the policy stood");
        server.kill();
        server = start(folder.path());
        root = sign_in(&server, &root_key);
        let get = json!({"TableName": "Tab", "Key": {"pk": {"S": "a"}, "sk": {"S": "a"}}});
        let answer = sign_in(&server, &ann_key).call("GetItem", &get);
        let wanted = if number.is_multiple_of(2) { 200 } else { 400 };
        assert_eq!(answer.status, wanted, "policy {number}: {}", answer.text());
        let put = json!({"TableName": "Tab", "Key": {"pk": {"S": "b"}, "sk": {"S": "b"}}});
        assert_eq!(root.good("GetItem", &put), json!({}), "a denied transaction writes nothing");
    }
}

/// Sends the same Scan again and again, on this many connections, until the end. Counts the answers.
fn flood(scene: &Scene, connections: usize, over: &AtomicBool, answers: &AtomicU64, body: &Value) {
    let (id, secret) = &scene.ann_key;
    std::thread::scope(|scope| {
        for _ in 0..connections {
            let mut ann = Signed::new(&scene.server, id, secret);
            let work = move || {
                while !over.load(Ordering::Relaxed) {
                    assert_eq!(ann.call("Scan", body).status, 200);
                    answers.fetch_add(1, Ordering::Relaxed);
                }
            };
            std::thread::Builder::new().spawn_scoped(scope, work).unwrap();
        }
    });
}

#[test]
fn the_scans_of_one_user_do_not_make_those_of_another_wait_for_all_of_them() {
    const CONNECTIONS: usize = 200;
    let mut scene = Scene::new(&[]);
    scene.allow(&json!([{"Effect": "Allow", "Action": "dynamodb:Scan", "Resource": "*"}]));
    for number in 0..30 {
        let item = json!({"pk": {"S": "a"}, "sk": {"S": number.to_string()}, "x": {"S": "x".repeat(9_000)}});
        scene.root.good("PutItem", &json!({"TableName": "Tab", "Item": item}));
    }
    let body = json!({"TableName": "Tab"});
    let mut root = Signed::new(&scene.server, &scene.root_key.0, &scene.root_key.1);
    let (over, answers) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut waited: Vec<u64> = std::thread::scope(|scope| {
        let (scene, over, answers, body) = (&scene, &over, &answers, &body);
        std::thread::Builder::new()
            .spawn_scoped(scope, move || flood(scene, CONNECTIONS, over, answers, body))
            .unwrap();
        for _ in 0..2_000 {
            if answers.load(Ordering::Relaxed) >= 400 {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let waited = (0..21).map(|_| {
            let before = answers.load(Ordering::Relaxed);
            root.good("Scan", body);
            answers.load(Ordering::Relaxed) - before
        });
        let waited = waited.collect();
        over.store(true, Ordering::Relaxed);
        waited
    });
    waited.sort_unstable();
    // In the order of their coming it would be all that wait.
    assert!(
        waited[10] < 100,
        "so many Scans of the other user were answered during each of ours: {waited:?}"
    );
}
