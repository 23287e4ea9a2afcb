//! `clearway upgrade accept`: accepted risks in `spec.acceptedRisks`, each with a reason and an expiry.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, bail};
use clearway_core::{GroupVersionKind, ObjectReference, Timestamp};
use clearway_sources::clock;
use clearway_sources::store::{Part, Store, StoreError};
use clearway_update::api::{AcceptedRisk, Spec};
use serde_json::{Value, json};

use super::client::Client;
use crate::arguments::{DataFormat, End, UpgradeAccept};
use crate::commands::upgrade::object::{FetchedObject, Subject};
use crate::exit::Exit;
use crate::output::{self, Document, printable};

/// The annotation of a CRD that says which channel it is of.
const CHANNEL: &str = "clearway.dev/channel";
/// Number of attempts if another client changes the object at the same time.
const TRIES: usize = 20;
/// The longest name and reason that the CRD takes.
const LONGEST: (usize, usize) = (256, 4096);

/// What is to change.
#[derive(Debug)]
pub(crate) struct AcceptChange {
    add: Vec<AcceptedRisk>,
    remove: BTreeSet<String>,
    client: Client,
}

/// The accepted risks of an object after a change.
#[derive(Debug)]
pub(crate) struct AcceptResult {
    pub(crate) spec: Spec,
    /// Whether the object said so before.
    pub(crate) unchanged: bool,
    /// What the user should know.
    pub(crate) warnings: Vec<String>,
}

/// Runs the command.
pub(crate) async fn run<S: Store>(
    store: &S,
    subject: &Subject,
    options: &UpgradeAccept,
    format: DataFormat,
) -> Result<Exit> {
    let now = clock::now();
    if options.risks.is_empty() {
        return show(&subject.fetch(store).await?.object.spec, subject, None, now, format);
    }
    let reason = options.reason.as_deref().unwrap_or_default();
    let change = AcceptChange::read(&options.risks, reason, options.until, now)?;
    let AcceptResult { spec, unchanged, warnings } = change.make(store, subject).await?;
    for warning in warnings {
        output::print_problem!("warning: {warning}");
    }
    show(&spec, subject, Some(if unchanged { "unchanged" } else { "changed" }), now, format)
}

