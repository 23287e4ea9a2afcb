//! From blocks to declared risks and back, with the graph unchanged.
//!
//! [`declare`] makes of the many copies of a risk one declaration for each minor version it leads to; [`compile`] makes
//! of declared risks the blocks that services without `risks/` understand. Both speak of the versions that the revision
//! knows, and leave alone what they cannot say exactly. Loading the result gives the same answers, which whoever
//! converts should check by comparing them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use clearway_core::{Arch, CapExceeded, Digest, GraphLimits, Version};
use serde_json::{Map, Value, json};

use crate::files::block::{Block, Effect, Sources};
use crate::model::pattern::{Pattern, Work};
use crate::model::range::{Range, Ranges};
use crate::model::revision::Revision;
use crate::model::risk::Risk;

/// Files to write in place of others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversion {
    /// New files by path, as JSON, which is YAML too.
    pub files: BTreeMap<String, String>,
    /// The files that they replace.
    pub replaced: BTreeSet<String>,
    /// How many files there are by the beginning of their paths, and what they hold.
    stems: HashMap<String, usize>,
    known: HashSet<(String, Digest)>,
    bytes: u64,
}

impl Conversion {
    /// Adds a file under a path of its own, unless it is there already; an error if all of them are too large.
    fn insert(&mut self, stem: String, file: &Value, caps: &GraphLimits) -> Result<(), CapExceeded> {
        let text = file.to_string();
        let key = (stem, Digest::sha256(text.as_bytes()));
        if self.known.contains(&key) {
            return Ok(());
        }
        self.bytes += text.len() as u64;
        if self.bytes > caps.data_bytes {
            let what = "bytes in the files to write";
            return Err(CapExceeded { cap: "data_bytes", limit: caps.data_bytes, what });
        }
        let number = self.stems.entry(key.0.clone()).or_insert(0);
        // Another beginning may have led to the same path.
        let path = loop {
            *number += 1;
            let path = if *number == 1 { format!("{}.yaml", key.0) } else { format!("{}-{number}.yaml", key.0) };
            if !self.files.contains_key(&path) {
                break path;
            }
        };
        self.files.insert(path, text);
        self.known.insert(key);
        Ok(())
    }
}

/// What belongs into one declaration: one risk, one minor version of targets.
#[derive(Default)]
struct Unit<'r> {
    risk: Option<&'r Risk>,
    minor: (u64, u64),
    /// The targets of each expression for sources.
    edges: BTreeMap<&'r str, BTreeSet<&'r Version>>,
    fixed_in: BTreeSet<&'r Version>,
    files: BTreeSet<&'r str>,
}

/// Declares every risk that stands in blocks, once for each minor version of its targets.
///
/// Left alone are blocks without a risk, blocks to one architecture only, and expressions that tell architectures
/// apart, match no known version, or would take more than the cap on work to search.
pub fn declare(revision: &Revision) -> Result<Conversion, CapExceeded> {
    let known = known(revision);
    let names: Vec<String> = known.iter().map(ToString::to_string).collect();
    let mut work = Work::new(revision.caps.pattern_work);
    let mut units: BTreeMap<(&str, &str, u64, u64), Unit<'_>> = BTreeMap::new();
    let mut sources: HashMap<&str, Option<Ranges>> = HashMap::new();
    for block in revision.blocks() {
        let (Effect::Condition(risk), Sources::Expression(from)) = (&block.effect, &block.from) else { continue };
        let ranges = sources.entry(from).or_insert_with(|| ranges_of(from, &known, &names, revision, &mut work));
        if ranges.is_none() || !block.to.build().is_empty() {
            continue;
        }
        let (major, minor) = (block.to.major(), block.to.minor());
        let unit = units.entry((risk.name(), risk.json(), major, minor)).or_default();
        (unit.risk, unit.minor) = (Some(risk.as_ref()), (major, minor));
        unit.edges.entry(from).or_default().insert(&block.to);
        unit.fixed_in.extend(&block.fixed_in);
        unit.files.insert(&block.file);
    }
    let mut conversion = Conversion::default();
    for unit in units.into_values().filter(|unit| unit.fixed_in.len() <= 1) {
        let Some(risk) = unit.risk else { continue };
        let edges = unit.edges.iter().filter_map(|(from, to)| {
            let mut marked = vec![false; known.len()];
            for version in to {
                if let Some(mark) = known.binary_search(version).ok().and_then(|place| marked.get_mut(place)) {
                    *mark = true;
                }
            }
            let (to, from) = (Ranges::covering(&known, &marked)?, sources.get(from)?.as_ref()?);
            Some(json!({"to": texts(&to), "from": texts(from)}))
        });
        let edges: Vec<Value> = edges.collect();
        let mut file = with_risk(Map::new(), risk);
        if let Some(fixed_in) = unit.fixed_in.first() {
            file.insert("fixedIn".to_owned(), json!(fixed_in.to_string()));
        }
        match edges.as_slice() {
            [Value::Object(one)] => file.extend(one.clone()),
            _ => {
                file.insert("edges".to_owned(), Value::Array(edges));
            }
        }
        let stem = format!("risks/{}-{}.{}", file_name(risk.name()), unit.minor.0, unit.minor.1);
        conversion.insert(stem, &Value::Object(file), &revision.caps)?;
        conversion.replaced.extend(unit.files.iter().map(|file| (*file).to_owned()));
    }
    Ok(conversion)
}

