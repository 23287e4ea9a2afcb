//! The processes of a control plane and their command lines.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::assets::Component;
use crate::cluster::credentials::{Credentials, FRONT_PROXY};
use crate::error::Result;
use crate::process::ports;
use crate::process::run_dir::RunDir;
use crate::process::{Launch, Probe, Process};

/// What kwok makes of nodes and pods.
const STAGES: &str = include_str!("../../../../testbed/stages.yaml");

/// The programs of a control plane, found.
#[derive(Debug)]
struct Programs {
    etcd: PathBuf,
    apiserver: PathBuf,
    controllers: Option<[PathBuf; 3]>,
}

impl Programs {
    fn find(controllers: bool) -> Result<Self> {
        Ok(Self {
            etcd: Component::Etcd.find()?,
            apiserver: Component::KubeApiserver.find()?,
            controllers: if controllers {
                let [manager, scheduler, kwok] =
                    [Component::KubeControllerManager, Component::KubeScheduler, Component::Kwok].map(Component::find);
                Some([manager?, scheduler?, kwok?])
            } else {
                None
            },
        })
    }
}

/// The processes that make Deployments roll out, namespaces end and pods run.
#[derive(Debug)]
pub(crate) struct Controllers {
    pub(crate) manager: Process,
    pub(crate) scheduler: Process,
    pub(crate) kwok: Process,
}

/// The running processes. They end in the order of the fields: kube-apiserver before etcd, since without etcd it does
/// not end for a long time.
#[derive(Debug)]
pub(crate) struct ControlPlane {
    pub(crate) apiserver: Process,
    pub(crate) controllers: Option<Controllers>,
    pub(crate) etcd: Process,
    pub(crate) credentials: Credentials,
    pub(crate) admin_kubeconfig: PathBuf,
    pub(crate) url: String,
    pub(crate) etcd_port: u16,
}

impl ControlPlane {
    /// Starts the processes and waits until each is ready.
    pub(crate) async fn start(dir: &RunDir, controllers: bool, apiserver_flags: &[String]) -> Result<Self> {
        let programs = Programs::find(controllers)?;
        let [client_port, peer_port, port, manager_port, scheduler_port, kwok_port] = ports::free()?;
        let url = format!("https://127.0.0.1:{port}");
        let credentials = Credentials::new(&dir.join("credentials"), &url)?;
        let admin_kubeconfig = credentials.kubeconfig("admin", Some("system:masters"))?;

        let etcd = Process::spawn(etcd(dir, programs.etcd, client_port, peer_port))?;
        let mut launch = apiserver(dir, programs.apiserver, &credentials, client_port, port, controllers);
        launch.args.extend(apiserver_flags.iter().map(OsString::from));
        launch.probe = https(&admin_kubeconfig, &url, "/readyz").await?;
        // It tries to reach etcd until that is ready.
        let apiserver = Process::spawn(launch)?;
        etcd.wait_ready().await?;
        apiserver.wait_ready().await?;

        let controllers = match programs.controllers {
            None => None,
            Some([manager, scheduler, kwok]) => {
                let mut manager =
                    with_kubeconfigs(dir, "kube-controller-manager", manager, &credentials, manager_port)?;
                manager.args.extend([
                    "--use-service-account-credentials=false".into(),
                    "--kube-api-qps=500".into(),
                    "--kube-api-burst=1000".into(),
                    flag("--service-account-private-key-file", &credentials.service_account_key),
                    flag("--root-ca-file", &credentials.authority_file),
                ]);
                let server = format!("https://127.0.0.1:{manager_port}");
                manager.probe = https(&admin_kubeconfig, &server, "/healthz").await?;
                let mut scheduler = with_kubeconfigs(dir, "kube-scheduler", scheduler, &credentials, scheduler_port)?;
                scheduler.args.extend(["--kube-api-qps=500".into(), "--kube-api-burst=1000".into()]);
                let server = format!("https://127.0.0.1:{scheduler_port}");
                scheduler.probe = https(&admin_kubeconfig, &server, "/readyz").await?;
                let controllers = Controllers {
                    manager: Process::spawn(manager)?,
                    scheduler: Process::spawn(scheduler)?,
                    kwok: Process::spawn(self::kwok(dir, kwok, &credentials, kwok_port)?)?,
                };
                controllers.kwok.wait_ready().await?;
                controllers.manager.wait_ready().await?;
                controllers.scheduler.wait_ready().await?;
                Some(controllers)
            }
        };
        Ok(Self { apiserver, controllers, etcd, credentials, admin_kubeconfig, url, etcd_port: client_port })
    }

    pub(crate) fn processes(&self) -> impl Iterator<Item = &Process> {
        let controllers = self.controllers.iter();
        let controllers = controllers.flat_map(|some| [&some.manager, &some.scheduler, &some.kwok]);
        [&self.etcd, &self.apiserver].into_iter().chain(controllers)
    }
}

/// Reads a kubeconfig. A proxy that the environment names is not for servers on loopback.
pub(crate) async fn config_from(path: &Path) -> Result<kube::Config> {
    let kubeconfig = kube::config::Kubeconfig::read_from(path)?;
    let options = kube::config::KubeConfigOptions::default();
    let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    config.proxy_url = None;
    Ok(config)
}

