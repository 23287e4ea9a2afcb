//! The name ledger: every field name that ever shipped, so that a removed one is never used again (V4).
//!
//! It is made from a series of bundles, oldest first, of both channels. Its text has one line for each name, in order, so
//! that it can be kept in git and merged:
//!
//! ```text
//! things.example.com v1 spec.retry standard - experimental removed v1.1.0 v1.3.0
//! ```
//!
//! A line has the CRD, the API version (`-` for the CRD itself), the field (`-` for the version itself), and for each
//! channel `-` (never shipped), `shipped FIRST`, `removed FIRST WHEN` (the field was removed from a version that stayed),
//! or `retired FIRST WHEN` (its version or CRD was removed). A name that a new API version left out is `removed` in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

use clearway_core::terminal_text::is_unsafe;
use clearway_core::{Diagnostic, Place, Position, Severity};
use clearway_schema::excerpt;
use serde_json::json;

use crate::channel::Channel;
use crate::finding::{Finding, RuleId};
use crate::judge::{Change, Collector, Site};
use crate::model::{ApiVersion, Bundle, FieldSchema, Level, Segment, render_path};
use crate::read::codes;

const V4: RuleId = RuleId("V4");

/// Names that one ledger holds.
const NAMES: usize = 500_000;
/// Bytes of the names of one bundle; those of Gateway API take 200,000.
const NAME_BYTES: usize = 64 << 20;

/// Every name that ever shipped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NameLedger {
    names: BTreeMap<NameKey, NameRecord>,
}

/// The CRD, the API version and the field.
type NameKey = (String, String, String);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct NameRecord {
    standard: NameState,
    experimental: NameState,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum NameState {
    #[default]
    NeverShipped,
    Shipped {
        first: String,
    },
    Removed {
        first: String,
        when: String,
    },
    Retired {
        first: String,
        when: String,
    },
}

impl NameRecord {
    fn state(&mut self, channel: Channel) -> &mut NameState {
        match channel {
            Channel::Standard => &mut self.standard,
            Channel::Experimental => &mut self.experimental,
        }
    }

    fn is_shipped(&self) -> bool {
        [&self.standard, &self.experimental].into_iter().any(|state| matches!(state, NameState::Shipped { .. }))
    }

    /// When the name was removed, if it is in no channel any longer.
    fn removed(&self) -> Option<&str> {
        let states = [&self.standard, &self.experimental];
        let removed = states.into_iter().find_map(|state| match state {
            NameState::Removed { when, .. } => Some(when.as_str()),
            _ => None,
        });
        removed.filter(|_| !self.is_shipped())
    }
}

/// The names of a bundle: CRDs, versions and fields.
fn names_of(bundle: &Bundle) -> BTreeSet<NameKey> {
    fn fields<'a>(
        schema: &'a FieldSchema,
        path: &mut Vec<Segment<'a>>,
        found: &mut BTreeSet<String>,
        bytes: &mut usize,
    ) {
        for (segment, below) in schema.children() {
            path.push(segment);
            if matches!(segment, Segment::Field(_)) && *bytes < NAME_BYTES {
                let name = render_path(path);
                *bytes = bytes.saturating_add(name.len());
                found.insert(name);
            }
            fields(below, path, found, bytes);
            path.pop();
        }
    }
    let mut names = BTreeSet::new();
    let mut bytes = 0;
    for crd in bundle.crds.values() {
        let crd_name = written(&crd.name);
        names.insert((crd_name.clone(), "-".to_owned(), "-".to_owned()));
        for version in crd.versions.values() {
            let Some(schema) = &version.schema else { continue };
            let mut found = BTreeSet::new();
            fields(schema, &mut Vec::new(), &mut found, &mut bytes);
            let version = written(&version.name);
            names.insert((crd_name.clone(), version.clone(), "-".to_owned()));
            names.extend(found.into_iter().map(|field| (crd_name.clone(), version.clone(), written(&field))));
        }
    }
    names
}

