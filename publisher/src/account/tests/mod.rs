mod devices;
mod objects;
mod pending;
mod usage;

use super::*;
use objects::{PodText, node, on, pod};

/// An account that has seen the node `a`, without an annotation and without pods.
fn account() -> Account {
    let mut account = Account::default();
    account.nodes_listing();
    account.node_applied(&node("a", "u1", "10", None), 0).unwrap();
    account.nodes_listed();
    account.take_dirty();
    account
}

fn dirty(account: &mut Account) -> Vec<String> {
    account.take_dirty().iter().map(|name| (**name).to_owned()).collect()
}

fn state(account: &mut Account, now_ms: i64) -> NodeState {
    NodeState::parse(&account.draft("a", now_ms).expect("something to write").text).unwrap()
}

fn cpu(account: &mut Account) -> (u32, i64) {
    let state = state(account, 1_000_000_000);
    (state.pods, state.requested.get("cpu").copied().unwrap_or(0))
}

#[test]
fn counts_what_is_on_a_node_and_nothing_else() {
    let mut account = account();
    for text in [on("a", "p1"), on("a", "p2"), on("b", "p3"), on("", "p4")] {
        account.pod_applied(&pod(&text)).unwrap();
    }
    account.pod_applied(&pod(&PodText { phase: "Succeeded", ..on("a", "p5") })).unwrap();
    assert_eq!(dirty(&mut account), ["a", "a", "b", "a"], "that it has ended may be news, too");
    assert_eq!(cpu(&mut account), (2, 1000));
    // No node of that name, nothing to write to.
    assert_eq!(account.draft("b", 0), None);
    assert_eq!(account.size(), (1, 3));

    // A pod ends, another is resized, the third is deleted.
    account.pod_applied(&pod(&PodText { phase: "Failed", ..on("a", "p1") })).unwrap();
    account.pod_applied(&pod(&PodText { cpu: "2", ..on("a", "p2") })).unwrap();
    assert_eq!(cpu(&mut account), (1, 2000));
    account.pod_deleted(&pod(&on("a", "p2"))).unwrap();
    assert_eq!(cpu(&mut account), (0, 0));
}

#[test]
fn a_new_list_replaces_the_old_one() {
    let mut account = account();
    account.pods_listing();
    for name in ["p1", "p2"] {
        account.pod_applied(&pod(&on("a", name))).unwrap();
    }
    account.pods_listed();
    account.take_dirty();
    account.pods_listing();
    account.pod_applied(&pod(&on("a", "p2"))).unwrap();
    assert_eq!(cpu(&mut account).0, 2, "until the list is complete, all count");
    account.pods_listed();
    assert_eq!(cpu(&mut account).0, 1);

    account.nodes_listing();
    account.nodes_listed();
    assert_eq!((account.draft("a", 0), account.size()), (None, (0, 1)));
    // The pod is still there when the node comes back.
    account.node_applied(&node("a", "u2", "30", None), 0).unwrap();
    assert_eq!(cpu(&mut account).0, 1);
}

#[test]
fn writes_only_what_is_not_there_yet() {
    let mut account = account();
    account.pod_applied(&pod(&on("a", "p1"))).unwrap();
    let draft = account.draft("a", 5_000_000).unwrap();
    account.written("a", &draft, "11");
    assert_eq!(account.draft("a", 6_000_000), None, "only the time is another");

    // The watch shows the same; a restarted publisher finds it so.
    let seen = node("a", "u1", "11", Some(&draft.text));
    assert_eq!(account.node_applied(&seen, 6_000_000).unwrap(), NodeNews::Same);
    let mut restarted = Account::default();
    restarted.node_applied(&seen, 6_000_000).unwrap();
    restarted.pod_applied(&pod(&on("a", "p1"))).unwrap();
    assert_eq!(restarted.draft("a", 6_000_000), None);
}

#[test]
fn who_leaves_soon_is_mentioned_for_a_while() {
    let mut account = account();
    let placed = |seconds, name| pod(&PodText { placed_seconds: seconds, ..on("a", name) });
    let short = |name: &str| stowage::cluster::node_state::short_uid(name);
    let left = |account: &mut Account, now_ms| state(account, now_ms).left;
    account.pod_applied(&placed(10, "p1")).unwrap();
    account.pod_applied(&placed(100, "p2")).unwrap();
    account.pod_deleted(&placed(10, "p1")).unwrap();
    // One ends before anybody has seen it run, and is deleted later.
    account.pod_applied(&pod(&PodText { phase: "Failed", placed_seconds: 100, ..on("a", "p3") })).unwrap();
    account.pod_deleted(&placed(100, "p3")).unwrap();
    account.pod_deleted(&placed(100, "p2")).unwrap();
    let mut all = ["p1", "p2", "p3"].map(short);
    all.sort_unstable();
    assert_eq!(left(&mut account, 309_999), all);

    // It survives a restart, and ends with the time in which it is of use.
    let text = account.draft("a", 310_000).unwrap().text;
    let mut restarted = Account::default();
    restarted.node_applied(&node("a", "u1", "10", Some(&text)), 310_000).unwrap();
    assert_eq!(restarted.draft("a", 310_000), None);
    assert_eq!(left(&mut account, 310_000).len(), 2);
    assert_eq!(left(&mut account, 400_000).len(), 0);

    // However many come and go, the document stays small.
    for number in 0_u8..200 {
        let name: &'static str = format!("q{number}").leak();
        account.pod_applied(&placed(100, name)).unwrap();
        account.pod_deleted(&placed(100, name)).unwrap();
    }
    let latest = left(&mut account, 200_000);
    assert!(latest.len() == 64 && latest.contains(&short("q199")) && !latest.contains(&short("q100")));
}

