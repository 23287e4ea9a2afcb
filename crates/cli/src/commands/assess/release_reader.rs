//! Releases that rules ask about: where they are fetched from, and what evaluates policies over their objects.

use std::path::PathBuf;

use anyhow::Result;
use clearway_core::Arch;
use clearway_operator::apply_update::PolicyProgram;
use clearway_operator::driver::MemoryPermit;
use clearway_operator::release_violations::ReleaseEvaluator;
use clearway_release::{Payload, ReleaseLimits, Selection};
use clearway_sources::oci::{Cache, Registry};
use clearway_sources::release::Registries;

use crate::arguments::RegistryAccess;
use crate::commands::graph::source::registry;
use crate::program_name::own_program;

/// The way to releases. The default has none, so that no release is known.
#[derive(Default)]
pub(crate) struct ReleaseReader {
    access: Option<Access>,
    /// The release that the user named.
    named: Option<Payload>,
    selection: Selection,
}

/// Bytes of the files of all releases that rules of one assessment ask about.
const ROUND_BYTES: u64 = 96 << 20;

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
    pub(crate) fn new(
        registries: &RegistryAccess,
        ca_file: Option<PathBuf>,
        arch: Option<Arch>,
        named: Option<Payload>,
    ) -> Result<Self> {
        let registry = Registry::new(registry::options(ca_file, registries))?;
        let program = PolicyProgram::new(own_program()?);
        let access = Access { registry, cache: Cache::none(), arch, program };
        Ok(ReleaseReader { access: Some(access), named, ..ReleaseReader::default() })
    }

    /// What evaluates policies over releases.
    pub(crate) fn evaluator(&self) -> ReleaseEvaluator<'_> {
        ReleaseEvaluator {
            registries: self.access.as_ref().map(Access::registries),
            // The user chose the graph, and sees what happens.
            only_host: None,
            selection: &self.selection,
            limits: ReleaseLimits::of_graph(),
            round_bytes: ROUND_BYTES,
            memory: MemoryPermit::default(),
            named: self.named.as_ref(),
            program: self.access.as_ref().map(|access| &access.program),
        }
    }
}
