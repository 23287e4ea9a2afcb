//! `--watch`: watches an object until the requested update completes or fails, or a time limit passes.
//!
//! On a terminal a progress bar shows what is done and waited for; elsewhere each change is a line, and so is every minute without one.

mod progress_bar;

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clearway_core::{Timestamp, humanize};
use clearway_sources::clock;
use clearway_sources::store::{Store, StoreEvent};
use serde_json::{Value, json};

use super::object::{FetchedObject, Subject};
use super::status_summary::{State, StatusSummary, summarize};
use crate::arguments::{DataFormat, WatchOptions};
use crate::exit::Exit;
use crate::output::{self, printable};
use progress_bar::{UpdateProgress, WatchBar};

/// How often the clocks are looked at.
const TICK: Duration = Duration::from_secs(1);
/// How often something is printed although nothing changed.
const HEARTBEAT: Duration = Duration::from_mins(1);

/// What is known so far.
struct Watch<'a> {
    subject: &'a Subject,
    options: &'a WatchOptions,
    /// The request that is followed, as it is stored; nothing follows whatever is asked for.
    wanted: Option<&'a Value>,
    format: DataFormat,
    bar: WatchBar,
    started: Timestamp,
    seen: Option<StatusSummary>,
    /// Since when it has been bad.
    bad: Option<Timestamp>,
    shown: Option<(String, Timestamp)>,
    /// Why nothing can be seen at the moment.
    trouble: Option<String>,
}

/// Prints one line of a stream of events.
pub(super) fn emit(name: &str, data: &Value) -> Result<()> {
    let mut event = json!({"event": name, "time": clock::now()});
    if let (Value::Object(event), Value::Object(data)) = (&mut event, data) {
        event.extend(data.clone());
    }
    Ok(crate::output::print_event(&event)?)
}

/// Follows an object. 0: what was asked for is there; 1: it failed, or something else is asked for by now; 2: not yet; 3:
/// nothing could be seen.
pub(super) async fn run<S: Store>(
    store: &S,
    subject: &Subject,
    options: &WatchOptions,
    wanted: Option<&Value>,
    format: DataFormat,
) -> Result<Exit> {
    let mut watch = Watch {
        subject,
        options,
        wanted,
        format,
        bar: WatchBar::new(),
        started: clock::now(),
        seen: None,
        bad: None,
        shown: None,
        trouble: None,
    };
    let key = subject.key();
    let mut seen = store.follow(&key.kind, BTreeSet::from([key.name.clone()])).await?;
    let mut tick = tokio::time::interval(TICK);
    let interrupted = tokio::signal::ctrl_c();
    tokio::pin!(interrupted);
    loop {
        tokio::select! {
            one = seen.recv() => match one {
                Some(StoreEvent::Object(raw)) => {
                    if let Some(exit) = watch.apply_object(*raw)? {
                        return Ok(exit);
                    }
                }
                Some(StoreEvent::Gone { .. }) => return Err(subject.missing()),
                Some(StoreEvent::Trouble { error }) => {
                    watch.trouble = Some(printable(&error.to_string()));
                    watch.show(clock::now())?;
                }
                None => anyhow::bail!("the watch of {key} was closed"),
            },
            _ = tick.tick() => {
                if let Some(exit) = watch.check_time_limits()? {
                    return Ok(exit);
                }
            }
            ended = &mut interrupted => {
                ended.context("cannot wait for Ctrl-C")?;
                watch.bar.clear();
                output::print_note!("stopped watching; the update continues");
                return watch.end(Exit::Unknown);
            }
        }
    }
}

