//! What to do about each code of a bundle's files, with examples, and the rules about changes as pages.

use std::borrow::Cow;

use clearway_core::Severity;
use clearway_core::diagnostic::CodePage;

use super::{RULES, Rule};
use crate::model::Level;
use crate::rules;

/// The pages of the codes `BD…`, in their order.
pub fn pages() -> Vec<CodePage> {
    let page = |(rule, (severity, [action, wrong, right])): (&Rule, &(Severity, [&'static str; 3]))| {
        CodePage::of_rule(rule, *severity, action).with_example(wrong, right)
    };
    RULES.iter().zip(ADVICE).map(page).collect()
}

/// The pages of the rules about changes of CRDs, in their order.
pub fn change_pages() -> Vec<CodePage> {
    rules::RULES.iter().map(change_page).collect()
}

fn change_page(rule: &rules::Rule) -> CodePage {
    let example = |pair: Option<rules::ExamplePair>| {
        let text = pair.map(|pair| format!("# before\n{}\n# after\n{}", pair.old.trim_end(), pair.new.trim_end()));
        Cow::Owned(text.unwrap_or_default())
    };
    let action = match rule.standard {
        Level::Patch => "Nothing: the change may ship with any version.",
        _ => "Ship the change with a version of that level, or write a waiver with a reason and an end.",
    };
    CodePage {
        code: Cow::Borrowed(rule.id.0),
        title: Cow::Borrowed(rule.title),
        severity: None,
        meaning: Cow::Owned(format!(
            "Needs: {} in the standard channel, {} in the experimental channel. {} {}",
            rule.standard, rule.experimental, rule.why, rule.stored_objects
        )),
        action: Cow::Borrowed(action),
        wrong: example(rule.broken),
        right: example(rule.allowed),
    }
}

use Severity::{Error as E, Info as I, Warning as W};

/// The gravest severity of each code in the order of [`RULES`], what to do, what has the code, and what does not.
#[rustfmt::skip]
const ADVICE: &[(Severity, [&str; 3])] = &[
    (E, ["Give the document `apiVersion`, `kind` and `metadata.name`, or remove it.", "kind: CustomResourceDefinition", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: widgets.example.com"]),
    (E, ["Add the part that the message names.", "spec:\n  group: example.com", "spec:\n  group: example.com\n  names: {kind: Widget, plural: widgets}\n  scope: Namespaced\n  versions: [{name: v1, served: true, storage: true, schema: …}]"]),
    (E, ["Convert the CRD to apiextensions.k8s.io/v1.", "apiVersion: apiextensions.k8s.io/v1beta1", "apiVersion: apiextensions.k8s.io/v1"]),
    (E, ["Add `schema.openAPIV3Schema` to the version.", "- name: v1\n  served: true", "- name: v1\n  served: true\n  schema: {openAPIV3Schema: {type: object}}"]),
    (E, ["Write the referenced schema in its place.", "size: {$ref: '#/definitions/size'}", "size: {type: string}"]),
    (E, ["Make the schema smaller: fewer levels, fewer fields.", "", ""]),
    (E, ["Remove one of the two.", "", ""]),
    (E, ["Name a file or directory that has CRDs.", "", ""]),
    (E, ["Split the bundle.", "", ""]),
    (E, ["Correct the waiver: rule, path, reason and expiry are required.", "- rule: R05", "- rule: R05\n  path: widgets v1 spec.size\n  reason: no object has it\n  expires: 2027-06-30"]),
    (W, ["Renew the waiver with a reason, or revert the change.", "", ""]),
    (I, ["Remove the waiver, or correct its path.", "", ""]),
    (E, ["Correct the line.", "", ""]),
    (E, ["Correct the value of the keyword.", "maxLength: '5'", "maxLength: 5"]),
    (W, ["Correct the annotations, or the version and channel that you pass.", "", ""]),
    (W, ["Shorten descriptions, or split the CRD.", "", ""]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_advice() {
        assert_eq!(ADVICE.len(), RULES.len());
        assert_eq!(change_pages().len(), rules::RULES.len());
    }
}
