//! Version ranges that people can read, in place of regular expressions.
//!
//! | written | holds |
//! |---|---|
//! | `*` | every version |
//! | `4.14.3` | that version; `4.14.3+arm64` that architecture's only |
//! | `4.14.x`, `4.x` | every release and pre-release of 4.14, of 4 |
//! | `4.14.0 - 4.14.11` | from the one to the other, both included |
//! | `>=4.14.0`, `>4.13.9 <4.14.2`, `<=4.14.3` | what keeps to every comparison |
//!
//! Versions compare as `SemVer` says, pre-releases too: `<4.15.0` holds 4.15.0-rc.1. Several ranges hold what any of
//! them holds. Start at [`Ranges`].

use std::fmt;
use std::ops::Bound;
use std::str::FromStr;

use clearway_core::Version;

/// Versions between two bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    low: Bound<Version>,
    high: Bound<Version>,
    /// The only architecture, if the range is one version that names it.
    arch: Option<String>,
    text: String,
}

/// Versions that any of several ranges holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranges(Vec<Range>);

/// Why a text is not a range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a range of versions such as `4.14.0 - 4.14.11`, `4.14.x` or `>=4.14.0 <4.14.12`: {why}")]
pub struct RangeError {
    text: String,
    why: String,
}

impl Range {
    /// Whether a version lies between the bounds; its build metadata counts only where the range names one.
    pub fn holds(&self, version: &Version, arch: &str) -> bool {
        let above = match &self.low {
            Bound::Unbounded => true,
            Bound::Included(low) => low.precedence(version).is_le(),
            Bound::Excluded(low) => low.precedence(version).is_lt(),
        };
        let below = match &self.high {
            Bound::Unbounded => true,
            Bound::Included(high) => version.precedence(high).is_le(),
            Bound::Excluded(high) => version.precedence(high).is_lt(),
        };
        above && below && self.arch.as_ref().is_none_or(|only| only == arch)
    }

    /// The only architecture, if there is one.
    pub(crate) fn arch(&self) -> Option<&str> {
        self.arch.as_deref()
    }

    /// The places of the versions it holds among sorted ones.
    pub(crate) fn among(&self, versions: &[Version]) -> std::ops::Range<usize> {
        let start = match &self.low {
            Bound::Unbounded => 0,
            Bound::Included(low) => versions.partition_point(|version| version.precedence(low).is_lt()),
            Bound::Excluded(low) => versions.partition_point(|version| version.precedence(low).is_le()),
        };
        let end = match &self.high {
            Bound::Unbounded => versions.len(),
            Bound::Included(high) => versions.partition_point(|version| version.precedence(high).is_le()),
            Bound::Excluded(high) => versions.partition_point(|version| version.precedence(high).is_lt()),
        };
        start..end.max(start)
    }
}

impl FromStr for Range {
    type Err = RangeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        /// Two versions at their longest, and what stands between them.
        const LONGEST: usize = 600;
        let text = text.trim();
        let bad = |why: String| RangeError { text: text.chars().take(80).collect(), why };
        let version = |part: &str| part.trim().parse::<Version>().map_err(|error| bad(error.to_string()));
        let range = |low, high| Range { low, high, arch: None, text: text.to_owned() };
        if text.len() > LONGEST {
            return Err(bad(format!("longer than {LONGEST} bytes")));
        }
        if text == "*" {
            return Ok(range(Bound::Unbounded, Bound::Unbounded));
        }
        if let Some((low, high)) = text.split_once(" - ") {
            let (low, high) = (version(low)?, version(high)?);
            if low.precedence(&high).is_gt() {
                return Err(bad("it ends before it starts".to_owned()));
            }
            return Ok(range(Bound::Included(low), Bound::Included(high)));
        }
        if let Some(prefix) = text.strip_suffix(".x") {
            let (low, high) =
                wildcard(prefix).ok_or_else(|| bad("`x` is only allowed after one or two numbers".to_owned()))?;
            return Ok(range(Bound::Included(low), Bound::Excluded(high)));
        }
        if text.starts_with(['<', '>']) {
            return comparisons(text, version).map(|(low, high)| range(low, high));
        }
        let exact = version(text)?;
        let arch = Some(exact.build().to_owned()).filter(|build| !build.is_empty());
        Ok(Range { arch, ..range(Bound::Included(exact.clone()), Bound::Included(exact)) })
    }
}

