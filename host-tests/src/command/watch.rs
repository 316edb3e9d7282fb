//! Running again whenever an input changes.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use super::output::{say, say_error};

/// How often files are looked at. Asking the file system for events would need a library per platform, and would miss
/// network mounts.
const PERIOD: Duration = Duration::from_millis(250);

/// Runs now and after every change of a file in `paths` (files, or folders with all below), until it is interrupted. What goes
/// wrong is printed, and does not end it.
///
/// # Errors
/// None; the result is that of what it runs.
pub fn watch(paths: &[PathBuf], mut run: impl FnMut() -> anyhow::Result<ExitCode>) -> anyhow::Result<ExitCode> {
    loop {
        let before = times(paths);
        if std::io::stdout().is_terminal() {
            // Clears the screen and goes to its top.
            print!("\u{1b}[2J\u{1b}[H");
        }
        if let Err(error) = run() {
            say_error(&error);
        }
        say(format_args!("watching {} file(s)", before.len()));
        while times(paths) == before {
            std::thread::sleep(PERIOD);
        }
    }
}

/// When each file was last changed. One that cannot be looked at is as one that is not there.
fn times(paths: &[PathBuf]) -> BTreeMap<PathBuf, Option<SystemTime>> {
    let mut times = BTreeMap::new();
    let mut left: Vec<PathBuf> = paths.iter().filter(|path| *path != Path::new("-")).cloned().collect();
    while let Some(path) = left.pop() {
        match std::fs::read_dir(&path) {
            Ok(entries) => left.extend(entries.filter_map(Result::ok).map(|entry| entry.path())),
            Err(_) => {
                let changed = std::fs::metadata(&path).and_then(|meta| meta.modified()).ok();
                times.insert(path, changed);
            }
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_changed_and_lost_files_are_seen() {
        let folder = std::env::temp_dir().join(format!("stowage-watch-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("inner")).unwrap();
        let seen = || times(&[folder.clone(), PathBuf::from("-")]);
        let empty = seen();
        assert!(empty.is_empty());
        let file = folder.join("inner/a.yaml");
        std::fs::write(&file, "a").unwrap();
        let one = seen();
        assert_eq!(one.keys().collect::<Vec<_>>(), [&file]);
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        std::fs::File::options().write(true).open(&file).unwrap().set_modified(long_ago).unwrap();
        assert_ne!(seen(), one);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_ne!(seen(), one);
    }
}
