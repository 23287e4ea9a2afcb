//! Versions as products write them, and the release of a graph that stands for one.

use clearway_core::Version;

/// How the pre-releases of products begin. Anything else behind a dash names a build of a vendor or a variant of an image,
/// such as `-gke.1350000`, `-eks-3025e55` or `-distroless`.
const PRE_RELEASES: [&str; 5] = ["alpha", "beta", "rc", "dev", "pre"];

/// The version that a label, an annotation or a tag names: `v1.12.3`, `1.29.0-distroless`, `v1.33.4-gke.1350000`.
pub fn installed_version(text: &str) -> Option<Version> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let version: Version = text.parse().ok()?;
    let pre_release = version.pre_release().to_ascii_lowercase();
    if PRE_RELEASES.iter().any(|word| pre_release.starts_with(word)) {
        return Some(version.without_build());
    }
    Some(Version::new(version.major(), version.minor(), version.patch()))
}

/// The release that stands for an installed version: the newest one of the same minor that is not newer.
pub fn listed_version<'v>(installed: &Version, listed: impl IntoIterator<Item = &'v Version>) -> Option<&'v Version> {
    let same_minor = |version: &&Version| {
        version.major() == installed.major()
            && version.minor() == installed.minor()
            && version.precedence(installed).is_le()
    };
    listed.into_iter().filter(same_minor).max_by(|one, other| one.precedence(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_and_labels_of_vendors_are_the_version_they_were_built_from() {
        for (text, want) in [
            ("v1.12.3", Some("1.12.3")),
            ("1.29.0-distroless", Some("1.29.0")),
            ("v1.33.4-gke.1350000", Some("1.33.4")),
            ("v1.33.4-eks-3025e55", Some("1.33.4")),
            ("v1.31.1+k3s1", Some("1.31.1")),
            ("v1.34.0-rc.1", Some("1.34.0-rc.1")),
            ("1.5.0-beta2", Some("1.5.0-beta2")),
            ("latest", None),
            ("v1.2", None),
            ("", None),
            ("v", None),
            ("sha256:0123", None),
        ] {
            assert_eq!(installed_version(text).map(|version| version.to_string()).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn a_patch_is_looked_up_by_the_newest_listed_release_of_its_minor() {
        let listed: Vec<Version> =
            ["1.18.0", "1.19.0", "1.19.1", "1.20.0"].iter().map(|text| text.parse().unwrap()).collect();
        for (installed, want) in [
            ("1.19.0", Some("1.19.0")),
            ("1.19.7", Some("1.19.1")),
            ("1.18.9", Some("1.18.0")),
            ("1.20.0-rc.1", None),
            ("1.17.3", None),
            ("2.19.0", None),
        ] {
            let found = listed_version(&installed.parse().unwrap(), &listed).map(ToString::to_string);
            assert_eq!(found.as_deref(), want, "{installed}");
        }
    }
}
