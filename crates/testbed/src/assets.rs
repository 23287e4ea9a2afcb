//! Where the programs of the test bed are.

use std::env;
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::missing::MissingComponent;

/// The script that builds and installs the programs.
const INSTALL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testbed/install");
/// Directories with servers, which are not on everybody's PATH.
const SYSTEM_DIRECTORIES: [&str; 2] = ["/usr/sbin", "/sbin"];

/// The script of the accessibility checks, beside the programs.
const AXE: &str = "axe.min.js";

/// A part of the test bed: a program, unless it says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Component {
    /// The store of the control plane.
    Etcd,
    /// The Kubernetes API server.
    KubeApiserver,
    /// The controllers of Deployments, namespaces, garbage collection and so on.
    KubeControllerManager,
    /// The scheduler.
    KubeScheduler,
    /// The client, for commands that the documentation shows.
    Kubectl,
    /// Simulated nodes and pods.
    Kwok,
    /// Prometheus 3.
    Prometheus,
    /// Prometheus' tool for rules and blocks.
    Promtool,
    /// The API server's own CEL, to compare expressions with.
    CelReference,
    /// The test files of the CEL specification: a directory, not a program.
    CelSpec,
    /// A registry of images.
    DockerRegistry,
    /// A web server to compare with in benchmarks.
    Nginx,
    /// Tries a service against its `OpenAPI` description.
    Schemathesis,
    /// Renders the Helm chart and the kustomize directories, with the packages of both.
    Render,
    /// Builds container images.
    Buildah,
    /// Unpacks container images.
    Umoci,
    /// Starts containers. Only root can start one as any user, so for others it counts as missing.
    Runc,
    /// A web browser.
    Chromium,
    /// Drives the browser.
    Chromedriver,
    /// Checks of accessibility: a script, not a program.
    AxeCore,
}

impl Component {
    /// The name of the program.
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
            Self::Kubectl => "kubectl",
            Self::Kwok => "kwok",
            Self::Prometheus => "prometheus",
            Self::Promtool => "promtool",
            Self::CelReference => "celreference",
            Self::CelSpec => "cel-spec",
            Self::DockerRegistry => "docker-registry",
            Self::Nginx => "nginx",
            Self::Schemathesis => "schemathesis",
            Self::Render => "render",
            Self::Buildah => "buildah",
            Self::Umoci => "umoci",
            Self::Runc => "runc",
            Self::Chromium => "chromium",
            Self::Chromedriver => "chromedriver",
            Self::AxeCore => "axe-core",
        }
    }

    /// Whether any version will do, so that the system's own is right. The others are used in the version that
    /// `testbed/go.mod` or `testbed/requirements.txt` pins, or in one that `KUBEBUILDER_ASSETS` names on purpose: an
    /// old Prometheus on the PATH would give other answers.
    fn is_from_the_system(self) -> bool {
        matches!(
            self,
            Self::DockerRegistry
                | Self::Nginx
                | Self::Buildah
                | Self::Umoci
                | Self::Runc
                | Self::Chromium
                | Self::Chromedriver
                | Self::Kubectl
        )
    }

    /// Finds the program: in `KUBEBUILDER_ASSETS`, then in `CLEARWAY_TESTBED_BIN` or else the directory that
    /// `testbed/install --print-bin` prints, and the Debian programs at last on the PATH and in `/usr/sbin`.
    pub fn find(self) -> Result<PathBuf, MissingComponent> {
        if self == Self::Runc && !rustix::process::geteuid().is_root() {
            let why = "starting a container as any user needs root".to_owned();
            return Err(MissingComponent { component: self.name(), why, how: "run the tests as root".to_owned() });
        }
        let bin = bin_directory();
        if self == Self::CelSpec {
            let directory = bin.as_deref().and_then(Path::parent).map(|parent| parent.join(self.name()));
            return directory.filter(|path| path.is_dir()).ok_or_else(|| self.why_missing(bin.as_deref()));
        }
        if self == Self::AxeCore {
            let file = bin.as_deref().map(|bin| bin.join(AXE));
            return file.filter(|path| path.is_file()).ok_or_else(|| self.why_missing(bin.as_deref()));
        }
        let mut directories: Vec<PathBuf> = Vec::new();
        directories.extend(directory_from_env("KUBEBUILDER_ASSETS"));
        directories.extend(bin.clone());
        if self.is_from_the_system() {
            directories.extend(env::var_os("PATH").iter().flat_map(env::split_paths));
            directories.extend(SYSTEM_DIRECTORIES.map(PathBuf::from));
        }
        directories
            .into_iter()
            .map(|directory| directory.join(self.name()))
            .find(|path| is_executable(path))
            .ok_or_else(|| self.why_missing(bin.as_deref()))
    }

    /// What `testbed/install` wrote about the component, or that it was never run.
    fn why_missing(self, bin: Option<&Path>) -> MissingComponent {
        let report = bin.and_then(Path::parent).map(|dir| dir.join("missing"));
        let text = report.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        reported(self.name(), &text).unwrap_or_else(|| MissingComponent {
            component: self.name(),
            why: "it is not installed".to_owned(),
            how: "run testbed/install".to_owned(),
        })
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The line about a component in the script's report: component, why, how, separated by tabs.
fn reported(component: &'static str, report: &str) -> Option<MissingComponent> {
    report.lines().find_map(|line| {
        let mut fields = line.split('\t');
        (fields.next()? == component).then_some(())?;
        let why = fields.next()?.to_owned();
        Some(MissingComponent { component, why, how: fields.next()?.to_owned() })
    })
}

fn bin_directory() -> Option<PathBuf> {
    static PRINTED: OnceLock<Option<PathBuf>> = OnceLock::new();
    directory_from_env("CLEARWAY_TESTBED_BIN").or_else(|| PRINTED.get_or_init(printed_bin_directory).clone())
}

fn printed_bin_directory() -> Option<PathBuf> {
    let output = Command::new(INSTALL).arg("--print-bin").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| PathBuf::from(text.trim()))
}

fn directory_from_env(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_s_report_says_why_and_how() {
        let report = "etcd\tbuilding failed\trun it again\nnginx\tno root\tsudo apt-get install nginx\n";
        let missing = reported("nginx", report).unwrap();
        assert_eq!((missing.why.as_str(), missing.how.as_str()), ("no root", "sudo apt-get install nginx"));
        assert!(reported("kwok", report).is_none());
        assert!(reported("etcd", "etcd").is_none());
    }

    #[test]
    fn a_directory_is_not_a_program() {
        assert!(is_executable(Path::new("/bin/sh")));
        assert!(!is_executable(Path::new("/usr")));
        assert!(!is_executable(Path::new("/etc/passwd")));
    }
}
