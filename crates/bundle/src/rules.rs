//! The rules R01 to R46: what each is about, and the functions that find such changes.
//!
//! [`RULES`] has one row for each rule, with the levels that a change needs in both channels. A function may report a
//! change with another level where its documentation says so.

mod bounds;
mod bundles;
pub(crate) mod cel;
mod defaults;
mod definitions;
mod fields;
mod keywords;
mod lists;
mod table;
mod text;
mod values;
pub(crate) mod versions;

use std::fmt;

use crate::finding::RuleId;
use crate::judge::{Collector, Comparison, FieldPair, Site};
use crate::model::{ApiVersion, Crd, Level};

pub(crate) use crate::judge::name_list;
pub use table::RULES;

/// One rule: what it is about, and which level it needs.
#[derive(Debug)]
pub struct Rule {
    /// The name, such as `R12`.
    pub id: RuleId,
    /// What it is about.
    pub title: &'static str,
    /// The level that such a change usually needs in the standard channel.
    pub standard: Level,
    /// The level that such a change usually needs in the experimental channel.
    pub experimental: Level,
    /// Why it needs that level, and what needs another one.
    pub why: &'static str,
    /// What such a change means for objects that are stored already.
    pub stored_objects: &'static str,
    /// A pair of bundles that breaks the rule, or shows what it reports; none for rules about more than two bundles.
    pub broken: Option<ExamplePair>,
    /// A pair of bundles that keeps the rule.
    pub allowed: Option<ExamplePair>,
    pub(crate) checks: &'static [Check],
}

/// Two bundles as YAML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExamplePair {
    /// The previous bundle.
    pub old: &'static str,
    /// The bundle after.
    pub new: &'static str,
}

/// A function that finds changes, by what it compares.
#[derive(Clone, Copy)]
pub(crate) enum Check {
    Bundle(fn(&Comparison<'_>, &mut Collector)),
    Crd(fn(&Comparison<'_>, &Crd, &Crd, &mut Collector)),
    Version(fn(&ApiVersion, &ApiVersion, &Site<'_>, &mut Collector)),
    Field(fn(&FieldPair<'_>, &mut Collector)),
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Check::Bundle(_) => "Bundle",
            Check::Crd(_) => "Crd",
            Check::Version(_) => "Version",
            Check::Field(_) => "Field",
        })
    }
}

impl Rule {
    /// The rule of a name, in upper or lower case.
    pub fn find(name: &str) -> Option<&'static Rule> {
        RULES.iter().find(|rule| rule.id.as_str().eq_ignore_ascii_case(name))
    }
}
