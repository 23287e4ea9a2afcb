//! From arguments to the settings of the engine, and from objects to an engine.

use anyhow::{Context as _, Result, bail};
use clearway_gateway::model::{Address, Name};
use clearway_gateway::settings::{Knowledge, Specification};
use clearway_gateway::{Change, Engine, ObjectKind, Settings};

use super::input::GatewayObjects;
use crate::arguments::{Implementation, SpecificationChoice};

/// The controller that is named for classes that are not among the objects.
pub(super) const ASSUMED_CONTROLLER: &str = clearway_operator::gateway_status::CONTROLLER;

/// The settings that arguments ask for.
pub(super) fn settings(implementation: &Implementation, gathered: &GatewayObjects) -> Result<Settings> {
    let mut settings = Settings {
        specification: match implementation.specification {
            SpecificationChoice::Current => Specification::Current,
            SpecificationChoice::Gep1364 => Specification::Gep1364,
        },
        bundle_version: implementation.bundle_version,
        ready: implementation.ready,
        addresses: implementation.address.iter().map(|value| address(value)).collect(),
        unusable_addresses: implementation.unusable_address.iter().map(|value| value.as_str().into()).collect(),
        controller: implementation.controller.as_deref().map(Name::from),
        // Manifests rarely have the class: it comes with the implementation.
        assumed_controller: (!gathered.is_cluster).then(|| ASSUMED_CONTROLLER.into()),
        secrets: if gathered.without_secrets { Knowledge::Unknown } else { Knowledge::Complete },
        endpoints: if gathered.is_cluster { Knowledge::Complete } else { Knowledge::IfAny },
        ..Settings::default()
    };
    if !implementation.supported_features.is_empty() {
        settings.features = Some(implementation.supported_features.iter().map(|name| name.as_str().into()).collect());
    }
    settings.capacity.gateways = implementation.max_gateways;
    settings.capacity.listeners = implementation.max_listeners;
    for (texts, kinds) in [
        (&implementation.backend_kind, &mut settings.backend_kinds),
        (&implementation.extension_kind, &mut settings.extension_kinds),
    ] {
        for text in texts {
            let Some((group, kind)) = text.rsplit_once('/') else {
                bail!("`{text}` is not GROUP/KIND, such as example.com/Backend");
            };
            kinds.insert(ObjectKind::new(group, kind));
        }
    }
    for choice in &implementation.choice {
        let (name, value) = choice.split_once('=').with_context(|| format!("`{choice}` is not NAME=VALUE"))?;
        settings.choices.set(name, value)?;
    }
    Ok(settings)
}

/// An address as it is given: an IP address or a hostname.
pub(crate) fn address(value: &str) -> Address {
    let kind = if value.parse::<std::net::IpAddr>().is_ok() { "IPAddress" } else { "Hostname" };
    Address { kind: kind.into(), value: value.into() }
}

/// Computes the status of objects.
pub(super) fn evaluate(implementation: &Implementation, gathered: &GatewayObjects) -> Result<Engine> {
    Ok(evaluate_with(settings(implementation, gathered)?, gathered))
}

/// Computes the status of objects under given settings.
pub(super) fn evaluate_with(settings: Settings, gathered: &GatewayObjects) -> Engine {
    let mut engine = Engine::new(settings);
    for object in gathered.objects.values() {
        engine.apply(Change::Put(Box::new(object.clone())));
    }
    engine.evaluate();
    engine
}
