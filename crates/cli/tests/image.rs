//! The container image: built as `make image` builds it, unpacked, and started as the Deployment starts it, against a real
//! API server. It is built with the profile of the tests: the same steps, with less optimisation.

use std::fs::{self, File};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use clearway_testbed::{
    Cluster, ClusterOptions, Component, free_port, have, http, own_cluster, unique_name, wait_until,
};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const NAMESPACE: &str = "clearway";
const SOON: Duration = clearway_testbed::IN_TIME;
/// A name that only this name server knows.
const SERVICE: &str = "updates.clearway.test";

fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// A process that ends with this value.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The image, unpacked: a bundle as an OCI runtime takes it.
struct Bundle {
    directory: PathBuf,
    /// The digest of the image.
    digest: String,
    /// Its configuration.
    config: Value,
}

impl Bundle {
    fn build(directory: &Path) -> Self {
        let image = directory.join("image");
        let mut build = Command::new(Path::new(ROOT).join("tools/image"));
        build.args(["--profile", "dev", "--output"]).arg(&image);
        let digest = String::from_utf8(succeed(&mut build).stdout).unwrap().trim().to_owned();
        let bundle = directory.join("bundle");
        let layout = format!("{}:{}", image.join("oci").display(), env!("CARGO_PKG_VERSION"));
        let umoci = Component::Umoci.find().unwrap();
        succeed(Command::new(umoci).args(["unpack", "--image", &layout]).arg(&bundle));
        let blob = |digest: &Value| -> Value {
            let hex = digest.as_str().unwrap().strip_prefix("sha256:").unwrap();
            serde_json::from_slice(&fs::read(image.join("oci/blobs/sha256").join(hex)).unwrap()).unwrap()
        };
        let manifest = blob(&json!(digest));
        Bundle { directory: bundle, digest, config: blob(&manifest["config"]["digest"]) }
    }

    /// Every file of it.
    fn files(&self) -> Vec<String> {
        let root = self.directory.join("rootfs");
        let mut found = Vec::new();
        let mut directories = vec![root.clone()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    directories.push(path);
                } else {
                    found.push(path.strip_prefix(&root).unwrap().display().to_string());
                }
            }
        }
        found.sort();
        found
    }

    /// Makes the runtime's configuration what a kubelet would make of the pod of the Deployment, but for the network, which
    /// is this machine's.
    fn configure(&self, pod: &Value, arguments: &[String], environment: &[String], mounts: Vec<Value>) {
        let path = self.directory.join("config.json");
        let mut config: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let entrypoint = self.config["config"]["Entrypoint"].as_array().unwrap().clone();
        let process = &mut config["process"];
        process["terminal"] = json!(false);
        process["args"] = entrypoint.into_iter().chain(arguments.iter().map(|one| json!(one))).collect();
        process["env"] = json!(environment);
        let container = &pod["containers"][0];
        assert_eq!(process["user"], json!({"uid": pod["securityContext"]["runAsUser"], "gid": 65532}));
        assert_eq!(container["securityContext"]["capabilities"]["drop"], json!(["ALL"]));
        for set in process["capabilities"].as_object_mut().unwrap().values_mut() {
            *set = json!([]);
        }
        process["noNewPrivileges"] = json!(container["securityContext"]["allowPrivilegeEscalation"] == false);
        config["root"]["readonly"] = container["securityContext"]["readOnlyRootFilesystem"].clone();
        assert_eq!(container["resources"]["limits"]["memory"], "512Mi");
        config["linux"]["resources"]["memory"] = json!({"limit": 512 << 20});
        config["linux"]["namespaces"].as_array_mut().unwrap().retain(|one| one["type"] != "network");
        config["mounts"].as_array_mut().unwrap().extend(mounts);
        fs::write(path, config.to_string()).unwrap();
    }
}

/// A container that runs; it ends with this value.
struct Container {
    child: Child,
    name: String,
    root: PathBuf,
    log: PathBuf,
}

