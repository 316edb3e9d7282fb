//! The `stowage` command as scripts use it: its JSON, its exit codes, what goes to stdout and what to stderr.

mod cases;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn example(file: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/tfjob").join(file).display().to_string()
}

/// Runs the command with this on its stdin.
fn stowage_with(stdin: &str, args: &[&str]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_stowage"))
        .args(args)
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn stowage(args: &[&str]) -> Output {
    stowage_with("", args)
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn temporary(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn run_speaks_json() {
    let (cluster, workload) = (example("cluster.yaml"), example("workload.yaml"));
    let output = stowage(&["run", "-c", &cluster, "-w", &workload, "-o", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let outcome: Value = serde_json::from_slice(&output.stdout).unwrap();
    let keys: Vec<&String> = outcome.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["schemaVersion", "placements", "pending", "nodes", "cycles", "simulatedSeconds"]);
    assert_eq!(outcome["schemaVersion"], "v1");
    assert_eq!(outcome["placements"][0]["pod"], "default/tf-smoke-gpu-ps-0");
    let gpus: Vec<&Value> =
        outcome["nodes"].as_array().unwrap().iter().map(|n| &n["allocated"]["nvidia.com/gpu"]).collect();
    assert!(gpus.contains(&&Value::from(4)), "{outcome}");
}

#[test]
fn trace_says_what_was_replayed() {
    let data =
        |file: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/openb").join(file).display().to_string();
    let (nodes, pods) = (data("openb_node_list_gpu_node.csv"), data("openb_pod_list_default.csv"));
    let of = |more: &[&str]| -> Value {
        let base = ["trace", "--nodes", &nodes, "--pods", &pods, "--arrive", "0.01", "--ties", "fixed", "-o", "json"];
        let output = stowage(&[&base[..], more].concat());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)))
    };
    let (one, several) = (of(&[]), of(&["--seeds", "1-2", "--policy-compare", "stowage,fgd"]));
    assert_eq!((&one["seeds"], &several["seeds"]), (&serde_json::json!([42]), &serde_json::json!([1, 2])));
    for report in [&one, &several] {
        assert_eq!(
            (&report["schemaVersion"], &report["ties"], &report["arrive"]),
            (&"v1".into(), &"fixed".into(), &0.01.into())
        );
        assert!(report["results"][0]["arrived"].is_array() && report["results"][0]["policy"] == "stowage", "{report}");
    }
    assert_eq!((&one["arrived"], &one["pods"]), (&one["results"][0]["arrived"], &one["results"][0]["pods"]));
    assert!(several["arrived"].is_null() && several["results"][1]["policy"] == "fgd", "{several}");
}

#[test]
fn run_prints_tables_without_colour() {
    let output = stowage(&["run", "-c", &example("cluster.yaml"), "-w", &example("workload.yaml"), "--seed", "7"]);
    let text = stdout(&output);
    assert!(
        text.starts_with("POD ") && text.contains("NVIDIA.COM/GPU") && text.contains("5 placed, 0 pending"),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn a_cluster_can_come_from_stdin() {
    let cluster = std::fs::read_to_string(example("cluster.yaml")).unwrap();
    let output = stowage_with(&cluster, &["run", "-c", "-", "-w", &example("workload.yaml"), "-o", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let twice = stowage(&["run", "-c", "-", "-w", "-"]);
    assert_eq!(
        (twice.status.code(), stderr(&twice).as_str()),
        (Some(2), "error: only one input can come from stdin\n")
    );
}

#[test]
fn bad_input_is_exit_code_2() {
    let cluster = example("cluster.yaml");
    let policy = temporary("typo.json", "{\n  \"weights\": {\"binpak\": 1}\n}\n");
    let not_wasm = temporary("not.wasm", "text");
    let empty = temporary("empty.yaml", r#"{"kind":"List","apiVersion":"v1","items":[]}"#);
    let not_wasm_either = temporary("component.wasm", "\0asm\r\0\u{1}\0");
    let again = temporary("again.yaml", "kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c}]}\n");
    let again = again.to_str().unwrap();
    let trace = ["trace", "--nodes", "nowhere.csv", "--pods", "nowhere.csv", "--chart"];
    let cases: [(&[&str], &str); 16] = [
        (&["run", "-c", empty.to_str().unwrap()], "there is no Node in "),
        (&["run", "-c", &cluster, again, "-w", again], "pod default/p of the workload is in the cluster already"),
        (&["inspect", not_wasm.to_str().unwrap()], "not.wasm: wasm: error compiling guest: invalid magic number"),
        (&["inspect", not_wasm_either.to_str().unwrap()], "wasm: error compiling guest: invalid version header"),
        (&["run", "-c", "nowhere.yaml"], "cannot read nowhere.yaml"),
        (&["run", "-c", &cluster, "-p", policy.to_str().unwrap()], "weights.binpak"),
        (&["check", policy.to_str().unwrap()], "did you mean binpack?"),
        (&["run", "-c", &cluster, "-m", not_wasm.to_str().unwrap()], "not.wasm"),
        (&["run", "-c", &cluster, "--node-state", "lag=soon"], "\"soon\" is not a duration"),
        (&["explain", "ml/x", "-c", &cluster], "there is no pod ml/x, and none that waits for a node"),
        (&["compare", "default", "defualt", "-c", &cluster], "there is no file defualt; did you mean default?"),
        (&[&trace[..], &["chart.png"]].concat(), "chart.png: a chart is a file *.svg"),
        (&[&trace[..], &["/nowhere/chart.svg"]].concat(), "cannot write /nowhere/chart.svg"),
        (&["explain", "nobody", "-c", &cluster, "-w", &example("workload.yaml")], "there is no pod default/nobody"),
        (
            &["explain", "tf-smoke", "-c", &cluster, "-w", &example("workload.yaml")],
            "did you mean default/tf-smoke-gpu-ps-0",
        ),
        (&["test", concat!(env!("CARGO_MANIFEST_DIR"), "/src/scenario")], "holds no expect.yaml"),
    ];
    for (args, message) in cases {
        let output = stowage(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(message), "{args:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty(), "{args:?}");
    }
    let broken = stowage_with("kind: Node\nmetadata:\n  name: [a]\n", &["run", "-c", "-"]);
    assert_eq!(broken.status.code(), Some(2));
    let message = stderr(&broken);
    assert!(message.starts_with("error: standard input: document 1, line 3, column 9: "), "{message}");
}

/// Data that nobody reads is no fault; data that cannot be written is.
#[test]
#[cfg(target_os = "linux")]
fn output_that_goes_nowhere() {
    let (cluster, policy) = (example("cluster.yaml"), example("policy.json"));
    let commands: [&[&str]; 4] =
        [&["schema"], &["check", &policy], &["run", "-c", &cluster], &["run", "-c", &cluster, "-o", "json"]];
    for args in commands {
        let command = |stdout: Stdio| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_stowage"));
            command.args(args).stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped());
            command.output().unwrap()
        };
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let unread = command(writer.into());
        assert_eq!((unread.status.code(), stderr(&unread).as_str()), (Some(0), ""), "{args:?}");
        let full = command(std::fs::File::options().write(true).open("/dev/full").unwrap().into());
        assert_eq!(full.status.code(), Some(2), "{args:?}");
        assert!(stderr(&full).starts_with("error: cannot write to standard output: "), "{args:?}: {}", stderr(&full));
    }
}

#[test]
fn a_pod_on_a_node_that_is_not_there_is_left_out() {
    let stray = "kind: Pod\nmetadata: {name: p}\nspec: {nodeName: gone, containers: [{name: c}]}\n";
    let output = stowage_with(stray, &["run", "-c", &example("cluster.yaml"), "-w", "-"]);
    assert!(stdout(&output).contains("0 placed, 0 pending"), "{}", stdout(&output));
    assert!(
        stderr(&output).contains("note: pod default/p is left out: it is bound to node gone"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn annotations_of_other_policies_are_noted_once_a_key() {
    let pod = |name: &str, policy: &str| {
        format!(
            "kind: Pod\nmetadata: {{name: {name}, annotations: {{hami.io/node-scheduler-policy: {policy}}}}}\n\
             spec: {{containers: [{{name: c}}]}}\n---\n"
        )
    };
    let pods = pod("a", "pack") + &pod("b", "spread") + &pod("c", "pack");
    let expected = "note: 3 pod(s) have HAMi's annotation hami.io/node-scheduler-policy (\"pack\" x 2, \"spread\" x 1), \
                    which nothing here reads: the policy packs\n";
    for command in [&["run"][..], &["explain", "a"]] {
        let output = stowage_with(&pods, &[command, &["-c", &example("cluster.yaml"), "-w", "-"]].concat());
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), expected), "{command:?}");
    }
    // In a folder of cases, once for all of them.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("foreign-case");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(example("cluster.yaml"), folder.join("cluster.yaml")).unwrap();
    std::fs::write(folder.join("workload.yaml"), pods).unwrap();
    std::fs::write(folder.join("later.yaml"), pod("d", "binpack")).unwrap();
    for case in ["expect.yaml", "expect-again.yaml"] {
        std::fs::write(folder.join(case), "placed: 4\ntimeline: [{at: 1s, create: later.yaml}]\n").unwrap();
    }
    let output = stowage(&["test", folder.to_str().unwrap()]);
    let expected = expected.replace("note: ", &format!("note: {}: ", folder.display()));
    let expected =
        expected.clone() + &expected.replace("3 pod", "1 pod").replace("\"pack\" x 2, \"spread\"", "\"binpack\"");
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), expected));
    assert!(stdout(&output).ends_with("2 of 2 cases hold\n"), "{}", stdout(&output));
}

#[test]
fn a_pod_that_is_being_deleted_says_so() {
    let pod =
        "kind: Pod\nmetadata: {name: p, deletionTimestamp: 2026-01-01T00:00:00Z}\nspec: {containers: [{name: c}]}\n";
    let output = stowage_with(pod, &["run", "-c", &example("cluster.yaml"), "-w", "-"]);
    assert!(stdout(&output).contains("it is being deleted"), "{}{}", stdout(&output), stderr(&output));
}

#[test]
fn a_module_that_misbehaves_is_exit_code_3() {
    let module = temporary(
        "trap.wat",
        r#"(module (memory (export "memory") 1) (func (export "_start")) (func (export "filter") (result i32) unreachable))"#,
    );
    let wasm = module.with_extension("wasm");
    std::fs::write(&wasm, wat::parse_file(&module).unwrap()).unwrap();
    let args = ["run", "-c", &example("cluster.yaml"), "-w", &example("workload.yaml"), "-m", wasm.to_str().unwrap()];
    let output = stowage(&args);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("the module misbehaved"), "{}", stderr(&output));
    assert!(stdout(&output).contains("0 placed, 5 pending"), "{}", stdout(&output));

    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("trapped-case");
    std::fs::create_dir_all(&folder).unwrap();
    for file in ["cluster.yaml", "workload.yaml"] {
        std::fs::copy(example(file), folder.join(file)).unwrap();
    }
    std::fs::write(folder.join("expect.yaml"), "placed: 5\n").unwrap();
    let tested = stowage(&["test", folder.to_str().unwrap(), "-m", wasm.to_str().unwrap()]);
    assert_eq!(tested.status.code(), Some(3), "{}", stdout(&tested));
}

#[test]
fn explain_shows_the_parts_of_scores() {
    let policy = example("policy-spread.json");
    let base = [
        "explain",
        "tf-smoke-gpu-worker-3",
        "-c",
        &example("cluster.yaml"),
        "-w",
        &example("workload.yaml"),
        "-p",
        &policy,
    ];
    let output = stowage(&[&base[..], &["-o", "json"]].concat());
    let explanation: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    assert_eq!(explanation["schemaVersion"], "v1");
    let nodes = explanation["nodes"].as_array().unwrap();
    assert!(
        nodes.iter().all(|node| node["verdict"] == "fits" && node["parts"]["binpack"] == node["score"]),
        "{explanation}"
    );
    let text = stdout(&stowage(&base));
    let rows: Vec<Vec<&str>> = text.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0][..4], ["NODE", "VERDICT", "SCORE", "BINPACK"], "{text}");
    assert!(rows[1][1] == "chosen" && rows[2][1] == "fits" && rows[1][2] == rows[1][3], "{text}");
}

