//! The page in a real browser: no word on the console, what is to be seen, the keyboard, light and dark, a thousand nodes.
//!
//! Needs chromedriver with a Chromium (Debian: `chromium-driver`). Without it, each test says that it was not run. The
//! screenshots are in `target/tmp/picture-*.png`.

mod webdriver;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use webdriver::Browser;

/// Past the harness's capture: a test that was not run must not look like one that was.
fn browser(test: &str) -> Option<Browser> {
    let browser = Browser::start();
    if browser.is_none() {
        let _ = writeln!(std::io::stderr(), "picture_browser::{test} was NOT RUN: there is no chromedriver");
    }
    browser
}

fn temporary(file: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(file)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn stowage(args: &[&Path]) {
    let done = Command::new(env!("CARGO_BIN_EXE_stowage")).args(args).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn run_page(cluster: &Path, workload: &Path, page: &str) -> PathBuf {
    let page = temporary(page);
    stowage(&["run".as_ref(), "-c".as_ref(), cluster, "-w".as_ref(), workload, "--html".as_ref(), &page]);
    page
}

fn text(browser: &Browser, selector: &str) -> String {
    browser.value(&format!("document.querySelector('{selector}').innerText")).as_str().unwrap_or_default().to_owned()
}

#[test]
fn the_demo_s_page_shows_the_job() {
    let Some(browser) = browser("the_demo_s_page_shows_the_job") else { return };
    let example = root().join("../examples/tfjob");
    let page = run_page(&example.join("cluster.yaml"), &example.join("workload.yaml"), "picture-demo.html");
    assert_eq!(browser.open(&page), Vec::<String>::new(), "the console is silent");
    assert_eq!(text(&browser, "h1"), "5 pods placed on 1 of 2 nodes, 0 pending");
    let figures = text(&browser, ".figures");
    for figure in ["4 of 8", "1 of 2", "4 workers × 1 GPU", "or 2 × 2 GPUs, 1 × 4 GPUs", "1 of 1"] {
        assert!(figures.contains(figure), "{figure}: {figures}");
    }
    let count = |selector: &str| browser.value(&format!("document.querySelectorAll('{selector}').length"));
    assert_eq!(count("#nodes .row:not(.head)"), 2);
    assert_eq!(count("#nodes [data-when=after] .pod.placed"), 5);
    assert_eq!(count("#nodes [data-when=before] .pod"), 0);

    browser.point("#nodes [data-when=after] .pod.placed", false);
    let detail = text(&browser, "#detail");
    for words in ["default/tf-smoke-gpu-worker", "chosen", "requests nvidia.com/gpu 1"] {
        assert!(detail.contains(words), "{words}: {detail}");
    }
    browser.screenshot(&temporary("picture-demo-light.png"));
    let letters = "[...document.querySelectorAll('#nodes .pod')].map((pod) => pod.textContent).join('')";
    assert_eq!(browser.value(letters), "AAAAA");
    browser.point("input[value=class]", true);
    assert!(!browser.value(letters).as_str().unwrap().contains('A'), "letters are those of classes now");
    assert!(text(&browser, ".legend:not([hidden])").contains("L"));
    browser.prefer("dark");
    browser.screenshot(&temporary("picture-demo-dark.png"));
    assert_eq!(browser.console(), Vec::<String>::new());
}

#[test]
fn clusters_without_gpus_show_cpu() {
    let Some(browser) = browser("clusters_without_gpus_show_cpu") else { return };
    let (cluster, workload) = (temporary("picture-cpu-cluster.json"), temporary("picture-cpu-workload.json"));
    let node = |name: &str| {
        let amounts = json!({"cpu": "16", "memory": "64Gi", "pods": "110"});
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": amounts}})
    };
    let container = json!({"name": "main", "image": "x", "resources": {"requests": {"cpu": "3"}}});
    let pod = |name: String, node: Option<&str>| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "web"},
            "spec": {"nodeName": node, "containers": [container]}})
    };
    let items = json!([node("a"), node("b"), pod("old-0".to_owned(), Some("a")), pod("old-1".to_owned(), Some("b"))]);
    let pods: Vec<Value> = (0..9).map(|at| pod(format!("new-{at}"), None)).collect();
    std::fs::write(&cluster, json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()).unwrap();
    std::fs::write(&workload, json!({"apiVersion": "v1", "kind": "List", "items": pods}).to_string()).unwrap();
    let page = run_page(&cluster, &workload, "picture-cpu.html");
    assert_eq!(browser.open(&page), Vec::<String>::new());
    assert_eq!(text(&browser, "h1"), "8 pods placed on 2 of 2 nodes, 1 pending");
    let figures = text(&browser, ".figures");
    for figure in ["30 of 32", "6 before", "0 of 2", "1 CPU", "no gang was submitted"] {
        assert!(figures.contains(figure), "{figure}: {figures}");
    }
    let count = |selector: &str| browser.value(&format!("document.querySelectorAll('#nodes {selector}').length"));
    assert_eq!(
        (count(".gpu"), count("[data-when=before] .pod"), count("[data-when=after] .pod")),
        (0.into(), 2.into(), 10.into())
    );
    let full = "(() => { const [bar, pods] = ['.bar', '.bar .pod'].map((which) => [...document.querySelectorAll(`#nodes .row:nth-child(2) [data-when=after] ${which}`)]
        .reduce((sum, one) => sum + one.offsetWidth, 0)); return pods / bar; })()";
    let full = browser.value(full).as_f64().unwrap();
    assert!((0.9..0.96).contains(&full), "15 of 16 CPUs are drawn as {full}");
    browser.screenshot(&temporary("picture-cpu.png"));
}