/// The bounds of `MAJOR.x` or `MAJOR.MINOR.x`, with every pre-release.
fn wildcard(prefix: &str) -> Option<(Version, Version)> {
    let number = |text: &str| text.parse::<u32>().ok().map(u64::from);
    // `-0` is the lowest pre-release there is.
    let lowest = |major: u64, minor: u64| format!("{major}.{minor}.0-0").parse::<Version>().ok();
    match prefix.split_once('.') {
        None => {
            let major = number(prefix)?;
            Some((lowest(major, 0)?, lowest(major + 1, 0)?))
        }
        Some((major, minor)) => {
            let (major, minor) = (number(major)?, number(minor)?);
            Some((lowest(major, minor)?, lowest(major, minor + 1)?))
        }
    }
}

/// The bounds of comparisons; of several on one side the tighter counts.
fn comparisons(
    text: &str,
    version: impl Fn(&str) -> Result<Version, RangeError>,
) -> Result<(Bound<Version>, Bound<Version>), RangeError> {
    let mut bounds = (Bound::Unbounded, Bound::Unbounded);
    for part in text.split_whitespace() {
        let (side, bound) = if let Some(rest) = part.strip_prefix(">=") {
            (&mut bounds.0, Bound::Included(version(rest)?))
        } else if let Some(rest) = part.strip_prefix('>') {
            (&mut bounds.0, Bound::Excluded(version(rest)?))
        } else if let Some(rest) = part.strip_prefix("<=") {
            (&mut bounds.1, Bound::Included(version(rest)?))
        } else {
            (&mut bounds.1, Bound::Excluded(version(part.strip_prefix('<').unwrap_or(part))?))
        };
        let again = !matches!(side, Bound::Unbounded);
        if again || !part.starts_with(['<', '>']) {
            let why = "write one comparison for each side, without a space after its sign".to_owned();
            return Err(RangeError { text: text.chars().take(80).collect(), why });
        }
        *side = bound;
    }
    Ok(bounds)
}

impl Ranges {
    /// Several ranges; nothing for an empty list.
    pub fn new(list: Vec<Range>) -> Option<Self> {
        if list.is_empty() { None } else { Some(Ranges(list)) }
    }

    /// Every version.
    pub fn any() -> Self {
        let text = "*".to_owned();
        Ranges(vec![Range { low: Bound::Unbounded, high: Bound::Unbounded, arch: None, text }])
    }

    /// Whether any of them holds a version of an architecture.
    pub fn hold(&self, version: &Version, arch: &str) -> bool {
        self.0.iter().any(|range| range.holds(version, arch))
    }

    /// The ranges.
    pub fn iter(&self) -> impl Iterator<Item = &Range> {
        self.0.iter()
    }

