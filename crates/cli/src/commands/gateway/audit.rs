//! `clearway gateway audit`: published status against computed status, and the findings of the linter.

use std::collections::BTreeSet;

use anyhow::Result;
use clearway_conditions::lint::{self, Policy};
use clearway_core::diagnostic::sarif::Rule;
use clearway_gateway::audit::{RULES, audit};
use clearway_gateway::model::Body;
use clearway_gateway::settings::UnknownKinds;
use clearway_sources::clock;

use super::input::Gathered;
use super::settings::{evaluate_with, settings};
use crate::arguments::GatewayAudit;
use crate::exit::Exit;
use crate::findings::Findings;

/// Runs the command.
pub(super) async fn run(options: &GatewayAudit) -> Result<Exit> {
    let mut gathered =
        Gathered { policy: Some(Policy::new(options.time.now.unwrap_or_else(clock::now))), ..Gathered::default() };
    if let Some(path) = &options.snapshot {
        gathered.read_snapshot(path)?;
    } else if options.input.files.is_empty() {
        gathered.read_cluster(&options.input.connection).await?;
    } else {
        gathered.read_files(&options.input.files, options.input.max_file_size)?;
    }
    let mut settings = settings(&options.implementation, &gathered)?;
    // Other implementations have extensions of their own, and list their features in the class.
    settings.unknown_kinds = UnknownKinds::Assumed;
    settings.features_of_class = settings.features.is_none();
    settings.assumed_controller = None;
    let engine = evaluate_with(settings, &gathered);
    let controllers: BTreeSet<&str> = gathered
        .objects
        .values()
        .filter_map(|object| match &object.body {
            Body::GatewayClass(class) => Some(&*class.controller),
            _ => None,
        })
        .filter(|name| options.implementation.controller.as_ref().is_none_or(|wanted| wanted == name))
        .collect();
    let is_ours = |name: &str| controllers.contains(name);
    let mut rules = lint::sarif_rules();
    rules.extend(RULES.iter().map(|(code, _, about)| Rule { code, title: about, why: about, text: about }));
    let mut findings = Findings::new(options.output.format, "object");
    findings.begin(&rules)?;
    for problem in &gathered.problems {
        findings.add(problem)?;
    }
    for (key, object) in &gathered.objects {
        let computed = engine.status(key);
        findings.checked += usize::from(computed.is_some());
        let published = gathered.published.get(key).cloned().unwrap_or_default();
        for finding in audit(object, computed.as_ref(), &published, &is_ours) {
            findings.add(&finding)?;
        }
    }
    for finding in &gathered.findings {
        findings.add(finding)?;
    }
    findings.end()
}