async fn https(kubeconfig: &Path, server: &str, path: &'static str) -> Result<Probe> {
    let mut config = config_from(kubeconfig).await?;
    if let Ok(url) = server.parse() {
        config.cluster_url = url;
    }
    Ok(Probe::Https { config: Box::new(config), path })
}

fn flag(name: &str, value: &Path) -> OsString {
    let mut flag = OsString::from(name);
    flag.push("=");
    flag.push(value);
    flag
}

fn launch(dir: &RunDir, name: &'static str, program: PathBuf, args: Vec<OsString>, port: u16) -> Launch {
    let probe = Probe::Http { port, path: "/healthz" };
    Launch { name, program, args, dir: dir.path().to_owned(), probe }
}

fn etcd(dir: &RunDir, program: PathBuf, client_port: u16, peer_port: u16) -> Launch {
    let client = format!("http://127.0.0.1:{client_port}");
    let peer = format!("http://127.0.0.1:{peer_port}");
    let args = vec![
        flag("--data-dir", &dir.join("etcd")),
        format!("--listen-client-urls={client}").into(),
        format!("--advertise-client-urls={client}").into(),
        format!("--listen-peer-urls={peer}").into(),
        format!("--initial-advertise-peer-urls={peer}").into(),
        format!("--initial-cluster=default={peer}").into(),
        // The data need not outlive the machine.
        "--unsafe-no-fsync".into(),
        // A member without others elects itself soon, and not after a second.
        "--heartbeat-interval=50".into(),
        "--election-timeout=250".into(),
    ];
    let mut launch = launch(dir, "etcd", program, args, client_port);
    launch.probe = Probe::Http { port: client_port, path: "/health" };
    launch
}

fn apiserver(
    dir: &RunDir,
    program: PathBuf,
    credentials: &Credentials,
    etcd_port: u16,
    port: u16,
    controllers: bool,
) -> Launch {
    let [proxy_authority, proxy_certificate, proxy_key] = &credentials.front_proxy;
    let mut args = vec![
        format!("--etcd-servers=http://127.0.0.1:{etcd_port}").into(),
        "--bind-address=127.0.0.1".into(),
        "--advertise-address=127.0.0.1".into(),
        // Nobody looks for this server through the Service `kubernetes`.
        "--endpoint-reconciler-type=none".into(),
        format!("--secure-port={port}").into(),
        flag("--cert-dir", &dir.join("apiserver")),
        flag("--tls-cert-file", &credentials.server_certificate),
        flag("--tls-private-key-file", &credentials.server_key),
        flag("--client-ca-file", &credentials.authority_file),
        flag("--token-auth-file", &credentials.tokens),
        "--authorization-mode=RBAC".into(),
        "--service-cluster-ip-range=10.0.0.0/24".into(),
        "--service-account-issuer=https://kubernetes.default.svc".into(),
        flag("--service-account-key-file", &credentials.service_account_public_key),
        flag("--service-account-signing-key-file", &credentials.service_account_key),
        "--allow-privileged=true".into(),
        flag("--requestheader-client-ca-file", proxy_authority),
        format!("--requestheader-allowed-names={FRONT_PROXY}").into(),
        "--requestheader-username-headers=X-Remote-User".into(),
        "--requestheader-group-headers=X-Remote-Group".into(),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".into(),
        flag("--proxy-client-cert-file", proxy_certificate),
        flag("--proxy-client-key-file", proxy_key),
    ];
    if !controllers {
        // It asks for the service account `default`, which the controller manager makes.
        args.push("--disable-admission-plugins=ServiceAccount".into());
    }
    launch(dir, "kube-apiserver", program, args, port)
}

/// What the command lines of the controller manager and the scheduler have in common.
fn with_kubeconfigs(
    dir: &RunDir,
    name: &'static str,
    program: PathBuf,
    credentials: &Credentials,
    port: u16,
) -> Result<Launch> {
    let kubeconfig = credentials.kubeconfig(&format!("system:{name}"), Some("system:masters"))?;
    let args = vec![
        flag("--kubeconfig", &kubeconfig),
        flag("--authentication-kubeconfig", &kubeconfig),
        flag("--authorization-kubeconfig", &kubeconfig),
        "--bind-address=127.0.0.1".into(),
        format!("--secure-port={port}").into(),
        flag("--tls-cert-file", &credentials.server_certificate),
        flag("--tls-private-key-file", &credentials.server_key),
        "--leader-elect=false".into(),
    ];
    Ok(launch(dir, name, program, args, port))
}

fn kwok(dir: &RunDir, program: PathBuf, credentials: &Credentials, port: u16) -> Result<Launch> {
    let kubeconfig = credentials.kubeconfig("system:kwok", Some("system:masters"))?;
    let args = vec![
        flag("--kubeconfig", &kubeconfig),
        flag("--config", &dir.write("stages.yaml", STAGES)?),
        "--manage-all-nodes=true".into(),
        "--node-lease-duration-seconds=40".into(),
        format!("--server-address=127.0.0.1:{port}").into(),
    ];
    Ok(launch(dir, "kwok", program, args, port))
}