/// Refuses where the field would be dropped without a word.
async fn keeps<S: Store>(store: &S, subject: &Subject, client: Client) -> Result<()> {
    let crd = subject.kind().crd();
    let key = ObjectReference::cluster_scoped(
        GroupVersionKind::new("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        crd,
    );
    let instead = client.instead_of_accepting();
    let definition = match store.get(&key).await {
        Ok(Some(definition)) => definition,
        // A state directory has no definitions, and keeps everything.
        Ok(None) => return Ok(()),
        Err(error) => {
            let why = format!("cannot determine whether this cluster supports accepted risks ({instead})");
            return Err(error).context(why);
        }
    };
    match definition["metadata"]["annotations"][CHANNEL].as_str() {
        Some("experimental") => Ok(()),
        Some(channel) => bail!(
            "accepting risks by name needs the experimental channel of Clearway's CRDs, but {crd} is of the {} channel; {instead}, or run `clearway install --channel experimental`",
            printable(channel)
        ),
        None => bail!("{crd} does not belong to Clearway and does not support spec.acceptedRisks; {instead}"),
    }
}

impl AcceptChange {
    /// Reads names of risks to accept, or with a minus after the name not to accept any more.
    fn read(words: &[String], reason: &str, until: Option<End>, now: Timestamp) -> Result<Self> {
        let (mut add, mut remove) = (Vec::new(), BTreeSet::new());
        for word in words.iter().map(|word| word.trim()) {
            if let Some(name) = word.strip_suffix('-') {
                remove.insert(name.to_owned());
            } else {
                add.push(word.to_owned());
            }
        }
        Self::new(add, remove, reason, until, Client::CommandLine, now)
    }

    /// Checks which risks are accepted or not any more, why, and until when.
    pub(crate) fn new(
        names: Vec<String>,
        remove: BTreeSet<String>,
        reason: &str,
        until: Option<End>,
        client: Client,
        now: Timestamp,
    ) -> Result<Self> {
        let until = match until {
            None => None,
            Some(End::At(time)) if time <= now => bail!("{} {time} is in the past", client.end()),
            Some(End::At(time)) => Some(time),
            Some(End::After(duration)) => Some(now.plus(duration)),
        };
        if let Some(name) = names.iter().chain(&remove).find(|name| name.is_empty() || name.len() > LONGEST.0) {
            bail!("invalid risk name {name:?}: it must have 1 to {} characters", LONGEST.0);
        }
        if let Some(both) = names.iter().find(|name| remove.contains(*name)) {
            bail!("risks both added and removed: {both}");
        }
        let reason = reason.trim();
        if !names.is_empty() && (reason.is_empty() || reason.len() > LONGEST.1) {
            bail!("{} (1 to {} characters); it is recorded in the history", client.give_reason(), LONGEST.1);
        }
        let mut add = Vec::<AcceptedRisk>::new();
        for name in names {
            if !add.iter().any(|risk| risk.name == name) {
                add.push(AcceptedRisk { name, reason: reason.to_owned(), until });
            }
        }
        Ok(AcceptChange { add, remove, client })
    }

    /// Makes the change, again and again while others change the object at the same time.
    pub(crate) async fn make<S: Store>(&self, store: &S, subject: &Subject) -> Result<AcceptResult> {
        keeps(store, subject, self.client).await?;
        for _ in 0..TRIES {
            let (found, mut warnings) = subject.read(store).await?;
            let before = found.raw["spec"]["acceptedRisks"].as_array().cloned().unwrap_or_default();
            let after = self.made(&before);
            if after == before {
                return Ok(AcceptResult { spec: found.object.spec, unchanged: true, warnings });
            }
            // The whole list is replaced; the resource version prevents losing a concurrent change.
            let version = &found.raw["metadata"]["resourceVersion"];
            let list = if after.is_empty() { Value::Null } else { after.clone().into() };
            let patch = json!({"metadata": {"resourceVersion": version}, "spec": {"acceptedRisks": list}});
            match store.patch(&subject.key(), Part::Main, &patch).await {
                Ok(stored) => {
                    if !after.is_empty() && !stored["spec"]["acceptedRisks"].is_array() {
                        bail!(
                            "the CRD {} does not have the field spec.acceptedRisks, so no risk was accepted",
                            subject.kind().crd()
                        );
                    }
                    warnings.extend(self.warnings(&found));
                    let (kept, _) = FetchedObject::read(stored)?;
                    return Ok(AcceptResult { spec: kept.object.spec, unchanged: false, warnings });
                }
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error).context("cannot change the accepted risks"),
            }
        }
        bail!("conflict: {} is being changed by another client; try again", subject.key())
    }

    /// The list with the change made. Entries that are not understood here stay as they are.
    fn made(&self, before: &[Value]) -> Vec<Value> {
        let name = |entry: &Value| entry["name"].as_str().unwrap_or_default().to_owned();
        let mut after: Vec<Value> =
            before.iter().filter(|entry| !self.remove.contains(&name(entry))).cloned().collect();
        for risk in &self.add {
            let entry = json!(risk);
            match after.iter_mut().find(|known| name(known) == risk.name) {
                Some(known) => *known = entry,
                None => after.push(entry),
            }
        }
        after
    }

    /// A name that nothing carries is likely misspelt, but may belong to an update that is still to come. What OpenShift's
    /// clients accepted is theirs to take back.
    fn warnings(&self, found: &FetchedObject) -> Vec<String> {
        let mut warnings = Vec::new();
        for risk in found.object.spec.desired_update.iter().flat_map(|update| &update.accept_risks) {
            if self.remove.contains(&risk.name) {
                let name = printable(&risk.name);
                warnings.push(format!("{name} is still accepted in spec.desiredUpdate.acceptRisks"));
            }
        }
        for risk in &self.add {
            let mut risks = found.status.conditional_updates.iter().flat_map(|update| &update.risks);
            if !risks.any(|known| known.name == risk.name) {
                warnings.push(format!("no known update has a risk named {}", printable(&risk.name)));
            }
        }
        warnings
    }
}

/// Every risk that counts as accepted. What OpenShift's clients accept has a name and nothing else.
pub(crate) fn accepted(spec: &Spec) -> Vec<AcceptedRisk> {
    let mut all = spec.accepted_risks.clone();
    for risk in spec.desired_update.iter().flat_map(|update| &update.accept_risks) {
        if !all.iter().any(|known| known.name == risk.name) {
            let reason = "accepted in spec.desiredUpdate.acceptRisks".to_owned();
            all.push(AcceptedRisk { name: risk.name.clone(), reason, until: None });
        }
    }
    all
}

/// The accepted risks as JSON, each with whether its time is over.
pub(crate) fn as_json(spec: &Spec, now: Timestamp) -> Vec<Value> {
    let one = |risk: &AcceptedRisk| {
        let mut value = json!(risk);
        value["ended"] = is_expired(risk, now).into();
        value
    };
    accepted(spec).iter().map(one).collect()
}

pub(crate) fn is_expired(risk: &AcceptedRisk, now: Timestamp) -> bool {
    risk.until.is_some_and(|until| until <= now)
}

fn show(spec: &Spec, subject: &Subject, action: Option<&str>, now: Timestamp, format: DataFormat) -> Result<Exit> {
    let mut data = json!({"object": subject, "acceptedRisks": as_json(spec, now)});
    if let Some(action) = action {
        data["action"] = action.into();
    }
    output::print_data(format, &data, || {
        let accepted = accepted(spec);
        if accepted.is_empty() {
            return Document::from("There are no accepted risks.".to_owned()).named([]);
        }
        let row = |risk: AcceptedRisk| {
            let until = risk.until.map_or_else(|| "-".to_owned(), |until| until.to_string());
            let over = if is_expired(&risk, now) { " (over)" } else { "" };
            vec![risk.name, format!("{until}{over}"), risk.reason]
        };
        output::table(&["RISK", "UNTIL", "REASON"], accepted.into_iter().map(row)).into()
    })?;
    Ok(Exit::Yes)
}
