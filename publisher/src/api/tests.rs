//! Following a server that answers by a script.

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::{Client, Config};
use tokio::sync::mpsc;

use super::{Change, Feed, Follow, Format, Resource, follow};
use crate::metrics::Metrics;

/// What comes instead of an answer that is complete.
const SILENCE: &str = "";

/// Serves one answer after the other, a status and a body each; answers the parameters of the requests so far.
fn serve(answers: &[(u16, &str)]) -> (u16, Arc<Mutex<Vec<String>>>) {
    let mut answers: VecDeque<(u16, String)> = answers.iter().map(|(code, body)| (*code, (*body).to_owned())).collect();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = asked.clone();
    std::thread::spawn(move || {
        let mut open: Vec<TcpStream> = Vec::new();
        while let Some((code, body)) = answers.pop_front() {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() > 0 {
                request.extend(byte);
            }
            let request = String::from_utf8(request).unwrap();
            log.lock().unwrap().push(request.split([' ', '?']).nth(2).unwrap().to_owned());
            write!(stream, "HTTP/1.1 {code} x\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{body}")
                .unwrap();
            if body == SILENCE {
                open.push(stream);
            }
        }
        // Whatever is asked beyond the script waits.
        let _last = listener.accept();
        std::thread::park();
    });
    (port, asked)
}

fn follower(port: u16, optional: bool) -> mpsc::Receiver<Feed<()>> {
    let mut config = Config::new(format!("http://127.0.0.1:{port}").parse().unwrap());
    config.default_retry = false;
    let (to, feeds) = mpsc::channel(16);
    let parts = Follow {
        client: Client::try_from(config).unwrap(),
        to,
        metrics: Metrics::default(),
        silence: Duration::from_millis(300),
    };
    tokio::spawn(follow(parts, Resource { name: "things", path: "/things", format: Format::Json, optional }, ()));
    feeds
}

/// The next changes, objects by their names: `[` and `]` around a list, `-` before what is gone, `!` where it failed.
async fn changes(feeds: &mut mpsc::Receiver<Feed<()>>, count: usize) -> String {
    let name = |bytes: &[u8]| {
        let object: serde_json::Value = serde_json::from_slice(bytes).unwrap();
        object["metadata"]["name"].as_str().unwrap().to_owned()
    };
    let mut changes = String::new();
    for _ in 0..count {
        changes += &match feeds.recv().await.unwrap().change {
            Change::Listing => "[".to_owned(),
            Change::Listed => "]".to_owned(),
            Change::Unlisted => "!".to_owned(),
            Change::Applied(bytes) => name(&bytes),
            Change::Deleted(bytes) => format!("-{}", name(&bytes)),
        };
    }
    changes
}

fn page(names: &[&str], version: u32, more: &str) -> String {
    let items: Vec<String> = names.iter().map(|name| format!(r#"{{"metadata":{{"name":"{name}"}}}}"#)).collect();
    let items = items.join(",");
    format!(r#"{{"metadata":{{"resourceVersion":"{version}","continue":"{more}"}},"items":[{items}]}}"#)
}

fn event(kind: &str, name: &str, version: u32) -> String {
    format!(r#"{{"type":"{kind}","object":{{"metadata":{{"name":"{name}","resourceVersion":"{version}"}}}}}}"#) + "\n"
}

const GONE: &str = r#"{"kind":"Status","code":410,"reason":"Expired","message":"too old"}"#;

#[tokio::test]
async fn a_watch_goes_on_where_it_ended() {
    let first = event("ADDED", "c", 8) + &event("BOOKMARK", "", 9);
    let second = event("DELETED", "a", 11);
    let answers = [
        (200, &*page(&["a"], 7, "more")),
        (200, &*page(&["b"], 7, "")),
        (200, &*first),
        // The server hangs, is too busy, and has lost its leader: the next watch asks for the same.
        (200, SILENCE),
        (429, "Too many requests"),
        (200, r#"{"type":"ERROR","object":{"code":500,"message":"leader changed"}}"#),
        (200, &*second),
    ];
    let (port, asked) = serve(&answers);
    let mut feeds = follower(port, false);
    assert_eq!(changes(&mut feeds, 6).await, "[ab]c-a");
    let asked = asked.lock().unwrap();
    assert!(asked[1].contains("continue=more"), "{asked:?}");
    let from = |version: u32| move |asked: &&String| asked.contains(&format!("resourceVersion={version}"));
    assert!(from(7)(&&asked[2]) && asked[3..].iter().all(|asked| from(9)(&asked)), "{asked:?}");
}

#[tokio::test]
async fn what_is_too_old_is_listed_again() {
    let gone_event = format!(r#"{{"type":"ERROR","object":{GONE}}}"#) + "\n";
    let answers = [
        (200, &*page(&["a"], 1, "more")),
        // In the middle of a list, when a watch begins, and while it goes on.
        (410, GONE),
        (200, &*page(&["b"], 2, "")),
        (410, GONE),
        (200, &*page(&["c"], 3, "")),
        (200, &*gone_event),
        (200, &*page(&["d"], 4, "")),
    ];
    let mut feeds = follower(serve(&answers).0, false);
    assert_eq!(changes(&mut feeds, 12).await, "[a![b][c][d]");
}

#[tokio::test]
async fn what_cannot_be_read_is_not_asked_for_again() {
    let answers = [
        (200, &*page(&["a"], 1, "")),
        (200, "{\"type\":\"RENAMED\",\"object\":{}}\n"),
        (200, &*page(&["b"], 2, "")),
        (200, "no JSON\n"),
        (200, "no JSON either"),
        (200, &*page(&["c"], 3, "")),
    ];
    let mut feeds = follower(serve(&answers).0, false);
    assert_eq!(changes(&mut feeds, 10).await, "[a][b]![c]");
}

#[tokio::test]
async fn what_may_be_missing_is_an_empty_list() {
    let mut feeds = follower(serve(&[(404, "404 page not found")]).0, true);
    assert_eq!(changes(&mut feeds, 2).await, "[]");
    let mut feeds = follower(serve(&[(404, "404 page not found"), (200, &page(&["a"], 1, ""))]).0, false);
    assert_eq!(changes(&mut feeds, 4).await, "![a]");
    // It goes while it is watched, together with all that there was of it.
    let (forbidden, gone) = ((403, r#"{"kind":"Status","code":403}"#), (404, "404 page not found"));
    let mut feeds = follower(serve(&[forbidden, (200, &page(&["a"], 1, "")), gone, gone]).0, true);
    assert_eq!(changes(&mut feeds, 6).await, "![a][]");
}
