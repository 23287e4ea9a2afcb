//! GatewayClasses: parameters and the version of the CRDs.

use clearway_conditions::Status;

use super::Engine;
use super::store::Id;
use crate::model::{Body, GatewayClass, Name, ObjectKey, ObjectKind};
use crate::settings::{BundleVersion, UnknownKinds, UnknownVersion};
use crate::status::{Cause, Condition};
use crate::words::{ConditionType, Reason};

impl Engine {
    pub(super) fn evaluate_classes(&mut self) {
        for id in std::mem::take(&mut self.dirty.classes) {
            let conditions = match self.store.object(id).map(|object| &object.body) {
                Some(Body::GatewayClass(class)) if self.serves(&class.controller) => Some(self.class_conditions(class)),
                _ => None,
            };
            if self.classes.get(&id) != conditions.as_ref() {
                let gateways: Vec<Id> = self.store.dependents(id).collect();
                self.dirty.gateways.extend(gateways);
                self.dirty.changed.insert(id);
                match conditions {
                    Some(conditions) => self.classes.insert(id, conditions),
                    None => self.classes.remove(&id),
                };
            }
        }
    }

    /// Whether status is computed for a controller.
    fn serves(&self, controller: &Name) -> bool {
        self.settings.controller.as_ref().is_none_or(|wanted| wanted == controller)
    }

    fn class_conditions(&self, class: &GatewayClass) -> Vec<Condition> {
        let version = self.unsupported_version();
        let parameters = class.parameters.as_ref().and_then(|target| self.check_parameters(target));
        let accepted = match (parameters, &version) {
            (Some(cause), _) => Condition::bad(ConditionType::Accepted, Reason::InvalidParameters, vec![cause]),
            (None, Some(cause)) if self.settings.choices.unknown_version == UnknownVersion::Rejected => {
                Condition::bad(ConditionType::Accepted, Reason::UnsupportedVersion, vec![cause.clone()])
            }
            _ => Condition::good(ConditionType::Accepted),
        };
        let supported = match version {
            Some(cause) => Condition::bad(ConditionType::SupportedVersion, Reason::UnsupportedVersion, vec![cause]),
            None => Condition::good(ConditionType::SupportedVersion),
        };
        vec![accepted, supported]
    }

    /// Why parameters cannot be used: they do not exist, or their namespace does not fit their kind.
    pub(super) fn check_parameters(&self, target: &ObjectKey) -> Option<Cause> {
        if self.store.get(target).is_some() {
            return None;
        }
        let needs_namespace = matches!(target.kind, ObjectKind::ConfigMap | ObjectKind::Secret | ObjectKind::Service);
        if needs_namespace && target.namespace.is_empty() {
            return Some(Cause::at(target, "no namespace is given, and objects of this kind have one"));
        }
        // An implementation may have kinds of its own that were not read.
        if matches!(target.kind, ObjectKind::Other { .. }) && self.settings.unknown_kinds == UnknownKinds::Assumed {
            return None;
        }
        Some(Cause::at(target, "parameters not found"))
    }

    /// Why the CRDs are not of a version that is known here.
    fn unsupported_version(&self) -> Option<Cause> {
        let newest = self.settings.bundle_version.unwrap_or(BundleVersion::NEWEST);
        let unknown = |version: &Option<Name>| match version {
            None => Some("has no annotation gateway.networking.k8s.io/bundle-version".to_owned()),
            Some(text) => match text.parse::<BundleVersion>() {
                Ok(version) if (version.major, version.minor) <= (newest.major, newest.minor) => None,
                _ => Some(format!("is of bundle version {text}, which is not supported")),
            },
        };
        let mut problems: Vec<(&ObjectKey, String)> = self
            .definitions
            .iter()
            .filter_map(|(id, version)| Some((self.store.key(*id)?, unknown(version)?)))
            .collect();
        problems.sort();
        problems.into_iter().next().map(|(key, what)| Cause::at(key, what))
    }

    /// Whether a class is accepted; one that is not among the objects is taken for accepted.
    pub(super) fn class_is_accepted(&self, class: &Name) -> bool {
        let key = ObjectKey { kind: ObjectKind::GatewayClass, namespace: "".into(), name: class.clone() };
        let conditions = self.store.find(&key).and_then(|id| self.classes.get(&id));
        conditions.is_none_or(|conditions| {
            let mut accepted = conditions.iter().filter(|condition| condition.kind == ConditionType::Accepted);
            accepted.all(|condition| condition.status == Status::True)
        })
    }
}
