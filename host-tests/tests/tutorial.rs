//! The tutorial as its readers follow it: its files are written, its commands run, and what they print compared.
//!
//! `STOWAGE_BLESS=1` writes what comes out now into the tutorial.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The document with the output of every command as it is now.
fn followed(text: &str, folder: &Path) -> String {
    let mut written = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        written.push_str(line);
        written.push('\n');
        let Some(info) = line.strip_prefix("```").filter(|info| !info.is_empty()) else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        if let Some((_, file)) = info.split_once("file=") {
            std::fs::write(folder.join(file), block.join("\n") + "\n").unwrap();
            block.iter().for_each(|line| written.push_str(&format!("{line}\n")));
        } else {
            assert_eq!(info, "console", "a block is a file or for the console");
            for command in block.iter().filter_map(|line| line.strip_prefix("$ ")) {
                written.push_str(&format!("$ {command}\n{}", run(command, folder)));
            }
        }
        written.push_str("```\n");
    }
    written
}

fn run(command: &str, folder: &Path) -> String {
    let mut words = command.split(' ');
    assert_eq!(words.next(), Some("stowage"), "{command}");
    let output = Command::new(env!("CARGO_BIN_EXE_stowage"))
        .args(words)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

#[test]
fn every_command_of_the_tutorial_prints_what_it_says() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tutorial.md");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("tutorial");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let followed = followed(&text, &folder);
    if std::env::var_os("STOWAGE_BLESS").is_some() {
        std::fs::write(&file, followed).unwrap();
        return;
    }
    let different = text.lines().zip(followed.lines()).find(|(said, is)| said != is);
    assert_eq!(different, None, "the tutorial's line, and what it should be (STOWAGE_BLESS=1 rewrites it)");
    assert_eq!(text.lines().count(), followed.lines().count());
}
