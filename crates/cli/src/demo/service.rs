//! The end of the demo: the update service on the sample product, for as long as somebody watches.

use std::io::{IsTerminal as _, Write};
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clearway_core::{Arch, Limits};
use clearway_graph::wire;
use clearway_server::{Config, Feed, ListenOptions, Running, ServiceOptions};
use clearway_sources::clock;
use clearway_sources::http::HttpOptions;
use clearway_sources::service::{Answer, Service};

use super::heading;

/// Where the service is by default: the demo takes another port if somebody has this one.
const USUAL: &str = "127.0.0.1:8080";

/// Serves a graph-data directory, asks it one question, and tells which others are worth asking.
///
/// With `stay`, and somebody at a terminal, it goes on until Ctrl-C.
pub(super) fn serve(out: &mut impl Write, graph_data: &Path, channel: &str, stay: bool) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        let socket = TcpListener::bind(USUAL).or_else(|_| TcpListener::bind("127.0.0.1:0"))?;
        let status_socket = TcpListener::bind("127.0.0.1:0")?;
        let running = Running::start(config(graph_data), socket, Some(status_socket))?;
        running.looked(0).await;
        let base = format!("http://{}{}", running.address(), running.service().prefix());
        writeln!(out, "\n{}", heading("And to clusters?   (clearway serve --graph-data DIR)"))?;
        ask(out, &base, channel).await?;
        writeln!(out, "\nTry, in another terminal:\n")?;
        writeln!(out, "  curl -i '{base}/graph?channel={channel}'")?;
        writeln!(out, "  clearway graph paths 1.4.0 1.5.2 --channel {channel} --graph {base}")?;
        if let Some(address) = running.status_address() {
            writeln!(out, "  curl http://{address}/metrics")?;
        }
        let stays = stay && std::io::stdout().is_terminal();
        if stays {
            writeln!(
                out,
                "\nOr change a file below {} and ask again: the service sees it. Ctrl-C ends the demo.",
                graph_data.display()
            )?;
            tokio::signal::ctrl_c().await.context("cannot wait for Ctrl-C")?;
        }
        running.drain(Duration::from_secs(1)).await;
        if !stays {
            writeln!(out, "\nThe service has ended with this demo; at a terminal, without --once, it stays.")?;
        }
        Ok(())
    })
}

fn config(graph_data: &Path) -> Config {
    Config {
        feed: Some(Feed::directory(graph_data)),
        mirror: None,
        cache: None,
        interval: Duration::from_mins(5),
        service: ServiceOptions::default(),
        listen: ListenOptions::default(),
        clock: clock::now,
    }
}

/// Asks the service as a cluster does, over the network.
async fn ask(out: &mut impl Write, base: &str, channel: &str) -> Result<()> {
    let service = Service::new(base, &HttpOptions::default())?;
    let Answer::Body { bytes, validator, .. } = service.answer(channel, &Arch::default(), None).await? else {
        bail!("the service answered that nothing changed, to a first question");
    };
    let graph = wire::read(&bytes, &Limits::default()).graph.context("the service's answer is no graph")?;
    let conditional: usize = graph.conditional().iter().map(|group| group.edges.len()).sum();
    writeln!(out, "GET {base}/graph?channel={channel}\n")?;
    writeln!(
        out,
        "  {} bytes: {} releases, {} updates for everybody, {conditional} for clusters that their risks do not match",
        bytes.len(),
        graph.nodes().len(),
        graph.edges().len()
    )?;
    let again = service.answer(channel, &Arch::default(), validator.as_ref()).await?;
    let unchanged = if matches!(again, Answer::NotModified { .. }) { "304, not one byte of body" } else { "all of it" };
    writeln!(out, "  asked again with its ETag: {unchanged}")?;
    Ok(())
}
