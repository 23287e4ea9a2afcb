//! `clearway upgrade recommend`: whether to update now, and to which version, with the reasons.
//!
//! It has the flags of `oc adm upgrade recommend`. Unlike there, a risk of the graph is accepted by its own name, an update
//! that could not be evaluated is told from one that is not recommended, and there is JSON. Everything comes from the status
//! of the object and, if a metrics store is named, from the alerts that fire.

mod alerts;
mod judgement;
mod prechecks;
mod text;

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use clearway_conditions::Status as Word;
use clearway_core::{Address, Version};
use serde::Serialize;

use super::object::{FetchedObject, Subject};
use super::updates::known_updates;
use crate::arguments::{DataFormat, UpgradeRecommend};
use crate::exit::Exit;
use crate::output::{self, printable};
use judgement::JudgedUpdate;
use prechecks::{Precheck, PrecheckResult};

/// What is printed as JSON; the form is documented at the head of the module above.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Recommendation<'a> {
    object: &'a Subject,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream: Option<Address>,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<&'a str>,
    channels: &'a [String],
    prechecks: Vec<Precheck>,
    /// The newest version that nothing speaks against; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    recommended: Option<&'a str>,
    updates: Vec<JudgedUpdate<'a>>,
}

/// Runs the command.
pub(crate) async fn run(
    found: &FetchedObject,
    subject: &Subject,
    options: &UpgradeRecommend,
    state: Option<&Path>,
    format: DataFormat,
) -> Result<Exit> {
    let accepted: BTreeSet<&str> =
        options.accept.iter().map(|name| name.trim()).filter(|name| !name.is_empty()).collect();
    let mut prechecks = prechecks::of_conditions(&found.status.conditions);
    prechecks.extend(alerts::check(options, state).await?);
    for precheck in &mut prechecks {
        precheck.accepted = accepted.contains(precheck.name.as_str());
    }
    let known = known_updates(&found.status);
    let mut updates: Vec<JudgedUpdate<'_>> =
        known.iter().map(|known| judgement::judge(found, known, &accepted)).collect();
    let any_known = !updates.is_empty();
    if let Some(target) = &options.version {
        let target = target.without_build();
        updates
            .retain(|update| update.version.parse::<Version>().is_ok_and(|version| version.without_build() == target));
        if updates.is_empty() {
            output::print_problem!("{}", text::no_such_update(&target, any_known, subject));
            return Ok(Exit::No);
        }
    }
    let recommended = updates.iter().find(|update| update.status == Word::True).map(|update| update.version);
    let (spec, desired) = (&found.object.spec, &found.status.desired);
    let data = Recommendation {
        object: subject,
        version: &desired.version,
        upstream: spec.upstream.as_deref().map(Address::from),
        channel: spec.channel.as_deref(),
        channels: &desired.channels,
        prechecks,
        recommended,
        updates,
    };
    output::print_data(format, &data, || text::render(&data, subject, options))?;
    for name in unused(&accepted, &data) {
        output::print_problem!("warning: --accept {}: no such issue applies to this cluster", printable(name));
    }
    Ok(exit(&data))
}

/// The answer: whether nothing speaks against updating to one of the versions that are shown.
fn exit(data: &Recommendation<'_>) -> Exit {
    let says = |result: PrecheckResult| {
        data.prechecks.iter().any(|precheck| precheck.result == result && !precheck.accepted && precheck.concerns_all)
    };
    let any = |status: Word| data.updates.iter().any(|update| update.status == status);
    // Without any update the cluster is as new as it can be.
    let has_target = data.updates.is_empty() || any(Word::True);
    if says(PrecheckResult::Concern) || !(has_target || any(Word::Unknown)) {
        Exit::No
    } else if says(PrecheckResult::Unknown) || !has_target {
        Exit::Unknown
    } else {
        Exit::Yes
    }
}

/// Names of `--accept` that are not the name of anything that was found.
fn unused<'n>(accepted: &BTreeSet<&'n str>, data: &Recommendation<'_>) -> Vec<&'n str> {
    let prechecks = data.prechecks.iter().map(|precheck| precheck.name.as_str());
    let issues = data.updates.iter().flat_map(|update| &update.issues).map(|issue| issue.name.as_str());
    let known: BTreeSet<&str> = prechecks.chain(issues).chain([judgement::ALL_RISKS]).collect();
    accepted.iter().copied().filter(|name| !known.contains(name)).collect()
}
