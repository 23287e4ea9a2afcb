//! `clearway install` and `clearway uninstall`: the operator in a cluster, and out of it.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use clearway_bundle::{Channel, to_yaml};
use clearway_operator::api;
use clearway_operator::install::carry_out::{
    self, Adoption, Done, InstallError, Options, Place, Removal, adopt, uuid_v4,
};
use clearway_operator::install::rights::{APPLY, IMPERSONATE_UPDATER, Right, UPDATER};
use clearway_operator::install::{Manifests, MetricsExposure, ReleaseKeys, Settings, manifests};
use clearway_sources::clock;
use clearway_sources::kubernetes::{Catalog, Cluster, ClusterError, Connection};
use clearway_sources::release::Key;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::arguments::{self, DataFormat, Install, ThisCluster, Uninstall};
use crate::exit::Exit;
use crate::output;

/// Carries out `clearway install`.
pub(crate) fn run(options: &Install) -> Result<Exit> {
    let settings = settings(options)?;
    let manifests = manifests(&settings)?;
    for warning in settings.warnings() {
        output::print_note!("warning: {warning}");
    }
    if settings.apply_updates {
        output::print_note!("{}", apply_updates_note(&settings));
    }
    if options.dry_run {
        if options.adopt.is_some() {
            output::print_note!(
                "note: what --adopt writes is a status, which manifests cannot hold; it is not printed"
            );
        }
        print_manifests(&manifests, options.output.format)?;
        return Ok(Exit::Yes);
    }
    let channel = settings.channel;
    let (runtime, cluster, catalog) = connect(&options.cluster)?;
    let place = Place { cluster: &cluster, catalog: &catalog };
    let how = Options { dry_run: options.diff, discard_experimental: options.discard_experimental };
    let mut log = Vec::new();
    let outcome = runtime.block_on(async {
        carry_out::install(&place, &manifests, channel, how, &mut log).await?;
        if let Some(version) = &options.adopt {
            let adoption = Adoption { version: version.clone(), id: random_id()?, now: clock::now() };
            log.push(adopt(&place, &adoption, how).await?);
        }
        Ok::<_, anyhow::Error>(())
    });
    let about = json!({"channel": channel.as_str(), "bundleVersion": api::bundle_version().to_string()});
    report(&log, &about, options.diff, options.output.format)?;
    ended(outcome)
}

fn settings(options: &Install) -> Result<Settings> {
    let mut release_keys = ReleaseKeys::default();
    for file in &options.release_key {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        release_keys.add(&name, public_keys(file)?);
    }
    Ok(Settings {
        channel: match options.channel {
            arguments::Channel::Standard => Channel::Standard,
            arguments::Channel::Experimental => Channel::Experimental,
        },
        namespace: options.namespace.clone(),
        image: options.image.clone(),
        apply_updates: options.apply_updates,
        release_keys,
        metrics: match options.metrics {
            arguments::Metrics::Loopback => MetricsExposure::Loopback,
            arguments::Metrics::Authenticated => MetricsExposure::Authenticated,
        },
        upstream: options.upstream.clone(),
        prometheus: options.prometheus.clone(),
    })
}

/// A file of public keys, as text. Everybody in the cluster may read them, so a private key is refused.
fn public_keys(file: &Path) -> Result<String> {
    Key::file(file)?;
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    if text.contains("PRIVATE KEY") {
        bail!("{} holds a private key; name a file with the public key only", file.display());
    }
    Ok(text)
}

/// What `--apply-updates` adds, for who types it.
fn apply_updates_note(settings: &Settings) -> String {
    let right = |right: &Right| format!("    {right}\n        {}\n", right.why);
    let rights = |rights: &[Right]| rights.iter().map(right).collect::<String>();
    format!(
        "note: --apply-updates adds\n  the service account {}:{UPDATER}, in the whole cluster:\n{}  for the operator, in its \
         own namespace:\n{}",
        settings.namespace,
        rights(APPLY),
        rights(IMPERSONATE_UPDATER).trim_end(),
    )
}

/// Every manifest in the order of applying: documents of YAML, or a List in JSON.
fn print_manifests(manifests: &Manifests, format: DataFormat) -> Result<()> {
    let text = match format {
        DataFormat::Json => {
            let items: Vec<&Value> = manifests.all().collect();
            serde_json::to_string_pretty(&json!({"apiVersion": "v1", "kind": "List", "items": items}))? + "\n"
        }
        DataFormat::Table | DataFormat::Yaml => {
            manifests.all().map(to_yaml).collect::<Result<String, _>>().context("cannot write a manifest as YAML")?
        }
    };
    output::print_document(&text).context("cannot write the manifests")
}

/// Carries out `clearway uninstall`.
pub(crate) fn uninstall(options: &Uninstall) -> Result<Exit> {
    let settings = Settings { namespace: options.namespace.clone(), ..Settings::new(Channel::Experimental) };
    let manifests = manifests(&settings)?;
    let (runtime, cluster, catalog) = connect(&options.cluster)?;
    let place = Place { cluster: &cluster, catalog: &catalog };
    let removal = Removal { dry_run: options.dry_run, delete_crds: options.delete_crds };
    let mut log = Vec::new();
    let outcome = runtime.block_on(carry_out::uninstall(&place, &manifests, removal, &mut log));
    report(&log, &json!({}), options.dry_run, options.output.format)?;
    ended(outcome.map_err(Into::into))
}

fn connect(this: &ThisCluster) -> Result<(Runtime, Cluster, Catalog)> {
    let connection =
        Connection { kubeconfig: this.kubeconfig.clone(), context: this.context.clone(), ..Connection::default() };
    let runtime = Builder::new_current_thread().enable_all().build().context("cannot start a runtime")?;
    let (cluster, catalog) = runtime.block_on(async {
        let cluster = Cluster::connect(&connection).await?;
        let catalog = cluster.catalog().await?;
        Ok::<_, ClusterError>((cluster, catalog))
    })?;
    Ok((runtime, cluster, catalog))
}

fn random_id() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).context("the system gives no random bytes for the cluster's id")?;
    Ok(uuid_v4(bytes))
}

/// What was done, also when it ended early.
fn report(log: &[Done], about: &serde_json::Value, dry_run: bool, format: DataFormat) -> Result<()> {
    let mut data = about.clone();
    data["dryRun"] = dry_run.into();
    data["objects"] = serde_json::to_value(log)?;
    output::print_data(format, &data, || {
        let rows = log.iter().map(|done| {
            let name =
                if done.namespace.is_empty() { done.name.clone() } else { format!("{}/{}", done.namespace, done.name) };
            vec![done.kind.clone(), name, done.action.as_str().to_owned(), done.why.clone()]
        });
        output::table(&["KIND", "NAME", if dry_run { "WOULD BE" } else { "DONE" }, "WHY"], rows)
    })
}

/// Refusing to lose data is an answer; everything else that stops it is not.
fn ended(outcome: Result<()>) -> Result<Exit> {
    match outcome {
        Ok(()) => Ok(Exit::Yes),
        Err(error) if matches!(error.downcast_ref(), Some(InstallError::WouldLose { .. })) => {
            output::print_note!("error: {error:#}");
            Ok(Exit::No)
        }
        Err(error) => Err(error),
    }
}