#[test]
fn a_keyboard_is_enough() {
    let Some(browser) = browser("a_keyboard_is_enough") else { return };
    let page = temporary("picture-keyboard.html");
    stowage(&["render".as_ref(), &root().join("tests/picture/result.json"), "-o".as_ref(), &page]);
    browser.open(&page);
    let (tab, right, left, down, up) = ("\u{e004}", "\u{e014}", "\u{e012}", "\u{e015}", "\u{e013}");
    let (end, home, escape) = ("\u{e010}", "\u{e011}", "\u{e00c}");
    let label = || browser.value("document.activeElement.getAttribute('aria-label')");

    browser.press(&[tab]);
    assert_eq!(browser.value("document.activeElement.dataset.waiting"), "0", "pending pods come first");
    let detail = text(&browser, "#detail");
    assert!(detail.contains("ml/llama-0") && detail.contains("wasm refused 4 nodes"), "{detail}");

    let in_grid = "document.activeElement.closest('#nodes') !== null";
    let presses = (0..12).take_while(|_| browser.value(in_grid) == false).inspect(|_| browser.press(&[tab])).count();
    assert!(presses < 12, "Tab gets to the nodes");
    assert_eq!(label(), "gpu-1");
    browser.press(&[right]);
    assert_eq!(label(), "ml/old-0, job ml/old (Job), E, class LSR, GPU 0 before");
    browser.press(&[end]);
    assert!(label().as_str().unwrap().starts_with("kube-system/proxy-1"), "{}", label());
    browser.press(&[home, down, down]);
    assert_eq!(label(), "gpu-3<b>&\"'");
    browser.press(&[up, up]);
    (0..7).for_each(|_| browser.press(&[right]));
    assert!(label().as_str().unwrap().starts_with("ml/bert-0"), "{}", label());
    let detail = text(&browser, "#detail");
    for words in ["binpack", "61", "gpu-2", "40", "NodeResourcesFit refused 1 node"] {
        assert!(detail.contains(words), "{words}: {detail}");
    }
    let outline = browser.value("[getComputedStyle(document.activeElement).outlineStyle, getComputedStyle(document.activeElement).outlineWidth]");
    assert_eq!(outline, json!(["solid", "3px"]), "focus is visible");
    browser.press(&[left, escape]);
    assert_eq!(browser.value("document.getElementById('detail').hidden"), true);
    assert_eq!(browser.value("document.querySelectorAll('#nodes [tabindex=\"0\"]').length"), 1, "one stop for Tab");
}

#[test]
fn hostile_names_stay_names() {
    let Some(browser) = browser("hostile_names_stay_names") else { return };
    let result = root().join("tests/picture/result.json");
    for name in ["picture-hostile.html", "picture-hostile.svg"] {
        let page = temporary(name);
        stowage(&["render".as_ref(), &result, "-o".as_ref(), &page]);
        assert_eq!(browser.open(&page), Vec::<String>::new());
        assert_eq!(browser.value("window.broken ?? null"), Value::Null);
        assert_eq!(browser.value("document.querySelectorAll('img').length"), 0);
        assert!(
            browser.value("document.documentElement.textContent").as_str().unwrap().contains("<img src=x onerror=")
        );
        browser.prefer("light");
        browser.screenshot(&temporary(&format!("{name}-light.png")));
        browser.prefer("dark");
        browser.screenshot(&temporary(&format!("{name}-dark.png")));
    }
    browser.open(&temporary("picture-hostile.html"));
    browser.point("button[data-waiting='1']", true);
    assert!(text(&browser, "#detail").contains("x/</script><img src=x"));
    assert_eq!(browser.value("document.querySelectorAll('#detail img').length"), 0);
}

