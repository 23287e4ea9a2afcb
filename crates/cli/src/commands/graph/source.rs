//! Reading the graph of `--graph`: a directory, a git revision of one, a file or stream, an image, or an update service.
//!
//! Commands that need all of graph-data call [`files`], those that need one channel [`view`], for which an answer is
//! enough, and those that accept either [`files_or_answer`].

pub(crate) mod channels;
pub(crate) mod registry;

use std::path::Path;

use anyhow::{Result, bail};
use clearway_core::{Address, Arch, Diagnostic, Limits};
use clearway_graph::{Graph, Inputs, Revision, wire};
use clearway_sources::graph_data::{self, Content};
use clearway_sources::http::HttpOptions;
use clearway_sources::service::{Answer, Service, ServiceError};

use crate::arguments::{GraphSource, Registries, ServiceTrust};
use crate::name_hints;
use crate::runtime::block_on;

/// The metadata key under which the nodes of an answer say in which channels they are.
const CHANNELS: &str = "io.openshift.upgrades.graph.release.channels";

/// Graph-data, or one answer.
pub(crate) enum GraphInput {
    Files(Inputs),
    Answer(ServiceAnswer),
}

/// An answer of an update service, from a file or from the service itself.
pub(crate) struct ServiceAnswer {
    /// What it goes by in messages.
    pub(super) name: String,
    /// The channel it was asked for; an answer itself does not say.
    pub(super) channel: Option<String>,
    pub(super) graph: Graph,
    /// What is wrong with it.
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// One channel, and what it was cut from if that is known.
pub(crate) struct View {
    pub(crate) graph: Graph,
    pub(crate) revision: Option<Revision>,
    /// The channel, or the file of an answer that was named without one.
    pub(crate) name: String,
    /// The architecture; an answer in a file does not say.
    pub(crate) arch: Option<Arch>,
    /// What is wrong with the graph.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl ServiceAnswer {
    /// Reads an answer; an error if it is none.
    pub(super) fn read(name: &str, channel: Option<&str>, bytes: &[u8]) -> Result<Self> {
        let reading = wire::read(bytes, &Limits::default());
        let mut diagnostics = reading.diagnostics;
        let Some(graph) = reading.graph else {
            let why = diagnostics.first().map_or("", |diagnostic| diagnostic.message.as_str());
            bail!("{name}: not an answer of an update service: {why}");
        };
        for diagnostic in &mut diagnostics {
            diagnostic.place.file = Some(name.to_owned());
        }
        Ok(ServiceAnswer { name: name.to_owned(), channel: channel.map(str::to_owned), graph, diagnostics })
    }

    /// Prints its diagnostics on standard error.
    pub(super) fn with_printed_diagnostics(self) -> Self {
        super::print_diagnostics("the answer has", &self.diagnostics);
        self
    }

    /// The channels that hold all of its nodes, as far as those say; nothing if they say nothing.
    pub(super) fn channels(&self) -> Option<Vec<&str>> {
        let mut common: Option<Vec<&str>> = None;
        for node in self.graph.nodes() {
            let names: Vec<&str> = node.metadata().get(CHANNELS)?.split(',').map(str::trim).collect();
            match &mut common {
                Some(common) => common.retain(|name| names.contains(name)),
                None => common = Some(names),
            }
        }
        common
    }

