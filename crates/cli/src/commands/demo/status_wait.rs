//! Waiting for a status of the ClusterVersion, and printing its changes.

use std::time::Duration;

use anyhow::{Context as _, Result};
use clearway_conditions::Status as Word;
use clearway_update::api::{Kind, RECOMMENDED, SINGLETON, Status, UpdateState};

use super::narration::Narrator;
use super::stage::Stage;

/// How long anything of the demo may take, on a machine that is busy with other work.
const BOUND: Duration = Duration::from_mins(5);
/// How a sentence about a risk begins that was not evaluated yet.
const PENDING: &str = "Whether the cluster is impacted by";
/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(50);

impl Stage {
    /// Waits until the ClusterVersion says something.
    pub(super) async fn until(&self, what: &str, holds: impl Fn(&Status) -> bool) -> Result<Status> {
        let wait = async {
            loop {
                let status = self.next_status().await?;
                if holds(&status) {
                    return Some(status);
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        let waited = tokio::time::timeout(BOUND, wait).await;
        waited.ok().flatten().with_context(|| format!("timed out after {} s: {what}", BOUND.as_secs()))
    }

    /// The status as it was stored last, as soon as there is one.
    async fn next_status(&self) -> Option<Status> {
        let id = (Kind::ClusterVersion, SINGLETON.to_owned());
        let mut all = self.watched.clone();
        let seen = all.wait_for(|all| all.contains_key(&id)).await.ok()?.get(&id).cloned();
        let mut seen = seen?;
        let shown = seen.wait_for(Option::is_some).await.ok()?.clone()?;
        Some(Status::read(&shown.object["status"]).0.unwrap_or_default())
    }

    /// Tells of everything that happens, for ever.
    pub(super) async fn follow(&mut self, narrator: &mut Narrator) -> Result<()> {
        let mut before = self.until("the first status", |_| true).await?;
        loop {
            while let Ok(played) = self.played.try_recv() {
                narrator.say(&format!("{}: {}", played.key, played.said))?;
            }
            // Only when the operator stopped is there none any more.
            let Some(status) = self.next_status().await else { return Ok(()) };
            for line in news(&before, &status) {
                narrator.say(&line)?;
            }
            before = status;
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Tells of the steps of controllers, until the newest entry of the history is this version and complete.
    pub(super) async fn rolled_out(&mut self, narrator: &mut Narrator, version: &str) -> Result<Status> {
        self.until("the start of the update", |status| at(status).0 == version).await?;
        narrator.say(&format!("the history has an entry for {version}"))?;
        let wait = async {
            loop {
                let status = self.next_status().await.context("the operator stopped")?;
                // Earlier steps were printed before.
                while let Ok(played) = self.played.try_recv() {
                    narrator.say(&format!("{}: {}", played.key, played.said))?;
                }
                if at(&status) == (version, UpdateState::Completed) {
                    narrator.say(&format!("history: {version} {}", UpdateState::Completed.as_str()))?;
                    return Ok(status);
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::time::timeout(BOUND, wait)
            .await
            .with_context(|| format!("timed out after {} s: the update to {version}", BOUND.as_secs()))?
    }
}

/// The newest entry of the history.
fn at(status: &Status) -> (&str, UpdateState) {
    status.history.first().map_or(("", UpdateState::Partial), |entry| (entry.version.as_str(), entry.state))
}

/// What is said of an update: recommended, not, or unknown, with the reason; nothing if it is not known at all.
pub(super) fn advice(status: &Status, version: &str) -> Option<(Word, String)> {
    let conditional = status.conditional_updates.iter().find(|update| update.release.version == version);
    if let Some(condition) = conditional.and_then(|update| update.conditions.get(RECOMMENDED)) {
        return Some((condition.status, condition.reason.to_owned()));
    }
    let available = status.available_updates.iter().any(|release| release.version == version);
    available.then(|| (Word::True, "NoKnownRisks".to_owned()))
}

/// Whether nothing is left to be evaluated.
pub(super) fn is_settled(status: &Status) -> bool {
    let mut said = status.conditional_updates.iter().map(|update| update.conditions.get(RECOMMENDED));
    !status.available_updates.is_empty()
        && said.all(|said| said.is_some_and(|condition| !condition.message.contains(PENDING)))
}

/// The same as a line.
pub(super) fn line(status: &Status, version: &str) -> String {
    match advice(status, version) {
        Some((Word::True, reason)) => format!("{version}: recommended ({reason})"),
        Some((Word::False, reason)) => format!("{version}: not recommended ({reason})"),
        Some((Word::Unknown, reason)) => format!("{version}: unknown ({reason})"),
        None => format!("{version}: not offered any more"),
    }
}

/// What the condition of an update says in full.
pub(super) fn message(status: &Status, version: &str) -> String {
    let conditional = status.conditional_updates.iter().find(|update| update.release.version == version);
    let condition = conditional.and_then(|update| update.conditions.get(RECOMMENDED));
    condition.map(|condition| condition.message.to_owned()).unwrap_or_default()
}

/// What is new in a status, a line each.
fn news(before: &Status, after: &Status) -> Vec<String> {
    let mut lines = Vec::new();
    let says = |status: &Status, name: &str| {
        status.conditions.get(name).map(|condition| (condition.status, condition.message.to_owned()))
    };
    let (was, is) = (says(before, "RetrievedUpdates"), says(after, "RetrievedUpdates"));
    if was.as_ref().map(|was| was.0) != is.as_ref().map(|is| is.0) {
        match is {
            Some((Word::True, _)) => lines.push("the update service answers".to_owned()),
            Some((_, message)) => lines.push(format!("the update service: {message}")),
            None => {}
        }
    }
    let versions = |status: &Status| {
        let available = status.available_updates.iter().map(|release| release.version.clone());
        let conditional = status.conditional_updates.iter().map(|update| update.release.version.clone());
        available.chain(conditional).collect::<std::collections::BTreeSet<String>>()
    };
    // Another version has other updates, and a list of them all is what `clearway upgrade` is for.
    if before.desired.version == after.desired.version {
        let all = versions(before).union(&versions(after)).cloned().collect::<Vec<String>>();
        for version in all.iter().filter(|version| advice(before, version) != advice(after, version)) {
            lines.push(line(after, version));
        }
    }
    for name in ["Failing", "Invalid", "Progressing"] {
        let is = says(after, name);
        if let Some((Word::True, message)) = is.clone().filter(|_| is != says(before, name)) {
            lines.push(message);
        }
    }
    let (_, state) = at(after);
    if at(before) != at(after) {
        lines.push(format!("history: {} {}", at(after).0, state.as_str()));
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status(text: &serde_json::Value) -> Status {
        Status::read(text).0.unwrap()
    }

    #[test]
    fn only_what_changes_is_told() {
        let conditional = |word: &str, reason: &str| {
            json!([{
                "release": {"version": "1.5.2", "image": "i"}, "risks": [],
                "conditions": [{
                    "type": "Recommended", "status": word, "reason": reason, "message": "M",
                    "lastTransitionTime": "2026-05-04T09:00:00Z",
                }],
            }])
        };
        let known = json!({
            "desired": {"version": "1.4.2", "image": "i"},
            "availableUpdates": [{"version": "1.4.3", "image": "j"}],
            "conditionalUpdates": conditional("True", "AsExpected"),
        });
        let before = status(&known);
        assert_eq!(news(&before, &before), Vec::<String>::new());
        let mut later = known.clone();
        later["conditionalUpdates"] = conditional("Unknown", "PromQLError");
        assert_eq!(news(&before, &status(&later)), ["1.5.2: unknown (PromQLError)"]);
        let mut gone = known.clone();
        gone["availableUpdates"] = json!(null);
        assert_eq!(news(&before, &status(&gone)), ["1.4.3: not offered any more"]);
        let mut updating = known;
        updating["history"] = json!([{
            "state": "Partial", "version": "1.4.3", "image": "j", "verified": false, "completionTime": null,
            "startedTime": "2026-05-04T09:00:00Z",
        }]);
        assert_eq!(news(&before, &status(&updating)), ["history: 1.4.3 Partial"]);
    }
}
