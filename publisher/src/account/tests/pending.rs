//! Members of gangs that are deleted while they wait.

use stowage::cluster::node_state::short_uid;

use super::objects::{PodText, node, on, pod};
use super::*;

fn member(name: &'static str) -> PodText {
    PodText { group: "g", ..on("", name) }
}

/// An account with these nodes, in which `p1` and `p2` wait as members of a gang, and `single` by itself.
fn account(nodes: &[&str]) -> Account {
    let mut account = Account::default();
    for name in nodes {
        account.node_applied(&node(name, name, "10", None), 0).unwrap();
    }
    account.pods_listing();
    for text in [member("p1"), member("p2"), on("", "single")] {
        account.pod_applied(&pod(&text)).unwrap();
    }
    account.pods_listed();
    account.take_dirty();
    account
}

fn dirty(account: &mut Account) -> Vec<String> {
    let mut names: Vec<String> = account.take_dirty().iter().map(|name| (**name).to_owned()).collect();
    names.dedup();
    names
}

fn told(account: &mut Account, name: &str, now_ms: i64) -> Vec<u32> {
    account.draft(name, now_ms).map_or_else(Vec::new, |draft| NodeState::parse(&draft.text).unwrap().left)
}

#[test]
fn some_node_tells_of_a_member_that_was_deleted_while_it_waited() {
    let mut account = account(&["b", "a"]);
    account.pod_deleted(&pod(&on("", "single"))).unwrap();
    assert_eq!(dirty(&mut account), [""; 0], "nobody waits for a pod by itself");
    account.pod_deleted(&pod(&member("p1"))).unwrap();
    assert_eq!(dirty(&mut account), ["a"]);
    // For ten minutes from when it was first told, whenever that is.
    assert_eq!(told(&mut account, "a", 1_000_000), [short_uid("p1")]);
    assert_eq!(told(&mut account, "a", 1_599_999), [short_uid("p1")]);
    assert_eq!(told(&mut account, "a", 1_600_000), [0; 0]);
}

#[test]
fn whoever_was_told_to_go_waits_no_more() {
    let mut account = account(&["a"]);
    account.pod_applied(&pod(&PodText { leaving: true, ..member("p2") })).unwrap();
    assert_eq!(told(&mut account, "a", 1_000), [short_uid("p2")]);
    account.take_dirty();
    account.pod_deleted(&pod(&PodText { leaving: true, ..member("p2") })).unwrap();
    assert_eq!(dirty(&mut account), [""; 0], "that is no news");
}

#[test]
fn a_list_without_a_member_tells_as_much() {
    let mut account = account(&["a"]);
    account.pods_listing();
    account.pod_applied(&pod(&member("p2"))).unwrap();
    account.pods_listed();
    assert_eq!(told(&mut account, "a", 1_000), [short_uid("p1")]);
}

#[test]
fn a_member_that_was_bound_is_counted_and_not_missed() {
    let mut account = account(&["a"]);
    account.pod_applied(&pod(&PodText { node: "a", ..member("p1") })).unwrap();
    let state = NodeState::parse(&account.draft("a", 1_000).unwrap().text).unwrap();
    assert_eq!((state.uids, state.left), (vec![short_uid("p1")], vec![]));
}

#[test]
fn the_end_of_a_large_job_is_written_to_few_nodes() {
    let mut account = account(&["c", "a", "b", "d"]);
    let names: Vec<&'static str> = (0..150).map(|number| &*format!("q{number}").leak()).collect();
    for name in &names {
        account.pod_applied(&pod(&member(name))).unwrap();
    }
    for name in &names {
        account.pod_deleted(&pod(&member(name))).unwrap();
    }
    assert_eq!(dirty(&mut account), ["a", "b", "c"]);
    let mut all: Vec<u32> = ["a", "b", "c"].iter().flat_map(|name| told(&mut account, name, 1_000)).collect();
    let mut expected: Vec<u32> = names.iter().map(|name| short_uid(name)).collect();
    all.sort_unstable();
    expected.sort_unstable();
    assert_eq!(all, expected);
}
