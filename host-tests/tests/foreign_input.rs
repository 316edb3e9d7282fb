//! Every file that a command reads, given as what people really hand over: broken, empty, huge, of another program, with
//! another system's line ends. Each must be refused with exit code 2 and a message that names the file, or be read as meant.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A file that no command can make sense of, whatever it expects.
fn foreign() -> Vec<(&'static str, Vec<u8>)> {
    let config_maps = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n";
    let template = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Release.Name }}\n{{- if .Values.gpu }}\nspec: {}\n{{- end }}\n";
    vec![
        ("broken.yaml", b"kind: Pod\nmetadata: {name: [\n".to_vec()),
        ("broken.json", b"{\"kind\": \"Pod\", \"metadata\": {\"name\": ".to_vec()),
        ("binary", vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0xff, 0xfe, b'\n', 0x80]),
        ("template.yaml", template.as_bytes().to_vec()),
        ("configmaps.yaml", config_maps.as_bytes().to_vec()),
        ("deep.json", "[".repeat(1 << 20).into_bytes()),
        ("deep.yaml", "- ".repeat(1 << 14).into_bytes()),
        ("wide.txt", "a".repeat(32 << 20).into_bytes()),
        ("number.json", b"17\n".to_vec()),
    ]
}

/// Something that a command reads, with the rest of its arguments as they should be. `FILE` is the place of the file.
const PLACES: [(&str, &[&str]); 20] = [
    ("cluster", &["run", "-c", "FILE", "-w", "workload.yaml"]),
    ("workload", &["run", "-c", "cluster.yaml", "-w", "FILE"]),
    ("policy", &["run", "-c", "cluster.yaml", "-w", "workload.yaml", "-p", "FILE"]),
    ("module", &["run", "-c", "cluster.yaml", "-w", "workload.yaml", "-m", "FILE"]),
    ("cluster", &["run", "-c", "FILE", "-w", "workload.yaml", "--anonymize", "-"]),
    ("cluster", &["explain", "tf-smoke-gpu-ps-0", "-c", "FILE", "-w", "workload.yaml"]),
    ("workload", &["explain", "tf-smoke-gpu-ps-0", "-c", "cluster.yaml", "-w", "FILE"]),
    ("policy", &["explain", "tf-smoke-gpu-ps-0", "-c", "cluster.yaml", "-w", "workload.yaml", "-p", "FILE"]),
    ("cluster", &["compare", "default", "default", "-c", "FILE", "-w", "workload.yaml"]),
    ("cluster", &["record", "-c", "FILE", "-w", "workload.yaml", "--to", "-"]),
    ("recording", &["replay", "FILE"]),
    ("result", &["render", "FILE", "-o", "out.html"]),
    ("policy", &["check", "FILE"]),
    ("module", &["inspect", "FILE"]),
    ("module", &["bench", "FILE", "--nodes", "1"]),
    ("budget", &["bench", "--nodes", "1", "--budget", "FILE"]),
    ("policy", &["bench", "--nodes", "1", "--policy", "FILE"]),
    ("nodes", &["trace", "--nodes", "FILE", "--pods", "pods.csv"]),
    ("pods", &["trace", "--nodes", "nodes.csv", "--pods", "FILE"]),
    ("policy", &["trace", "--nodes", "nodes.csv", "--pods", "pods.csv", "-p", "FILE"]),
];

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("foreign-input").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    for file in ["cluster.yaml", "workload.yaml", "policy.json"] {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/tfjob").join(file);
        std::fs::copy(example, folder.join(file)).unwrap();
    }
    std::fs::write(folder.join("nodes.csv"), "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,4,G2\n").unwrap();
    let pods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n\
                p0,1000,1024,1,1000,,LS,Running,0,10,0\n";
    std::fs::write(folder.join("pods.csv"), pods).unwrap();
    folder
}

fn stowage(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stowage"));
    command.args(args).current_dir(folder).stdin(Stdio::null()).env("NO_COLOR", "1").output().unwrap()
}

fn with_file<'a>(args: &[&'a str], file: &'a str) -> Vec<&'a str> {
    args.iter().map(|arg| if *arg == "FILE" { file } else { arg }).collect()
}