impl Container {
    fn start(bundle: &Bundle, directory: &Path) -> Self {
        let (name, root, log) = (unique_name("clearway"), directory.join("runc"), directory.join("container.log"));
        let file = File::create(&log).unwrap();
        let child = Command::new(Component::Runc.find().unwrap())
            .arg("--root")
            .arg(&root)
            .args(["run", "--bundle"])
            .arg(&bundle.directory)
            .arg(&name)
            .stdin(Stdio::null())
            .stdout(Stdio::from(file.try_clone().unwrap()))
            .stderr(Stdio::from(file))
            .spawn()
            .unwrap();
        Container { child, name, root, log }
    }

    fn runc(&self, arguments: &[&str]) -> Output {
        let mut runc = Command::new(Component::Runc.find().unwrap());
        runc.arg("--root").arg(&self.root).args(arguments).output().unwrap()
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        self.runc(&["delete", "--force", &self.name]);
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("==== {}\n{}", self.log.display(), self.said());
        }
    }
}

/// Answers every question for an IPv4 address with this machine's, as long as the test runs. `resolv.conf` knows no ports,
/// so each run has a loopback address of its own.
fn serve_names() -> Ipv4Addr {
    let [_, _, high, low] = std::process::id().to_be_bytes();
    let address = Ipv4Addr::new(127, 80, high, low.max(1));
    let socket = UdpSocket::bind((address, 53)).unwrap();
    std::thread::spawn(move || {
        let mut question = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut question) {
            let Some(end) = question[12..length].iter().position(|byte| *byte == 0).map(|at| 12 + at + 5) else {
                continue;
            };
            let is_address = question[end - 4..end] == [0, 1, 0, 1];
            // An answer to the one question, with one record or none.
            let mut answer = question[..end].to_vec();
            answer[2..12].copy_from_slice(&[0x81, 0x80, 0, 1, 0, u8::from(is_address), 0, 0, 0, 0]);
            if is_address {
                answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
            }
            let _ = socket.send_to(&answer, from);
        }
    });
    address
}

/// Serves the story's graph, and gives the URL by which only who resolves names finds it.
async fn serve(directory: &Path) -> (Program, String) {
    let (port, status) = (free_port().unwrap(), free_port().unwrap());
    let (listen, status_listen) = (format!("127.0.0.1:{port}"), format!("127.0.0.1:{status}"));
    let data = Path::new(ROOT).join("examples/story/graph-data");
    let log = File::create(directory.join("serve.log")).unwrap();
    let service = Command::new(env!("CARGO_BIN_EXE_clearway"))
        .args(["serve", "--listen", &listen, "--status-listen", &status_listen, "--graph"])
        .arg(data)
        .stderr(Stdio::from(log))
        .spawn()
        .map(Program)
        .unwrap();
    wait_until(SOON, "the service serves", async || {
        http::get(status, "/readyz").await.is_ok_and(|answer| answer.status == 200)
    })
    .await
    .unwrap();
    (service, format!("http://{SERVICE}:{port}/api/upgrades_info"))
}

