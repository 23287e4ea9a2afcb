//! What installing a bundle would do to a cluster, judged before any write (V7, V8).
//!
//! [`Preflight::new`] compares the bundles and plans which objects have to be read; the caller lists them page by page and
//! hands each to [`Preflight::check_object`]; [`Preflight::finish`] gives the findings. Memory is that of the findings:
//! objects are counted, and only the first of each CRD are named. [`Preflight::of_release`] does the same for the CRDs of a
//! release, which may be of several bundles or of none.

mod release;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use clearway_core::{GroupVersionKind, ObjectName, Severity, ValuePath};
use clearway_schema::{Violation, excerpt, field_path};
use serde::Serialize;
use serde_json::Value;

use crate::crd_schema::CrdSchema;
use crate::judge::{Comparison, Step};
use crate::model::{ApiVersion, Bundle, Crd};

/// Objects that are named for one finding.
const NAMED: usize = 5;
/// Fields and messages that are kept for one object.
const DETAILS: usize = 10;
/// Objects in the one line of a finding.
const SUMMARY_OBJECTS: usize = 3;
/// Fields of each of them.
const SUMMARY_FIELDS: usize = 2;
/// The keyword whose violations are reported at a path that the rule chooses.
const CEL_RULES: &str = "x-kubernetes-validations";

/// The state of a preflight.
#[derive(Debug, Default)]
pub struct Preflight {
    findings: Vec<PreflightFinding>,
    checks: BTreeMap<String, ObjectCheck>,
}

/// Something that speaks against installing the bundle.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PreflightFinding {
    /// Whether the installation has to stop.
    pub severity: PreflightSeverity,
    /// What kind of problem it is.
    pub problem: PreflightProblem,
    /// The CRD; none for what is about the whole bundle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crd: Option<String>,
    /// The annotation domain of the bundle, for what is about all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
    /// What would happen, in one sentence.
    pub message: String,
    /// How many objects are affected.
    pub count: usize,
    /// The first of them, with the fields.
    pub objects: Vec<AffectedObject>,
}

/// One object that a new bundle would change or refuse.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct AffectedObject {
    /// The namespace and name.
    pub name: String,
    /// The fields, each with what is wrong with it if it is refused.
    pub fields: Vec<String>,
}

/// How much a finding weighs. The graver one sorts first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PreflightSeverity {
    /// Data would be lost, or the API server would refuse the CRD.
    Blocking,
    /// Somebody should know.
    Warning,
}

/// The kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PreflightProblem {
    /// Objects are stored in a version that the new CRD does not have.
    OrphanedStoredVersion,
    /// The new bundle is older.
    Rollback,
    /// The new bundle is of another channel.
    ChannelSwitch,
    /// At least one minor version lies between the two.
    SkippedMinor,
    /// Stored objects would lose fields.
    LostFields,
    /// Stored objects would not be valid.
    RefusedObjects,
    /// The new bundle does not have an installed CRD.
    RemovedCrd,
    /// Objects would get another status.
    ChangedStatus,
    /// Objects could not be checked.
    NotChecked,
}

/// How the stored objects of one CRD are checked.
#[derive(Debug)]
struct ObjectCheck {
    kind: GroupVersionKind,
    old: Option<CrdSchema>,
    new: CrdSchema,
    orphaned: OrphanedVersions,
    lost: Affected,
    refused: Affected,
    all: Affected,
    /// Objects whose values were removed, so that it is not known whether they are valid.
    unknown: Affected,
}

/// Stored versions that the new CRD does not have.
#[derive(Debug)]
struct OrphanedVersions {
    versions: Vec<String>,
    /// Whether objects are still written in one of them, so that rewriting them now does not help.
    is_storage: bool,
}

#[derive(Debug, Default)]
struct Affected {
    count: usize,
    objects: Vec<AffectedObject>,
}

impl Preflight {
    /// Compares an installed bundle with a new one.
    pub fn new(installed: &Bundle, new: &Bundle) -> Self {
        let mut preflight = Preflight::default();
        preflight.compare(installed, new);
        for crd in installed.crds.keys().filter(|name| !new.crds.contains_key(*name)) {
            preflight.report_removed_crd(crd);
        }
        for problem in installed.problems.iter().filter(|problem| problem.severity == Severity::Error) {
            let message = format!("an installed CRD cannot be read: {}", problem.message);
            let (severity, problem) = (PreflightSeverity::Warning, PreflightProblem::NotChecked);
            preflight.findings.push(PreflightFinding::of_bundle(severity, problem, new, message));
        }
        preflight
    }

