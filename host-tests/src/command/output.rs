//! Tables for people, progress for the patient, the module's log for everybody.

use std::io::{IsTerminal as _, Write as _};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};

use super::BAD_INPUT;
use super::inputs::Log;
use crate::hint::hinted;
use crate::simulation::Simulation;
use crate::trial::explain_line;

/// Writes a line of data to stdout. A reader that has seen enough (`| head`) is no fault; where data cannot be written
/// for another reason, such as a full disk, nothing more is worth doing.
pub fn line(text: impl std::fmt::Display) {
    match writeln!(std::io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            say(format_args!("error: cannot write to standard output: {error}"));
            std::process::exit(BAD_INPUT.into());
        }
        _ => {}
    }
}

/// Writes a line for people to stderr, if there is anybody.
pub fn say(text: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// How data is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    Table,
    /// For programs.
    Json,
}

/// Rows with aligned columns.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these column names.
    pub fn new<S: Into<String>>(columns: impl IntoIterator<Item = S>) -> Self {
        Self { rows: vec![columns.into_iter().map(Into::into).collect()] }
    }

    /// Adds a row.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Prints the table, its column names in bold on a terminal that wants it.
    pub fn print(&self) {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for (index, row) in self.rows.iter().enumerate() {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            let line = cells.collect::<Vec<_>>().join("  ");
            let line = line.trim_end();
            if index == 0 { self::line(bold(line)) } else { self::line(line) }
        }
    }
}

fn bold(text: &str) -> String {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if plain || !std::io::stdout().is_terminal() { text.to_owned() } else { format!("\u{1b}[1m{text}\u{1b}[0m") }
}

/// Says what went wrong, with a hint where a word was mistyped.
pub fn say_error(error: &anyhow::Error) {
    say(format_args!("error: {}", hinted(&format!("{error:#}"))));
}

/// A line on the terminal that shows how far a run has come; nothing elsewhere.
pub fn progress(pods: &str) -> ProgressBar {
    spinner("{spinner} {pos} scheduling cycles for {msg} ({elapsed})", pods)
}

/// A line on the terminal while files are read, which takes seconds for the dump of a large cluster; nothing elsewhere.
pub fn reading(files: usize) -> ProgressBar {
    let bar = spinner("{spinner} reading {msg} ({elapsed})", &format!("{files} file(s)"));
    bar.enable_steady_tick(std::time::Duration::from_millis(100));
    bar
}

/// Shows itself on a terminal only, and is gone in the end.
pub fn spinner(template: &str, message: &str) -> ProgressBar {
    let target =
        if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(None, target);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.with_message(message.to_owned()).with_finish(ProgressFinish::AndClear)
}

/// Prints the module's log, each line once, and what it did wrong. True if it did anything wrong.
pub fn report_module(simulation: &Simulation, log: &Log) -> bool {
    let mut seen = std::collections::BTreeSet::new();
    for (severity, line) in log.borrow().iter() {
        if explain_line(line).is_none() && seen.insert(line.clone()) {
            let level = match severity {
                0 => "info",
                1 => "warning",
                _ => "error",
            };
            say(format_args!("module {level}: {line}"));
        }
    }
    report_errors(simulation)
}

/// Prints what the module did wrong. True if it did anything wrong.
pub fn report_errors(simulation: &Simulation) -> bool {
    let errors = simulation.plugin_errors();
    if let Some(first) = errors.first() {
        say(format_args!("error: the module misbehaved {} time(s), first: {first}", errors.len()));
    }
    !errors.is_empty()
}
