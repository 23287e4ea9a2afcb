//! The risks of a graph: which updates carry them, which rules decide, and whether they have unit tests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use askama::Template;
use clearway_core::Version;
use clearway_graph::{Effect, Revision, Risk};

use super::risk_text::RiskText;
use super::{Page, PageError, TextLink, page};
use crate::address::{ChannelView, Route};
use crate::foreign_text;
use crate::frame::{Frame, Parts};

/// Risks that are listed on one page.
const MOST_RISKS: usize = 2_000;
/// Targets and channels that are listed for one risk.
const MOST_LISTED: usize = 500;

/// The unit tests of risks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RiskTests {
    /// The source of the graph does not tell.
    #[default]
    Unknown,
    /// By the name of the risk.
    Known(BTreeMap<String, Vec<RiskTest>>),
}

/// A file of unit tests of one risk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RiskTest {
    /// Its path in the graph-data.
    pub file: String,
    /// The names of its cases.
    pub cases: Vec<String>,
}

impl RiskTests {
    fn of(&self, name: &str) -> Option<&[RiskTest]> {
        match self {
            RiskTests::Unknown => None,
            RiskTests::Known(tests) => Some(tests.get(name).map_or(&[], Vec::as_slice)),
        }
    }

    /// How many cases there are, in words.
    fn summary(&self, name: &str) -> String {
        match self.of(name).map(|tests| tests.iter().map(|test| test.cases.len()).sum::<usize>()) {
            None => "not known".to_owned(),
            Some(0) => "none".to_owned(),
            Some(1) => "1 case".to_owned(),
            Some(cases) => format!("{cases} cases"),
        }
    }
}

#[derive(Template)]
#[template(path = "risks.html")]
struct RisksPage {
    frame: Frame,
    total: usize,
    risks: Vec<RiskRow>,
}

/// A risk in the list.
struct RiskRow {
    name: String,
    link: String,
    message: String,
    kinds: String,
    updates: usize,
    tests: String,
}

#[derive(Template)]
#[template(path = "risk.html")]
struct RiskPage {
    frame: Frame,
    name: String,
    /// Several if risks of one name differ.
    variants: Vec<RiskText>,
    updates: usize,
    targets: Vec<TargetRow>,
    more_targets: usize,
    channels: Vec<TextLink>,
    files: Vec<FileRow>,
    tests_known: bool,
    tests: Vec<RiskTest>,
}

/// The updates to one version that carry a risk.
struct TargetRow {
    to: String,
    arches: String,
    first: String,
    last: String,
    sources: usize,
}

/// A file that puts a risk on updates.
struct FileRow {
    file: String,
    to: String,
    from: String,
    fixed_in: String,
}

/// The risks by name; those of one name differ.
fn by_name(revision: &Revision) -> BTreeMap<&str, Vec<&Arc<Risk>>> {
    let mut risks: BTreeMap<&str, Vec<&Arc<Risk>>> = BTreeMap::new();
    for block in revision.blocks() {
        if let Effect::Condition(risk) = &block.effect {
            let variants = risks.entry(risk.name()).or_default();
            if !variants.iter().any(|known| Arc::ptr_eq(known, risk) || known == &risk) {
                variants.push(risk);
            }
        }
    }
    risks
}

/// The list of risks.
pub fn render_list(revision: &Revision, tests: &RiskTests, parts: Parts) -> Result<Page, PageError> {
    let (risks, updates) = (by_name(revision), revision.updates_by_risk());
    let row = |(name, variants): (&&str, &Vec<&Arc<Risk>>)| {
        let kinds: BTreeSet<&str> =
            variants.iter().flat_map(|risk| risk.rules()).map(|rule| rule.kind.as_str()).collect();
        RiskRow {
            name: foreign_text::line(name),
            link: Route::Risk { name: (*name).to_owned() }.link(),
            message: variants.first().map_or(String::new(), |risk| foreign_text::line(risk.message())),
            kinds: foreign_text::line(&kinds.into_iter().collect::<Vec<_>>().join(", ")),
            updates: updates.get(*name).copied().unwrap_or(0),
            tests: tests.summary(name),
        }
    };
    page(&RisksPage {
        frame: Frame::new("Risks", parts, &Route::Risks),
        total: risks.len(),
        risks: risks.iter().take(MOST_RISKS).map(row).collect(),
    })
}