    /// Installing a bundle deletes no CRD: one that the new bundle does not have stays, and nothing updates it any more.
    fn report_removed_crd(&mut self, crd: &str) {
        let message = "the new bundle does not have this CRD: it stays installed as it is, with its objects".to_owned();
        let (severity, problem) = (PreflightSeverity::Warning, PreflightProblem::RemovedCrd);
        self.findings.push(PreflightFinding::of_crd(severity, problem, crd, message, Affected::default()));
    }

    fn compare(&mut self, installed: &Bundle, new: &Bundle) {
        self.compare_versions(installed, new);
        for crd in new.crds.values() {
            if let Some(present) = installed.crds.get(&crd.name) {
                self.plan(present, crd);
            }
        }
    }

    /// The kinds whose objects are to be listed, in the version to list them in, by the name of their CRD.
    pub fn needed_kinds(&self) -> Vec<(String, GroupVersionKind)> {
        self.checks.iter().map(|(name, check)| (name.clone(), check.kind.clone())).collect()
    }

    /// Checks one stored object of a CRD.
    pub fn check_object(&mut self, crd: &str, object: &Value) {
        self.check_stripped_object(crd, object, &|_| false);
    }

    /// Checks one stored object of which values were removed; `is_removed` says whether a value stands for one. What
    /// depends on such a value is not known, and is a finding of its own.
    pub fn check_stripped_object(&mut self, crd: &str, object: &Value, is_removed: &dyn Fn(&Value) -> bool) {
        let Some(check) = self.checks.get_mut(crd) else { return };
        let mut removed = Vec::new();
        removed_fields(object, is_removed, "", &mut removed);
        // A violation depends on the value at its path; a rule in CEL may be about anything around it.
        let is_known = |violation: &Violation| {
            let related = |path: &String| is_below(path, &violation.path) || is_below(&violation.path, path);
            removed.is_empty() || (violation.rule != CEL_RULES && !removed.iter().any(related))
        };
        check.all.count_object(object, Vec::new());
        let stored = check.new.pruned(object);
        let mut fields = Vec::new();
        lost_fields(object, &stored, &ValuePath::Root, &mut fields);
        check.lost.add(object, fields);
        let known: BTreeSet<(String, &str)> = match &check.old {
            Some(old) => {
                let violations = old.validate(&old.pruned(object)).violations;
                violations.into_iter().map(|violation| (violation.path, violation.rule)).collect()
            }
            None => BTreeSet::new(),
        };
        let violations = check.new.validate(&stored).violations;
        // What is not valid today either is not made worse by the new bundle.
        let new = violations.into_iter().filter(|one| is_known(one) && !known.contains(&(one.path.clone(), one.rule)));
        check.refused.add(object, new.map(|violation| format!("{}: {}", violation.path, violation.message)).collect());
        check.unknown.add(object, removed);
    }

    /// Notes that the objects of a CRD could not be listed.
    pub fn not_listed(&mut self, crd: &str, why: &str) {
        self.not_checked(crd, format!("stored objects could not be listed: {why}"));
    }

    fn not_checked(&mut self, crd: &str, message: String) {
        let (severity, problem) = (PreflightSeverity::Warning, PreflightProblem::NotChecked);
        self.findings.push(PreflightFinding::of_crd(severity, problem, crd, message, Affected::default()));
    }

    /// Everything that was found, the gravest first.
    pub fn finish(mut self) -> Vec<PreflightFinding> {
        for (crd, check) in self.checks {
            let ObjectCheck { orphaned, lost, refused, all, unknown, .. } = check;
            let message = "values were removed from these objects, so it is not known whether they would be valid";
            let unknown = unknown.finding(PreflightProblem::NotChecked, &crd, message.to_owned());
            self.findings
                .extend(unknown.map(|found| PreflightFinding { severity: PreflightSeverity::Warning, ..found }));
            self.findings.extend(orphan_finding(&crd, &orphaned, all));
            let fields: BTreeSet<&String> = lost.objects.iter().flat_map(|object| &object.fields).collect();
            let names: Vec<&str> = fields.into_iter().take(NAMED).map(String::as_str).collect();
            let message = format!("stored objects would lose {}", names.join(", "));
            self.findings.extend(lost.finding(PreflightProblem::LostFields, &crd, message));
            let message = "stored objects would not be valid: changes of these fields are refused".to_owned();
            self.findings.extend(refused.finding(PreflightProblem::RefusedObjects, &crd, message));
        }
        self.findings.sort();
        self.findings
    }

