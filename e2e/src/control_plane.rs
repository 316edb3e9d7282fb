//! etcd and kube-apiserver on loopback.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use http::Request;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::environment::CONTROL_PLANE;
use crate::kubectl::Kubectl;
use crate::process::Process;
use crate::wait;

/// Who talks to the API server. Each is a token; what it may do, RBAC says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// May do everything.
    Admin,
    /// The publisher's service account.
    Publisher,
    /// The scheduler's service account.
    Scheduler,
}

impl User {
    const ALL: [Self; 3] = [Self::Admin, Self::Publisher, Self::Scheduler];

    const fn token(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Publisher => "publisher",
            Self::Scheduler => "scheduler",
        }
    }

    /// The name of its kubeconfig.
    fn file(self) -> String {
        format!("{}.kubeconfig", self.token())
    }

    /// A line of kube-apiserver's token file.
    fn line(self) -> String {
        let token = self.token();
        match self {
            Self::Admin => format!("{token},{token},{token},\"system:masters\""),
            Self::Publisher | Self::Scheduler => format!(
                "{token},system:serviceaccount:stowage-system:stowage-{token},{token},\
                 \"system:serviceaccounts,system:serviceaccounts:stowage-system,system:authenticated\""
            ),
        }
    }
}

/// A control plane; it ends when dropped.
#[derive(Debug)]
pub struct ControlPlane {
    folder: PathBuf,
    port: u16,
    etcd_port: u16,
    /// After how many seconds an API server that is started forgets what has changed; by itself after minutes.
    pub memory: Option<u32>,
    api_server: Option<Process>,
    etcd: Process,
}

impl ControlPlane {
    /// Starts one with its files in `folder`, which must not exist.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn start(folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder)?;
        let [etcd_port, peer_port, port] = free_ports()?;
        let lines: Vec<String> = User::ALL.into_iter().map(User::line).collect();
        std::fs::write(folder.join("tokens.csv"), lines.join("\n"))?;
        for user in User::ALL {
            std::fs::write(folder.join(user.file()), kubeconfig(port, user))?;
        }
        let url = |port| format!("http://127.0.0.1:{port}");
        let mut command = Command::new(program("etcd")?);
        command
            .arg("--name=e2e")
            .arg(format!("--data-dir={}", folder.join("etcd").display()))
            .arg("--unsafe-no-fsync")
            .arg("--log-level=warn")
            .args(["listen-client-urls", "advertise-client-urls"].map(|flag| format!("--{flag}={}", url(etcd_port))))
            .args(
                ["listen-peer-urls", "initial-advertise-peer-urls"].map(|flag| format!("--{flag}={}", url(peer_port))),
            )
            .arg(format!("--initial-cluster=e2e={}", url(peer_port)));
        let etcd = Process::start("etcd", &mut command, folder)?;
        let mut plane = Self { folder: folder.to_owned(), port, etcd_port, memory: None, api_server: None, etcd };
        plane.start_api_server().await?;
        Ok(plane)
    }

    /// Starts the API server, where it was before if it has run already.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn start_api_server(&mut self) -> Result<()> {
        let certificates = self.folder.join("certificates");
        // It makes itself a serving certificate; the same key signs service account tokens.
        let key = certificates.join("apiserver.key");
        let mut command = Command::new(program("kube-apiserver")?);
        command
            .arg(format!("--etcd-servers=http://127.0.0.1:{}", self.etcd_port))
            .args(["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"])
            .arg(format!("--secure-port={}", self.port))
            .arg(format!("--cert-dir={}", certificates.display()))
            .arg(format!("--token-auth-file={}", self.folder.join("tokens.csv").display()))
            .arg("--service-account-issuer=https://kubernetes.default.svc")
            .args(["key", "signing-key"].map(|use_of| format!("--service-account-{use_of}-file={}", key.display())))
            .args(["--service-cluster-ip-range=10.0.0.0/24", "--authorization-mode=RBAC"])
            // Nobody here makes service accounts, nor takes a new node's not-ready taint away.
            .arg("--disable-admission-plugins=ServiceAccount,TaintNodesByCondition")
            .args(["--endpoint-reconciler-type=none", "--profiling=false"])
            .arg("--feature-gates=ImageVolume=true")
            .args(self.memory.map(|seconds| format!("--etcd-compaction-interval={seconds}s")));
        self.api_server = Some(Process::start("kube-apiserver", &mut command, &self.folder)?);
        let client = self.client(User::Admin).await?;
        wait::until("the API server is ready", async || {
            self.etcd.check()?;
            self.api_server.as_mut().context("stopped")?.check()?;
            client.request_text(Request::get("/readyz").body(Vec::new())?).await?;
            Ok(())
        })
        .await
    }

    /// Stops the API server. What it stored stays.
    ///
    /// # Errors
    /// When it does not stop.
    pub fn stop_api_server(&mut self) -> Result<()> {
        self.api_server.take().context("stopped already")?.kill();
        Ok(())
    }

    /// A folder for logs and other files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The kubeconfig of a user.
    #[must_use]
    pub fn kubeconfig(&self, user: User) -> PathBuf {
        self.folder.join(user.file())
    }

    /// A client for a user.
    ///
    /// # Errors
    /// When the kubeconfig cannot be used.
    pub async fn client(&self, user: User) -> Result<Client> {
        let file = Kubeconfig::read_from(self.kubeconfig(user))?;
        let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
        Ok(Client::try_from(config)?)
    }

    /// kubectl, as the administrator uses it.
    ///
    /// # Errors
    /// When there is none.
    pub fn kubectl(&self) -> Result<Kubectl> {
        Ok(Kubectl::new(program("kubectl")?, self.kubeconfig(User::Admin)))
    }
}

fn program(name: &str) -> Result<PathBuf> {
    Ok(CONTROL_PLANE.path().with_context(|| format!("{CONTROL_PLANE} is not set"))?.join(name))
}

fn free_ports<const N: usize>() -> Result<[u16; N]> {
    // All are held at once, so that no two are the same.
    let listeners = [(); N].map(|()| TcpListener::bind("127.0.0.1:0"));
    let mut ports = [0; N];
    for (port, listener) in ports.iter_mut().zip(listeners) {
        *port = listener?.local_addr()?.port();
    }
    Ok(ports)
}

/// A port that nobody listens on now.
///
/// # Errors
/// When there is none.
pub fn free_port() -> Result<u16> {
    free_ports().map(|[port]| port)
}

fn kubeconfig(port: u16, user: User) -> String {
    let token = user.token();
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: e2e\n\
         clusters: [{{name: e2e, cluster: {{server: \"https://127.0.0.1:{port}\", insecure-skip-tls-verify: true}}}}]\n\
         contexts: [{{name: e2e, context: {{cluster: e2e, user: {token}}}}}]\n\
         users: [{{name: {token}, user: {{token: {token}}}}}]\n"
    )
}
