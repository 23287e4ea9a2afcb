//! The kinds as CRDs of a channel.

use clearway_bundle::{BuildError, Channel, Column, Definition, described};
use clearway_core::Version;
use serde_json::Value;

use super::kind::Kind;
use super::rule::store_any_rule;
use super::spec::Spec;
use super::status::Status;

/// The columns of `kubectl get`, those of OpenShift.
const COLUMNS: &[Column] = &[
    Column { name: "Version", r#type: "string", path: r#".status.history[?(@.state=="Completed")].version"# },
    Column { name: "Available", r#type: "string", path: r#".status.conditions[?(@.type=="Available")].status"# },
    Column { name: "Progressing", r#type: "string", path: r#".status.conditions[?(@.type=="Progressing")].status"# },
    Column {
        name: "Since",
        r#type: "date",
        path: r#".status.conditions[?(@.type=="Progressing")].lastTransitionTime"#,
    },
    Column { name: "Status", r#type: "string", path: r#".status.conditions[?(@.type=="Progressing")].message"# },
];

/// The version of the bundle: which combination of kinds, fields and validation this is (V1).
pub fn bundle_version() -> Version {
    Version::new(0, 1, 0)
}

/// Where the schema of the rules of risks is in a CRD.
const RULES: &str = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/conditionalUpdates/items\
                     /properties/risks/items/properties/matchingRules";

/// The CRDs of a channel, as they are installed.
pub fn crds(channel: Channel) -> Result<Vec<Value>, BuildError> {
    let mut crds = Vec::new();
    for kind in Kind::ALL {
        crds.extend(definition(kind).crd(channel, &bundle_version())?);
    }
    if channel == Channel::Experimental {
        for crd in &mut crds {
            crd.pointer_mut(RULES).map(store_any_rule);
        }
    }
    Ok(crds)
}

fn definition(kind: Kind) -> Definition {
    let (singular, channel, description) = match kind {
        Kind::ClusterVersion => (
            "clusterversion",
            Channel::Standard,
            "ClusterVersion is the version of the platform: the source of its updates, the updates that are \
             recommended for this cluster, the desired update, and the history of updates. There is one, named version.",
        ),
        Kind::ComponentVersion => (
            "componentversion",
            Channel::Experimental,
            "ComponentVersion is the version of one add-on, with its own updates and history. Its fields are those of \
             ClusterVersion.",
        ),
    };
    Definition {
        group: kind.group(),
        version: kind.version(),
        kind: kind.as_str(),
        plural: kind.plural(),
        singular,
        description,
        channel,
        columns: COLUMNS.to_vec(),
        spec: described::<Spec>(),
        status: described::<Status>(),
    }
}