/// Writes a block for every known target of every declared risk; a declaration that holds none stays.
///
/// Who hands the data on keeps the declarations as well: they also speak of releases to come.
pub fn compile(revision: &Revision) -> Result<Conversion, CapExceeded> {
    let mut conversion = Conversion::default();
    let mut expressions: HashMap<*const Ranges, Option<String>> = HashMap::new();
    for block in revision.blocks() {
        let Block { to, from: Sources::Ranges(from), effect, fixed_in, file, .. } = block else { continue };
        conversion.replaced.insert(file.clone());
        let from = expressions.entry(Arc::as_ptr(from)).or_insert_with(|| expression_of(from, revision));
        // Ranges that hold no known source block no known edge.
        let Some(from) = from else { continue };
        let mut file = Map::new();
        file.insert("to".to_owned(), json!(to.to_string()));
        file.insert("from".to_owned(), json!(from));
        let name = match effect {
            Effect::Remove => "removed",
            Effect::Condition(risk) => {
                file = with_risk(file, risk);
                risk.name()
            }
        };
        if let Some(fixed_in) = fixed_in {
            file.insert("fixedIn".to_owned(), json!(fixed_in.to_string()));
        }
        let stem = format!("blocked-edges/{}-{}", to.without_build(), file_name(name));
        conversion.insert(stem, &Value::Object(file), &revision.caps)?;
    }
    Ok(conversion)
}

/// Every version that anybody names, in order and without build metadata.
fn known(revision: &Revision) -> Vec<Version> {
    let targets = revision.blocks().iter().map(|block| block.to.without_build());
    let all: BTreeSet<Version> = revision.versions.iter().cloned().chain(targets).collect();
    all.into_iter().collect()
}

/// The ranges that hold the known versions in which an expression is found; nothing if architectures differ, or if there
/// is no work left to find out.
fn ranges_of(
    expression: &str,
    known: &[Version],
    names: &[String],
    revision: &Revision,
    work: &mut Work,
) -> Option<Ranges> {
    let pattern = Pattern::new(expression, &revision.caps).ok()?;
    if matches!(pattern, Pattern::Any) {
        return Some(Ranges::any());
    }
    let mut marked = Vec::with_capacity(known.len());
    let mut full = String::new();
    for name in names {
        let mut first = None;
        for arch in &revision.arches {
            full.clear();
            full.extend([name, "+", arch.as_str()]);
            if !work.take(&pattern, &full) {
                return None;
            }
            let found = pattern.matches(&full);
            if *first.get_or_insert(found) != found {
                return None;
            }
        }
        marked.push(first?);
    }
    Ranges::covering(known, &marked)
}

/// The expression that is found in exactly the known releases that the ranges hold.
fn expression_of(ranges: &Ranges, revision: &Revision) -> Option<String> {
    if ranges.iter().any(|range| range.to_string() == "*") {
        return Some(".*".to_owned());
    }
    let mark = |held: &mut Vec<bool>, range: &Range| {
        let places = range.index_range(&revision.versions);
        held.get_mut(places).into_iter().for_each(|places| places.fill(true));
    };
    let mut of_all = vec![false; revision.versions.len()];
    ranges.iter().filter(|range| range.arch().is_none()).for_each(|range| mark(&mut of_all, range));
    // For each set of versions, the architectures for which exactly these are held: mostly one set for all.
    let mut alike: BTreeMap<Vec<bool>, Vec<&Arch>> = BTreeMap::new();
    for arch in revision.arches() {
        let mut held = of_all.clone();
        ranges.iter().filter(|range| range.arch() == Some(arch.as_str())).for_each(|range| mark(&mut held, range));
        alike.entry(held).or_default().push(arch);
    }
    let whole = alike.len() == 1;
    let mut parts = Vec::new();
    for (held, arches) in alike {
        let versions = alternatives(&revision.versions, &held);
        if versions.is_empty() {
            continue;
        }
        let arches: Vec<&str> = arches.into_iter().map(Arch::as_str).collect();
        let arches = if whole { ".*".to_owned() } else { format!("({})", arches.join("|")) };
        parts.push(format!("^({})[+]{arches}$", versions.join("|")));
    }
    if parts.is_empty() { None } else { Some(parts.join("|")) }
}

/// Expressions for the marked versions, one for each minor version.
fn alternatives(versions: &[Version], held: &[bool]) -> Vec<String> {
    let marked: Vec<(&Version, bool)> = versions.iter().zip(held.iter().copied()).collect();
    let minor = |version: &Version| (version.major(), version.minor());
    let mut parts = Vec::new();
    for of_minor in marked.chunk_by(|(one, _), (other, _)| minor(one) == minor(other)) {
        let Some((major, minor)) = of_minor.first().map(|(version, _)| minor(version)) else { continue };
        let rest: Vec<String> = of_minor
            .iter()
            .filter(|(_, held)| *held)
            .map(|(version, _)| {
                let pre = version.pre_release().replace('.', "[.]");
                if pre.is_empty() { version.patch().to_string() } else { format!("{}-{pre}", version.patch()) }
            })
            .collect();
        if rest.len() == of_minor.len() {
            parts.push(format!("{major}[.]{minor}[.][^+]*"));
        } else if !rest.is_empty() {
            parts.push(format!("{major}[.]{minor}[.]({})", rest.join("|")));
        }
    }
    parts
}

fn with_risk(mut file: Map<String, Value>, risk: &Risk) -> Map<String, Value> {
    // The JSON of a risk is an object of its four fields.
    if let Ok(Value::Object(fields)) = serde_json::from_str(risk.json()) {
        file.extend(fields);
    }
    file
}

fn texts(ranges: &Ranges) -> Value {
    let texts: Vec<Value> = ranges.iter().map(|range| json!(range.to_string())).collect();
    match texts.as_slice() {
        [one] => one.clone(),
        _ => Value::Array(texts),
    }
}

/// A name with nothing in it that a path could trip over.
fn file_name(name: &str) -> String {
    let safe = |letter: char| if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '-' };
    name.chars().take(80).map(safe).collect()
}
