//! A registry of images on loopback.

use crate::assets::Component;
use crate::error::Result;
use crate::process::ports;
use crate::process::run_dir::RunDir;
use crate::process::{Launch, Probe, Process, show_logs_of_failure};

/// How often a start is tried, when another process took the port in between.
const ATTEMPTS: usize = 3;

/// A running registry (docker-registry): without TLS, without users, open to writing and deleting. It ends when the
/// value is dropped, and when this process ends in any way.
#[derive(Debug)]
pub struct Registry {
    // The process ends before its directory goes.
    process: Process,
    port: u16,
    _dir: RunDir,
}

impl Registry {
    /// Starts an empty registry, and waits until it can be used.
    pub async fn start() -> Result<Self> {
        let mut attempt = 1;
        loop {
            match Self::start_once().await {
                Err(error) if error.is_port_collision() && attempt < ATTEMPTS => attempt += 1,
                result => return result,
            }
        }
    }

    async fn start_once() -> Result<Self> {
        let program = Component::DockerRegistry.find()?;
        let dir = RunDir::new("registry")?;
        let [port] = ports::free()?;
        let config = dir.write("config.yml", &config(port, &dir))?;
        let launch = Launch {
            name: "docker-registry",
            program,
            args: vec!["serve".into(), config.into()],
            dir: dir.path().to_owned(),
            probe: Probe::Http { port, path: "/v2/" },
        };
        let process = Process::spawn(launch)?;
        process.wait_ready().await?;
        Ok(Self { process, port, _dir: dir })
    }

    /// The port on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The host as it stands in the name of an image: `127.0.0.1:PORT`.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The URL, without a slash at the end.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.host())
    }

    /// The process: to pause, resume, kill and restart it. What was pushed survives a restart.
    pub fn process(&self) -> &Process {
        &self.process
    }
}

fn config(port: u16, dir: &RunDir) -> String {
    format!(
        "version: 0.1
log: {{level: info, formatter: text}}
storage:
  filesystem: {{rootdirectory: {}}}
  delete: {{enabled: true}}
http:
  addr: 127.0.0.1:{port}
",
        dir.join("images").display()
    )
}

impl Drop for Registry {
    fn drop(&mut self) {
        show_logs_of_failure([&self.process]);
    }
}