fn api(client: &Client, api_version: &str, kind: &str, namespace: Option<&str>) -> Api<DynamicObject> {
    let (group, version) = api_version.split_once('/').unwrap();
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

/// What a kubelet mounts: the token of the service account, a place for scratch files, and how names are resolved.
async fn mounts(cluster: &Cluster, directory: &Path, name_server: Ipv4Addr) -> Vec<Value> {
    let account = directory.join("account");
    fs::create_dir(&account).unwrap();
    let token = cluster.token_for_service_account(NAMESPACE, "clearway-operator").await.unwrap();
    let resolver = directory.join("resolv.conf");
    for (file, text) in [
        (account.join("token"), token.as_str()),
        (account.join("ca.crt"), cluster.authority().certificate()),
        (account.join("namespace"), NAMESPACE),
        (resolver.clone(), &format!("nameserver {name_server}\n")),
    ] {
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    }
    fs::set_permissions(&account, fs::Permissions::from_mode(0o755)).unwrap();
    let bind = |source: &Path, destination: &str| json!({"type": "bind", "source": source, "destination": destination, "options": ["bind", "ro"]});
    vec![
        bind(&account, "/var/run/secrets/kubernetes.io/serviceaccount"),
        bind(&resolver, "/etc/resolv.conf"),
        json!({"type": "tmpfs", "source": "tmpfs", "destination": "/tmp", "options": ["mode=1777", "size=16m"]}),
    ]
}

#[tokio::test]
async fn the_image_runs_as_the_deployment_starts_it() {
    if !have(&[Component::Buildah, Component::Umoci, Component::Runc]) {
        return;
    }
    let Some(cluster) = own_cluster(&ClusterOptions::api_only()).await else { return };
    let client = cluster.client().await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let bundle = Bundle::build(directory.path());

    assert_eq!(bundle.files(), ["clearway", "etc/ssl/certs/ca-certificates.crt"], "nothing else is in it");
    let config = &bundle.config["config"];
    assert_eq!((&config["User"], &config["Entrypoint"]), (&json!("65532:65532"), &json!(["/clearway"])));
    let certificates = fs::read_to_string(bundle.directory.join("rootfs/etc/ssl/certs/ca-certificates.crt")).unwrap();
    assert!(certificates.matches("-----BEGIN CERTIFICATE-----").count() > 100);

    let name_server = serve_names();
    let (_service, upstream) = serve(directory.path()).await;
    let image = format!("localhost/clearway@{}", bundle.digest);
    let installed = succeed(
        Command::new(env!("CARGO_BIN_EXE_clearway"))
            .args(["install", "--adopt", "4.6.23", "--image", &image, "--upstream", &upstream, "--kubeconfig"])
            .arg(cluster.kubeconfig()),
    );
    assert!(installed.stderr.is_empty(), "named by digest, it is not warned about: {installed:?}");
    let versions = api(&client, "config.openshift.io/v1", "ClusterVersion", None);
    let channel = Patch::Merge(json!({"spec": {"channel": "stable-4.6"}}));
    versions.patch("version", &PatchParams::default(), &channel).await.unwrap();

    // The arguments of the Deployment, on ports that are free here.
    let deployment = api(&client, "apps/v1", "Deployment", Some(NAMESPACE)).get("clearway-operator").await.unwrap();
    let pod = &deployment.data["spec"]["template"]["spec"];
    let (probes, metrics) = (free_port().unwrap(), free_port().unwrap());
    let arguments: Vec<String> = pod["containers"][0]["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|argument| {
            let argument = argument.as_str().unwrap().replace("0.0.0.0:9080", &format!("127.0.0.1:{probes}"));
            argument.replace("127.0.0.1:9081", &format!("127.0.0.1:{metrics}"))
        })
        .collect();
    let (host, port) = cluster.url().strip_prefix("https://").unwrap().trim_end_matches('/').split_once(':').unwrap();
    let environment = [format!("KUBERNETES_SERVICE_HOST={host}"), format!("KUBERNETES_SERVICE_PORT={port}")];
    bundle.configure(pod, &arguments, &environment, mounts(&cluster, directory.path(), name_server).await);
    let mut container = Container::start(&bundle, directory.path());

    wait_until(SOON, "the operator reports what the service recommends", async || {
        let version = versions.get("version").await.unwrap();
        version.data["status"]["availableUpdates"].as_array().is_some_and(|updates| !updates.is_empty())
    })
    .await
    .unwrap();
    assert_eq!(http::get(probes, "/livez").await.unwrap().status, 200);
    assert_eq!(http::get(probes, "/readyz").await.unwrap().status, 200);
    assert!(http::get(metrics, "/metrics").await.unwrap().body.contains("cluster_version"));

    let said = container.said();
    assert!(!said.contains("not allowed") && !said.contains("orbidden"), "the rights are enough: {said}");

    // It is the first process of its container, and ends when it is asked to.
    assert!(container.runc(&["kill", &container.name, "TERM"]).status.success());
    let mut ended = None;
    wait_until(SOON, "the container ends", async || {
        ended = container.child.try_wait().unwrap();
        ended.is_some()
    })
    .await
    .unwrap();
    assert_eq!(ended.and_then(|status| status.code()), Some(0), "{}", container.said());
    let lease =
        api(&client, "coordination.k8s.io/v1", "Lease", Some(NAMESPACE)).get("clearway-operator").await.unwrap();
    assert_eq!(lease.data["spec"]["holderIdentity"], "", "another replica need not wait");
}