impl Watch<'_> {
    fn apply_object(&mut self, raw: Value) -> Result<Option<Exit>> {
        let (found, _) = FetchedObject::read(raw)?;
        self.trouble = None;
        if let Some(wanted) = self.wanted {
            let now = &found.raw["spec"]["desiredUpdate"];
            if ["architecture", "version", "image"].iter().any(|field| now[field] != wanted[field]) {
                self.bar.clear();
                let asked = match now["version"].as_str().filter(|text| !text.is_empty()).or(now["image"].as_str()) {
                    Some(other) => format!("{} has been requested instead", printable(other)),
                    None => "the request was cancelled".to_owned(),
                };
                output::print_note!("stopped watching: {asked}");
                self.seen = Some(summarize(&found, self.subject));
                return self.end(Exit::No).map(Some);
            }
        }
        let (standing, now) = (summarize(&found, self.subject), clock::now());
        let bad = standing.state.is_bad();
        self.bad = if bad { self.bad.or(Some(now)) } else { None };
        let end = match standing.state {
            State::Current => Some(Exit::Yes),
            _ if standing.is_final => Some(Exit::No),
            _ => None,
        };
        self.seen = Some(standing);
        self.show(now)?;
        end.map(|exit| self.end(exit)).transpose()
    }

    fn check_time_limits(&mut self) -> Result<Option<Exit>> {
        let now = clock::now();
        if let Some(since) = self.bad
            && self.trouble.is_none()
            && now.since(since) >= self.options.patience
        {
            self.bar.clear();
            output::print_problem!("failing for {} (--patience)", humanize(now.since(since)));
            return self.end(Exit::No).map(Some);
        }
        if now.since(self.started) >= self.options.timeout {
            self.bar.clear();
            output::print_problem!(
                "timed out after {} (--timeout); the update continues",
                humanize(self.options.timeout)
            );
            return self.end(if self.seen.is_some() { Exit::Unknown } else { Exit::CouldNotRun }).map(Some);
        }
        self.show(now)?;
        Ok(None)
    }

    /// Says how far it is, if that is new or long ago.
    fn show(&mut self, now: Timestamp) -> Result<()> {
        let text = match (&self.trouble, &self.seen) {
            (Some(why), _) => format!("cannot read the object, trying again: {why}"),
            (None, Some(StatusSummary { headline, message, .. })) if message.is_empty() => headline.clone(),
            (None, Some(StatusSummary { headline, message, .. })) => {
                format!("{headline}: {}", message.replace('\n', " "))
            }
            // The first word waits for a moment: mostly there is something to say then.
            (None, None) if now.since(self.started) < 2 * TICK => return Ok(()),
            (None, None) => format!("waiting for {}", self.subject.key()),
        };
        let is_live = self.format.is_text() && self.bar.is_live();
        let mut text = text;
        if is_live {
            let seen = self.seen.as_ref().filter(|_| self.trouble.is_none());
            let progress = seen.and_then(|standing| UpdateProgress::read(&standing.message));
            self.bar.set(progress.as_ref(), &text);
            // The bar has the numbers; a line stays for every change of the state.
            if let (Some(_), Some(standing)) = (&progress, seen) {
                text.clone_from(&standing.headline);
            }
        }
        let news = self.shown.as_ref().is_none_or(|(shown, _)| *shown != text);
        let quiet = self.shown.as_ref().is_some_and(|(_, at)| now.since(*at) >= HEARTBEAT);
        if !news && (!quiet || is_live) {
            return Ok(());
        }
        match (self.format, &self.seen) {
            (DataFormat::Json, Some(standing)) if self.trouble.is_none() => emit("progress", &as_json(standing))?,
            (DataFormat::Json, _) => emit("trouble", &json!({"why": text}))?,
            (_, _) => self.bar.print_above(&text),
        }
        self.shown = Some((text, now));
        Ok(())
    }

    /// The last word, on standard output.
    fn end(&mut self, exit: Exit) -> Result<Exit> {
        self.bar.clear();
        let Some(standing) = &self.seen else { return Ok(exit) };
        match self.format {
            DataFormat::Json => emit("end", &as_json(standing))?,
            format => output::print_data(format, &as_json(standing), || {
                self.subject.document(format!("{}.", standing.headline))
            })?,
        }
        Ok(exit)
    }
}

fn as_json(standing: &StatusSummary) -> Value {
    json!({"state": standing.state, "headline": standing.headline, "message": standing.message, "advice": standing.advice})
}
