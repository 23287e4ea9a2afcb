//! `Bundle`: asks which bundle of CRDs is installed, and whether objects use a field of it (U19, V7, V8).
//!
//! ```yaml
//! - type: Bundle
//!   bundle:
//!     group: gateway.networking.k8s.io        # the domain of the bundle's annotations; required
//!     version: ">=1.0.0 <1.3.0"               # a range of bundle versions
//!     channel: experimental                   # or standard
//!     servedVersion: HTTPRoute v1beta1        # a version that clients can use; without a kind: of any CRD
//!     storedVersion: v1alpha2                 # a version in status.storedVersions; without a kind: of any CRD
//!     usedField: HTTPRoute v1 spec.rules[].filters[].externalAuth
//!     whenAbsent: Unknown                     # or Match, NoMatch: no such bundle, or no CRD of a named kind in it
//! ```
//!
//! The rule matches if everything that it gives is true. The parameters are tested in the order above, and the first one
//! that does not match decides; so objects are looked at only where the CRDs match. A kind outside of the group is written
//! with its group, such as `XMesh.gateway.networking.x-k8s.io`. Paths are written as `clearway bundle check` writes them
//! ([`FieldPath`]), and a field is used by an object that has a value there other than null.
//!
//! The bundle is the CRDs of all API groups in which a CRD has its annotations, and of the group with its name. They have
//! to be one whole bundle:
//!
//! | the cluster | the rule |
//! |---|---|
//! | has no such CRDs | `whenAbsent` |
//! | has CRDs of several versions or channels | fails: ambiguous |
//! | has CRDs without the annotations of version and channel | fails: absent |
//! | has CRDs that are being deleted, or not established | fails: partial |
//! | has CRDs that cannot be read | fails: evaluation, or as reading them failed |
//! | has a version that is no semantic version, and the rule has a range | fails: ambiguous |
//! | has no CRD of a kind that the rule names | `whenAbsent` |
//! | does not say the stored versions of a CRD, and no other one has the version | fails: absent |
//! | does not serve the version of `usedField`, or objects were read in another one | fails: absent |
//! | has objects that could not be listed, or too many | fails: as listing them failed |
//! | has an object whose value on the way to the field was removed, and no other object uses it | fails: unsupported |

mod parameters;

use clearway_bundle::Channel;
use clearway_core::GroupKind;
use clearway_graph::Rule;

use super::parameters::{Parameters, canonical};
use super::quantifier::WhenAbsent;
use super::rule_result::{ask_objects, remedy};
use super::{Case, Check, Finding, ReadContext, RuleResult};
use crate::evidence::{
    BundleAnswer, Failure, FailureClass, ObjectAnswer, ObjectQuestion, ObjectRequest, ObjectTest, Selector,
};

pub use parameters::{BUNDLE_PARAMETERS, ParameterFault, check_bundle_rule};
use parameters::{BundleCriteria, UsedField, VersionOf};

/// Kinds that are listed in a proof.
const LISTED: usize = 3;

#[derive(Debug)]
struct BundleRule {
    wanted: BundleCriteria,
    absent: WhenAbsent,
    /// Which bundle is installed; the same for all rules about it.
    crds: ObjectQuestion,
    /// Whether objects use the field.
    objects: Option<ObjectQuestion>,
    text: String,
}

/// Reads what is asked of the bundle.
pub(super) fn read(rule: &Rule, _: &ReadContext<'_>) -> Result<Box<dyn Check>, Failure> {
    let parameters = Parameters::of(rule)?;
    let wanted = BundleCriteria::read(&parameters)?
        .map_err(|fault| parameters.wrong(fault.key, &format!("is wrong: {}", fault.why)))?;
    let absent = WhenAbsent::read(&parameters)?;
    let question = |kind: GroupKind, test: ObjectTest, text: String| {
        let request = ObjectRequest { kind, namespace: None, name: None };
        Ok::<_, Failure>(ObjectQuestion::new(Selector::new(request)?, test, text))
    };
    let domain = wanted.group.clone();
    let name = format!("Bundle {domain}");
    let crds = question(crd_kind(), ObjectTest::Bundle { domain }, name)?;
    let objects = match &wanted.field {
        None => None,
        Some(UsedField { kind, version, path, text }) => {
            let field = ObjectTest::Field { version: version.clone(), path: path.clone() };
            Some(question(kind.clone(), field, format!("Bundle field {kind} {version} {text}"))?)
        }
    };
    Ok(Box::new(BundleRule { wanted, absent, crds, objects, text: canonical(&rule.parameters) }))
}

fn crd_kind() -> GroupKind {
    GroupKind { group: "apiextensions.k8s.io".to_owned(), kind: "CustomResourceDefinition".to_owned() }
}

