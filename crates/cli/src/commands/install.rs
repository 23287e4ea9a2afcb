//! `clearway install` and `clearway uninstall`: the objects of the operator in a cluster.

mod settings;
mod update_service;

use anyhow::{Context as _, Result};
use clearway_bundle::Channel;
use clearway_operator::install::apply::{
    self, Adoption, InstallError, InstallTarget, ObjectAction, Options, Removal, uuid_v4,
};
use clearway_operator::install::rights::{APPLY, IMPERSONATE_UPDATER, Right, UPDATER};
use clearway_operator::install::{Change, ReleaseKeys, Settings, manifests};
use clearway_sources::clock;
use clearway_sources::kubernetes::{Catalog, Cluster, ClusterError};
use clearway_update::api;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use self::settings::{keys_from_files, needs_current_keys, reused_settings, settings};
use crate::arguments::{ClusterConnection, DataFormat, Install, InstallPart, Uninstall, UninstallPart};
use crate::exit::Exit;
use crate::output::{self, Document};
use crate::runtime;

/// Carries out `clearway install`.
pub(crate) fn run(options: &Install) -> Result<Exit> {
    if let Some(InstallPart::UpdateService(service)) = &options.part {
        return update_service::install(service, &options.connection);
    }
    let keys = keys_from_files(options)?;
    if options.dry_run {
        return dry_run(options, keys);
    }
    let (runtime, cluster, catalog) = connect(&options.connection)?;
    let place = InstallTarget { cluster: &cluster, catalog: &catalog };
    if options.adopt_only {
        return adopt_only(options, &runtime, &place);
    }
    let present =
        runtime.block_on(apply::current_installation(&place, &options.namespace, needs_current_keys(options)))?;
    let settings = settings(options, keys, present.as_ref())?;
    let manifests = manifests(&settings)?;
    print_notes(options, &settings, runtime.block_on(apply::cluster_names_upstream(&place))?);
    let kept = reused_settings(options, present.as_ref(), &settings);
    if !kept.is_empty() {
        let options = kept.iter().map(|name| format!("--{name}")).collect::<Vec<_>>().join(", ");
        output::print_note!("note: unchanged settings of the installed operator: {options}; --unset NAME resets one");
    }
    let channel = settings.channel;
    let how = Options {
        dry_run: options.diff,
        discard_experimental: options.discard_experimental,
        skip_foreign_crds: options.skip_foreign_crds,
    };
    let adoption = adoption(options)?;
    let mut log = Vec::new();
    let outcome = runtime.block_on(apply::install(&place, &manifests, channel, adoption.as_ref(), how, &mut log));
    // What was refused changed nothing.
    let is_begun = outcome.is_ok() || !log.is_empty();
    let changes = present.filter(|_| is_begun).map(|present| present.changes_to(&settings)).unwrap_or_default();
    let about = json!({
        "channel": channel.as_str(),
        "bundleVersion": api::bundle_version().to_string(),
        "settings": {"kept": kept, "changed": changes},
    });
    report(&log, &changes, &about, options.diff, options.output.format)?;
    exit_code(outcome.map_err(Into::into))
}

/// Adopts the cluster of an operator that another tool installed.
fn adopt_only(options: &Install, runtime: &Runtime, place: &InstallTarget<'_>) -> Result<Exit> {
    let Some(adoption) = adoption(options)? else { return Ok(Exit::Yes) };
    let how = Options { dry_run: options.diff, discard_experimental: false, skip_foreign_crds: false };
    let mut log = Vec::new();
    let outcome = runtime.block_on(apply::adopt_only(place, &adoption, how, &mut log));
    report(&log, &[], &json!({}), options.diff, options.output.format)?;
    exit_code(outcome.map_err(Into::into))
}

fn adoption(options: &Install) -> Result<Option<Adoption>> {
    let Some(version) = options.adopt.clone() else { return Ok(None) };
    Ok(Some(Adoption { version, id: random_id()?, now: clock::now() }))
}

/// Prints the manifests of what is asked for, without a cluster.
fn dry_run(options: &Install, keys: ReleaseKeys) -> Result<Exit> {
    let settings = settings(options, keys, None)?;
    print_notes(options, &settings, false);
    if options.adopt.is_some() {
        output::print_note!("note: --adopt writes a status, which is not part of the printed manifests");
    }
    print_manifests(manifests(&settings)?.all(), options.output.format)?;
    Ok(Exit::Yes)
}

