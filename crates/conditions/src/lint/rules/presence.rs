//! SC013: what is always there is there, once the object is old enough.

use clearway_core::Severity;
use clearway_yaml::Node;

use crate::Presence;
use crate::lint::Profile;
use crate::lint::conventions::table;
use crate::lint::out::{Finding, List, Out};
use crate::lint::view::path::Path;
use crate::lint::view::walk::Site;

/// SC013 for a list that is there.
pub(crate) fn complete(list: &List<'_, '_>, out: &mut Out<'_, '_>) {
    let missing = missing(list.site, &|name| list.find(name).is_some(), out);
    if !missing.is_empty() && out.past_grace() {
        let finding = finding(&missing, Severity::Error);
        out.report(list, None, finding);
    } else if list.node.items().next().is_none() && list.site == Site::Top && out.past_grace() {
        let owes = matches!(out.profile, Profile::Knative | Profile::Kstatus);
        if owes || out.profile == Profile::Metav1 {
            let severity = if owes { Severity::Error } else { Severity::Warning };
            out.report(list, None, silent(severity));
        }
    }
}

/// SC013 for lists that are not there at all.
pub(crate) fn absent(out: &mut Out<'_, '_>) {
    if !matches!(out.profile, Profile::Gateway | Profile::Knative | Profile::Openshift) || !out.past_grace() {
        return;
    }
    let is_absent = |owner: Node<'_>| owner.get("conditions").is_none_or(Node::is_null);
    if out.status.is_none_or(|status| (status.is_mapping() && is_absent(status)) || status.is_null()) {
        let missing = missing(Site::Top, &|_| false, out);
        let node = out.status.unwrap_or(out.object.root);
        let path = "status.conditions".to_owned();
        if !missing.is_empty() {
            out.report_at(node, path, finding(&missing, Severity::Error));
        } else if out.profile == Profile::Knative && owes_conditions(out) {
            out.report_at(node, path, silent(Severity::Error));
        }
    }
    if out.profile != Profile::Gateway {
        return;
    }
    let Some(status) = out.status else { return };
    for (key, site) in [("parents", Site::Parent), ("ancestors", Site::Ancestor), ("listeners", Site::Listener)] {
        let Some(entries) = status.get(key) else { continue };
        for (index, entry) in entries.items().enumerate().filter(|(_, entry)| entry.is_mapping() && is_absent(*entry)) {
            let missing = missing(site, &|_| false, out);
            if !missing.is_empty() {
                let path = Path::root("status");
                let path = path.key(key);
                let path = path.item(index, entry);
                out.report_at(entry, path.key("conditions").render(), finding(&missing, Severity::Error));
            }
        }
    }
}

/// Whether an object of Knative's conventions must report something at all (KN1).
///
/// A kind that only describes, such as Tekton's Task, never has a status; of Knative's own kinds only internal ones may
/// do without.
fn owes_conditions(out: &Out<'_, '_>) -> bool {
    let group = out.object.group();
    let own = group.ends_with(".knative.dev") && !group.ends_with("internal.knative.dev");
    own || (out.status.is_some_and(Node::is_mapping) && !group.ends_with(".knative.dev"))
}

fn missing(site: Site, has: &dyn Fn(&str) -> bool, out: &Out<'_, '_>) -> Vec<&'static str> {
    let (group, kind) = (out.object.group(), out.object.kind());
    let listed = match out.profile {
        Profile::Gateway => table::gateway(kind, site).unwrap_or(&[]),
        _ => &[],
    };
    let always = listed.iter().filter(|listed| listed.presence == Presence::Always).map(|listed| listed.name);
    let required = table::required(out.profile, group, kind, site).iter().copied();
    always.chain(required).filter(|name| !has(name)).collect()
}

fn finding(missing: &[&str], severity: Severity) -> Finding<'static> {
    let names = missing.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    Finding {
        code: "SC013",
        severity,
        field: "",
        node: None,
        message: format!("the conditions lack {names}"),
        help: "write it at the first reconciliation, as Unknown while it is not decided: clients cannot distinguish absence from health"
            .into(),
        refs: "GW7, GW6, A4, KN24, G1",
    }
}

fn silent(severity: Severity) -> Finding<'static> {
    Finding {
        code: "SC013",
        severity,
        field: "",
        node: None,
        message: "nothing is reported: the object has no conditions".to_owned(),
        help: "write the conditions at the first reconciliation, as Unknown while they are not decided".into(),
        refs: "KN1, A4, GW6, K1",
    }
}