    /// Refuses a channel that the answer is not of, as far as its nodes say, and any architecture, of which they do not.
    pub(super) fn check(&self, channel: Option<&str>, arch: Option<&Arch>) -> Result<()> {
        if let Some(arch) = arch {
            bail!("{} is a single answer without an architecture: omit --arch {arch}", self.name);
        }
        match (channel, self.channels()) {
            (Some(channel), Some(channels)) if !channels.contains(&channel) => {
                bail!("{} is an answer for {}, not for `{channel}`", self.name, super::listing(&channels))
            }
            _ => Ok(()),
        }
    }
}

/// The service that a source names.
pub(super) fn service(source: &GraphSource) -> Result<Option<Service>> {
    let Some(address) = source.graph.address() else { return Ok(None) };
    if source.rev.is_some() {
        bail!("`--rev` needs a git repository; an update service is not one");
    }
    refuse_registries(&source.registries)?;
    registry::refuse_keys(&source.registries.keys, &source.graph.to_string())?;
    connect(&address, &source.trust).map(Some)
}

/// Refuses `--registry` beside a service.
pub(crate) fn refuse_registries(registries: &Registries) -> Result<()> {
    if !registries.registry.is_empty() {
        bail!("--registry needs graph-data: an update service already contains its releases");
    }
    Ok(())
}

/// The service at an address; nothing is sent yet.
pub(super) fn connect(address: &Address, trust: &ServiceTrust) -> Result<Service> {
    Ok(Service::new(address, &http_options(trust))?)
}

/// How the service of a command is spoken to.
pub(crate) fn http_options(trust: &ServiceTrust) -> HttpOptions {
    HttpOptions {
        ca_file: trust.ca.file.clone(),
        redirect_hosts: trust.allow_redirects_to.clone(),
        redirect_option: Some("--allow-redirects-to"),
        ..HttpOptions::default()
    }
}

/// The architecture that is meant for a service.
pub(super) fn arch_of(service: &Service, arch: Option<&Arch>) -> Result<Arch> {
    match (arch, service.arch()) {
        (Some(arch), _) => Ok(arch.clone()),
        (None, Some(named)) => Ok(named.parse()?),
        (None, None) => Ok(Arch::default()),
    }
}

/// The answer of a service for a channel. An empty one is refused: it would read as "no updates".
pub(super) fn answer(service: &Service, channel: &str, arch: &Arch) -> Result<ServiceAnswer> {
    let Answer::Body { bytes, .. } = block_on(service.answer(channel, arch, None))?? else {
        bail!("{}: the service answered 304 (Not Modified) to a request without an ETag", service.base());
    };
    let name = format!("{}?channel={channel}&arch={arch}", service.graph_address());
    let answer = ServiceAnswer::read(&name, Some(channel), &bytes)?;
    // One whose nodes cannot be read is not empty, and its diagnostics say so.
    if answer.graph.nodes().is_empty() && answer.diagnostics.is_empty() {
        bail!("{}: no releases in the channel `{channel}` for {arch}", service.base());
    }
    Ok(answer)
}

/// The graph-data of a service. One without releases is refused: nothing could be said about it.
pub(super) fn data_of(service: &Service) -> Result<Inputs> {
    let inputs = fetch_graph_data(service)?;
    if without_releases(&inputs) {
        bail!(
            "{}/graph-data has no releases (the service reads them from a registry); read one channel with \
             {}/graph?channel=CHANNEL",
            service.base(),
            service.base()
        );
    }
    Ok(inputs)
}

fn fetch_graph_data(service: &Service) -> Result<Inputs> {
    Ok(block_on(service.graph_data(&Limits::for_graph_data()))??)
}

fn without_releases(inputs: &Inputs) -> bool {
    !inputs.iter().any(|(path, _)| path.starts_with("releases/"))
}

/// Whether a service has no graph-data to hand on.
fn is_missing(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(ServiceError::Refused { status: 404, .. }))
}

/// What a source that is no service holds, with the releases of the repositories that are named beside it.
pub(super) fn read_input(source: &GraphSource) -> Result<GraphInput> {
    let GraphSource { graph, rev, trust, registries } = source;
    let mut given = match (graph.image(), rev) {
        (Some(_), Some(_)) => bail!("`--rev` needs a git repository; an image is not one"),
        (Some(name), None) => GraphInput::Files(registry::graph_data(name, registries, trust)?),
        (None, rev) => {
            registry::refuse_keys(&registries.keys, &graph.to_string())?;
            local(graph.as_path(), rev.as_deref())?
        }
    };
    match &mut given {
        GraphInput::Files(inputs) => registry::add_releases(inputs, registries, trust)?,
        GraphInput::Answer(answer) if !registries.registry.is_empty() => {
            bail!("--registry needs graph-data; {} is a single answer", answer.name)
        }
        GraphInput::Answer(_) => {}
    }
    Ok(given)
}

/// What a file, a stream or a directory holds.
pub(super) fn local(path: &Path, rev: Option<&str>) -> Result<GraphInput> {
    let limits = Limits::for_graph_data();
    let shown = path.display().to_string();
    if shown != "-" && !path.exists() {
        let hint = name_hints::remote(&shown, "an update service", "graph-data in a registry");
        bail!("{shown} not found: name a graph-data directory, an archive of one, or an answer in a file{hint}");
    }
    let content = match rev {
        Some(rev) if path.is_file() || shown == "-" => {
            bail!("`--rev {rev}` needs a git repository; {shown} is not one")
        }
        Some(rev) => return Ok(GraphInput::Files(graph_data::git_revision(path, rev, &limits)?)),
        None if shown == "-" => graph_data::stream(path, std::io::stdin().lock(), &limits)?,
        None if path.is_file() => graph_data::file(path, &limits)?,
        None => return Ok(GraphInput::Files(graph_data::directory(path, &limits)?)),
    };
    Ok(match content {
        Content::Files(inputs) => GraphInput::Files(inputs),
        Content::Answer(bytes) => GraphInput::Answer(ServiceAnswer::read(&shown, None, &bytes)?),
    })
}

