//! What the name of a manifest's file says: `0000_NN_component_name.yaml`.
//!
//! `NN` is the run level; a file without this form is at level 50, and a component of its own. The form is that of
//! `OpenShift`'s cluster-version operator.

/// The run level of files that name none.
pub const DEFAULT_RUN_LEVEL: u16 = 50;

/// Where a file has its place among those of a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) run_level: u16,
    pub(super) component: String,
    /// Whether it begins as if it named a run level, and then does not.
    pub(super) odd: bool,
}

/// Why a name is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("its run level is above {}", u16::MAX)]
pub(super) struct TooHigh;

/// Reads a name.
pub(super) fn read(file: &str) -> Result<Named, TooHigh> {
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let plain = |odd| Named { run_level: DEFAULT_RUN_LEVEL, component: stem.to_owned(), odd };
    let Some(rest) = file.strip_prefix("0000_") else { return Ok(plain(false)) };
    let mut parts = rest.splitn(3, '_');
    let (Some(level), Some(component), Some(_)) = (parts.next(), parts.next(), parts.next()) else {
        return Ok(plain(true));
    };
    if level.is_empty() || !level.bytes().all(|byte| byte.is_ascii_digit()) || !is_component(component) {
        return Ok(plain(true));
    }
    let run_level = level.parse().map_err(|_| TooHigh)?;
    Ok(Named { run_level, component: component.to_owned(), odd: false })
}

/// Whether a text can be the name of a component: words of letters and digits, joined by single dashes.
pub fn is_component(text: &str) -> bool {
    text.split('-').all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Whether a file is one of manifests, by its name.
pub(super) fn is_manifest(file: &str) -> bool {
    file.rsplit_once('.').is_some_and(|(_, extension)| ["yaml", "yml", "json"].contains(&extension))
}

/// Whether a file is a template, by its name.
pub(super) fn is_template(file: &str) -> bool {
    file.rsplit_once('.').is_some_and(|(_, extension)| ["tmpl", "tpl", "gotmpl", "j2"].contains(&extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_run_level_and_component() {
        for (file, run_level, component, odd) in [
            ("0000_00_cluster-version-operator_01_x.crd.yaml", 0, "cluster-version-operator", false),
            ("0000_70_dns-operator_00-namespace.yaml", 70, "dns-operator", false),
            ("0000_05_A1_b.json", 5, "A1", false),
            ("0000_100_a_b.yaml", 100, "a", false),
            ("deployment.yaml", 50, "deployment", false),
            ("my.app.yaml", 50, "my.app", false),
            ("0000_90_alone.yaml", 50, "0000_90_alone", true),
            ("0000_9x_a_b.yaml", 50, "0000_9x_a_b", true),
            ("0000__a_b.yaml", 50, "0000__a_b", true),
            ("0000_10_a--b_c.yaml", 50, "0000_10_a--b_c", true),
            ("0000_10_a.b_c.yaml", 50, "0000_10_a.b_c", true),
        ] {
            let want = Named { run_level, component: component.to_owned(), odd };
            assert_eq!(read(file), Ok(want), "{file}");
        }
        assert_eq!(read("0000_65536_a_b.yaml"), Err(TooHigh));
        assert_eq!(read("0000_99999999999999999999_a_b.yaml"), Err(TooHigh));
    }
}
