//! No text makes reading or judging panic: examples of rules with random parts replaced, as two bundles.

use clearway_bundle::{
    Bundle, BundleLimits, BundleReader, Comparison, NameLedger, RULES, Verdict, Waivers, compare_channels,
    conversion_losses,
};
use clearway_core::Timestamp;
use proptest::prelude::*;

fn read(text: &str) -> Bundle {
    let mut reader = BundleReader::new("any", "example.com", BundleLimits::default());
    reader.add_file("any.yaml", text.as_bytes());
    reader.finish()
}

/// A place in a text, how much is taken away there, and what is put in.
fn edits() -> impl Strategy<Value = Vec<(prop::sample::Index, usize, String)>> {
    let words = prop::sample::select(vec![
        "",
        "{",
        "}",
        "[]",
        "null",
        "true",
        "-1",
        "1e99",
        "v1",
        "v1beta1",
        "\n",
        ": ",
        "- ",
        "---\n",
        "'",
        "\"",
        "&a ",
        "*a",
        "properties",
        "items",
        "$ref",
        "type",
        "object",
        "array",
        "string",
        "enum",
        "pattern",
        "'^(a|b)*$'",
        "default",
        "required",
        "x-kubernetes-list-type",
        "x-kubernetes-validations",
        "self.a",
        "oneOf",
        "additionalProperties",
        "storage",
        "served",
        "experimental",
        "v2.0.0",
        "monthly-2026.01",
        "Webhook",
    ]);
    prop::collection::vec((any::<prop::sample::Index>(), 0_usize..12, words.prop_map(str::to_owned)), 0..6)
}

fn edited(text: &str, edits: &[(prop::sample::Index, usize, String)]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for (at, length, word) in edits {
        let at = at.index(chars.len() + 1);
        let end = (at + length).min(chars.len());
        chars.splice(at..end, word.chars());
    }
    chars.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_text_panics_and_findings_are_the_same_twice(one: prop::sample::Index, two: prop::sample::Index, old in edits(), new in edits()) {
        let examples: Vec<&str> =
            RULES.iter().filter_map(|rule| rule.broken).flat_map(|pair| [pair.old, pair.new]).collect();
        let (old, new) = (edited(one.get::<&str>(&examples), &old), edited(two.get::<&str>(&examples), &new));
        let (first, second) = (read(&old), read(&new));
        let ledger = NameLedger::of_bundles([&first]);
        let (again, problems) = NameLedger::read("ledger", &ledger.to_string());
        prop_assert_eq!((&again, problems.len()), (&ledger, 0));
        let comparison = Comparison { ledger: Some(&ledger), ..Comparison::new(&first, &second) };
        let judgement = comparison.judge();
        prop_assert_eq!(&judgement, &comparison.judge());
        prop_assert!(serde_json::to_string(&judgement).is_ok());
        let unchanged = Comparison::new(&second, &second).judge();
        prop_assert!(unchanged.findings.iter().all(|finding| finding.rule.as_str() == "R45"), "{:?}", unchanged);
        prop_assert!(compare_channels(&first, &first).violations.is_empty());
        for crd in second.crds.values() {
            conversion_losses(crd, first.crds.get(&crd.name));
        }
        let mut waivers = Waivers::read("waivers", &new);
        let waived = judgement.with_waivers(&mut waivers, Timestamp::EPOCH);
        prop_assert!(waived.findings.iter().all(|finding| finding.verdict != Verdict::Waived));
        NameLedger::read("ledger", &new);
    }
}
