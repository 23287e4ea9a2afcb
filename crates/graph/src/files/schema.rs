//! The `version` file: which schema the other files follow (U1).

use clearway_core::Version;

use crate::codes;
use crate::files::findings::Findings;
use crate::files::record::whole;

/// The newest schema that is understood.
const UNDERSTOOD: (u64, u64) = (1, 2);

/// Reads the file; another major version or none at all refuses the revision.
pub(crate) fn check(content: Option<&[u8]>, findings: &mut Findings<'_>) {
    let help = "write `1.1.0` into the file `version`";
    let Some(content) = content else {
        findings.refuse(
            codes::VERSION_UNREADABLE.finding("the file `version` is missing").at(whole("version")).with_help(help),
        );
        return;
    };
    let version = match String::from_utf8_lossy(content).trim().parse::<Version>() {
        Ok(version) => version,
        Err(error) => {
            let finding = codes::VERSION_UNREADABLE.finding(error.to_string());
            findings.refuse(finding.at(whole("version")).with_help(help));
            return;
        }
    };
    let (major, minor) = UNDERSTOOD;
    if version.major() != major {
        let message =
            format!("graph-data of version {version}; this program supports {major}.{minor}.0 and compatible versions");
        findings.refuse(
            codes::VERSION_OTHER_MAJOR
                .finding(message)
                .at(whole("version"))
                .with_help("use a newer version of this program; the last good graph stays in use"),
        );
    } else if version.minor() > minor {
        let message = format!("graph-data of version {version}; this program supports up to {major}.{minor}");
        findings.push(
            codes::VERSION_NEWER_MINOR
                .finding(message)
                .at(whole("version"))
                .with_help("the files are read; additions of the newer version are ignored"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_core::Limits;

    #[test]
    fn a_newer_minor_warns_and_anything_else_refuses() {
        for (content, refused, code) in [
            (Some("1.0.0\n"), false, None),
            (Some("1.1.0"), false, None),
            (Some(" 1.2.9 \r\n"), false, None),
            (Some("1.3.0"), false, Some("GD003")),
            (Some("2.0.0"), true, Some("GD002")),
            (Some("0.9.0"), true, Some("GD002")),
            (Some(""), true, Some("GD001")),
            (Some("one"), true, Some("GD001")),
            (None, true, Some("GD001")),
        ] {
            let limits = Limits::default();
            let mut findings = Findings::new(&limits);
            check(content.map(str::as_bytes), &mut findings);
            assert_eq!(findings.refused, refused, "{content:?}");
            let found = findings.finish();
            let codes: Vec<_> = found.iter().map(|found| found.code.as_ref()).collect();
            assert_eq!(codes, code.into_iter().collect::<Vec<_>>(), "{content:?}");
        }
    }
}