    fn compare_versions(&mut self, installed: &Bundle, new: &Bundle) {
        let (from, to) = (installed.version_text(), new.version_text());
        let step = Comparison::new(installed, new).step();
        let (severity, problem, message) = match step {
            Step::Rollback => (
                PreflightSeverity::Blocking,
                PreflightProblem::Rollback,
                format!("{to} is older than {from}: fields of newer versions would be dropped"),
            ),
            Step::ToExperimental => (
                PreflightSeverity::Blocking,
                PreflightProblem::ChannelSwitch,
                "experimental CRDs would replace standard ones: experimental fields may be removed in any release"
                    .to_owned(),
            ),
            Step::ToStandard => (
                PreflightSeverity::Warning,
                PreflightProblem::ChannelSwitch,
                "standard CRDs would replace experimental ones: experimental fields would be dropped".to_owned(),
            ),
            Step::Update => match skipped_minors(installed, new) {
                Some(skipped) => (
                    PreflightSeverity::Warning,
                    PreflightProblem::SkippedMinor,
                    format!(
                        "{skipped} minor versions lie between {from} and {to}; updates are tested one minor version at a time"
                    ),
                ),
                None => return,
            },
        };
        self.findings.push(PreflightFinding::of_bundle(severity, problem, new, message));
    }

    /// Objects are listed in a version that both CRDs have: the one that is stored now, or any that is served.
    fn plan(&mut self, installed: &Crd, new: &Crd) {
        let orphaned =
            installed.stored_versions.iter().flatten().filter(|version| !new.versions.contains_key(*version));
        let versions: Vec<String> = orphaned.cloned().collect();
        let is_storage = installed.storage_version().is_some_and(|version| versions.contains(&version.name));
        let orphaned = OrphanedVersions { versions, is_storage };
        let stored = installed.storage_version().into_iter();
        let mut candidates = stored.chain(installed.versions.values()).filter(|version| version.served);
        let Some(old) = candidates.find(|version| new.versions.contains_key(&version.name)) else {
            self.findings.extend(orphan_finding(&new.name, &orphaned, Affected::default()));
            return self.not_listed(&new.name, "the two CRDs have no version in common");
        };
        let read = |version: &ApiVersion| CrdSchema::read(&version.schema.as_ref()?.to_json()).ok();
        let Some(schema) = new.versions.get(&old.name).and_then(read) else {
            self.findings.extend(orphan_finding(&new.name, &orphaned, Affected::default()));
            return self.not_listed(&new.name, "the schema of the new CRD could not be read");
        };
        let kind = GroupVersionKind { group: new.group.clone(), version: old.name.clone(), kind: new.kind.clone() };
        let [lost, refused, all, unknown] = [(); 4].map(|()| Affected::default());
        let check = ObjectCheck { kind, old: read(old), new: schema, orphaned, lost, refused, all, unknown };
        self.checks.insert(new.name.clone(), check);
    }
}

impl Affected {
    fn add(&mut self, object: &Value, fields: Vec<String>) {
        if !fields.is_empty() {
            self.count_object(object, fields);
        }
    }

    fn count_object(&mut self, object: &Value, fields: Vec<String>) {
        self.count = self.count.saturating_add(1);
        self.keep_first(ObjectName::of(object).to_string(), fields);
    }

    /// Keeps the first objects by name, in whatever order they come.
    fn keep_first(&mut self, name: String, mut fields: Vec<String>) {
        let place = self.objects.partition_point(|known| known.name <= name);
        if place < NAMED {
            fields.truncate(DETAILS);
            self.objects.insert(place, AffectedObject { name, fields });
            self.objects.truncate(NAMED);
        }
    }

    fn finding(self, problem: PreflightProblem, crd: &str, message: String) -> Option<PreflightFinding> {
        let severity = PreflightSeverity::Blocking;
        (self.count > 0).then(|| PreflightFinding::of_crd(severity, problem, crd, message, self))
    }
}

impl PreflightFinding {
    /// Objects of a CRD that would get another status, each with the conditions that would change. It is a warning: nothing
    /// is lost, and the implementation decides.
    pub fn changed_status(crd: &str, message: String, objects: impl IntoIterator<Item = AffectedObject>) -> Self {
        let mut affected = Affected::default();
        for AffectedObject { name, fields } in objects {
            affected.count = affected.count.saturating_add(1);
            affected.keep_first(name, fields);
        }
        let (severity, problem) = (PreflightSeverity::Warning, PreflightProblem::ChangedStatus);
        PreflightFinding::of_crd(severity, problem, crd, message, affected)
    }

