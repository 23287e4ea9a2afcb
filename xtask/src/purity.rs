//! Holds the workspace to its crate map: who may use whom, and who may have effects.
//!
//! The map is data in the root `Cargo.toml` (`[workspace.metadata.clearway]`). Three things are checked:
//! 1. every crate is on the map and uses only the crates of this workspace that the map lists for it;
//! 2. what a pure crate depends on, over all steps, is none of the [`EFFECT_CRATES`];
//! 3. the source of a pure crate, its tests apart, names none of the [`EFFECT_PATHS`] (see [`paths`]).

mod paths;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Crates that are an effect: runtimes, clients, servers, sources of time and randomness.
const EFFECT_CRATES: &[&str] = &[
    "async-std",
    "axum",
    "fastrand",
    "getrandom",
    "hyper",
    "hyper-util",
    "kube-client",
    "kube-runtime",
    "mio",
    "notify",
    "rand",
    "reqwest",
    "rustix",
    "smol",
    "socket2",
    "tempfile",
    "tokio",
    "ureq",
];

/// Paths that are an effect, as prefixes: the file system, the environment, the network, processes, threads, the clock.
const EFFECT_PATHS: &[&str] = &[
    "jiff::Timestamp::now",
    "jiff::Zoned::now",
    "std::env",
    "std::fs",
    "std::io::stderr",
    "std::io::stdin",
    "std::io::stdout",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
];

/// Macros that write to the process's own output.
const EFFECT_MACROS: &[&str] = &["dbg", "eprint", "eprintln", "print", "println"];

/// The part of the workspace's metadata this check reads.
struct Map {
    pure: BTreeSet<String>,
    uses: BTreeMap<String, BTreeSet<String>>,
}

/// Runs the check on the workspace that `cargo` is called in.
pub(crate) fn check() -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo).args(["metadata", "--format-version=1", "--locked"]).output()?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let map = Map::read(&metadata)?;
    let mut complaints = dependencies(&metadata, &map);
    for (name, directory) in pure_sources(&metadata, &map) {
        complaints.extend(sources(&name, Path::new(&directory))?);
    }
    if complaints.is_empty() {
        println!("purity: {} pure crates reach no effect; every crate keeps to the map", map.pure.len());
        return Ok(());
    }
    for complaint in &complaints {
        eprintln!("purity: {complaint}");
    }
    bail!("{} uses that the crate map does not allow; ARCHITECTURE.md says where such code belongs", complaints.len())
}