#[test]
fn explain_says_what_packing_fears_for() {
    let policy = temporary(
        "packing.json",
        r#"{"packing": {"expected": [{"pods": 10, "gpus": 4, "cpu": "16"}]}, "gang": {"enabled": false}}"#,
    );
    let (cluster, workload) = (example("cluster.yaml"), example("workload.yaml"));
    let args = ["explain", "tf-smoke-gpu-worker-3", "-c", &cluster, "-w", &workload, "-p", policy.to_str().unwrap()];
    let text = stdout(&stowage(&args));
    let head = text.lines().find(|line| line.starts_with("NODE")).unwrap_or_else(|| panic!("{text}"));
    let at = |column: &str| head.find(column).unwrap_or_else(|| panic!("no {column} in {text}"));
    let order = ["SCORE", "PACKING", "REGRET mGPU", "LOSER", "LOSES mGPU", "VALUE BEFORE mGPU", "REASON"].map(at);
    assert!(order.is_sorted(), "{text}");
    assert!(text.contains(" x ") && !text.contains('"'), "a pod in words: {text}");
}

/// A terminal for a command, by util-linux' `script`.
#[test]
fn progress_shows_on_a_terminal_and_nowhere_else() {
    let command =
        format!("{} run -c {} -w {}", env!("CARGO_BIN_EXE_stowage"), example("cluster.yaml"), example("workload.yaml"));
    let terminal = Command::new("script").args(["-qefc", &command, "/dev/null"]).stdin(Stdio::null()).output();
    let Ok(terminal) = terminal else {
        eprintln!("not run: progress_shows_on_a_terminal_and_nowhere_else needs the program `script`");
        return;
    };
    let text = stdout(&terminal);
    assert!(terminal.status.success() && text.contains("scheduling cycles for 5 pods"), "{text}");
    assert!(text.contains("reading 2 file(s)"), "{text}");
    let plain = stowage(&["run", "-c", &example("cluster.yaml"), "-w", &example("workload.yaml")]);
    assert!(!stderr(&plain).contains("scheduling cycles for") && !stdout(&plain).contains("scheduling cycles for"));
}

