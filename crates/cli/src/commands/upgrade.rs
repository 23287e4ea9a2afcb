//! `clearway upgrade`: lists, requests and watches updates of a `ClusterVersion` or a `ComponentVersion`.
//!
//! Everything is read from the object that the operator keeps current, and asked for by patching its spec; so it works
//! with OpenShift's own operator too, and in the state directory of the embedded mode. Only the fields that change are
//! patched: newer clients may have put more into the object (U22). The words are those that users of `oc adm upgrade`
//! know; where something is done otherwise it is said there.
//!
//! # The JSON
//!
//! Fields that say nothing are left out. `object` is always `{kind, name}`, a `statement` is
//! `{status: True|False|Unknown, reason, message}`.
//!
//! ```text
//! upgrade            object, version, image, upstream, channel, channels[]
//!                    current      bool: what is said about updates is what the update service says now
//!                    conditions[] {type, status, reason, message, since}, those that people are shown
//!                    updates[]    by decreasing version: version, image, url, recommended: statement, risks[]: names
//!                    leftOut[]    sentences: updates that the graph or the status has no room for, and why
//! upgrade --to ...   object, action: requested|requestedAgain|alreadyThere, update {architecture, version, image, force},
//!                    warnings[]
//! upgrade --clear    object, action: cleared|cancelled|nothingToClear, version, image
//! channel            object, channel, channels[]; when set also action: set|cleared|unchanged
//! accept             object, acceptedRisks[] {name, reason, until, ended}; when changed also action: changed|unchanged
//! status             object, state: current|updating|failing|stopped|unknown, headline, message, advice[], version,
//!                    image, conditions[], leftOut[]: sentences, acceptedRisks[]
//! history            a list of the entries of status.history
//! recommend          object, version, upstream, channel, channels[], recommended: version,
//!                    prechecks[] {name, result: passed|concern|unknown|notChecked, reason, message, accepted}
//!                    updates[]   by decreasing version: version, image, url, status: True|False|Unknown after --accept,
//!                                recommended: statement, doesNotApply[]: names of risks,
//!                                issues[] {name, verdict: applies|unknown, message, url, accepted}
//! plan               object, from, to, channel, status, ways[] {name: shortest|fewestRisks, status,
//!                    hops[] {from, to, provisional, basis: object|graph, recommended: statement,
//!                            risks[] {name, url, message, verdict}}}, exact
//! --watch            a line per event: {event: requested, time, and what upgrade --to has}, {event: progress, time, state,
//!                    headline, message, advice[]}, {event: trouble, time, why}, and last {event: end, and what progress has}
//! ```

mod condition_text;
mod follow;
pub(crate) mod object;
mod recommend;
pub(crate) mod request;
mod show;
mod status_summary;
mod store;
pub(crate) mod updates;

use anyhow::{Result, bail};
use clearway_sources::store::Store;

use crate::arguments::{Upgrade, UpgradeCommand, UpgradePlan, UpgradeRequest};
use crate::exit::Exit;
use crate::runtime;
use object::{FetchedObject, Subject};
use request::{accept, channel};
use show::{history, list, plan, status};
use store::UpgradeStore;

/// Runs the command.
pub(crate) fn run(options: &Upgrade) -> Result<Exit> {
    if options.command.is_some() && is_asking(&options.request) {
        bail!(
            "options that request an update cannot be used with a subcommand; put options of the subcommand after it"
        );
    }
    if options.request.following.watch && !is_target(&options.request) {
        bail!(
            "nothing to watch: use --watch with --to, --to-latest, --to-image or --to-multi-arch, or `upgrade status --watch`"
        );
    }
    let subject = Subject::of(&options.access);
    let next = runtime::block_on(async {
        match store::open(&options.access).await? {
            UpgradeStore::Cluster(store) => act(&*store, &subject, options).await,
            UpgradeStore::Directory(store) => act(&store, &subject, options).await,
        }
    })??;
    match next {
        Next::End(exit) => Ok(exit),
        Next::Plan(plan, found) => plan::run(plan, &subject, &found, options.access.format),
    }
}

/// What is left to do without a store.
enum Next<'o> {
    End(Exit),
    /// Opening the graph waits by itself, so nothing else may be waiting around it.
    Plan(&'o UpgradePlan, Box<FetchedObject>),
}

async fn act<'o, S: Store>(store: &S, subject: &Subject, options: &'o Upgrade) -> Result<Next<'o>> {
    let format = options.access.format;
    let exit = match &options.command {
        None if options.request.clear => request::clear(store, subject, format).await,
        None if is_target(&options.request) => request::update(store, subject, &options.request, format).await,
        None => list::run(&subject.fetch(store).await?, subject, options.request.include_not_recommended, format),
        Some(UpgradeCommand::Channel(channel)) => channel::run(store, subject, channel, format).await,
        Some(UpgradeCommand::Accept(accept)) => accept::run(store, subject, accept, format).await,
        Some(UpgradeCommand::Status(status)) => status::run(store, subject, status, format).await,
        Some(UpgradeCommand::History(history)) => history::run(&subject.fetch(store).await?, history, format),
        Some(UpgradeCommand::Recommend(recommend)) => {
            let found = subject.fetch(store).await?;
            recommend::run(&found, subject, recommend, options.access.state.as_deref(), format).await
        }
        Some(UpgradeCommand::Plan(plan)) => return Ok(Next::Plan(plan, Box::new(subject.fetch(store).await?))),
    };
    exit.map(Next::End)
}

fn is_target(request: &UpgradeRequest) -> bool {
    request.to.is_some() || request.to_latest || request.to_image.is_some() || request.to_multi_arch
}

fn is_asking(request: &UpgradeRequest) -> bool {
    is_target(request) || request.clear || request.include_not_recommended || request.following.watch
}