/// What CRDs come to: the finding of the rule, or that everything about them is true.
enum CrdFinding {
    Decided(Finding),
    Holds,
}

impl BundleRule {
    fn judge_crds(&self, answer: &ObjectAnswer, case: &Case<'_>) -> CrdFinding {
        let group = &self.wanted.group;
        let Some(bundle) = &answer.bundle else {
            return self.absent(format!("No CRD of the bundle {group} was found."), case);
        };
        if let Some((fault, count, names)) = &bundle.fault {
            let more = if *count > names.len() { format!(", … ({count} in all)") } else { String::new() };
            let names = if names.is_empty() { String::new() } else { format!(": {}{more}", names.join(", ")) };
            let message = format!("The bundle {group} has CRDs that {}{names}.", fault.as_str());
            let missing = format!("One whole bundle {group}.");
            return CrdFinding::Decided(Finding::failed(fault.class(), message, missing));
        }
        let BundleCriteria { version, channel, served, stored, field, .. } = &self.wanted;
        if let Some(range) = version {
            let Some(version) = &bundle.version else {
                let message = format!("The version of the bundle {group} is no semantic version, so no range has it.");
                let missing = format!("A released version of {group}.");
                return CrdFinding::Decided(Finding::failed(FailureClass::Ambiguous, message, missing));
            };
            if !range.contains(version, version.build()) {
                return CrdFinding::Decided(Finding::NoMatch);
            }
        }
        if channel.is_some_and(|channel| bundle.channel != Some(channel)) {
            return CrdFinding::Decided(Finding::NoMatch);
        }
        let kinds = [served, stored].into_iter().flatten().filter_map(|wanted| wanted.kind.as_ref());
        let mut kinds = kinds.chain(field.as_ref().map(|field| &field.kind));
        if let Some(kind) = kinds.find(|kind| !bundle.crds.contains_key(*kind)) {
            return self.absent(format!("The bundle {group} has no CRD of the kind {kind}."), case);
        }
        let served = served.as_ref().map(|wanted| has_version(bundle, wanted, false));
        let stored = stored.as_ref().map(|wanted| has_version(bundle, wanted, true));
        if let Some(other) = [served, stored].into_iter().flatten().find(|finding| *finding != Finding::Match) {
            return CrdFinding::Decided(other);
        }
        if let Some(UsedField { kind, version, .. }) = field
            && !bundle.crds.get(kind).is_some_and(|crd| crd.served.contains(version))
        {
            let message = format!("The cluster does not serve {kind} in the version {version}.");
            let missing = format!("A CRD that serves {kind} {version}.");
            return CrdFinding::Decided(Finding::failed(FailureClass::Absent, message, missing));
        }
        CrdFinding::Holds
    }

    fn judge_objects(&self, answer: &ObjectAnswer, case: &Case<'_>) -> Finding {
        let Some(UsedField { kind, version, .. }) = &self.wanted.field else { return Finding::Match };
        if answer.matches > 0 {
            return Finding::Match;
        }
        if let Some((error, name)) = answer.first_error() {
            let class = error.class();
            let message = format!("The field cannot be looked up in {kind} {name} ({version}): {error}.");
            return Finding::failed(class, message, remedy(class));
        }
        if answer.kind_not_served {
            let message = format!("The cluster does not serve the kind {kind}, although its CRD is installed.");
            return Finding::failed(FailureClass::Absent, message, format!("A cluster that serves {kind}."));
        }
        if case.evidence.names_replaced() && answer.no_matches > 0 {
            let message = "Names were replaced in the snapshot, so the field may be there under another name.";
            return Finding::failed(FailureClass::Absent, message, "A snapshot with names.");
        }
        Finding::NoMatch
    }

    /// The finding where the bundle, or a CRD of it, is not there.
    fn absent(&self, message: String, case: &Case<'_>) -> CrdFinding {
        let group = &self.wanted.group;
        CrdFinding::Decided(if case.evidence.names_replaced() {
            let message = format!("Names were replaced in the snapshot, so CRDs of {group} may be there.");
            Finding::failed(FailureClass::Absent, message, "A snapshot with names.")
        } else {
            self.absent.finding(message, format!("The bundle {group} with the CRDs that the rule names."))
        })
    }

