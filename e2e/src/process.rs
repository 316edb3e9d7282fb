//! A program that runs beside the test.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// A child process with a log file. It is killed when dropped.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

/// How long a process may take to end when asked.
const PATIENCE: Duration = Duration::from_secs(20);

impl Process {
    /// Starts `command`; what it says goes to `folder/name.log`, after what is there already.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(name: &str, command: &mut Command, folder: &Path) -> Result<Self> {
        let log = folder.join(format!("{name}.log"));
        let file = File::options().create(true).append(true).open(&log).with_context(|| log.display().to_string())?;
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().display()))?;
        Ok(Self { name: name.to_owned(), child, log })
    }

    /// The operating system's number for it.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Everything it has said so far.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// When the operating system does not know.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Fails, with the end of the log, if it has ended by itself.
    ///
    /// # Errors
    /// See above.
    pub fn check(&mut self) -> Result<()> {
        if let Some(status) = self.ended()? {
            let log = self.log();
            let tail: Vec<&str> = log.lines().rev().take(15).collect();
            let tail: Vec<&str> = tail.into_iter().rev().collect();
            bail!("{} ended, {status}:\n{}", self.name, tail.join("\n"));
        }
        Ok(())
    }

    /// Ends it at once, as a crash would.
    pub fn kill(mut self) {
        self.end();
    }

    /// Lets it stand still, as a machine does that has no time for it.
    ///
    /// # Errors
    /// When it has ended.
    pub fn pause(&self) -> Result<()> {
        self.signal("STOP")
    }

    /// Lets it go on.
    ///
    /// # Errors
    /// When it has ended.
    pub fn resume(&self) -> Result<()> {
        self.signal("CONT")
    }

    /// The standard library can only kill.
    fn signal(&self, name: &str) -> Result<()> {
        let status =
            Command::new("kill").arg(format!("-{name}")).arg(self.id().to_string()).status().context("kill")?;
        anyhow::ensure!(status.success(), "{} could not be sent {name}", self.name);
        Ok(())
    }

    /// Asks it to end, and waits until it has; answers how.
    ///
    /// # Errors
    /// When it does not end.
    pub fn stop(mut self) -> Result<ExitStatus> {
        self.signal("TERM")?;
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        bail!("{} does not stop", self.name)
    }

    fn end(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }

    /// Resident memory in bytes.
    ///
    /// # Errors
    /// When it has ended.
    pub fn resident(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
        let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kib * 1024)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}