    /// The ranges that hold exactly the versions marked among all known ones, which are sorted and without build.
    ///
    /// A run that is all that is known of a minor version is written `X.Y.x`.
    pub fn covering(known: &[Version], marked: &[bool]) -> Option<Self> {
        if known.len() == marked.len() && marked.iter().all(|mark| *mark) {
            return Some(Ranges::any());
        }
        let minor = |version: &Version| (version.major(), version.minor());
        let mut list: Vec<Range> = Vec::new();
        let mut run: Vec<&Version> = Vec::new();
        let mut close = |run: &mut Vec<&Version>| {
            // A run ends where a minor version does, so that whole ones can be told.
            for part in run.chunk_by(|one, other| minor(one) == minor(other)) {
                let (Some(first), Some(end)) = (part.first(), part.last()) else { continue };
                let (major, minor) = minor(first);
                let all: Option<Range> = format!("{major}.{minor}.x").parse().ok();
                let text = match &all {
                    Some(all) if part.len() > 1 && all.among(known).len() == part.len() => all.text.clone(),
                    _ if part.len() == 1 => first.to_string(),
                    _ => format!("{first} - {end}"),
                };
                list.extend(text.parse::<Range>());
            }
            run.clear();
        };
        for (version, mark) in known.iter().zip(marked) {
            if *mark { run.push(version) } else { close(&mut run) }
        }
        close(&mut run);
        Ranges::new(list)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for Ranges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, range) in self.0.iter().enumerate() {
            write!(f, "{}{range}", if at > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(range: &str) -> String {
        let all = ["4.13.9", "4.14.0-rc.1", "4.14.0", "4.14.2", "4.14.10", "4.15.0-ec.0", "4.15.0", "5.0.0"];
        let range: Range = range.parse().unwrap();
        let versions: Vec<Version> = all.iter().map(|text| text.parse().unwrap()).collect();
        let among: Vec<_> = all.get(range.among(&versions)).unwrap().to_vec();
        let held: Vec<_> = all
            .iter()
            .zip(&versions)
            .filter(|(_, version)| range.holds(version, "amd64"))
            .map(|(text, _)| *text)
            .collect();
        if range.arch().is_none() {
            assert_eq!(held, among, "{range}");
        }
        held.join(" ")
    }

    #[test]
    fn ranges_hold_what_they_say() {
        for (range, want) in [
            ("4.14.2", "4.14.2"),
            ("4.14.2+amd64", "4.14.2"),
            ("4.14.2+arm64", ""),
            ("4.14.x", "4.14.0-rc.1 4.14.0 4.14.2 4.14.10"),
            ("5.x", "5.0.0"),
            ("4.14.0 - 4.14.9", "4.14.0 4.14.2"),
            ("4.14.0-rc.0 - 4.14.2", "4.14.0-rc.1 4.14.0 4.14.2"),
            (">4.14.2 <4.15.0", "4.14.10 4.15.0-ec.0"),
            ("<=4.14.0", "4.13.9 4.14.0-rc.1 4.14.0"),
            (">=4.15.0", "4.15.0 5.0.0"),
            ("<4.0.0", ""),
        ] {
            assert_eq!(held(range), want, "{range}");
        }
        assert_eq!(held("*").split(' ').count(), 8);
    }

    #[test]
    fn what_is_no_range_says_why() {
        for text in [
            "",
            "4.14",
            "4.14.*",
            "x",
            "4.14.3.x",
            "4.15.0 - 4.14.0",
            ">4.1.0 >4.2.0",
            "> 4.1.0",
            ">=",
            "^4.1.0",
            "4.1.0 4.2.0",
            "99999999999.x",
        ] {
            let error = text.parse::<Range>().unwrap_err().to_string();
            assert!(error.contains("is not a range of versions"), "{error}");
        }
    }

    #[test]
    fn a_covering_holds_exactly_what_is_marked() {
        let known: Vec<Version> =
            ["4.13.0", "4.13.1", "4.14.0", "4.14.1", "4.14.2", "4.15.0"].map(|text| text.parse().unwrap()).into();
        for bits in 0..64_u32 {
            let marked: Vec<bool> = (0..6).map(|bit| bits >> bit & 1 == 1).collect();
            let covering = Ranges::covering(&known, &marked);
            for (version, mark) in known.iter().zip(&marked) {
                assert_eq!(
                    covering.as_ref().is_some_and(|ranges| ranges.hold(version, "amd64")),
                    *mark,
                    "{bits:06b} {version}"
                );
            }
        }
        let text = |marked: [bool; 6]| Ranges::covering(&known, &marked).map(|ranges| ranges.to_string());
        assert_eq!(text([true, true, true, true, false, true]).unwrap(), "4.13.x, 4.14.0 - 4.14.1, 4.15.0");
        assert_eq!(text([true; 6]).unwrap(), "*");
    }
}
