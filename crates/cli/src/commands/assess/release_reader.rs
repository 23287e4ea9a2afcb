//! Releases that rules ask about: where they are fetched from, and what evaluates policies over their objects.

use std::collections::BTreeSet;

use anyhow::Result;
use clearway_core::Arch;
use clearway_operator::apply_update::PolicyProgram;
use clearway_operator::driver::MemoryPermit;
use clearway_operator::heartbeat::Heartbeat;
use clearway_operator::release_violations::{COMMAND_ROUND_BYTES, ReleaseEvaluator, registry_host};
use clearway_release::{Payload, ReleaseLimits, Selection};
use clearway_sources::oci::{Cache, Registry};
use clearway_sources::release::Registries;

use crate::arguments::{GraphName, GraphSource, ReleaseHosts};
use crate::commands::graph::source::registry;
use crate::program_name::own_program;

/// The way to releases. The default has none, so that no release is known.
#[derive(Default)]
pub(crate) struct ReleaseReader {
    access: Option<Access>,
    /// The release that the user named.
    named: Option<Payload>,
    selection: Selection,
    /// The only registries that releases are fetched from.
    hosts: BTreeSet<String>,
}

/// What decides which registries releases are fetched from, and how.
pub(crate) struct ReleaseSources<'a> {
    /// The graph whose rules ask.
    pub(crate) source: &'a GraphSource,
    /// The catalogue that has the graph, if one was named.
    pub(crate) catalog: Option<&'a GraphName>,
    /// What the user allows besides.
    pub(crate) allowed: &'a ReleaseHosts,
    /// The image of the release that the cluster runs, if it is known.
    pub(crate) running: Option<&'a str>,
}

impl ReleaseSources<'_> {
    /// The registries that the cluster already uses, and those that the user named. A graph names others as its author likes.
    fn hosts(&self) -> BTreeSet<String> {
        let ReleaseSources { source, catalog, allowed, running } = self;
        let graphs = [Some(&source.graph), *catalog].into_iter().flatten().filter_map(GraphName::image);
        let images = graphs.chain(*running).chain(source.registries.registry.iter().map(String::as_str));
        images.filter_map(registry_host).chain(allowed.allow_releases_from.iter().cloned()).collect()
    }
}

struct Access {
    registry: Registry,
    cache: Cache,
    arch: Option<Arch>,
    program: PolicyProgram,
}

impl Access {
    fn registries(&self) -> Registries<'_> {
        Registries { registry: &self.registry, cache: &self.cache, arch: self.arch.as_ref() }
    }
}

impl ReleaseReader {
    /// Fetches releases from registries. `named` is a release that the user named.
    pub(crate) fn new(sources: &ReleaseSources<'_>, arch: Option<Arch>, named: Option<Payload>) -> Result<Self> {
        let GraphSource { registries, trust, .. } = sources.source;
        let registry = Registry::new(registry::options(trust.ca.file.clone(), &registries.access))?;
        let program = PolicyProgram::new(own_program()?);
        let access = Access { registry, cache: Cache::none(), arch, program };
        Ok(ReleaseReader { access: Some(access), named, selection: Selection::default(), hosts: sources.hosts() })
    }

    /// What evaluates policies over releases.
    pub(crate) fn evaluator(&self) -> ReleaseEvaluator<'_> {
        ReleaseEvaluator {
            registries: self.access.as_ref().map(Access::registries),
            hosts: self.hosts.clone(),
            selection: &self.selection,
            limits: ReleaseLimits::of_graph(),
            round_bytes: COMMAND_ROUND_BYTES,
            memory: MemoryPermit::default(),
            is_one_of_many: false,
            heartbeat: Heartbeat::default(),
            named: self.named.as_ref(),
            program: self.access.as_ref().map(|access| &access.program),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::arguments::Assess;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        assess: Assess,
    }

    /// Whatever else a graph names is not contacted.
    #[test]
    fn releases_are_fetched_only_from_registries_of_the_cluster_and_of_the_user() {
        let digest = format!("@sha256:{}", "0".repeat(64));
        let running = format!("quay.io/platform{digest}");
        for (line, running, want) in [
            ("--graph data", None, ""),
            ("--graph https://updates.example.com/graph", None, ""),
            ("--graph data", Some(running.as_str()), "quay.io"),
            ("--graph data", Some("/a/directory"), ""),
            ("--graph oci://Graph.example.com:5000/data:1", None, "graph.example.com:5000"),
            ("--all-products --catalog oci://c.example.com/catalog", None, "c.example.com"),
            ("--graph data --registry r.example.com/releases", None, "r.example.com"),
            ("--graph data --allow-releases-from A.example.com", Some(running.as_str()), "a.example.com quay.io"),
        ] {
            let Line { assess } = Line::try_parse_from(format!("assess {line}").split(' ')).unwrap();
            let catalog = assess.products.catalog.catalog.as_ref();
            let sources = ReleaseSources { source: &assess.source, catalog, allowed: &assess.release_hosts, running };
            let reader = ReleaseReader::new(&sources, None, None).unwrap();
            let hosts: Vec<String> = reader.evaluator().hosts.into_iter().collect();
            assert_eq!(hosts.join(" "), want, "{line} {running:?}");
        }
        assert!(ReleaseReader::default().evaluator().hosts.is_empty());
    }
}