/// Everything a source has. A service whose graph-data lists no releases gives the answer for the named channel.
pub(crate) fn files_or_answer(source: &GraphSource, channel: Option<&str>, arch: Option<&Arch>) -> Result<GraphInput> {
    let Some(service) = service(source)? else { return read_input(source) };
    match channel.or(service.channel()) {
        Some(channel) => match fetch_graph_data(&service) {
            Ok(inputs) if !without_releases(&inputs) => Ok(GraphInput::Files(inputs)),
            Err(error) if !is_missing(&error) => Err(error),
            _ => Ok(GraphInput::Answer(answer(&service, channel, &arch_of(&service, arch)?)?)),
        },
        None => Ok(GraphInput::Files(data_of(&service)?)),
    }
}

/// The files of a source; `why` says what they are needed for, should it be an answer.
pub(super) fn files(source: &GraphSource, why: &str) -> Result<Inputs> {
    let given = match service(source)? {
        Some(service) => GraphInput::Files(data_of(&service)?),
        None => read_input(source)?,
    };
    match given {
        GraphInput::Files(inputs) => Ok(inputs),
        GraphInput::Answer(answer) => bail!("{} is a single answer, {why}", answer.name),
    }
}

/// One channel of a source.
pub(crate) fn view(source: &GraphSource, channel: Option<&str>, arch: Option<&Arch>) -> Result<View> {
    view_for(source, channel, arch, None)
}

/// The same for a cluster that may say which architecture it has. Other than a named one, that is no question to an
/// answer in a file, which is of one architecture and does not say which.
pub(crate) fn view_for(
    source: &GraphSource,
    channel: Option<&str>,
    named: Option<&Arch>,
    said: Option<&Arch>,
) -> Result<View> {
    let arch = named.or(said);
    if let Some(service) = service(source)? {
        let Some(channel) = channel.or(service.channel()) else {
            bail!("pass a channel: {} has an answer per channel", service.base());
        };
        return of_service(&service, channel, arch);
    }
    match read_input(source)? {
        GraphInput::Files(inputs) => of_files(&inputs, channel, arch),
        GraphInput::Answer(answer) => of_answer(answer, channel, named),
    }
}

/// One channel of the upstream of a `ClusterVersion`, whose address is taken as it is written, as the operator takes it.
pub(crate) fn view_of_upstream(
    upstream: &Address,
    trust: &ServiceTrust,
    channel: &str,
    arch: Option<&Arch>,
) -> Result<View> {
    of_service(&Service::as_written(upstream, &http_options(trust))?, channel, arch)
}

/// One channel of a service.
fn of_service(service: &Service, channel: &str, arch: Option<&Arch>) -> Result<View> {
    let arch = arch_of(service, arch)?;
    let ServiceAnswer { graph, diagnostics, .. } = answer(service, channel, &arch)?.with_printed_diagnostics();
    Ok(View { graph, revision: None, name: channel.to_owned(), arch: Some(arch), diagnostics })
}

/// One channel of graph-data.
pub(crate) fn of_files(inputs: &Inputs, channel: Option<&str>, arch: Option<&Arch>) -> Result<View> {
    let (revision, diagnostics) = super::revision_and_findings(inputs)?;
    let Some(channel) = channel else {
        let channels: Vec<&str> = revision.channels().map(|channel| channel.name.as_str()).collect();
        bail!("pass a channel; the channels are {}", super::listing(&channels));
    };
    let arch = arch.cloned().unwrap_or_default();
    super::check_channel(&revision, channel, &arch)?;
    let graph = revision.graph(channel, &arch);
    if let Some(above) = graph.above(revision.caps()) {
        bail!("the channel `{channel}` on {arch} has {above}");
    }
    Ok(View { graph, revision: Some(revision), name: channel.to_owned(), arch: Some(arch), diagnostics })
}

/// An answer as the channel it is of.
pub(crate) fn of_answer(answer: ServiceAnswer, channel: Option<&str>, arch: Option<&Arch>) -> Result<View> {
    answer.check(channel, arch)?;
    let answer = answer.with_printed_diagnostics();
    let name = channel.map_or(answer.name, str::to_owned);
    Ok(View { graph: answer.graph, revision: None, name, arch: None, diagnostics: answer.diagnostics })
}