#[test]
fn the_places_are_right_but_for_the_file() {
    let folder = folder("right");
    assert!(
        stowage(&folder, &["record", "-c", "cluster.yaml", "-w", "workload.yaml", "--to", "run.jsonl"])
            .status
            .success()
    );
    let result = stowage(&folder, &["run", "-c", "cluster.yaml", "-w", "workload.yaml", "-o", "json"]);
    std::fs::write(folder.join("result.json"), result.stdout).unwrap();
    std::fs::write(folder.join("budget.json"), "{}").unwrap();
    std::fs::write(folder.join("module.wasm"), stowage_host::builtin_module()).unwrap();
    for (what, args) in PLACES {
        let file = match what {
            "cluster" => "cluster.yaml",
            "workload" => "workload.yaml",
            "policy" => "policy.json",
            "module" => "module.wasm",
            "recording" => "run.jsonl",
            "result" => "result.json",
            "budget" => "budget.json",
            "nodes" => "nodes.csv",
            _ => "pods.csv",
        };
        let output = stowage(&folder, &with_file(args, file));
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn foreign_files_are_refused_by_name() {
    let folder = folder("foreign");
    let files = foreign();
    for (name, bytes) in &files {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    for (what, args) in PLACES {
        for name in files.iter().map(|(name, _)| *name).chain(["nowhere", "."]) {
            // Objects that make no pods may stand in a workload: see below.
            if (what, name) == ("workload", "configmaps.yaml") {
                continue;
            }
            let output = stowage(&folder, &with_file(args, name));
            let message = String::from_utf8_lossy(&output.stderr);
            let case = format!("{what} {name}: {}\n{message}", args.join(" "));
            assert_eq!(output.status.code(), Some(2), "{case}");
            assert!(message.contains(name) && !message.contains("panicked"), "{case}");
            assert!(message.len() < 2000, "{what} {name}: a message of {} bytes", message.len());
            assert!(output.stdout.is_empty(), "{case}");
        }
    }
}

#[test]
fn a_template_is_called_one() {
    let folder = folder("template");
    let template = foreign().into_iter().find(|(name, _)| *name == "template.yaml").unwrap().1;
    std::fs::write(folder.join("template.yaml"), template).unwrap();
    let output = stowage(&folder, &["run", "-c", "cluster.yaml", "-w", "template.yaml"]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("template.yaml") && message.contains("render it first"), "{message}");
}

#[test]
fn an_empty_file_is_not_an_answer() {
    let folder = folder("empty");
    std::fs::write(folder.join("empty"), "").unwrap();
    std::fs::write(folder.join("comment"), "# nothing here\n---\n\n").unwrap();
    for (what, args) in PLACES {
        for file in ["empty", "comment"] {
            // A plugin without guestConfig runs with its defaults, and so does an empty policy.
            let fine = what == "policy" && file == "empty";
            let output = stowage(&folder, &with_file(args, file));
            let message = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(if fine { 0 } else { 2 }), "{what} {file}: {args:?}\n{message}");
            assert!(fine || message.contains(file), "{what} {file}: {args:?}\n{message}");
        }
    }
}

#[test]
fn line_ends_and_byte_order_marks_of_other_systems_are_fine() {
    let folder = folder("windows");
    let args = ["run", "-c", "cluster.yaml", "-w", "workload.yaml", "-p", "policy.json", "-o", "json"];
    let plain = stowage(&folder, &args);
    assert!(plain.status.success());
    let other = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let files = ["cluster.yaml", "workload.yaml", "policy.json", "nodes.csv", "pods.csv"].map(|file| folder.join(file));
    let trace = ["trace", "--nodes", "nodes.csv", "--pods", "pods.csv", "-o", "json"];
    let traced = stowage(&folder, &trace);
    assert!(traced.status.success(), "{}", String::from_utf8_lossy(&traced.stderr));
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, other(&text)).unwrap();
    }
    assert_eq!(stowage(&folder, &args).stdout, plain.stdout);
    assert!(stowage(&folder, &["check", "policy.json"]).status.success());
    let again = stowage(&folder, &trace);
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));

    let result = String::from_utf8(plain.stdout).unwrap();
    std::fs::write(folder.join("result.json"), other(&result)).unwrap();
    assert!(stowage(&folder, &["render", "result.json", "-o", "page.html"]).status.success());
}

