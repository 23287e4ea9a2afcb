//! What a snapshot of products holds: the objects that show which versions are installed, and what their rules read.

use anyhow::{Result, bail};
use clearway_advice::evidence::ObjectRequest;
use clearway_catalog::{Detection, Product};
use clearway_sources::catalog;

use crate::arguments::SnapshotCollect;
use crate::commands::assess::AssessmentPlan;
use crate::commands::assess::cluster::ClusterClient;
use crate::commands::assess::products::{self, PlannedProduct};
use crate::commands::catalog::source::{self, OpenedCatalog};
use crate::output;

/// What is collected for products.
#[derive(Default)]
pub(super) struct ProductPlans {
    /// What their rules read.
    pub(super) plans: Vec<AssessmentPlan>,
    /// The objects that show their versions.
    pub(super) requests: Vec<ObjectRequest>,
    /// Names that have to be kept for that.
    pub(super) words: Vec<String>,
}

/// Finds the installed products, and what has to be collected for them.
pub(super) fn make(
    options: &SnapshotCollect,
    connected: Option<&ClusterClient>,
    id: Option<&String>,
) -> Result<ProductPlans> {
    let access = &options.cluster;
    products::refuse_ambiguous(&options.products, access, options.to.as_ref())?;
    let Some(connected) = connected else {
        bail!("--product needs a cluster (--kubeconfig, KUBECONFIG, ~/.kube/config or a pod's service account)");
    };
    let opened = OpenedCatalog::beside(&options.products, &options.source)?;
    let selected = opened.select(&options.products)?;
    let mut usable = Vec::new();
    for (name, entry) in selected {
        match source::usable(entry) {
            Ok(product) => usable.push((entry, product)),
            Err(why) => output::print_note!("not collected: {name}: {}", output::printable(&why)),
        }
    }
    let list: Vec<&Product> = usable.iter().map(|(_, product)| *product).collect();
    let mut made = ProductPlans {
        plans: Vec::new(),
        requests: catalog::kinds(&list).into_iter().map(whole_kind).collect(),
        words: list.iter().flat_map(|product| product.words()).map(str::to_owned).collect(),
    };
    for ((entry, product), detection) in usable.iter().zip(connected.installed(&list)) {
        let version = match (&access.version, detection) {
            (Some(version), _) => version.without_build(),
            (None, Detection::Installed { version, .. }) => version,
            (None, Detection::NotInstalled) => continue,
            (None, Detection::Unknown { reason }) => {
                output::print_note!("{}: {}", product.name, output::printable(&reason));
                continue;
            }
        };
        let id = access.cluster_id.as_ref().or(id).cloned();
        match products::plan(entry, &version, access, id, std::time::Duration::MAX) {
            Ok(PlannedProduct { planned, .. }) => made.plans.push(match &options.to {
                Some(target) => planned.toward(&target.without_build())?,
                None => planned,
            }),
            Err(why) => output::print_note!("{}: {}", product.name, output::printable(&why)),
        }
    }
    Ok(made)
}

fn whole_kind(kind: clearway_core::GroupKind) -> ObjectRequest {
    ObjectRequest { kind, namespace: None, name: None }
}
