//! The updates of a channel that are listed and not offered to any cluster.

use clearway_core::{Arch, Version};

use crate::model::revision::Revision;
use crate::model::verdicts::Ruling;

impl Revision {
    /// The updates among the releases of a channel that blocks or metadata take away from everybody, by target and then
    /// source.
    pub fn removed(&self, channel: &str, arch: &Arch) -> Vec<(Version, Version)> {
        let graph = self.graph(channel, arch);
        let member = |place: u32| {
            let release = self.releases.get(place as usize)?;
            graph.find(release.node.version()).map(|_| release.node.version())
        };
        let mut found = Vec::new();
        for node in graph.nodes() {
            let to = node.version();
            let rows = self.place(to, arch).map_or(&[][..], |place| self.table.incoming(place));
            let gone = rows.iter().filter(|row| row.ruling == Ruling::REMOVED);
            found.extend(gone.filter_map(|row| Some((member(row.from)?.clone(), to.clone()))));
        }
        found
    }
}
