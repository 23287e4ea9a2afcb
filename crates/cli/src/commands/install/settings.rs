//! The settings of an installation: from options, from the installed operator, or defaults.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use clearway_bundle::Channel;
use clearway_operator::install::apply::CurrentInstallation;
use clearway_operator::install::{MetricsExposure, ReleaseKeys, Settings, operator_arguments};
use clearway_sources::release::Key;

use crate::arguments::{self, GatewayStatusOptions, Install, UNSET_ALL, is_operator_option, read_operator};

/// The settings that are given, over those of the present installation, over the defaults. `keys` are those of the
/// files that the options name.
pub(super) fn settings(
    options: &Install,
    keys: ReleaseKeys,
    present: Option<&CurrentInstallation>,
) -> Result<Settings> {
    let usual = Settings { namespace: options.namespace.clone(), ..Settings::new(Channel::Standard) };
    let before = present.map_or(&usual, |present| &present.settings);
    let mut settings = if options.unset.iter().any(|name| name == UNSET_ALL) { usual.clone() } else { before.clone() };
    options.unset.iter().for_each(|name| settings.unset(name));
    // An option of another version would keep the operator from starting.
    settings.more.retain(|name, _| is_operator_option(name));
    if let Some(channel) = options.channel {
        settings.channel = match channel {
            arguments::Channel::Standard => Channel::Standard,
            arguments::Channel::Experimental => Channel::Experimental,
        };
    }
    if let Some(metrics) = options.metrics {
        settings.metrics = match metrics {
            arguments::Metrics::Loopback => MetricsExposure::Loopback,
            arguments::Metrics::Authenticated => MetricsExposure::Authenticated,
        };
    }
    if let Some(image) = &options.image {
        settings.image.clone_from(image);
    }
    settings.upstream = options.upstream.clone().or(settings.upstream);
    settings.prometheus = options.prometheus.clone().or(settings.prometheus);
    settings.more.extend(options.operator.given.clone());
    settings.gateway_status.extend(gateway_status(&options.gateway));
    settings.policies.extend(options.policies.given.clone());
    settings.apply_updates |= options.apply_updates;
    if replaces_keys(options) {
        settings.release_keys = keys;
    }
    check_signatures(options, before, &settings)?;
    check_operator(&settings)?;
    Ok(settings)
}

/// Whether the options say which keys there are, or that there are none.
fn replaces_keys(options: &Install) -> bool {
    !options.release_key.is_empty() || options.allow_unsigned_releases
}

/// Whether the keys of the present installation are needed.
pub(super) fn needs_current_keys(options: &Install) -> bool {
    let drops = |name: &String| [UNSET_ALL, "apply-updates", "release-key"].contains(&name.as_str());
    !replaces_keys(options) && !options.unset.iter().any(drops)
}

/// The keys in the files that are named; none if no file is.
pub(super) fn keys_from_files(options: &Install) -> Result<ReleaseKeys> {
    let mut release_keys = ReleaseKeys::default();
    for file in &options.release_key {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        release_keys.add(&name, public_keys(file)?);
    }
    Ok(release_keys)
}

/// Applying unsigned releases needs an explicit flag, and keys without applying updates are a mistake.
fn check_signatures(options: &Install, before: &Settings, settings: &Settings) -> Result<()> {
    if !settings.apply_updates && replaces_keys(options) {
        bail!("--release-key and --allow-unsigned-releases need --apply-updates");
    }
    let was_unsigned = before.apply_updates && before.release_keys.is_empty();
    let is_decided = !settings.release_keys.is_empty() || options.allow_unsigned_releases || was_unsigned;
    if settings.apply_updates && !is_decided {
        bail!("--apply-updates needs --release-key FILE, or --allow-unsigned-releases to apply unsigned releases");
    }
    Ok(())
}

/// Reads the operator's command line as the operator will, so that a wrong setting is found before it is installed.
fn check_operator(settings: &Settings) -> Result<()> {
    let read = |arguments: &[String]| {
        read_operator(arguments).map_err(|error| {
            let error = error.to_string();
            let why = error.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            anyhow!("the operator would not start with these settings: {why}; --unset NAME resets a setting")
        })
    };
    let operator = read(&operator_arguments(settings))?;
    if !settings.gateway_status.is_empty() {
        read(&clearway_operator::install::gateway_status::arguments(settings))?;
    }
    if !settings.policies.is_empty() {
        read(&clearway_operator::install::policies::arguments(settings))?;
    }
    operator.queries.fence().map(drop)
}

/// The options of the Deployment that writes the status of Gateway API objects, as far as they are given.
fn gateway_status(options: &GatewayStatusOptions) -> BTreeMap<String, Vec<String>> {
    let mut given = BTreeMap::new();
    let class = options.gateway_class.iter().cloned().collect::<Vec<_>>();
    let features =
        if options.supported_features.is_empty() { vec![] } else { vec![options.supported_features.join(",")] };
    for (name, values) in [
        ("gateway-class", class),
        ("address", options.address.clone()),
        ("unusable-address", options.unusable_address.clone()),
        ("supported-features", features),
    ] {
        if !values.is_empty() {
            given.insert(name.to_owned(), values);
        }
    }
    if options.assume_programmed {
        given.insert("assume-programmed".to_owned(), Vec::new());
    }
    given
}

/// The options that are not given, and whose values are those of the present installation.
pub(super) fn reused_settings(
    options: &Install,
    present: Option<&CurrentInstallation>,
    settings: &Settings,
) -> Vec<String> {
    let Some(present) = present else { return Vec::new() };
    let given = [
        ("apply-updates", options.apply_updates),
        ("channel", options.channel.is_some()),
        ("image", options.image.is_some()),
        ("metrics", options.metrics.is_some()),
        ("prometheus", options.prometheus.is_some()),
        ("release-key", replaces_keys(options)),
        ("upstream", options.upstream.is_some()),
    ];
    let gateway = gateway_status(&options.gateway);
    let is_given = |name: &str| {
        given.contains(&(name, true))
            || options.operator.given.contains_key(name)
            || options.policies.given.contains_key(name)
            || gateway.contains_key(name)
    };
    let (usual, before) = (Settings::new(Channel::Standard).shown(), present.settings.shown());
    let shown = settings.shown().into_iter();
    let kept = shown.filter(|(name, value)| before.get(name) == Some(value) && usual.get(name) != Some(value));
    kept.map(|(name, _)| name).filter(|name| !is_given(name)).collect()
}

/// A file of public keys, as text. Everybody in the cluster may read them, so a private key is refused.
fn public_keys(file: &Path) -> Result<String> {
    Key::file(file)?;
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    if text.contains("PRIVATE KEY") {
        bail!("{} contains a private key; pass a file with public keys only", file.display());
    }
    Ok(text)
}