/// The page of the risks of one name.
pub fn render(revision: &Revision, tests: &RiskTests, name: &str, parts: Parts) -> Result<Page, PageError> {
    let mut risks = by_name(revision);
    let shown = foreign_text::line(name);
    let Some(variants) = risks.remove(name) else {
        return Err(PageError::NotFound(format!("No update has the risk {shown}.")));
    };
    // By target: the sources, and the architectures.
    let mut by_target: BTreeMap<&Version, (BTreeSet<&Version>, BTreeSet<&str>)> = BTreeMap::new();
    let mut updates = 0;
    for (from, to) in revision.updates_with_risk(name) {
        updates += 1;
        let (sources, arches) = by_target.entry(to.node.version()).or_default();
        sources.insert(from.node.version());
        arches.insert(to.arch.as_str());
    }
    let target = |(to, (sources, arches)): (&&Version, &(BTreeSet<&Version>, BTreeSet<&str>))| TargetRow {
        to: to.to_string(),
        arches: arches.iter().copied().collect::<Vec<_>>().join(", "),
        first: sources.first().map_or(String::new(), ToString::to_string),
        last: sources.last().map_or(String::new(), ToString::to_string),
        sources: sources.len(),
    };
    let block_files = revision.blocks().iter().filter(|block| match &block.effect {
        Effect::Condition(risk) => risk.name() == name,
        Effect::Remove => false,
    });
    let mut files: BTreeMap<&str, FileRow> = BTreeMap::new();
    for block in block_files {
        if files.len() >= MOST_LISTED && !files.contains_key(block.file.as_str()) {
            continue;
        }
        let row = files.entry(&block.file).or_insert_with(|| FileRow {
            file: foreign_text::line(&block.file),
            to: String::new(),
            from: foreign_text::line(&block.from.to_string()),
            fixed_in: block.fixed_in.as_ref().map_or(String::new(), Version::to_string),
        });
        if row.to.len() < 200 {
            row.to.push_str(if row.to.is_empty() { "" } else { ", " });
            row.to.push_str(&block.to.to_string());
        }
    }
    let holds_target = |channel: &&clearway_graph::Channel| {
        channel.versions.iter().any(|version| by_target.contains_key(&version.without_build()))
    };
    let first_arch = |channel: &clearway_graph::Channel| {
        revision.arches().iter().find(|arch| !revision.members(&channel.name, arch).is_empty()).cloned()
    };
    page(&RiskPage {
        frame: Frame::new(shown.clone(), parts, &Route::Risks),
        name: shown,
        variants: variants.into_iter().map(|risk| RiskText::new(risk)).collect(),
        updates,
        targets: by_target.iter().rev().take(MOST_LISTED).map(target).collect(),
        more_targets: by_target.len().saturating_sub(MOST_LISTED),
        channels: revision
            .channels()
            .filter(holds_target)
            .filter_map(|channel| {
                let view = ChannelView::new(channel.name.clone(), first_arch(channel)?);
                Some(TextLink { text: foreign_text::line(&channel.name), link: Route::Channel(view).link() })
            })
            .take(MOST_LISTED)
            .collect(),
        files: files.into_values().collect(),
        tests_known: *tests != RiskTests::Unknown,
        tests: tests
            .of(name)
            .unwrap_or_default()
            .iter()
            .map(|test| RiskTest {
                file: foreign_text::line(&test.file),
                cases: test.cases.iter().map(|case| foreign_text::line(case)).collect(),
            })
            .collect(),
    })
}