impl Map {
    fn read(metadata: &Value) -> Result<Self> {
        let map = &metadata["metadata"]["clearway"];
        let names = |value: &Value| -> BTreeSet<String> {
            value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let uses = map["uses"].as_object().context("Cargo.toml has no [workspace.metadata.clearway.uses]")?;
        Ok(Map {
            pure: names(&map["pure"]),
            uses: uses.iter().map(|(name, used)| (name.clone(), names(used))).collect(),
        })
    }
}

/// What the dependency graph has that the map does not allow. Dependencies of tests are free.
fn dependencies(metadata: &Value, map: &Map) -> Vec<String> {
    let members: BTreeSet<&str> =
        metadata["workspace_members"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let names: BTreeMap<&str, &str> = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|package| Some((package["id"].as_str()?, package["name"].as_str()?)))
        .collect();
    let edges: BTreeMap<&str, Vec<&str>> = metadata["resolve"]["nodes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|node| Some((node["id"].as_str()?, normal_dependencies(node))))
        .collect();
    let mut complaints = Vec::new();
    for member in &members {
        let name = names.get(member).copied().unwrap_or(member);
        let Some(allowed) = map.uses.get(name) else {
            complaints.push(format!("{name} is not on the crate map"));
            continue;
        };
        for used in edges.get(member).into_iter().flatten().filter(|id| members.contains(*id)) {
            let used = names.get(used).copied().unwrap_or(used);
            if !allowed.contains(used) {
                complaints.push(format!("{name} uses {used}, which the crate map does not list for it"));
            }
        }
        if map.pure.contains(name) {
            complaints.extend(effects_reached(member, &edges, &names));
        }
    }
    complaints
}

fn normal_dependencies(node: &Value) -> Vec<&str> {
    let normal = |dependency: &&Value| {
        dependency["dep_kinds"].as_array().into_iter().flatten().any(|kind| kind["kind"].is_null())
    };
    node["deps"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(normal)
        .filter_map(|dependency| dependency["pkg"].as_str())
        .collect()
}

/// One complaint for each effect crate that `start` reaches, with the way it is reached.
fn effects_reached(start: &str, edges: &BTreeMap<&str, Vec<&str>>, names: &BTreeMap<&str, &str>) -> Vec<String> {
    let mut way: BTreeMap<&str, &str> = BTreeMap::new();
    let mut queue = vec![start];
    let mut complaints = Vec::new();
    while let Some(id) = queue.pop() {
        for &next in edges.get(id).into_iter().flatten() {
            if next == start || way.contains_key(next) {
                continue;
            }
            way.insert(next, id);
            queue.push(next);
            if names.get(next).is_some_and(|name| EFFECT_CRATES.contains(name)) {
                let mut steps = vec![next];
                while let Some(&before) = steps.last().and_then(|id| way.get(id)) {
                    steps.push(before);
                }
                let steps: Vec<&str> = steps.iter().rev().filter_map(|id| names.get(id).copied()).collect();
                complaints.push(format!("a pure crate reaches an effect: {}", steps.join(" -> ")));
            }
        }
    }
    complaints
}

/// The name and source directory of each pure crate.
fn pure_sources(metadata: &Value, map: &Map) -> Vec<(String, String)> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages
        .filter_map(|package| Some((package["name"].as_str()?.to_owned(), package["manifest_path"].as_str()?)))
        .filter(|(name, _)| map.pure.contains(name))
        .map(|(name, manifest)| (name, manifest.replace("Cargo.toml", "src")))
        .collect()
}

/// What the files below a directory name that is an effect.
fn sources(name: &str, directory: &Path) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    let mut entries: Vec<_> = std::fs::read_dir(directory)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        if path.file_stem().is_some_and(|stem| stem == "tests") {
            continue;
        }
        if path.is_dir() {
            complaints.extend(sources(name, &path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path)?;
            let used = paths::effects(&text).with_context(|| format!("{} does not parse", path.display()))?;
            complaints.extend(used.into_iter().map(|effect| format!("{name}: {} uses {effect}", path.display())));
        }
    }
    Ok(complaints)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn metadata(uses_tokio: bool) -> Value {
        let dependency = |id: &str| json!({"pkg": id, "dep_kinds": [{"kind": null}]});
        let below = if uses_tokio { vec![dependency("t")] } else { vec![] };
        json!({
            "workspace_members": ["a", "b"],
            "packages": [
                {"id": "a", "name": "pure-a"}, {"id": "b", "name": "edge-b"},
                {"id": "m", "name": "middle"}, {"id": "t", "name": "tokio"},
            ],
            "resolve": {"nodes": [
                {"id": "a", "deps": [dependency("m")]},
                {"id": "b", "deps": [dependency("a"), dependency("t")]},
                {"id": "m", "deps": below},
            ]},
            "metadata": {"clearway": {"pure": ["pure-a"], "uses": {"pure-a": [], "edge-b": ["pure-a"]}}},
        })
    }

    fn complaints(metadata: &Value) -> Vec<String> {
        dependencies(metadata, &Map::read(metadata).unwrap())
    }

    #[test]
    fn an_effect_two_steps_away_is_found_and_the_way_to_it_named() {
        assert_eq!(complaints(&metadata(false)), Vec::<String>::new());
        assert_eq!(complaints(&metadata(true)), ["a pure crate reaches an effect: pure-a -> middle -> tokio"]);
    }

    #[test]
    fn a_crate_off_the_map_and_an_edge_off_the_map_are_found() {
        let mut off_map = metadata(false);
        off_map["metadata"]["clearway"]["uses"] = json!({"edge-b": []});
        assert_eq!(
            complaints(&off_map),
            ["pure-a is not on the crate map", "edge-b uses pure-a, which the crate map does not list for it",]
        );
    }
}
