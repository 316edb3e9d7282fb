//! Every `stowage` command in the documents, run where the document says it is run.
//!
//! The tutorial has a test of its own, which also compares what its commands print.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The indented commands of a document: their words, and the file that the output goes to.
fn commands(text: &str) -> Vec<(Vec<String>, Option<String>)> {
    let text = text.replace("\\\n", " ");
    let lines = text.lines().filter(|line| line.starts_with("    "));
    let commands = lines.filter_map(|line| {
        let line = line.split(" # ").next().unwrap_or_default().trim();
        line.strip_prefix("stowage ").or_else(|| line.strip_prefix("cargo run --release --bin stowage -- "))
    });
    let split = commands.map(|command| {
        let (command, output) = match command.split_once(" > ") {
            Some((command, output)) => (command, Some(output.trim().to_owned())),
            None => (command, None),
        };
        (command.split_whitespace().map(str::to_owned).collect(), output)
    });
    split.collect()
}

/// A replay of which only the first arrivals of one seed are run, with its patterns replaced by files and the document's own
/// chart left alone. `make trace` runs all of it.
fn begun(words: &[String], folder: &Path) -> Vec<String> {
    let mut begun = vec!["--arrive".to_owned(), "0.01".to_owned()];
    let mut left = words[1..].iter();
    while let Some(word) = left.next() {
        match word.split_once('*') {
            _ if ["--arrive", "--seeds"].contains(&&**word) => drop(left.next()),
            _ if word == "--chart" => {
                left.next();
                begun.extend([word.clone(), format!("{}/chart.svg", env!("CARGO_TARGET_TMPDIR"))]);
            }
            None => begun.push(word.clone()),
            Some((start, end)) => {
                let (parent, start) = start.rsplit_once('/').unwrap();
                let names = std::fs::read_dir(folder.join(parent)).unwrap();
                let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
                let fitting = names.filter(|name| name.starts_with(start) && name.ends_with(end));
                begun.extend(fitting.map(|name| format!("{parent}/{name}")));
            }
        }
    }
    begun.insert(0, words[0].clone());
    begun
}

/// Runs the commands of a document in this folder and says how many there were.
fn follow(document: &Path, folder: &Path) -> usize {
    follow_text(&std::fs::read_to_string(document).unwrap(), document, folder)
}

fn follow_text(text: &str, document: &Path, folder: &Path) -> usize {
    let commands = commands(text);
    for (words, output) in &commands {
        let words = if words[0] == "trace" { &begun(words, folder) } else { words };
        let mut command = Command::new(env!("CARGO_BIN_EXE_stowage"));
        let done = command.args(words).current_dir(folder).env("NO_COLOR", "1").output().unwrap();
        let message = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{}: {}\n{message}", document.display(), words.join(" "));
        if let Some(file) = output {
            std::fs::write(folder.join(file), done.stdout).unwrap();
        }
    }
    commands.len()
}

#[test]
fn commands_of_the_examples_work_in_their_folders() {
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let folder = entry.unwrap().path();
        if folder.is_dir() {
            assert!(follow(&folder.join("README.md"), &folder) > 0, "{}", folder.display());
        }
    }
}

#[test]
fn commands_about_a_scenario_work_in_its_folder() {
    let folder = root().join("host-tests/scenarios/qos-colocation");
    assert!(follow(&root().join("docs/qos.md"), &folder) > 0);
}

#[test]
fn commands_from_the_root_work_there() {
    for document in ["docs/packing.md", "docs/cases.md"] {
        assert!(follow(&root().join(document), &root()) > 0, "{document}");
    }
}

#[test]
fn commands_on_one_s_own_files_work() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("documents");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let example = |file: &str| std::fs::read_to_string(root().join("examples/tfjob").join(file)).unwrap();
    let pod =
        "apiVersion: v1\nkind: Pod\nmetadata: {name: my-pod, namespace: default}\nspec: {containers: [{name: main}]}\n";
    let files = [
        ("cluster.yaml", example("cluster.yaml")),
        ("cluster.json", example("cluster.yaml")),
        ("job.yaml", format!("{}\n---\n{pod}", example("workload.yaml"))),
        ("policy.json", example("policy.json")),
    ];
    for (name, text) in files {
        std::fs::write(folder.join(name), text).unwrap();
    }
    for document in ["README.md", "docs/operations.md", "docs/pictures.md"] {
        assert!(follow(&root().join(document), &folder) > 0, "{document}");
    }
    for picture in ["run.html", "run.svg"] {
        assert!(folder.join(picture).exists(), "{picture}");
    }
}

#[test]
fn examples_of_the_help_work_as_printed() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("help");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    for entry in std::fs::read_dir(root().join("examples/tfjob")).unwrap() {
        let file = entry.unwrap().path();
        std::fs::copy(&file, folder.join(file.file_name().unwrap())).unwrap();
    }
    let help = Command::new(env!("CARGO_BIN_EXE_stowage")).arg("--help").output().unwrap().stdout;
    let count = follow_text(&String::from_utf8(help).unwrap(), Path::new("--help"), &folder);
    assert!(count > 10, "{count} examples");
}