#[test]
fn what_stands_beside_a_workload_is_left_out_with_a_word() {
    let folder = folder("beside");
    let maps = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n";
    std::fs::write(folder.join("maps.yaml"), maps).unwrap();
    let output = stowage(&folder, &["run", "-c", "cluster.yaml", "-w", "workload.yaml", "maps.yaml"]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && message.contains("(ConfigMap a)") && message.contains("left out"), "{message}");
}

#[test]
fn what_is_there_twice_or_nowhere_is_named() {
    let folder = folder("strays");
    let cluster = std::fs::read_to_string(folder.join("cluster.yaml")).unwrap();
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: old, namespace: ml}\nspec:\n  nodeName: lost\n  containers: [{name: c}]\n";
    std::fs::write(folder.join("stray.yaml"), format!("{cluster}\n---\n{pod}")).unwrap();
    std::fs::write(folder.join("twice.yaml"), format!("{cluster}\n---\n{pod}---\n{pod}")).unwrap();
    let stray = stowage(&folder, &["run", "-c", "stray.yaml", "-w", "workload.yaml"]);
    let message = String::from_utf8_lossy(&stray.stderr);
    assert!(
        stray.status.success() && message.contains("pod ml/old is left out: it is bound to node lost"),
        "{message}"
    );
    let twice = stowage(&folder, &["run", "-c", "twice.yaml", "-w", "workload.yaml"]);
    let message = String::from_utf8_lossy(&twice.stderr);
    assert_eq!(twice.status.code(), Some(2), "{message}");
    assert!(
        message.contains("twice.yaml") && message.contains("Pod ml/old") && message.contains("was there before"),
        "{message}"
    );
}

#[test]
fn faulty_scenarios_name_their_file() {
    let folder = folder("scenario");
    std::fs::write(folder.join("expect.yaml"), "placements: {tf-smoke-gpu-ps-0: '*'}\n").unwrap();
    for (name, bytes) in foreign() {
        for file in ["cluster.yaml", "policy.json", "expect.yaml"] {
            let before = std::fs::read(folder.join(file)).unwrap();
            std::fs::write(folder.join(file), &bytes).unwrap();
            let output = stowage(&folder, &["test", "."]);
            let said = String::from_utf8_lossy(&output.stdout);
            assert_eq!(output.status.code(), Some(2), "{file} as {name}: {said}");
            assert!(said.contains("FAULTY") && said.contains(file), "{file} as {name}: {said}");
            std::fs::write(folder.join(file), before).unwrap();
        }
    }
    let missing = "policy: elsewhere.json\nplacements: {tf-smoke-gpu-ps-0: '*'}\n";
    std::fs::write(folder.join("expect.yaml"), missing).unwrap();
    let output = stowage(&folder, &["test", "."]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stdout).contains("cannot read ./elsewhere.json"));
}

#[test]
fn a_recording_that_was_cut_off_is_no_answer() {
    let folder = folder("cut-off");
    let recorded = stowage(&folder, &["record", "-c", "cluster.yaml", "-w", "workload.yaml", "--to", "run.jsonl"]);
    assert!(recorded.status.success());
    let lines = std::fs::read_to_string(folder.join("run.jsonl")).unwrap();
    let after = |count: usize| lines.split_inclusive('\n').take(count).collect::<String>();
    let half = after(7);
    for (text, message) in [
        (half.clone(), "cut off after line 7"),
        (half[..half.len() - 20].to_owned(), "line 7 is cut off"),
        (format!("{lines}{half}"), "the recording has ended before"),
    ] {
        std::fs::write(folder.join("cut.jsonl"), text).unwrap();
        let output = stowage(&folder, &["replay", "cut.jsonl"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}: {said}");
        assert!(said.contains(message), "{said}");
    }
    assert!(stowage(&folder, &["replay", "run.jsonl"]).status.success());
}
