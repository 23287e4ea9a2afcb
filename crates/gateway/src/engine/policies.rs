//! BackendTLSPolicies, judged at each Gateway that reaches their Service (rule 2.10).

use std::collections::BTreeMap;

use super::Engine;
use super::attachment::RouteState;
use super::references::{ReferenceProblem, Referrer};
use super::store::Id;
use crate::model::{BackendTlsPolicy, Body, Name, Object, ObjectKey, ObjectKind};
use crate::status::{AncestorStatus, Cause, Condition};
use crate::words::{ConditionType, Reason};

/// Ancestors that the CRD admits.
const ANCESTORS: usize = 16;

/// A controller, and why a policy is not used by its Gateway: an entry for each target that leads there.
type Uses = (Name, Vec<Option<(Reason, Cause)>>);

/// What a policy says of itself, whatever the Gateway.
struct Validity {
    resolved: Condition,
    /// Why it is not accepted anywhere.
    invalid: Option<(Reason, Vec<Cause>)>,
}

impl Engine {
    pub(super) fn evaluate_policies(&mut self) {
        for id in std::mem::take(&mut self.dirty.policies) {
            let ancestors = match self.store.object(id) {
                Some(Object { body: Body::BackendTlsPolicy(policy), key, .. }) => self.policy_status(id, key, policy),
                _ => Vec::new(),
            };
            let changed = match self.policies.get(&id) {
                Some(old) => *old != ancestors,
                None => !ancestors.is_empty(),
            };
            if changed {
                self.dirty.changed.insert(id);
            }
            if ancestors.is_empty() {
                self.policies.remove(&id);
            } else {
                self.policies.insert(id, ancestors);
            }
        }
    }

    fn policy_status(&self, id: Id, key: &ObjectKey, policy: &BackendTlsPolicy) -> Vec<AncestorStatus> {
        let validity = self.policy_validity(key, policy);
        // Of each Gateway: why the policy is not used there, for each target that leads there.
        let mut gateways: BTreeMap<ObjectKey, Uses> = BTreeMap::new();
        for (target, section) in &policy.targets {
            let problem = self.target_problem(id, target, section.as_ref());
            for (gateway, controller) in self.gateways_reaching(target) {
                let (_, problems) = gateways.entry(gateway).or_insert_with(|| (controller, Vec::new()));
                problems.push(problem.clone());
            }
        }
        let status = |(gateway, (controller, problems)): (ObjectKey, Uses)| {
            let kind = ConditionType::Accepted;
            let in_use = problems.iter().any(Option::is_none);
            let accepted = match (&validity.invalid, problems.into_iter().flatten().next()) {
                (_, Some((reason, cause))) if !in_use => Condition::bad(kind, reason, vec![cause]),
                (Some((reason, causes)), _) => Condition::bad(kind, *reason, causes.clone()),
                _ => Condition::good(kind),
            };
            AncestorStatus { gateway, controller, conditions: vec![accepted, validity.resolved.clone()] }
        };
        gateways.into_iter().take(ANCESTORS).map(status).collect()
    }

    fn policy_validity(&self, key: &ObjectKey, policy: &BackendTlsPolicy) -> Validity {
        let from = Referrer { kind: &ObjectKind::BackendTlsPolicy, namespace: &key.namespace };
        let reasons = [Reason::InvalidKind, Reason::InvalidCaCertificateRef];
        let problems: Vec<ReferenceProblem> =
            policy.certificates.iter().filter_map(|target| self.check_authority(from, target, reasons).err()).collect();
        let causes: Vec<Cause> = problems.iter().map(|problem| problem.cause.clone()).collect();
        let kind = ConditionType::ResolvedRefs;
        let resolved = match problems.first() {
            Some(first) => Condition::bad(kind, first.reason, causes.clone()),
            None => Condition::good(kind),
        };
        let invalid = match (&policy.well_known, policy.certificates.len()) {
            (None, 0) => Some((Reason::Invalid, vec![Cause::own("it names no certificates of authorities")])),
            (Some(word), 0) if &**word != "System" => {
                Some((Reason::Invalid, vec![Cause::own(format!("wellKnownCACertificates {word} is not supported"))]))
            }
            (_, given) if given > 0 && problems.len() == given => Some((Reason::NoValidCaCertificate, causes)),
            _ => None,
        };
        Validity { resolved, invalid }
    }

    /// Why a policy is not used for a target: it does not exist, or an older policy has it.
    fn target_problem(&self, id: Id, target: &ObjectKey, section: Option<&Name>) -> Option<(Reason, Cause)> {
        let Some(service) = self.service(target) else {
            return Some((Reason::TargetNotFound, Cause::at(target, "not found")));
        };
        if let Some(section) = section.filter(|section| !service.ports.iter().any(|port| port.name == **section)) {
            return Some((Reason::TargetNotFound, Cause::at(target, format!("it has no port {section}"))));
        }
        let own = self.store.object(id)?;
        let others = self.policies_of.get(&self.store.find(target)?).into_iter().flatten();
        let rivals = others.filter(|other| **other != id).filter_map(|other| {
            let object = self.store.object(*other)?;
            let Body::BackendTlsPolicy(policy) = &object.body else { return None };
            let same = policy.targets.iter().any(|(theirs, part)| theirs == target && part.as_ref() == section);
            (same && object.age() < own.age()).then_some(object)
        });
        let oldest = rivals.min_by(|one, two| one.age().cmp(&two.age()))?;
        Some((Reason::Conflicted, Cause::at(&oldest.key, format!("it is older and has the target {target}, too"))))
    }

    /// The Gateways whose accepted routes refer to a Service.
    fn gateways_reaching(&self, target: &ObjectKey) -> BTreeMap<ObjectKey, Name> {
        let Some(service) = self.store.find(target) else { return BTreeMap::new() };
        let routes = self.store.dependents(service).filter_map(|id| self.routes.get(id));
        let gateways = routes.flat_map(RouteState::accepting_gateways);
        gateways.filter_map(|(id, controller)| Some((self.store.key(id)?.clone(), controller.clone()))).collect()
    }

    /// Marks the policies of the Services that a route refers to: their ancestors may be others now.
    pub(super) fn mark_policies(&mut self, route: Id) {
        if self.policies_of.is_empty() {
            return;
        }
        let targets: Vec<Id> = match self.route(route) {
            Some(route) => route.references().filter_map(|reference| self.store.find(&reference.target)).collect(),
            None => Vec::new(),
        };
        for target in targets {
            self.dirty.policies.extend(self.policies_of.get(&target).into_iter().flatten());
        }
    }
}
