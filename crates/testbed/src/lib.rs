//! Clearway's test bed: the real programs that Clearway works with, started for tests.
//!
//! - [`Cluster`]: a Kubernetes control plane (etcd, kube-apiserver and, if wanted, kube-controller-manager,
//!   kube-scheduler and kwok, which simulates nodes and pods). RBAC is on.
//! - [`Prometheus`]: with real series, so that answers come from the real engine.
//! - [`Registry`]: a registry of images; [`images`] pushes to it.
//! - [`Browser`]: Chromium without a window, with axe-core for checks of accessibility.
//! - [`Program`]: a program under test that runs beside it, such as an operator.
//!
//! Each listens on loopback on a free port, is ready when its `start` returns, writes its log into a directory of its
//! own, and ends with the test: also when the test's process is killed. `testbed/install` gets the programs.
//!
//! Tests use [`cluster()`], [`own_cluster`], [`prometheus()`], [`registry()`] and [`browser()`], which also deal with programs that are
//! not installed. Under `cargo test` the tests of one binary share one cluster.
//!
//! # Environment
//!
//! | variable | meaning |
//! |---|---|
//! | `KUBEBUILDER_ASSETS` | a directory whose programs come first, as in envtest |
//! | `CLEARWAY_TESTBED_BIN` | the directory of the built programs; default: what `testbed/install --print-bin` prints |
//! | `CLEARWAY_NOT_RUN` | a file to which tests are added that need a program that is not there; without it they fail |
//! | `CLEARWAY_TESTBED_KEEP` | when set, the directories of the runs stay, and their paths are printed |

mod assets;
mod browser;
mod cluster;
mod error;
pub mod http;
pub mod images;
mod missing;
mod process;
mod program;
mod prometheus;
mod registry;
mod shared;
mod wait;

pub use assets::Component;
pub use browser::{Browser, Element};
pub use cluster::credentials::{Authority, Identity};
pub use cluster::namespace::{TestNamespace, unique_name};
pub use cluster::{Cluster, ClusterOptions};
pub use error::{Error, Result};
pub use missing::{MissingComponent, have, note_not_run};
pub use process::Process;
pub use program::{Program, free_port};
pub use prometheus::{Prometheus, seconds_ago};
pub use registry::Registry;
pub use shared::{SharedCluster, browser, cluster, own_cluster, prometheus, registry};
pub use wait::{IN_TIME, wait_until};
