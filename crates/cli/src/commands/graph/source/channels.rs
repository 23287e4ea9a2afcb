//! A graph source from which any channel can be read, for clusters on different channels.

use anyhow::Result;
use clearway_core::Arch;
use clearway_graph::{Graph, Revision};
use clearway_sources::service::{Service, ServiceError};

use super::{GraphInput, ServiceAnswer};
use crate::arguments::{GraphName, GraphSource};
use crate::commands::graph;

/// Where channels come from.
pub(crate) struct Channels {
    side: Side,
    /// What it goes by, for people.
    pub(crate) name: String,
}

enum Side {
    Files(Box<Revision>),
    Answer(ServiceAnswer),
    Service(Service),
}

impl Channels {
    /// What `--graph` names.
    pub(crate) fn open(graph: &GraphSource) -> Result<Self> {
        let mut name = graph.graph.to_string();
        if let Some(rev) = &graph.rev {
            name = format!("{name} at {rev}");
        }
        let side = match super::service(graph)? {
            Some(service) => Side::Service(service),
            None => Side::from_input(super::read_input(graph)?)?,
        };
        Ok(Channels { side, name })
    }

    /// What a name beside `--graph` stands for: a service, an image, a file or directory if there is one, else a git
    /// revision of the directory that `--graph` names. Releases of `--registry` are added to both.
    pub(crate) fn from_name(graph: &GraphSource, name: &GraphName) -> Result<Self> {
        if let Some(address) = name.address() {
            let service = super::connect(&address, &graph.trust)?;
            return Ok(Channels { side: Side::Service(service), name: name.to_string() });
        }
        let is_graph = name.image().is_some() || name.to_string() == "-" || name.as_path().exists();
        let (named, rev) = if is_graph { (name, None) } else { (&graph.graph, Some(name.to_string())) };
        let (trust, registries) = (graph.trust.clone(), graph.registries.clone());
        Channels::open(&GraphSource { graph: named.clone(), rev, trust, registries })
    }

    /// The revision, of files.
    pub(crate) fn revision(&self) -> Option<String> {
        match &self.side {
            Side::Files(revision) => Some(revision.id().to_string()),
            _ => None,
        }
    }

    /// One channel, or in a sentence why there is none for whoever follows it. An error is one of the source.
    pub(crate) fn graph(&self, channel: Option<&str>, arch: Option<&Arch>) -> Result<Result<Graph, String>> {
        let nobody = || "the channel of the cluster is unknown; pass --channel".to_owned();
        Ok(match &self.side {
            Side::Files(revision) => match channel {
                None => Err(nobody()),
                Some(channel) => {
                    let arch = arch.cloned().unwrap_or_default();
                    graph::check_channel(revision, channel, &arch)
                        .map(|()| revision.graph(channel, &arch))
                        .map_err(|why| why.to_string())
                }
            },
            // An answer does not say which architecture it is for.
            Side::Answer(answer) => {
                answer.check(channel, None).map(|()| answer.graph.clone()).map_err(|why| why.to_string())
            }
            Side::Service(service) => match channel.or(service.channel()) {
                None => Err(nobody()),
                Some(channel) => match super::answer(service, channel, &super::arch_of(service, arch)?) {
                    Ok(answer) => Ok(answer.with_printed_diagnostics().graph),
                    // Who answers does not know the channel; who does not answer knows nothing about any.
                    Err(error) => match error.downcast_ref() {
                        None | Some(ServiceError::Refused { .. }) => Err(error.to_string()),
                        Some(_) => return Err(error),
                    },
                },
            },
        })
    }
}

impl Side {
    fn from_input(given: GraphInput) -> Result<Self> {
        Ok(match given {
            GraphInput::Files(inputs) => Side::Files(Box::new(graph::revision(&inputs)?)),
            GraphInput::Answer(answer) => Side::Answer(answer.with_printed_diagnostics()),
        })
    }
}
