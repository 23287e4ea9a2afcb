//! `clearway upgrade status`: the state of the current update, and what to do.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use clearway_conditions::Condition;
use clearway_core::{Timestamp, humanize};
use clearway_sources::clock;
use clearway_sources::store::Store;
use serde_json::json;

use crate::arguments::{DataFormat, UpgradeStatus};
use crate::commands::upgrade::condition_text::{ConditionJson, indented, left_out};
use crate::commands::upgrade::follow;
use crate::commands::upgrade::object::{FetchedObject, Subject};
use crate::commands::upgrade::request::accept;
use crate::commands::upgrade::status_summary::{StatusSummary, entry_name, summarize};
use crate::exit::Exit;
use crate::output::{self, Document, printable};

/// Runs the command.
pub(crate) async fn run<S: Store>(
    store: &S,
    subject: &Subject,
    options: &UpgradeStatus,
    format: DataFormat,
) -> Result<Exit> {
    if options.following.watch {
        if options.time.now.is_some() {
            bail!("--now cannot be used with --watch");
        }
        return follow::run(store, subject, &options.following, None, format).await;
    }
    let found = subject.fetch(store).await?;
    let (now, standing) = (options.time.now.unwrap_or_else(clock::now), summarize(&found, subject));
    let mut data = json!({
        "object": subject,
        "state": standing.state,
        "headline": standing.headline,
        "message": standing.message,
        "advice": standing.advice,
        "version": found.status.desired.version,
        "image": found.status.desired.image,
        "conditions": ConditionJson::all(&found.status.conditions),
        "acceptedRisks": accept::as_json(&found.object.spec, now),
    });
    let left_out = left_out(&found.status.conditions);
    if !left_out.is_empty() {
        data["leftOut"] = left_out.into();
    }
    output::print_data(format, &data, || text(&found, &standing, now).named([subject.resource()]))?;
    Ok(standing.state.exit())
}

fn text(found: &FetchedObject, standing: &StatusSummary, now: Timestamp) -> Document {
    let StatusSummary { headline, message, advice, .. } = standing;
    let mut out = Document::from(format!("{headline}.\n"));
    if !message.is_empty() {
        let _ = writeln!(out, "  {}", indented(message, 2));
    }
    let since =
        |time: Timestamp| if time <= now { format!("{} ago", humanize(now.since(time))) } else { time.to_string() };
    if let Some(newest) = found.status.history.first() {
        let (what, began) = (entry_name(newest), since(newest.started_time));
        let _ = match newest.completion_time {
            Some(time) => {
                writeln!(out, "  {what} started {began} and took {}.", humanize(time.since(newest.started_time)))
            }
            None => writeln!(out, "  {what} started {began}."),
        };
    }
    let row = |condition: Condition<'_>| {
        let age = condition.last_transition_time.map_or_else(|| "-".to_owned(), |time| humanize(now.since(time)));
        let reason = if condition.reason.is_empty() { "-" } else { condition.reason };
        // One line each: the whole text is in the object.
        let message = printable(condition.message.trim().lines().next().unwrap_or_default());
        vec![condition.type_.to_owned(), condition.status.to_string(), age, reason.to_owned(), message]
    };
    let rows: Vec<_> = found.status.conditions.iter().map(row).collect();
    if !rows.is_empty() {
        out.push_text("\n");
        out.push_table(output::table(&["CONDITION", "STATUS", "SINCE", "REASON", "MESSAGE"], rows));
    }
    let left_out = left_out(&found.status.conditions);
    if !left_out.is_empty() {
        out.push_text("\nOmitted updates:\n");
        for message in left_out {
            let _ = writeln!(out, "  {}", indented(&message, 2));
        }
    }
    let accepted = accept::accepted(&found.object.spec);
    if !accepted.is_empty() {
        out.push_text("\nAccepted risks:\n");
        for risk in accepted {
            let until = match risk.until {
                Some(until) if accept::is_expired(&risk, now) => format!(", expired {until}"),
                Some(until) => format!(", until {until}"),
                None => String::new(),
            };
            let _ = writeln!(out, "  {}: {}{until}", printable(&risk.name), printable(&risk.reason));
        }
    }
    out.push_text("\nWhat to do:\n");
    for line in advice {
        let _ = writeln!(out, "  {line}");
    }
    out
}
