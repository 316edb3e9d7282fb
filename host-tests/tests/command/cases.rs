//! `stowage test`: cases that hold, that do not, and that are faulty.

use std::path::{Path, PathBuf};

use super::{example, stdout, stowage};

/// A folder with the cluster and the workload of the demo.
fn case_folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    for file in ["cluster.yaml", "workload.yaml"] {
        std::fs::copy(example(file), folder.join(file)).unwrap();
    }
    folder
}

#[test]
fn expectations_that_do_not_hold_are_exit_code_1() {
    let folder = case_folder("wrong-case");
    // A gang's last member has one node to go to, and no score.
    std::fs::write(folder.join("policy.json"), r#"{"gang": {"enabled": false}}"#).unwrap();
    let expect = folder.join("expect.yaml");
    std::fs::write(&expect, "placements: {tf-smoke-gpu-ps-0: elsewhere}\npending: {tf-smoke-gpu-worker-1: gpu}\n")
        .unwrap();
    let output = stowage(&["test", folder.to_str().unwrap()]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("FAILED")
            && text.contains("should be on elsewhere, is on")
            && text.contains("should wait, is on"),
        "{text}"
    );
    // Under the failures stands what the nodes were to the pods.
    assert!(text.contains("default/tf-smoke-gpu-ps-0: seed 0, attempt ") && text.contains(" scores "), "{text}");
    assert!(text.contains("(binpack ") || text.contains(", binpack "), "{text}");

    std::fs::write(&expect, "placment: {a: b}\n").unwrap();
    let faulty = stowage(&["test", folder.to_str().unwrap()]);
    assert_eq!(faulty.status.code(), Some(2));
    assert!(stdout(&faulty).contains("unknown key placment; did you mean placements?"), "{}", stdout(&faulty));
}

#[test]
fn a_folder_that_is_named_gets_a_golden_outcome() {
    let outer = Path::new(env!("CARGO_TARGET_TMPDIR")).join("golden-cases");
    let folder = case_folder("golden-cases/one");
    std::fs::write(folder.join("expect.yaml"), "placed: 5\n").unwrap();
    let golden = folder.join("golden.json");
    let _ = std::fs::remove_file(&golden);
    for (named, written) in [(&outer, false), (&folder, true)] {
        assert!(stowage(&["test", "--bless", named.to_str().unwrap()]).status.success());
        assert_eq!(golden.exists(), written, "{named:?}");
    }
    std::fs::write(&golden, "{}\n").unwrap();
    assert_eq!(stowage(&["test", folder.to_str().unwrap()]).status.code(), Some(1));
}

#[test]
fn cases_that_cannot_fail_are_faults() {
    let folder = case_folder("idle-case");
    let later = "kind: Pod\nmetadata: {name: later}\nspec: {containers: [{name: c}]}\n";
    std::fs::write(folder.join("later.yaml"), later).unwrap();
    let group = "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: g}\nspec: {minMember: 2}\n";
    std::fs::write(folder.join("group.yaml"), format!("{later}---\n{group}")).unwrap();
    for (case, message) in [
        ("about: nothing\n", "expects nothing; it can hold placements, "),
        ("seeds: 0\nplaced: 5\n", "nothing is run"),
        ("noneOf: {tf-smoke-gpu-ps-0: [elsewhere]}\n", "there is no node elsewhere"),
        ("gone: [tf-smoke-gpu-ps-1]\n", "there is no pod tf-smoke-gpu-ps-1; did you mean default/tf-smoke-gpu-ps-0?"),
        ("placed: 5\ntimeline: [{at: 1s, deletePod: nobody}]\n", "there is no pod nobody"),
        ("placed: 5\ntimeline: [{at: 1s, deleteNode: nowhere}]\n", "there is no node nowhere"),
        ("placed: 5\ntimeline: [{at: 1s, create: later.yaml, deletePod: latter}]\n", "did you mean default/later?"),
        (
            "placed: 5\ntimeline: [{at: 1s, create: later.yaml}, {at: 2s, deletePod: late*}]\n",
            "late* fits pods that come by create alone",
        ),
        ("placed: 5\ntimeline: [{at: 0s, failBindings: {pod: nobody, count: 1}}]\n", "there is no pod nobody"),
        ("placed: 5\ntimeline: [{at: 0s, failBindings: {pod: tf-*, count: 1}}]\n", "there is no pod tf-*"),
        (
            "placed: 5\ntimeline: [{at: 1s, create: group.yaml}]\n",
            "group.yaml: PodGroup default/g comes too late: put it into the workload's or the cluster's file",
        ),
        (
            "placed: 5\ntimeline:\n- at: 1s\n  setNode: {metadata: {name: n, labels: {a: b}}}\n",
            "line 4 column 12: setNode n: status.allocatable is missing",
        ),
        (
            "placed: 5\ntimeline:\n- {at: 1s, setNode: {metadata: {name: n}, status: {allocatable: {cpu: two}}}}\n",
            "setNode n: status.allocatable[cpu] is \"two\"",
        ),
    ] {
        std::fs::write(folder.join("expect.yaml"), case).unwrap();
        let output = stowage(&["test", folder.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2), "{case}: {}", stdout(&output));
        assert!(stdout(&output).contains(message), "{case}: {}", stdout(&output));
    }
}