fn print_notes(options: &Install, settings: &Settings, is_upstream_in_cluster: bool) {
    let upstream = settings.upstream_warning(is_upstream_in_cluster).map(str::to_owned);
    for warning in settings.warnings().into_iter().chain(upstream) {
        output::print_problem!("warning: {warning}");
    }
    if options.apply_updates {
        output::print_note!("{}", apply_updates_note(settings));
    }
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
fn print_manifests<'o>(objects: impl Iterator<Item = &'o Value>, format: DataFormat) -> Result<()> {
    let text = match format {
        DataFormat::Json => {
            let items: Vec<&Value> = objects.collect();
            output::to_json(&json!({"apiVersion": "v1", "kind": "List", "items": items}))? + "\n"
        }
        DataFormat::Name => {
            let name = |object: &Value| {
                let text = |field: &Value| field.as_str().unwrap_or_default().to_owned();
                format!("{}/{}\n", text(&object["kind"]), text(&object["metadata"]["name"]))
            };
            objects.map(name).collect()
        }
        DataFormat::Table | DataFormat::Wide | DataFormat::Yaml => {
            let manifest = |object: &Value| Ok(format!("---\n{}", output::to_yaml(object)?));
            objects.map(manifest).collect::<Result<String>>()?
        }
    };
    output::print_document(&text).context("cannot write the manifests")
}

/// Carries out `clearway uninstall`.
pub(crate) fn uninstall(options: &Uninstall) -> Result<Exit> {
    if let Some(UninstallPart::UpdateService(service)) = &options.part {
        return update_service::uninstall(service, &options.connection);
    }
    let settings = Settings { namespace: options.namespace.clone(), ..Settings::new(Channel::Experimental) };
    let manifests = manifests(&settings)?;
    let (runtime, cluster, catalog) = connect(&options.connection)?;
    let place = InstallTarget { cluster: &cluster, catalog: &catalog };
    let removal = Removal { dry_run: options.dry_run, delete_crds: options.delete_crds };
    let mut log = Vec::new();
    let outcome = runtime.block_on(apply::uninstall(&place, &manifests, removal, &mut log));
    report(&log, &[], &json!({}), options.dry_run, options.output.format)?;
    exit_code(outcome.map_err(Into::into))
}

fn connect(connection: &ClusterConnection) -> Result<(Runtime, Cluster, Catalog)> {
    let runtime = runtime::on_this_thread()?;
    let (cluster, catalog) = runtime.block_on(async {
        let cluster = Cluster::connect(&connection.connection()).await?;
        let catalog = cluster.catalog().await?;
        Ok::<_, ClusterError>((cluster, catalog))
    })?;
    Ok((runtime, cluster, catalog))
}

fn random_id() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).context("cannot read random bytes for the cluster id")?;
    Ok(uuid_v4(bytes))
}

/// What was done, also when it ended early, and which settings are others now.
fn report(log: &[ObjectAction], changes: &[Change], about: &Value, dry_run: bool, format: DataFormat) -> Result<()> {
    let mut data = about.clone();
    data["dryRun"] = dry_run.into();
    data["objects"] = serde_json::to_value(log)?;
    output::print_data(format, &data, || {
        let rows = log.iter().map(|done| {
            let name =
                if done.namespace.is_empty() { done.name.clone() } else { format!("{}/{}", done.namespace, done.name) };
            vec![done.kind.clone(), name, done.action.as_str().to_owned(), done.why.clone()]
        });
        let objects = output::table(&["KIND", "NAME", if dry_run { "WOULD BE" } else { "DONE" }, "WHY"], rows);
        let names: Vec<String> = log.iter().map(|done| format!("{}/{}", done.kind, done.name)).collect();
        if changes.is_empty() {
            return Document::from(objects).named(names);
        }
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "(not set)".to_owned());
        let rows = changes
            .iter()
            .map(|change| vec![format!("--{}", change.setting), value(&change.before), value(&change.after)]);
        let settings = output::table(&["SETTING", "BEFORE", if dry_run { "WOULD BE" } else { "NOW" }], rows);
        Document::join([objects.into(), settings.into()]).named(names)
    })
}

/// Refusing to lose data, or to share a CRD, is an answer; everything else that stops it is not.
fn exit_code(outcome: Result<()>) -> Result<Exit> {
    match outcome {
        Ok(()) => Ok(Exit::Yes),
        Err(error)
            if matches!(
                error.downcast_ref(),
                Some(InstallError::WouldLose { .. } | InstallError::ForeignCrd { .. })
            ) =>
        {
            output::print_problem!("error: {error:#}");
            Ok(Exit::No)
        }
        Err(error) => Err(error),
    }
}
