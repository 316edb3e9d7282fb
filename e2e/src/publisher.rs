//! The publisher as a process.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::control_plane::{ControlPlane, User, free_port};
use crate::environment::PUBLISHER;
use crate::process::Process;

/// A running publisher.
#[derive(Debug)]
pub struct Publisher {
    /// The process.
    pub process: Process,
    port: u16,
}

impl Publisher {
    /// Starts one as its service account, under a name of its own.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(plane: &ControlPlane, name: &str) -> Result<Self> {
        Self::start_with(plane, name, &[])
    }

    /// The same with more options.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start_with(plane: &ControlPlane, name: &str, options: &[&str]) -> Result<Self> {
        let program = PUBLISHER.path().with_context(|| format!("{PUBLISHER} is not set"))?;
        let port = free_port()?;
        let mut command = Command::new(program);
        command
            .arg(format!("--kubeconfig={}", plane.kubeconfig(User::Publisher).display()))
            .arg(format!("--listen=127.0.0.1:{port}"))
            .arg(format!("--identity={name}"))
            .args(["--namespace=stowage-system", "--log-format=text"])
            .args(options);
        Ok(Self { process: Process::start(name, &mut command, plane.folder())?, port })
    }

    /// What one of its pages says, if it says so with status 200.
    ///
    /// # Errors
    /// When it does not.
    pub fn get(&mut self, path: &str) -> Result<String> {
        self.process.check()?;
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("no answer")?;
        anyhow::ensure!(head.split(' ').nth(1) == Some("200"), "{path}: {head}");
        Ok(body.to_owned())
    }

    /// A metric without labels, or with those in `name`.
    ///
    /// # Errors
    /// When there is none.
    pub fn metric(&mut self, name: &str) -> Result<f64> {
        let page = self.get("/metrics")?;
        let line = page
            .lines()
            .find_map(|line| line.strip_prefix("stowage_publisher_")?.strip_prefix(name)?.strip_prefix(' '));
        Ok(line.with_context(|| format!("no metric {name}"))?.parse()?)
    }
}