    /// The bundle on one line, with the versions that the rule asks about.
    fn shown_crds(&self, answer: &ObjectAnswer) -> String {
        let group = &self.wanted.group;
        let Some(bundle) = &answer.bundle else { return format!("{group} is not installed") };
        let version =
            bundle.version.as_ref().map_or_else(|| "of no released version,".to_owned(), |found| format!("v{found}"));
        let channel = bundle.channel.map_or("of an unknown channel", Channel::as_str);
        let count = match bundle.crds.len() {
            1 => "1 CRD".to_owned(),
            count => format!("{count} CRDs"),
        };
        let mut parts = match &bundle.fault {
            Some(_) => vec![format!("{group}, {count}")],
            None => vec![format!("{group} {version} {channel}, {count}")],
        };
        for (wanted, word, is_stored) in [(&self.wanted.served, "serves", false), (&self.wanted.stored, "stores", true)]
        {
            let Some(wanted) = wanted else { continue };
            let versions = |kind: &GroupKind| {
                let crd = bundle.crds.get(kind)?;
                if is_stored { crd.stored.as_ref() } else { Some(&crd.served) }
            };
            if let Some(kind) = &wanted.kind {
                let found = versions(kind).map(|found| found.iter().map(String::as_str).collect::<Vec<_>>());
                parts.push(format!("{kind} {word} {}", found.map_or("?".to_owned(), |found| found.join(", "))));
            } else {
                let has = |kind: &&GroupKind| versions(kind).is_some_and(|found| found.contains(&wanted.version));
                let kinds: Vec<String> = bundle.crds.keys().filter(has).map(ToString::to_string).collect();
                let first: Vec<&str> = kinds.iter().take(LISTED).map(String::as_str).collect();
                let names = if first.is_empty() { String::new() } else { format!(": {}", first.join(", ")) };
                let of_them = kinds.len();
                let more = if of_them > first.len() { ", …" } else { "" };
                parts.push(format!("{of_them} of them {} {}{names}{more}", word.trim_end_matches('s'), wanted.version));
            }
        }
        parts.join("; ")
    }

    /// How many objects use the field, and the first of them.
    fn shown_objects(&self, answer: &ObjectAnswer) -> String {
        let kind = self.wanted.field.as_ref().map(|field| field.kind.to_string()).unwrap_or_default();
        let mut names: Vec<String> = answer.first.iter().map(|result| result.name.to_string()).collect();
        if answer.matches.saturating_add(answer.errors.len()) > names.len() && !names.is_empty() {
            names.push("…".to_owned());
        }
        let names = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
        format!("{} of {} {kind} objects use the field{names}", answer.matches, answer.selected())
    }
}

impl Check for BundleRule {
    fn parameters(&self) -> &str {
        &self.text
    }

    fn object_questions(&self) -> Vec<&ObjectQuestion> {
        [&self.crds].into_iter().chain(&self.objects).collect()
    }

    fn check(&self, case: &Case<'_>) -> RuleResult {
        let mut holds = false;
        let crds = ask_objects(
            &self.crds,
            case,
            |answer| self.shown_crds(answer),
            |answer| match self.judge_crds(answer, case) {
                CrdFinding::Decided(finding) => finding,
                CrdFinding::Holds => {
                    holds = true;
                    Finding::Match
                }
            },
        );
        let Some(question) = self.objects.as_ref().filter(|_| holds) else { return crds };
        let objects =
            ask_objects(question, case, |answer| self.shown_objects(answer), |answer| self.judge_objects(answer, case));
        both(crds, objects)
    }
}

/// Whether a CRD, or any of them, serves or stores a version.
fn has_version(bundle: &BundleAnswer, wanted: &VersionOf, stored: bool) -> Finding {
    let own = bundle.crds.iter().filter(|(kind, _)| wanted.kind.as_ref().is_none_or(|wanted| wanted == *kind));
    let mut unknown = None;
    for (_, crd) in own {
        match if stored { crd.stored.as_ref() } else { Some(&crd.served) } {
            Some(versions) if versions.contains(&wanted.version) => return Finding::Match,
            Some(_) => {}
            None => unknown = unknown.or(Some(&crd.name)),
        }
    }
    unknown.map_or(Finding::NoMatch, |name| {
        let message = format!("The CRD {name} does not say in which versions objects are stored.");
        Finding::failed(FailureClass::Absent, message, "CRDs with `status.storedVersions`.")
    })
}

/// The finding of the objects, with what was seen of the CRDs as well.
fn both(crds: RuleResult, objects: RuleResult) -> RuleResult {
    let RuleResult { finding, mut seen, warnings } = objects;
    let joined = |one: Option<String>, other: Option<String>, sign: &str| match (one, other) {
        (Some(one), Some(other)) if one != other => Some(format!("{one}{sign}{other}")),
        (one, other) => one.or(other),
    };
    seen.value = joined(crds.seen.value, seen.value, "; ");
    seen.source = joined(crds.seen.source, seen.source, ", ");
    seen.reproduce = joined(crds.seen.reproduce, seen.reproduce, " && ");
    // The older one counts: evidence is as old as its oldest part.
    seen.observed_at = crds.seen.observed_at.into_iter().chain(seen.observed_at).min();
    let warnings = crds.warnings.into_iter().chain(warnings).collect();
    RuleResult { finding, seen, warnings }
}
