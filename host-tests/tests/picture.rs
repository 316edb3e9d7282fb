//! Pictures as files: what is drawn, and that nothing gets out of its place. What a browser makes of them is tested in
//! `picture_browser`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

fn fixture(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/picture").join(file)
}

fn temporary(file: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(file)
}

fn stowage(args: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_stowage")).args(args).env("NO_COLOR", "1").output().unwrap()
}

/// Draws a result; the output file is named after the test, which may run beside others.
fn render(result: &Path, output: &str, options: &[&str]) -> String {
    let output = temporary(output);
    let mut args = vec![Path::new("render"), result, Path::new("-o"), &output];
    args.extend(options.iter().map(Path::new));
    let done = stowage(&args);
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(done.stdout.is_empty());
    std::fs::read_to_string(output).unwrap()
}

#[test]
fn drawings_are_as_they_were() {
    for (options, golden) in [(&[][..], "by-job.svg"), (&["--by", "class"][..], "by-class.svg")] {
        let drawn = render(&fixture("result.json"), &format!("golden-{golden}"), options);
        let file = fixture(golden);
        if std::env::var_os("STOWAGE_BLESS").is_some() {
            std::fs::write(&file, &drawn).unwrap();
        }
        let expected = std::fs::read_to_string(&file).unwrap_or_default();
        let differing = drawn.lines().zip(expected.lines()).position(|(drawn, expected)| drawn != expected);
        assert!(
            drawn == expected,
            "{golden} differs in line {:?}; STOWAGE_BLESS=1 rewrites it",
            differing.map(|at| at + 1)
        );
    }
}

#[test]
fn names_and_reasons_are_text() {
    let svg = render(&fixture("result.json"), "hostile.svg", &[]);
    let html = render(&fixture("result.json"), "hostile.html", &[]);
    for picture in [&svg, &html] {
        assert!(
            picture.contains("x/&lt;/script&gt;&lt;img src=x onerror=&quot;window.broken=1&quot;&gt;"),
            "{picture}"
        );
        assert!(!picture.contains("<img") && !picture.contains("<script>window.broken"), "{picture}");
    }
    assert_eq!(html.matches("<script").count(), 2, "the data and the program");
    assert_eq!(html.matches("</script").count(), 2);
    let data = html.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    assert!(data["nodes"].as_array().unwrap().iter().any(|node| node[0] == "gpu-3<b>&\"'"), "{data}");
}

#[test]
fn a_page_asks_for_nothing_else() {
    let html = render(&fixture("result.json"), "alone.html", &[]);
    for word in ["http://", "https://", "src=\"", "href", "@import", "url("] {
        assert!(!html.contains(word), "{word}");
    }
    let svg = render(&fixture("result.json"), "alone.svg", &[]);
    let without_namespace = svg.replacen("http://www.w3.org/2000/svg", "", 1);
    assert!(!without_namespace.contains("http") && !svg.contains("href"));
}

#[test]
fn a_run_draws_what_it_prints() {
    let example = |file: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/tfjob").join(file);
    let (page, again) = (temporary("run.html"), temporary("run-again.html"));
    let (cluster, workload) = (example("cluster.yaml"), example("workload.yaml"));
    let inputs = [Path::new("run"), Path::new("-c"), &cluster, Path::new("-w"), &workload];
    let run = stowage(&[&inputs[..], &[Path::new("-o"), Path::new("json"), Path::new("--html"), &page]].concat());
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    let outcome: Value = serde_json::from_slice(&run.stdout).unwrap();
    let pods = outcome["nodes"].as_array().unwrap().iter().flat_map(|node| node["pods"].as_array().unwrap());
    let workers: Vec<&Value> = pods.filter(|pod| pod["pod"].as_str().unwrap().contains("worker")).collect();
    assert_eq!(workers.len(), 4);
    for worker in workers {
        assert_eq!(worker["owner"], "TFJob/tf-smoke-gpu");
        assert_eq!(worker["gang"], "default/tf-smoke-gpu");
        assert_eq!(worker["change"], "placed");
        assert_eq!(worker["gpus"].as_array().unwrap().len(), 1);
        assert_eq!(worker["explain"]["nodes"][0]["node"], outcome["placements"][1]["node"], "{worker}");
    }
    let result = temporary("run-result.json");
    std::fs::write(&result, &run.stdout).unwrap();
    render(&result, "run-again.html", &[]);
    assert_eq!(std::fs::read_to_string(page).unwrap(), std::fs::read_to_string(again).unwrap());
}

#[test]
fn what_cannot_be_drawn_says_why() {
    let write = |name: &str, result: &Value| {
        let file = temporary(name);
        std::fs::write(&file, result.to_string()).unwrap();
        file
    };
    let empty = json!({"schemaVersion": "v1", "placements": [], "pending": [], "nodes": [], "cycles": 0, "simulatedSeconds": 0.0});
    let with = |key: &str, value: Value| {
        let mut result = empty.clone();
        result[key] = value;
        result
    };
    let node = json!([{"name": "n", "allocated": {}, "allocatable": {"cpu": 1000}}]);
    let cases = [
        (write("foreign.json", &json!({"kind": "List"})), "x.html", "is not the output of `stowage run -o json`"),
        (
            write("v2.json", &with("schemaVersion", json!("v2"))),
            "x.html",
            "schemaVersion \"v2\"; this program reads v1",
        ),
        (write("bare.json", &with("nodes", node)), "x.svg", "does not say which pods are on the nodes"),
        (write("empty.json", &empty), "x.pdf", "a picture is a file *.html or, with `stowage render`, *.svg"),
        (temporary("nowhere.json"), "x.html", "cannot read"),
    ];
    for (result, output, message) in cases {
        let done = stowage(&[Path::new("render"), &result, Path::new("-o"), &temporary(output)]);
        let stderr = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(message), "{stderr}");
    }
    let early = stowage(&["run", "-c", "nowhere.yaml", "--html", "x.png"].map(Path::new));
    let stderr = String::from_utf8_lossy(&early.stderr);
    assert!(early.status.code() == Some(2) && stderr.contains("a picture is a file *.html"), "{stderr}");
    render(&temporary("empty.json"), "empty.html", &[]);
    render(&temporary("empty.json"), "empty.svg", &[]);
}
