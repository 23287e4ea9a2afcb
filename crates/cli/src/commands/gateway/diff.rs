//! `clearway gateway diff`: what a change does to routes and to their traffic.

use std::fmt::Write as _;

use anyhow::Result;
use clearway_gateway::difference::{Difference, Effect, differences};

use super::input::GatewayObjects;
use super::settings::{evaluate_with, settings};
use crate::arguments::GatewayDiff;
use crate::exit::Exit;
use crate::output;

/// Runs the command.
pub(super) async fn run(options: &GatewayDiff) -> Result<Exit> {
    let mut before = GatewayObjects::default();
    if options.base.is_empty() {
        before.read_cluster(&options.connection).await?;
    } else {
        before.read_files(&options.base, options.max_file_size)?;
    }
    let mut after = GatewayObjects {
        is_cluster: before.is_cluster,
        without_secrets: before.without_secrets,
        ..GatewayObjects::default()
    };
    if !options.whole {
        after.objects.clone_from(&before.objects);
    }
    let mut change = GatewayObjects::default();
    change.read_files(&options.files, options.max_file_size)?;
    after.objects.extend(std::mem::take(&mut change.objects));
    // Both are judged alike: what is assumed depends on where the objects as they are come from.
    let settings = settings(&options.implementation, &before)?;
    let found = differences(&evaluate_with(settings.clone(), &before), &evaluate_with(settings, &after));
    output::print_data(options.output.format, &found, || found.iter().map(lines).collect::<Vec<String>>().concat())?;
    before.print_problems();
    change.print_problems();
    let is_worse = found
        .iter()
        .any(|one| one.effect == Effect::StopsBeingAccepted || one.traffic.iter().any(|change| change.worse));
    if options.output.format.is_text() {
        let count = |effect: Effect| found.iter().filter(|one| one.effect == effect).count();
        output::print_note!(
            "{} stop being accepted, {} start, {} change otherwise",
            count(Effect::StopsBeingAccepted),
            count(Effect::StartsBeingAccepted),
            count(Effect::Changes)
        );
    }
    Ok(match (before.is_incomplete() || change.is_incomplete(), is_worse) {
        (true, _) => Exit::CouldNotRun,
        (false, true) => Exit::No,
        (false, false) => Exit::Yes,
    })
}

fn lines(difference: &Difference) -> String {
    let mut out = format!("{} {}\n", difference.object, difference.effect.as_str());
    for condition in &difference.conditions {
        _ = writeln!(out, "  {condition}");
    }
    for change in &difference.traffic {
        _ = writeln!(out, "  traffic of {} ({})", change.rule, change.requests);
        for line in &change.before {
            _ = writeln!(out, "    - {line}");
        }
        for line in &change.after {
            _ = writeln!(out, "    + {line}");
        }
    }
    out
}
