//! Real releases of Gateway API against what is known of them (`gateway_releases.txt`).
//!
//! The directory with the releases (`gateway-api@v1.4.0` and so on, as Go keeps modules) is in the variable
//! `GATEWAY_RELEASES`; `make gateway-releases` downloads them and runs these tests.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clearway_bundle::{
    Bundle, BundleLimits, BundleReader, Channel, Comparison, Level, NameLedger, Verdict, compare_channels,
    conversion_losses,
};

const VERSIONS: [&str; 20] = [
    "v0.5.0", "v0.5.1", "v0.6.0", "v0.6.2", "v0.7.0", "v0.7.1", "v0.8.0", "v0.8.1", "v1.0.0", "v1.1.0", "v1.1.1",
    "v1.2.0", "v1.2.1", "v1.3.0", "v1.4.0", "v1.4.1", "v1.5.0", "v1.5.1", "v1.6.0", "v1.6.1",
];

fn read(version: &str, channel: Channel) -> Bundle {
    let releases = PathBuf::from(std::env::var_os("GATEWAY_RELEASES").expect("GATEWAY_RELEASES names a directory"));
    let directory = releases.join(format!("gateway-api@{version}/config/crd/{channel}"));
    let entries = std::fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "yaml") && !file.ends_with("kustomization.yaml"));
    files.sort();
    let mut reader = BundleReader::new(version, "gateway.networking.k8s.io", BundleLimits::default());
    for file in files {
        reader.add_file(&file.display().to_string(), &std::fs::read(&file).unwrap());
    }
    let bundle = reader.finish();
    assert!(bundle.problems.is_empty(), "{:#?}", bundle.problems);
    bundle
}

fn word(verdict: Verdict) -> String {
    verdict.to_string().replace(' ', "-")
}

#[test]
#[ignore = "needs GATEWAY_RELEASES; run `make gateway-releases`"]
fn v3_updates_between_releases_give_what_is_known_of_them() {
    let mut wrong = Vec::new();
    for line in include_str!("gateway_releases.txt").lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let [old, new, outcome] = [(); 3].map(|()| words.next().unwrap());
        let (old, new) = (read(old, Channel::Standard), read(new, Channel::Standard));
        let judgement = Comparison::new(&old, &new).judge();
        let mut found: BTreeMap<&str, (Verdict, usize)> = BTreeMap::new();
        for finding in &judgement.findings {
            let entry = found.entry(finding.rule.as_str()).or_insert((finding.verdict, 0));
            *entry = (entry.0.max(finding.verdict), entry.1 + 1);
        }
        let actual = format!("{:?}", judgement.outcome());
        if !actual.eq_ignore_ascii_case(&outcome.replace('-', "")) {
            wrong.push(format!("{line}: {actual}"));
        }
        let mut only = false;
        let mut listed = Vec::new();
        for word_of_line in words {
            let Some((rule, rest)) = word_of_line.split_once('=') else {
                only = true;
                continue;
            };
            listed.push(rule);
            let (verdict, count) = rest.split_once('*').unwrap_or((rest, ""));
            let matches = found.get(rule).is_some_and(|(worst, number)| {
                word(*worst) == verdict && (count.is_empty() || count == number.to_string())
            });
            if !matches {
                wrong.push(format!("{line}: {rule} is {:?}", found.get(rule)));
            }
        }
        let unexpected: Vec<_> = found
            .iter()
            .filter(|(rule, (verdict, _))| !listed.contains(rule) && (only || *verdict == Verdict::Violation))
            .collect();
        if !unexpected.is_empty() {
            wrong.push(format!("{line}: unexpected {unexpected:?}"));
        }
        println!("{} > {}: {actual} {found:?}", old.version_text(), new.version_text());
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
#[ignore = "needs GATEWAY_RELEASES; run `make gateway-releases`"]
fn v2_v5_channels_are_subsets_and_versions_convert() {
    for version in VERSIONS {
        let (standard, experimental) = (read(version, Channel::Standard), read(version, Channel::Experimental));
        let difference = compare_channels(&standard, &experimental);
        assert!(difference.violations.is_empty(), "{version}: {:#?}", difference.violations);
        println!("{version}: {:?} {:?}", difference.experimental_only, difference.served_in_experimental_only);
        for crd in standard.crds.values() {
            let losses = conversion_losses(crd, None);
            let losses: Vec<String> =
                losses.iter().map(|finding| format!("{}: {}", finding.path, finding.message)).collect();
            assert!(losses.is_empty(), "{version} {}: {losses:#?}", crd.name);
        }
    }
}

#[test]
#[ignore = "needs GATEWAY_RELEASES; run `make gateway-releases`"]
fn v4_names_over_all_releases() {
    let mut ledger = NameLedger::default();
    for version in VERSIONS {
        for channel in [Channel::Experimental, Channel::Standard] {
            let bundle = read(version, channel);
            assert_eq!(ledger.reused_names(&bundle), [], "{version} {channel}");
            ledger.record(&bundle);
        }
    }
    let text = ledger.to_string();
    let removed =
        "gateways.gateway.networking.k8s.io v1 spec.backendTLS standard - experimental removed v1.2.0 v1.4.0\n";
    assert!(text.contains(removed), "{removed}");
    let (again, problems) = NameLedger::read("names", &text);
    assert_eq!((again == ledger, problems.len()), (true, 0));
    println!("{} names, {} bytes", ledger.len(), text.len());
    for line in text.lines().filter(|line| line.contains(" removed ")).take(60) {
        println!("{line}");
    }
}

#[test]
#[ignore = "needs GATEWAY_RELEASES; run `make gateway-releases`"]
fn experimental_updates_allow_breaks_at_a_minor_version() {
    for pair in VERSIONS.windows(2) {
        let [old, new] = pair else { continue };
        let (old_experimental, new_experimental) = (read(old, Channel::Experimental), read(new, Channel::Experimental));
        let judgement = Comparison::new(&old_experimental, &new_experimental).judge();
        let violations: Vec<_> =
            judgement.findings.iter().filter(|finding| finding.verdict == Verdict::Violation).collect();
        println!("{old} > {new} experimental: {:?}, {} violations", judgement.outcome(), violations.len());
        for finding in violations {
            println!("  {} {}: {}", finding.rule, finding.path, finding.message);
            // What a minor version of the experimental channel may not do either.
            assert!(judgement.allowed < Level::Minor || finding.rule.as_str() == "R41", "{finding:#?}");
        }
        let (old, new) = (read(old, Channel::Standard), read(new, Channel::Standard));
        let comparison = Comparison {
            old_experimental: Some(&old_experimental),
            new_experimental: Some(&new_experimental),
            ..Comparison::new(&old, &new)
        };
        let skipped = |message: &str| message.contains("having been experimental");
        let skipped: Vec<_> =
            comparison.judge().findings.into_iter().filter(|finding| skipped(&finding.message)).collect();
        assert_eq!(skipped, [], "{} > {}", old.version_text(), new.version_text());
    }
}