    fn of_crd(
        severity: PreflightSeverity,
        problem: PreflightProblem,
        crd: &str,
        message: String,
        Affected { count, objects }: Affected,
    ) -> Self {
        PreflightFinding { severity, problem, crd: Some(crd.to_owned()), bundle: None, message, count, objects }
    }

    fn of_bundle(severity: PreflightSeverity, problem: PreflightProblem, bundle: &Bundle, message: String) -> Self {
        let bundle = Some(bundle.domain.clone());
        PreflightFinding { severity, problem, crd: None, bundle, message, count: 0, objects: Vec::new() }
    }
}

/// The finding in one line, with the first objects and fields.
impl fmt::Display for PreflightFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(subject) = self.crd.as_deref().or(self.bundle.as_deref()) {
            write!(f, "{subject}: ")?;
        }
        f.write_str(&self.message)?;
        let (named, more): (Vec<String>, usize) = (
            self.objects.iter().take(SUMMARY_OBJECTS).map(AffectedObject::summary).collect(),
            self.count.saturating_sub(SUMMARY_OBJECTS),
        );
        match (named.as_slice(), more) {
            ([], _) => Ok(()),
            (named, 0) => write!(f, " ({})", named.join(", ")),
            (named, more) => write!(f, " ({} and {more} more)", named.join(", ")),
        }
    }
}

impl AffectedObject {
    fn summary(&self) -> String {
        let fields: Vec<String> = self.fields.iter().take(SUMMARY_FIELDS).map(|field| excerpt(field)).collect();
        let name = excerpt(&self.name);
        if fields.is_empty() { name } else { format!("{name}: {}", fields.join("; ")) }
    }
}

/// A CRD that would lose a version in which objects are stored. Which objects these are cannot be seen, so all are named.
fn orphan_finding(crd: &str, orphaned: &OrphanedVersions, all: Affected) -> Option<PreflightFinding> {
    let OrphanedVersions { versions, is_storage } = orphaned;
    let remedy = if *is_storage {
        "install a version that stores them in another one first".to_owned()
    } else {
        format!("run `clearway bundle migrate {crd}` first")
    };
    let lost = versions.join(", ");
    let message = format!("objects may be stored in {lost}, which the new CRD does not have; {remedy}");
    let (severity, problem) = (PreflightSeverity::Blocking, PreflightProblem::OrphanedStoredVersion);
    (!versions.is_empty()).then(|| PreflightFinding::of_crd(severity, problem, crd, message, all))
}

/// How many minor versions lie between two releases; none if they follow each other, or have no order.
fn skipped_minors(installed: &Bundle, new: &Bundle) -> Option<u64> {
    let old = installed.version.as_ref()?.release()?;
    let new = new.version.as_ref()?.release()?;
    let skipped = (old.major() == new.major()).then(|| new.minor().saturating_sub(old.minor()).saturating_sub(1))?;
    (skipped > 0).then_some(skipped)
}

/// The first paths of an object whose values were removed, as violations write them.
fn removed_fields(value: &Value, is_removed: &dyn Fn(&Value) -> bool, path: &str, removed: &mut Vec<String>) {
    if is_removed(value) {
        return removed.push(path.to_owned());
    }
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                removed_fields(value, is_removed, &field_path(path, key), removed);
            }
        }
        Value::Array(items) => {
            for (number, value) in items.iter().enumerate() {
                removed_fields(value, is_removed, &format!("{path}[{number}]"), removed);
            }
        }
        _ => {}
    }
}

/// Whether a path is another one, or leads further down.
fn is_below(path: &str, other: &str) -> bool {
    path.strip_prefix(other).is_some_and(|rest| other.is_empty() || rest.is_empty() || rest.starts_with(['.', '[']))
}

/// The first fields of an object that are not in what would be stored of it; `[]` stands for any element. A stored object
/// can have very many of them.
fn lost_fields(before: &Value, after: &Value, path: &ValuePath<'_>, lost: &mut Vec<String>) {
    if lost.len() >= DETAILS {
        return;
    }
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, value) in before {
                let path = ValuePath::Field(path, key);
                match after.get(key) {
                    Some(kept) => lost_fields(value, kept, &path, lost),
                    // A null says nothing that could be lost.
                    None if value.is_null() => {}
                    None if lost.len() < DETAILS => {
                        let path = path.to_string();
                        if !lost.contains(&path) {
                            lost.push(path);
                        }
                    }
                    None => {}
                }
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            for (value, kept) in before.iter().zip(after) {
                lost_fields(value, kept, &ValuePath::AnyItem(path), lost);
            }
        }
        _ => {}
    }
}
