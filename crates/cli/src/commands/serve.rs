//! `clearway serve`: starts the update service, and stops it on a signal.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clearway_core::{Digest, GraphLimits};
use clearway_server::console::{Console, RunningConsole};
use clearway_server::{Config, Feed, GraphData, ListenOptions, MirrorOptions, RunningService, ServiceOptions};
use clearway_sources::clock;
use clearway_sources::oci::{Cache, Registry, Repository};
use clearway_sources::service::Service as Upstream;
use tokio::signal::unix::{SignalKind, signal};

use crate::arguments::{GraphName, Serve};
use crate::commands::graph::source::{http_options, registry};
use crate::exit::Exit;
use crate::{log, runtime, signals};

/// Serves until a stop signal.
pub(crate) fn run(options: &Serve) -> Result<Exit> {
    log::start(&options.logging)?;
    // This one only reads sources; requests have threads of their own.
    let runtime = runtime::with_workers(1)?;
    let outcome = runtime.block_on(serve(options));
    // Whatever is still under way, such as requests that do not end or a revision that is read, is not waited for.
    runtime.shutdown_background();
    outcome
}

async fn serve(options: &Serve) -> Result<Exit> {
    let (mut hang_up, stop) = (signal(SignalKind::hangup())?, signals::stop_signal()?);
    let mut stop = std::pin::pin!(stop);
    let (socket, status_socket) = (bind(options.listen)?, bind(options.status_listen)?);
    let console_socket = options.console_listen.map(bind).transpose()?;
    let running = RunningService::start(config(options)?, socket, Some(status_socket))?;
    let console = console_socket.map(|socket| {
        let console = Console::new(env!("CARGO_PKG_VERSION"), clock::now).with_service(running.service().clone());
        RunningConsole::start(console, socket)
    });
    let console = console.transpose().context("cannot start the console")?;
    tracing::info!("serving on http://{}{}/graph", running.address(), running.service().prefix());
    if let Some(address) = running.status_address() {
        tracing::info!("probes and metrics on http://{address}/readyz and /metrics");
    }
    if let Some(console) = &console {
        tracing::info!("console on {}", console.link());
    }
    loop {
        tokio::select! {
            _ = hang_up.recv() => {
                tracing::info!("SIGHUP: reading the graph");
                running.refresh_now();
            }
            () = &mut stop => break,
        }
    }
    tracing::info!("stopping; current requests have {:?} to complete", options.drain);
    // Nobody depends on a page that is not loaded to its end.
    tokio::task::spawn_blocking(|| console.map(|console| console.drain(std::time::Duration::ZERO))).await?;
    if !running.drain(options.drain).await {
        tracing::warn!("stopped before all requests completed");
    }
    Ok(Exit::Yes)
}

fn bind(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))
}

fn config(options: &Serve) -> Result<Config> {
    if options.graph.is_none() {
        registry::refuse_keys(&options.registries.keys, "an upstream service")?;
    }
    if options.graph.is_none() && !options.registries.registry.is_empty() {
        bail!("--registry adds releases to a graph: pass --graph");
    }
    if options.upstream.is_none() && !options.trust.allow_redirects_to.is_empty() {
        bail!("--allow-redirects-to is for an update service: pass --upstream");
    }
    let http = http_options(&options.trust);
    let mirror = match &options.upstream {
        Some(address) => Some(MirrorOptions {
            upstream: Upstream::new(address, &http)?,
            configured: options.mirror.clone(),
            fresh: options.max_age,
            kept: None,
            limits: GraphLimits::default(),
            patience: MirrorOptions::PATIENCE,
        }),
        None => None,
    };
    Ok(Config {
        feed: options.graph.as_ref().map(|graph| feed(graph, options)).transpose()?,
        mirror,
        cache: last_good_directory(options)?,
        interval: options.refresh,
        service: ServiceOptions {
            prefix: options.prefix.clone(),
            max_age: options.max_age,
            has_feed: true,
            console: options.console_listen.is_some(),
        },
        listen: ListenOptions {
            connections: options.connections,
            read_timeout: options.read_timeout,
            write_timeout: options.write_timeout,
            ..ListenOptions::default()
        },
        clock: clock::now,
    })
}

/// The directory of the last good data. With keys it is one of its own, which holds nothing that was read without them.
fn last_good_directory(options: &Serve) -> Result<Option<PathBuf>> {
    let (Some(cache), keys) = (&options.cache, &options.registries.keys.files) else { return Ok(None) };
    if keys.is_empty() {
        return Ok(Some(cache.clone()));
    }
    let mut pem = Vec::new();
    for path in keys {
        pem.extend(std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?);
    }
    Ok(Some(cache.join(format!("signed-{}", Digest::sha256(&pem).hex()))))
}

fn feed(graph: &GraphName, options: &Serve) -> Result<Feed> {
    if graph.address().is_some() {
        bail!(
            "--graph {graph}: unsupported: serve a directory or an image (oci://…), or mirror a service with --upstream"
        );
    }
    if graph.image().is_none() {
        registry::refuse_keys(&options.registries.keys, &graph.to_string())?;
    }
    let graph_data = match graph.image() {
        Some(image) => GraphData::Image(Box::new(image.parse()?)),
        None => GraphData::Directory(graph.as_path().to_owned()),
    };
    let repositories: Vec<Repository> =
        options.registries.registry.iter().map(|text| Ok(text.parse()?)).collect::<Result<_>>()?;
    let registry = registry::options(options.trust.ca.file.clone(), &options.registries.access);
    let cache = match &options.cache {
        Some(cache) => Cache::directory(cache.join("registry"))
            .with_context(|| format!("cannot use the cache directory {}", cache.display()))?,
        None => Cache::none(),
    };
    let keys = registry::keys(&options.registries.keys)?;
    Ok(Feed::new(graph_data, Some(Registry::new(registry)?), repositories, cache).signed_by(keys))
}
