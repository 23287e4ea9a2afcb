//! Graph-data of the size of a large product's: 76 channels, 5 architectures, 5,739 releases, 1,717 blocks.
//!
//! The numbers, and how long texts, runs of a risk and lists of `previous` are, follow a public product after eight
//! years. Copies differ in their major version and the names of their risks, so they have nothing in common; their
//! texts have the same lengths.

use std::fmt::Write as _;

const ARCHES: [&str; 5] = ["amd64", "arm64", "multi", "ppc64le", "s390x"];
const MINORS: usize = 19;
/// Versions of the first architecture; the others lack the newest ones.
const VERSIONS: usize = 1_151;
const MISSING: usize = 4;
/// Pre-releases at the beginning of each minor version.
const PRE_RELEASES: usize = 5;
/// Releases of the minor version before that a release lists.
const FROM_BEFORE: usize = 26;
const RISKS: usize = 124;
const CONDITIONAL: usize = 1_601;
const SILENT: usize = 116;
/// How many of the newest minor versions still have releases that are not at every stage.
const SETTLED: usize = 12;
/// The stages of a channel, and how many of the newest releases of a minor version are not in it yet.
const STAGES: [(&str, usize); 4] = [("candidate", 0), ("fast", 1), ("stable", 3), ("eus", 3)];

/// The files of one copy of up to 90, by path.
pub(crate) fn files(copy: usize) -> Vec<(String, String)> {
    let major = 10 + copy;
    let mut files =
        vec![("version".to_owned(), "1.1.0\n".to_owned()), ("raw/metadata.json".to_owned(), "{}".to_owned())];
    files.push((format!("releases/{major}.json"), releases(major)));
    for minor in 0..MINORS {
        for (stage, fresh) in STAGES {
            files.push((format!("channels/{stage}-{major}.{minor}.yaml"), channel(major, minor, stage, fresh)));
        }
    }
    for risk in 0..RISKS {
        // The first ones have one target more, so that it comes to the exact number.
        let targets = CONDITIONAL / RISKS + usize::from(risk < CONDITIONAL % RISKS);
        for at in 0..targets {
            files.push(conditional(major, risk, at, targets));
        }
    }
    for silent in 0..SILENT {
        let (minor, patch) = (silent % MINORS, 40 + silent / MINORS);
        let from = format!("{major}[.]{}[.].*", minor.saturating_sub(1));
        let to = format!("{major}.{minor}.{patch}");
        files.push((format!("blocked-edges/{to}.yaml"), format!("to: {to}\nfrom: {from}\n")));
    }
    files
}

/// How many versions a minor version has.
fn count(minor: usize) -> usize {
    VERSIONS / MINORS + usize::from(minor < VERSIONS % MINORS)
}

fn version(major: usize, minor: usize, at: usize) -> String {
    match at.checked_sub(PRE_RELEASES) {
        Some(patch) => format!("{major}.{minor}.{patch}"),
        None => format!("{major}.{minor}.0-rc.{at}"),
    }
}

fn releases(major: usize) -> String {
    let mut out = String::from("[");
    for (number, arch) in ARCHES.iter().enumerate() {
        for minor in 0..MINORS {
            let missing = if number > 0 && minor + 1 == MINORS { MISSING } else { 0 };
            for at in 0..count(minor) - missing {
                let version = version(major, minor, at);
                let separator = if out.len() > 1 { "," } else { "" };
                let (payload, previous) = (digest(&[major, minor, at, number]), previous(major, minor, at));
                // Writing into a text cannot fail.
                let _ = write!(
                    out,
                    "{separator}\n{{\"version\":\"{version}\",\"arch\":\"{arch}\",\
                     \"payload\":\"registry.example.com/platform/release@sha256:{payload}\",\"previous\":[{previous}],\
                     \"metadata\":{{\"url\":\"https://errata.example.com/advisory/{major}-{minor}-{at}\"}}}}"
                );
            }
        }
    }
    out + "\n]\n"
}

fn previous(major: usize, minor: usize, at: usize) -> String {
    let before = minor.checked_sub(1).map(|before| (before, count(before)));
    let before = before.into_iter().flat_map(|(before, all)| (all - FROM_BEFORE..all).map(move |at| (before, at)));
    let listed: Vec<String> = before
        .chain((0..at).map(|at| (minor, at)))
        .map(|(minor, at)| format!("\"{}\"", version(major, minor, at)))
        .collect();
    listed.join(",")
}

/// 64 hexadecimal digits that no other numbers give.
fn digest(numbers: &[usize]) -> String {
    let mut out = String::new();
    for salt in 0..4_u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ salt;
        for number in numbers {
            hash = (hash ^ *number as u64).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
        }
        let _ = write!(out, "{:016x}", hash.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
    out
}

fn channel(major: usize, minor: usize, stage: &str, fresh: usize) -> String {
    let mut out = format!("name: {stage}-{major}.{minor}\nversions:\n");
    // Long support is of every second minor version; what is settled is the same at every stage.
    let back = if stage == "eus" && minor.is_multiple_of(2) { 2 } else { 1 };
    let fresh = if minor + SETTLED < MINORS { 0 } else { fresh };
    for minor in minor.saturating_sub(back)..=minor {
        let first = if stage == "candidate" { 0 } else { PRE_RELEASES };
        for at in first..count(minor) - fresh {
            let _ = writeln!(out, "- {}", version(major, minor, at));
        }
    }
    out
}

fn conditional(major: usize, risk: usize, at: usize, targets: usize) -> (String, String) {
    let minor = risk % MINORS;
    let to = format!("{major}.{minor}.{}", risk * 7 % 20 + at);
    let before = minor.saturating_sub(1);
    let from = match risk % 5 {
        0 => ".*".to_owned(),
        1 => format!("{major}[.]({before}[.].*|{minor}[.]([0-9]|1[0-4]))[+].*"),
        2 => format!("{major}[.]{minor}[.]([0-9]|1[0-9]|2[0-4])[+].*"),
        _ => format!("{major}[.]{before}[.].*"),
    };
    let name = format!("Platform{major}Risk{risk:03}");
    let fixed = if at + 1 == targets {
        format!("fixedIn: {major}.{minor}.{}\n", risk * 7 % 20 + targets)
    } else {
        String::new()
    };
    let rules = if risk.is_multiple_of(3) {
        "- type: Always\n".to_owned()
    } else {
        format!(
            "- type: PromQL\n  promql:\n    promql: |\n      max(\n        max_over_time(platform_feature_{risk:03}_enabled{{\
             _id=\"\",type=~\"AWS|Azure|GCP\"}}[1h])\n      )\n      or on (_id)\n      \
             0 * group(max_over_time(platform_cluster_info{{_id=\"\"}}[1h]))\n"
        )
    };
    let text = format!(
        "to: {to}\nfrom: {from}\n{fixed}url: https://issues.example.com/browse/PLATFORM-{risk:05}\nname: {name}\nmessage: |-\n  \
         Clusters that use feature {risk:03} of the platform may lose connections between some of their\n  nodes for \
         several minutes while the update is rolled out, and workloads on those nodes are restarted.\nmatchingRules:\n{rules}"
    );
    (format!("blocked-edges/{to}-{name}.yaml"), text)
}
