//! `clearway install update-service` and `clearway uninstall update-service`.

use anyhow::{Result, anyhow, bail};
use clearway_operator::install::apply::{self, CurrentUpdateService, InstallTarget};
use clearway_operator::install::update_service::{UpdateServiceSettings, arguments, objects};
use serde_json::json;

use super::{connect, exit_code, print_manifests, report};
use crate::arguments::{ClusterConnection, InstallUpdateService, UNSET_ALL, UninstallUpdateService, read_serve};
use crate::exit::Exit;
use crate::output;

/// Carries out `clearway install update-service`.
pub(super) fn install(options: &InstallUpdateService, connection: &ClusterConnection) -> Result<Exit> {
    if options.dry_run {
        let settings = settings(options, None)?;
        print_warnings(&settings);
        print_manifests(objects(&settings).iter(), options.output.format)?;
        return Ok(Exit::Yes);
    }
    let (runtime, cluster, catalog) = connect(connection)?;
    let place = InstallTarget { cluster: &cluster, catalog: &catalog };
    let present = runtime.block_on(apply::current_update_service(&place, &options.namespace))?;
    let settings = settings(options, present.as_ref())?;
    print_warnings(&settings);
    let mut log = Vec::new();
    let outcome = runtime.block_on(apply::install_update_service(&place, &settings, options.diff, &mut log));
    let is_begun = outcome.is_ok() || !log.is_empty();
    let changes = present.filter(|_| is_begun).map(|present| present.changes_to(&settings)).unwrap_or_default();
    let about = json!({"address": settings.address(), "settings": {"changed": changes}});
    report(&log, &changes, &about, options.diff, options.output.format)?;
    if outcome.is_ok() && !options.diff {
        output::print_note!("note: clusters ask the update service at {}", settings.address());
    }
    exit_code(outcome.map_err(Into::into))
}

/// Carries out `clearway uninstall update-service`.
pub(super) fn uninstall(options: &UninstallUpdateService, connection: &ClusterConnection) -> Result<Exit> {
    let (runtime, cluster, catalog) = connect(connection)?;
    let place = InstallTarget { cluster: &cluster, catalog: &catalog };
    let mut log = Vec::new();
    let outcome =
        runtime.block_on(apply::uninstall_update_service(&place, &options.namespace, options.dry_run, &mut log));
    report(&log, &[], &json!({}), options.dry_run, options.output.format)?;
    exit_code(outcome.map_err(Into::into))
}

fn print_warnings(settings: &UpdateServiceSettings) {
    for warning in settings.warnings() {
        output::print_note!("warning: {warning}");
    }
}

/// The settings that are given, over those of the present installation, over the defaults.
fn settings(options: &InstallUpdateService, present: Option<&CurrentUpdateService>) -> Result<UpdateServiceSettings> {
    let usual = UpdateServiceSettings { namespace: options.namespace.clone(), ..UpdateServiceSettings::default() };
    let before = present.filter(|_| !options.unset.iter().any(|name| name == UNSET_ALL));
    let mut settings = before.map_or(usual, |present| present.settings.clone());
    options.unset.iter().for_each(|name| settings.unset(name));
    if let Some(graph) = &options.graph {
        let Some(image) = graph.image() else {
            bail!(
                "--graph {graph}: pods read graph-data from a registry (oci://HOST/PATH:TAG); for a directory, pack it into a \
                 ConfigMap and pass --graph-config-map, as the examples of --help show"
            );
        };
        (settings.graph, settings.graph_config_map) = (Some(image.to_owned()), None);
    }
    if let Some(name) = &options.graph_config_map {
        (settings.graph, settings.graph_config_map) = (None, Some(name.clone()));
    }
    settings.registry_secret = options.registry_secret.clone().or(settings.registry_secret);
    if let Some(image) = &options.image {
        settings.image.clone_from(image);
    }
    settings.options.extend(options.service.given.clone());
    let has_source =
        settings.graph.is_some() || settings.graph_config_map.is_some() || settings.options.contains_key("upstream");
    if !has_source {
        bail!(
            "nothing to serve: pass --graph oci://HOST/PATH:TAG, --graph-config-map NAME, or --upstream URL to mirror another \
             update service"
        );
    }
    check(&settings)?;
    Ok(settings)
}

/// Reads the command line as the service will, so that a wrong setting is found before it is installed.
fn check(settings: &UpdateServiceSettings) -> Result<()> {
    let read = read_serve(&arguments(settings));
    read.map(drop).map_err(|error| {
        let error = error.to_string();
        let why = error.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        anyhow!("the update service would not start with these settings: {why}; --unset NAME resets a setting")
    })
}