#[test]
fn watch_runs_again_when_a_file_changes() {
    let cluster = temporary("watched.yaml", &std::fs::read_to_string(example("cluster.yaml")).unwrap());
    let mut child = Command::new(env!("CARGO_BIN_EXE_stowage"))
        .args(["run", "--watch", "-c", cluster.to_str().unwrap(), "-w", &example("workload.yaml")])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let mut summary = || lines.by_ref().map(Result::unwrap).find(|line| line.contains(" placed, ")).unwrap();
    let before = summary();
    // Without GPUs nobody has a place.
    let text = std::fs::read_to_string(&cluster).unwrap().replace("nvidia.com/gpu:", "example.com/other:");
    std::fs::write(&cluster, text).unwrap();
    let after = summary();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(before.starts_with("5 placed, 0 pending"), "{before}");
    assert!(after.starts_with("0 placed, 5 pending"), "{after}");
}

#[test]
fn pods_that_had_to_leave_are_told() {
    let cluster = temporary(
        "full.yaml",
        "kind: Node\nmetadata: {name: n}\nstatus: {allocatable: {cpu: 1, memory: 1Gi, pods: 9}}\n---\nkind: Pod\nmetadata: \
         {name: low}\nspec: {nodeName: n, priority: 0, containers: [{name: c, resources: {requests: {cpu: 1}}}]}\n",
    );
    let workload = temporary(
        "high.yaml",
        "kind: Pod\nmetadata: {name: high}\nspec: {priority: 9, containers: [{name: c, resources: {requests: {cpu: 1}}}]}\n",
    );
    let args = ["run", "-c", cluster.to_str().unwrap(), "-w", workload.to_str().unwrap()];
    let text = stdout(&stowage(&args));
    assert!(text.contains("EVICTED") && text.contains("1 placed, 0 pending, 1 evicted, "), "{text}");
    let outcome: Value = serde_json::from_slice(&stowage(&[&args[..], &["-o", "json"]].concat()).stdout).unwrap();
    assert_eq!(outcome["evicted"], serde_json::json!([{"pod": "default/low", "node": "n"}]));
    // Nor is an input lost to a careless name.
    let output = stowage(&[&args[..], &["--anonymize", cluster.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("is an input, and would be overwritten"), "{}", stderr(&output));
}

#[test]
fn a_budget_for_no_call_is_a_fault() {
    let budget = temporary("budget.json", r#"{"calls": {"prescor": {"fuel": 1}}}"#);
    let output = stowage(&["bench", "--nodes", "1", "--budget", budget.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("calls.prescor is no call of the module; did you mean prescore?"),
        "{}",
        stderr(&output)
    );
}