/// A name without white space, which separates the columns, and without what could drive a terminal or deceive a reader.
fn written(name: &str) -> String {
    let mut out = String::new();
    for char in name.chars().take(4_096) {
        if char.is_whitespace() || is_unsafe(char) || char == '%' {
            _ = write!(out, "%{:02x}", u32::from(char));
        } else {
            out.push(char);
        }
    }
    if out.is_empty() { "%".to_owned() } else { out }
}

impl NameLedger {
    /// Makes the ledger of a series of bundles, oldest first.
    pub fn of_bundles<'b>(bundles: impl IntoIterator<Item = &'b Bundle>) -> Self {
        let mut ledger = NameLedger::default();
        for bundle in bundles {
            ledger.record(bundle);
        }
        ledger
    }

    /// Adds the names of the next bundle, and marks those of its channel that it does not have any longer.
    pub fn record(&mut self, bundle: &Bundle) {
        let channel = bundle.channel.unwrap_or(Channel::Standard);
        let version = written(&bundle.version_text());
        let names = names_of(bundle);
        self.mark_left_out(bundle, &names, channel, &version);
        for ((crd, api_version, field), record) in &mut self.names {
            if names.contains(&(crd.clone(), api_version.clone(), field.clone())) {
                continue;
            }
            let state = record.state(channel);
            if let NameState::Shipped { first } = state {
                let parent = |version: &str| names.contains(&(crd.clone(), version.to_owned(), "-".to_owned()));
                let (first, when) = (first.clone(), version.clone());
                // The name of a CRD is removed; versions, and fields of versions that are gone, are retired.
                let removed = if field == "-" { api_version == "-" } else { parent(api_version) };
                *state = if removed { NameState::Removed { first, when } } else { NameState::Retired { first, when } };
            }
        }
        for name in names {
            if self.names.len() >= NAMES && !self.names.contains_key(&name) {
                continue;
            }
            let state = self.names.entry(name).or_default().state(channel);
            if !matches!(state, NameState::Shipped { .. }) {
                *state = NameState::Shipped { first: version.clone() };
            }
        }
    }

    /// An API version that is new leaves out names of the versions before it: these are removed from it.
    fn mark_left_out(&mut self, bundle: &Bundle, names: &BTreeSet<NameKey>, channel: Channel, when: &str) {
        let mut left_out = Vec::new();
        for crd in bundle.crds.values() {
            let crd_name = written(&crd.name);
            let known =
                |version: &str| self.names.contains_key(&(crd_name.clone(), version.to_owned(), "-".to_owned()));
            for new in crd.versions.keys().map(|name| written(name)).filter(|name| !known(name)) {
                let older = |version: &String| ApiVersion::rank(version) < ApiVersion::rank(&new) && version != "-";
                for ((crd, version, field), record) in &self.names {
                    let here = (crd.clone(), new.clone(), field.clone());
                    let shipped = record.clone().state(channel) != &NameState::NeverShipped && record.is_shipped();
                    if *crd == crd_name && older(version) && field != "-" && shipped && !names.contains(&here) {
                        left_out.push(here);
                    }
                }
            }
        }
        for name in left_out {
            let state = NameState::Removed { first: when.to_owned(), when: when.to_owned() };
            *self.names.entry(name).or_default().state(channel) = state;
        }
    }

    /// The names of a bundle that were removed before (V4).
    pub fn reused_names(&self, bundle: &Bundle) -> Vec<Finding> {
        let mut collector = Collector::new(false, Level::Minor);
        self.report_reused_names(bundle, &mut collector);
        collector.finish().0
    }

    pub(crate) fn report_reused_names(&self, bundle: &Bundle, out: &mut Collector) {
        // Names that are in no version any longer, and were removed from at least one.
        let fields = || self.names.iter().filter(|((_, _, field), _)| field != "-");
        let mut gone: BTreeMap<(&str, &str), Option<&str>> = BTreeMap::new();
        for ((crd, _, field), record) in fields() {
            let when = gone.entry((crd, field)).or_default();
            *when = when.or_else(|| record.removed());
        }
        for ((crd, _, field), _) in fields().filter(|(_, record)| record.is_shipped()) {
            gone.remove(&(crd.as_str(), field.as_str()));
        }
        for (crd_name, version_name, field) in names_of(bundle) {
            let own = self.names.get(&(crd_name.clone(), version_name.clone(), field.clone()));
            if own.is_some_and(NameRecord::is_shipped) {
                continue;
            }
            let elsewhere = gone.get(&(crd_name.as_str(), field.as_str())).copied().flatten();
            let removed = own.and_then(NameRecord::removed).or(elsewhere);
            let Some(when) = removed else { continue };
            let Some(crd) = bundle.crds.values().find(|crd| written(&crd.name) == crd_name) else { continue };
            let what = if field == "-" { "CRD".to_owned() } else { format!("field `{}`", excerpt(&field)) };
            let change = Change::new(V4, format!("{what} was removed in {when}, and is used again"));
            let change = change.values(None, Some(json!(if field == "-" { &crd_name } else { &field })));
            let version = crd.versions.values().find(|version| written(&version.name) == version_name);
            let site = version.map_or_else(|| Site::crd(crd), |version| Site::version(crd, version));
            out.report(&site, &[], change);
        }
    }

    /// How many names it has.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether no bundle was recorded.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Reads the text of a ledger. Lines that cannot be read are problems; empty lines and those with `#` are skipped.
    pub fn read(file: &str, text: &str) -> (Self, Vec<Diagnostic>) {
        let mut ledger = NameLedger::default();
        let mut problems = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let full = ledger.names.len() >= NAMES;
            match read_line(line).filter(|_| !full) {
                Some((key, record)) => _ = ledger.names.insert(key, record),
                None if problems.len() < 100 => {
                    let position = Some(Position { line: number.saturating_add(1), column: 1 });
                    let place = Place { file: Some(file.to_owned()), position, ..Place::default() };
                    let message = format!("cannot read the line `{}`", excerpt(line));
                    let help = "see the name ledger in the documentation for the form of a line";
                    problems.push(
                        Diagnostic::new(codes::INVALID_LEDGER, Severity::Error, message).at(place).with_help(help),
                    );
                }
                None => {}
            }
        }
        (ledger, problems)
    }
}