/// Letters on every fill, and text on every background, in both modes; 4.5 is what WCAG 2.2 asks for.
#[test]
fn contrasts_suffice_in_light_and_dark() {
    let Some(browser) = browser("contrasts_suffice_in_light_and_dark") else { return };
    let page = temporary("picture-contrast.html");
    stowage(&["render".as_ref(), &root().join("tests/picture/result.json"), "-o".as_ref(), &page]);
    browser.open(&page);
    for scheme in ["light", "dark"] {
        browser.prefer(scheme);
        let least = browser.value(include_str!("contrast.js"));
        assert!(least["pairs"].as_u64().unwrap() > 5, "{least}");
        assert!(least["contrast"].as_f64().unwrap() >= 4.5, "{scheme}: {least}");
    }
}

#[test]
fn a_thousand_nodes_stay_usable() {
    let Some(browser) = browser("a_thousand_nodes_stay_usable") else { return };
    let (cluster, workload) = (temporary("picture-cluster.json"), temporary("picture-workload.json"));
    std::fs::write(&cluster, thousand_nodes().to_string()).unwrap();
    std::fs::write(&workload, json!({"apiVersion": "v1", "kind": "List", "items": jobs()}).to_string()).unwrap();
    let page = run_page(&cluster, &workload, "picture-thousand.html");
    let size = std::fs::metadata(&page).unwrap().len();
    assert!((200_000..2_000_000).contains(&size), "{size} bytes");
    assert_eq!(browser.open(&page), Vec::<String>::new());
    let shown = || text(&browser, "#shown");
    let rows = || browser.value("document.querySelectorAll('#nodes .row:not(.head)').length").as_u64().unwrap();
    assert!(shown().starts_with("1,000 nodes of 1,000"), "{}", shown());
    let grouped = rows();
    assert!(grouped < 1000, "identical nodes stand together: {grouped} rows");
    browser.screenshot(&temporary("picture-thousand-light.png"));
    browser.prefer("dark");
    browser.point("#nodes .pod", false);
    browser.screenshot(&temporary("picture-thousand-dark.png"));
    browser.point("#grouped", true);
    assert_eq!(rows(), 1000);
    browser.point("#filter", true);
    browser.press(&["-", "0", "0", "4", "2"]);
    assert!(shown().starts_with("1 node of 1,000 in 1 row"), "{}", shown());
    // What is out of sight is not drawn, and has no inner text.
    let row = browser.value("document.querySelector('#nodes .row').textContent");
    assert!(row.as_str().unwrap().contains("node-0042"), "{row}");
    assert_eq!(browser.console(), Vec::<String>::new());
}

/// 1,000 nodes of 8 GPUs in different states of use, with 4,700 pods.
fn thousand_nodes() -> Value {
    let mut items = Vec::new();
    for at in 0..1000 {
        let node = format!("node-{at:04}");
        let amounts = json!({"cpu": "96", "memory": "768Gi", "pods": "110", "nvidia.com/gpu": "8"});
        items.push(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node, "labels": {"kubernetes.io/hostname": node}},
            "status": {"allocatable": amounts, "capacity": amounts}}));
        let mut pod = |name: String, kind: &str, owner: String, cpu: &str, gpus: u32| {
            let requests = json!({"cpu": cpu, "nvidia.com/gpu": gpus.to_string()});
            items.push(json!({"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": name, "namespace": "team", "ownerReferences":
                    [{"apiVersion": "batch/v1", "kind": kind, "name": owner, "uid": owner, "controller": true}]},
                "spec": {"nodeName": node, "containers": [{"name": "main", "image": "x",
                    "resources": {"requests": requests, "limits": {"nvidia.com/gpu": gpus.to_string()}}}]}}));
        };
        pod(format!("exporter-{at:04}"), "DaemonSet", "exporter".to_owned(), "250m", 0);
        let (size, used) = ([1, 2, 4, 8][at % 4], [8, 6, 4, 0][at % 4]);
        for index in 0..used / size {
            pod(format!("train-{}-{at:04}-{index}", at % 30), "Job", format!("train-{}", at % 30), "4", size);
        }
    }
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

/// Jobs of several sizes, the last of which cannot fit.
fn jobs() -> Vec<Value> {
    let job = |name: &str, workers: u32, gpus: u32| {
        let container = json!({"name": "pytorch", "image": "x", "resources": {"limits": {"nvidia.com/gpu": gpus.to_string()}, "requests": {"cpu": "8"}}});
        json!({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name, "namespace": "team"},
            "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": workers, "template": {
                "metadata": {"labels": {"pod-group.scheduling.sigs.k8s.io/name": name,
                    "pod-group.scheduling.sigs.k8s.io/min-available": workers.to_string()}},
                "spec": {"containers": [container]}}}}}})
    };
    vec![job("wide", 64, 2), job("whole", 16, 8), job("small", 10, 1), job("too-large", 300, 8)]
}