#[test]
fn an_edited_annotation_is_written_again() {
    let mut account = account();
    account.pod_applied(&pod(&on("a", "p1"))).unwrap();
    let draft = account.draft("a", 5_000_000).unwrap();
    account.written("a", &draft, "11");
    account.take_dirty();
    // From before the write.
    assert_eq!(account.node_applied(&node("a", "u1", "10", None), 5_000_000).unwrap(), NodeNews::Same);
    let empty = NodeState::empty(5_000_001).to_json();
    let far = draft.text.replace("\"at\":5000000", "\"at\":9000000000000");
    let more = draft.text.replacen('{', "{\"note\":\"kept\",", 1);
    let edits = [None, Some("{}"), Some(&*empty), Some(&*far), Some(&*more)];
    for (version, text) in ["12", "13", "14", "15", "16"].into_iter().zip(edits) {
        let news = account.node_applied(&node("a", "u1", version, text), 5_000_001).unwrap();
        assert_eq!((news, dirty(&mut account)), (NodeNews::Altered, vec!["a".to_owned()]), "{text:?}");
        let again = account.draft("a", 5_000_002).unwrap();
        assert_eq!(NodeState::parse(&again.text).unwrap().pods, 1);
        account.written("a", &again, version);
        account.take_dirty();
    }
}

#[test]
fn the_watch_may_show_a_write_before_its_answer() {
    let mut account = account();
    account.pod_applied(&pod(&on("a", "p1"))).unwrap();
    account.take_dirty();
    let draft = account.draft("a", 1000).unwrap();
    let news = account.node_applied(&node("a", "u1", "12", Some(&draft.text)), 1000).unwrap();
    assert_eq!((news, dirty(&mut account).len()), (NodeNews::Same, 0));
    account.written("a", &draft, "12");
    assert_eq!(account.draft("a", 2000), None);
}

#[test]
fn a_node_made_anew_is_another_node() {
    let mut account = account();
    account.pod_applied(&pod(&on("a", "p1"))).unwrap();
    let draft = account.draft("a", 1000).unwrap();
    account.written("a", &draft, "12");
    assert_eq!(account.node_applied(&node("a", "u2", "20", None), 1000).unwrap(), NodeNews::New);
    let again = account.draft("a", 1000).unwrap();
    assert_eq!((&*draft.uid, &*again.uid), ("u1", "u2"));
    account.written("a", &draft, "21");
    assert!(account.draft("a", 1000).is_some(), "the answer was about the old one");
}

#[test]
fn pending_pods_are_told_the_size_of_their_group() {
    const SOURCE: GroupSource = GroupSource::SchedulerPlugins;
    let group = |min: i64| format!(r#"{{"metadata":{{"namespace":"ml","name":"bert"}},"spec":{{"minMember":{min}}}}}"#);
    let waiting = |name, size| pod(&PodText { group: "bert", size, ..on("", name) });
    let sizes = |account: &mut Account| -> Vec<(String, String)> {
        let pods = account.take_unlabelled();
        let mut labels: Vec<_> =
            pods.iter().filter_map(|key| account.label(*key)).map(|it| (it.name, it.size)).collect();
        labels.sort();
        labels
    };
    let pair = |name: &str, size: &str| (name.to_owned(), size.to_owned());

    // The pod first, then its group; then the other way round; one has the label already.
    let mut account = account();
    account.pod_applied(&waiting("p1", "")).unwrap();
    assert_eq!(sizes(&mut account), []);
    account.groups_listing(SOURCE);
    account.group_applied(SOURCE, group(3).as_bytes()).unwrap();
    account.groups_listed(SOURCE);
    assert_eq!(sizes(&mut account), [pair("p1", "3")]);
    account.pod_applied(&waiting("p2", "")).unwrap();
    account.pod_applied(&waiting("p3", "3")).unwrap();
    assert_eq!(sizes(&mut account), [pair("p2", "3")]);

    // Its size changes; a pod that is placed needs no label.
    account.pod_applied(&pod(&PodText { group: "bert", ..on("a", "p1") })).unwrap();
    account.group_applied(SOURCE, group(4).as_bytes()).unwrap();
    assert_eq!(sizes(&mut account), [pair("p2", "4"), pair("p3", "4")]);
    account.group_applied(SOURCE, group(4).as_bytes()).unwrap();
    assert!(account.take_unlabelled().is_empty());

    // What is no size is not told.
    for min in [0, -1, 1 << 32] {
        account.group_applied(SOURCE, group(min).as_bytes()).unwrap();
        assert_eq!(sizes(&mut account), []);
    }
    account.group_applied(SOURCE, group(4).as_bytes()).unwrap();
    assert_eq!(sizes(&mut account), [pair("p2", "4"), pair("p3", "4")]);

    // Gone with its list.
    account.groups_listing(SOURCE);
    account.groups_listed(SOURCE);
    account.pod_applied(&waiting("p4", "")).unwrap();
    assert_eq!(sizes(&mut account), []);
}

#[test]
fn what_cannot_be_read_is_an_error_and_counts_nowhere() {
    let mut account = account();
    account.pod_applied(&pod(&on("a", "p1"))).unwrap();
    let error = account.pod_applied(&pod(&PodText { cpu: "plenty", ..on("a", "p1") })).unwrap_err();
    assert!(format!("{error:#}").starts_with("pod ml/p1: "), "{error:#}");
    assert_eq!(cpu(&mut account).0, 0);
    assert!(account.pod_applied(b"\xff").is_err() && account.node_applied(b"\xff", 0).is_err());
    assert!(account.group_applied(GroupSource::Volcano, b"{}").is_err());
}
