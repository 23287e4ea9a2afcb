//! Goes through two bundles side by side and asks the rules about each pair.
//!
//! Nesting is bounded by the reader of schemas, so recursion here is, too.

use std::cell::OnceCell;

use crate::finding::RuleId;
use crate::judge::{Collector, Comparison, Site, Step};
use crate::model::{AdditionalFields, ApiVersion, Crd, FieldSchema, Segment};
use crate::rules::cel::CelChanges;
use crate::rules::{Check, RULES, Rule};

/// Fields that are listed as missing in one schema.
const MISSING_FIELDS: usize = 20_000;

/// The schemas of one field in two bundles.
#[derive(Debug)]
pub(crate) struct FieldPair<'p> {
    pub(crate) comparison: &'p Comparison<'p>,
    pub(crate) site: &'p Site<'p>,
    /// The name of the CRD and of the version; empty for what is not a CRD.
    pub(crate) crd: &'p str,
    pub(crate) version: &'p str,
    pub(crate) path: &'p [Segment<'p>],
    pub(crate) old: &'p FieldSchema,
    pub(crate) new: &'p FieldSchema,
    /// Worked out when the first rule asks for it.
    cel: OnceCell<CelChanges<'p>>,
}

impl<'p> FieldPair<'p> {
    /// How the validation rules differ.
    pub(crate) fn cel_changes(&self) -> &CelChanges<'p> {
        self.cel.get_or_init(|| CelChanges::between(&self.old.validations, &self.new.validations))
    }
}

/// Whether a rule is asked in a step of this kind.
fn applies(rule: RuleId, step: Step) -> bool {
    let of_step = match rule.as_str() {
        "R42" => Some(Step::ToStandard),
        "R43" => Some(Step::ToExperimental),
        "R44" => Some(Step::Rollback),
        "R45" => return true,
        "R31" | "R46" => return step != Step::Rollback,
        _ => Some(Step::Update),
    };
    of_step == Some(step)
}

/// Asks all rules that apply.
pub(super) fn walk(comparison: &Comparison<'_>, out: &mut Collector) {
    let step = comparison.step();
    let rules: Vec<&Rule> = RULES.iter().filter(|rule| applies(rule.id, step)).collect();
    for rule in &rules {
        for check in rule.checks {
            if let Check::Bundle(check) = check {
                check(comparison, out);
            }
        }
    }
    for (name, new) in &comparison.new.crds {
        let Some(old) = comparison.old.crds.get(name) else { continue };
        for rule in &rules {
            for check in rule.checks {
                if let Check::Crd(check) = check {
                    check(comparison, old, new, out);
                }
            }
        }
        for (version, new_version) in &new.versions {
            let Some(old_version) = old.versions.get(version) else { continue };
            for rule in &rules {
                for check in rule.checks {
                    if let Check::Version(check) = check {
                        check(old_version, new_version, &Site::version(new, new_version), out);
                    }
                }
            }
            walk_version(comparison, &rules, new, old_version, new_version, out);
        }
    }
    walk_policies(comparison, &rules, out);
}

fn walk_version(
    comparison: &Comparison<'_>,
    rules: &[&Rule],
    crd: &Crd,
    old: &ApiVersion,
    new: &ApiVersion,
    out: &mut Collector,
) {
    let (Some(old_schema), Some(new_schema)) = (&old.schema, &new.schema) else { return };
    let site = Site::version(crd, new);
    let walker = FieldWalker { comparison, rules, site: &site, crd: &crd.name, version: &new.name };
    walker.walk(old_schema, new_schema, &mut Vec::new(), out);
}

/// What stays the same for all fields of a version.
struct FieldWalker<'w> {
    comparison: &'w Comparison<'w>,
    rules: &'w [&'w Rule],
    site: &'w Site<'w>,
    crd: &'w str,
    version: &'w str,
}

impl FieldWalker<'_> {
    fn walk<'p>(&self, old: &'p FieldSchema, new: &'p FieldSchema, path: &mut Vec<Segment<'p>>, out: &mut Collector) {
        if !same_keywords(old, new) {
            self.ask(old, new, path, out);
        }
        // Nothing below can be compared when a list became an object.
        if old.keywords.value_type != new.keywords.value_type {
            return;
        }
        for (segment, below) in new.children() {
            if let Some(before) = old.at(&[segment]) {
                path.push(segment);
                self.walk(before, below, path, out);
                path.pop();
            }
        }
    }

    fn ask(&self, old: &FieldSchema, new: &FieldSchema, path: &[Segment<'_>], out: &mut Collector) {
        let FieldWalker { comparison, site, crd, version, .. } = *self;
        let pair = FieldPair { comparison, site, crd, version, path, old, new, cel: OnceCell::new() };
        for check in self.rules.iter().flat_map(|rule| rule.checks) {
            if let Check::Field(check) = check {
                check(&pair, out);
            }
        }
    }
}

/// Whether nothing but descriptions and what is below differs.
fn same_keywords(old: &FieldSchema, new: &FieldSchema) -> bool {
    let kind = |additional: &AdditionalFields| std::mem::discriminant(additional);
    let rules = old.validations.iter().zip(&new.validations);
    old.keywords == new.keywords
        && kind(&old.additional) == kind(&new.additional)
        && old.items.is_some() == new.items.is_some()
        && old.properties.len() == new.properties.len()
        && old.properties.keys().eq(new.properties.keys())
        && old.validations.len() == new.validations.len()
        && rules.into_iter().all(|(old, new)| {
            (&old.rule, &old.message, &old.details, old.optional_old_self)
                == (&new.rule, &new.message, &new.details, new.optional_old_self)
        })
}

/// The expressions of admission policies are compared like those of a field. A policy that is new is not.
fn walk_policies(comparison: &Comparison<'_>, rules: &[&Rule], out: &mut Collector) {
    let with_rules = |policy: &crate::model::AdmissionPolicy| FieldSchema {
        validations: policy.validations.clone(),
        ..FieldSchema::default()
    };
    for new in &comparison.new.policies {
        let same = |old: &&crate::model::AdmissionPolicy| (&old.kind, &old.name) == (&new.kind, &new.name);
        let Some(old) = comparison.old.policies.iter().find(same) else { continue };
        let name = format!("{} {}", new.kind, new.name);
        let site = Site::object(&name, &new.place);
        let (old, new) = (with_rules(old), with_rules(new));
        let path = [Segment::Field("spec"), Segment::Field("validations")];
        let walker = FieldWalker { comparison, rules, site: &site, crd: "", version: "" };
        walker.ask(&old, &new, &path, out);
    }
}

/// The fields of one schema that another one does not have: the topmost of each branch, in order.
pub(crate) fn missing_fields<'a>(from: &'a FieldSchema, other: &FieldSchema) -> Vec<Vec<Segment<'a>>> {
    fn collect<'a>(
        from: &'a FieldSchema,
        other: &FieldSchema,
        path: &mut Vec<Segment<'a>>,
        found: &mut Vec<Vec<Segment<'a>>>,
    ) {
        for (segment, below) in from.children() {
            path.push(segment);
            match other.at(&[segment]) {
                Some(counterpart) => collect(below, counterpart, path, found),
                None if !keeps_unknown(other) && found.len() < MISSING_FIELDS => found.push(path.clone()),
                None => {}
            }
            path.pop();
        }
    }
    let mut found = Vec::new();
    collect(from, other, &mut Vec::new(), &mut found);
    found
}

/// Whether fields that are not described stay.
fn keeps_unknown(schema: &FieldSchema) -> bool {
    schema.keywords.preserve_unknown_fields || !matches!(schema.additional, AdditionalFields::None)
}