fn read_line(line: &str) -> Option<(NameKey, NameRecord)> {
    let mut words = line.split_whitespace();
    let key = (words.next()?.to_owned(), words.next()?.to_owned(), words.next()?.to_owned());
    let mut state = |channel: &str| {
        if words.next()? != channel {
            return None;
        }
        let kind = words.next()?;
        if kind == "-" {
            return Some(NameState::NeverShipped);
        }
        let first = words.next()?.to_owned();
        match kind {
            "shipped" => Some(NameState::Shipped { first }),
            "removed" => Some(NameState::Removed { first, when: words.next()?.to_owned() }),
            "retired" => Some(NameState::Retired { first, when: words.next()?.to_owned() }),
            _ => None,
        }
    };
    let record = NameRecord { standard: state("standard")?, experimental: state("experimental")? };
    words.next().is_none().then_some((key, record))
}

impl fmt::Display for NameState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NameState::NeverShipped => f.write_str("-"),
            NameState::Shipped { first } => write!(f, "shipped {first}"),
            NameState::Removed { first, when } => write!(f, "removed {first} {when}"),
            NameState::Retired { first, when } => write!(f, "retired {first} {when}"),
        }
    }
}

/// The text of the ledger; see the head of this file.
impl fmt::Display for NameLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# Names that shipped: CRD, API version, field, and the state in each channel. Removed names are not used again."
        )?;
        for ((crd, version, field), NameRecord { standard, experimental }) in &self.names {
            writeln!(f, "{crd} {version} {field} standard {standard} experimental {experimental}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
