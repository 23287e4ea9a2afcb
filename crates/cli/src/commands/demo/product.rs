//! A sample product: its graph-data, and a snapshot of a cluster that runs it. Both are in `examples/` in the
//! repository, and are embedded in the program.

use std::path::Path;

use anyhow::{Context as _, Result};
use clearway_advice::{Assessment, Plan, Settings};
use clearway_core::{Limits, Timestamp};
use clearway_graph::{Inputs, Revision, load};
use clearway_sources::snapshot::{ClusterFacts, Files, Snapshot, assemble};

use super::{quoted, write_files};
use crate::commands::assess::snapshot_evidence;

/// Files by their names.
pub(super) type Embedded = &'static [(&'static str, &'static str)];

/// Releases by their versions, each with the files of its `release-manifests`.
pub(super) type Releases = Vec<(&'static str, Vec<(String, String)>)>;

/// A product and a cluster.
#[derive(Clone, Copy)]
pub(super) struct Product {
    /// Where both stand in the repository.
    pub(super) home: &'static str,
    pub(super) graph_data: Embedded,
    pub(super) cluster: Embedded,
}

/// The files of a directory below `examples/`, each with its name.
macro_rules! embedded {
    ($directory:literal: $($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../../../../examples/", $directory, "/", $name)))),*]
    };
}
pub(super) use embedded;

impl Product {
    pub(super) fn inputs(&self) -> Inputs {
        self.graph_data.iter().copied().collect()
    }

    pub(super) fn revision(&self) -> Result<Revision> {
        load(&self.inputs(), &Limits::default()).revision.context("the sample graph-data is refused")
    }

    /// Writes graph-data and snapshot below a directory.
    pub(super) fn write(&self, directory: &Path) -> Result<()> {
        write_files(&directory.join("graph-data"), self.graph_data)?;
        write_files(&directory.join("cluster"), self.cluster)
    }

    /// Which updates are safe for the cluster; the proofs name the files in the directory they are kept in, or else in
    /// the repository.
    pub(super) fn assess(&self, kept_in: Option<&Path>) -> Result<Assessment> {
        let snapshot = self.snapshot()?;
        let taken_at = snapshot.taken_at;
        let ClusterFacts { version, arch, channel, .. } = snapshot.cluster.clone();
        let (version, channel) = version.zip(channel).context("the sample cluster has no version")?;
        let graph = self.revision()?.graph(&channel, &arch.unwrap_or_default());
        let plan = Plan::new(&graph, &version, &Settings::default())?;
        let place = kept_in.unwrap_or(Path::new(self.home)).join("cluster");
        let name = place.join("series.snap").display().to_string();
        let evidence = snapshot_evidence::of(snapshot, &place.display().to_string(), name, false);
        Ok(plan.assess(&evidence, taken_at))
    }

    /// The command that assesses the cluster.
    pub(super) fn command(&self, kept_in: Option<&Path>) -> String {
        let place = kept_in.unwrap_or(Path::new(self.home));
        let word = |name: &str| quoted(&place.join(name).display().to_string());
        // The samples are of one morning, and are judged as of then.
        format!("clearway assess --graph {} --snapshot {} --as-of snapshot", word("graph-data"), word("cluster"))
    }

    /// The time the snapshot was taken.
    pub(super) fn taken_at(&self) -> Result<Timestamp> {
        Ok(self.snapshot()?.taken_at)
    }

    /// The files of graph-data that name releases.
    pub(super) fn releases(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.graph_data.iter().copied().filter(|(name, _)| name.starts_with("releases/"))
    }

    /// The metrics of the cluster as they are exposed: without times, for they are of the moment they are read.
    pub(super) fn metrics(&self) -> String {
        let series = self.cluster.iter().find(|(name, _)| *name == "series.snap").map_or("", |(_, text)| text);
        let samples = series.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
            let (series, sample) = line.rsplit_once(' ')?;
            Some(format!("{series} {}\n", sample.rsplit_once(':')?.1))
        });
        samples.collect()
    }

    fn snapshot(&self) -> Result<Snapshot> {
        let files: Files =
            self.cluster.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect();
        Ok(assemble(files, &Limits::default())?.snapshot)
    }
}
