//! `clearway policy preview`: which objects of a release would violate the constraints of a cluster.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use clearway_operator::apply_update::PolicyRequest;
use clearway_operator::gatekeeper_objects::namespaces_of;
use clearway_operator::policies::evaluation::limit_cpu_time;
use clearway_policy::audit::VIOLATIONS_LIMIT;
use clearway_policy::{EnforcementPoint, Inventory, ObjectKind, Process};
use clearway_release::{ReleaseLimits, Selection};
use clearway_sources::clock;
use clearway_sources::store::StoreError;
use serde_json::Value;

use super::audit::connect;
use super::audit::evaluation::{Outcome, Setting, evaluate};
use super::audit::report::{self, Occasion};
use super::files;
use super::policies::{self, LoadedPolicies, is_policy};
use crate::arguments::{PolicyEvaluate, PolicyLimits, PolicyPreview, PolicyReportFormat};
use crate::commands::release::NamedRelease;
use crate::exit::Exit;
use crate::runtime;

/// Runs the command.
pub(super) fn run(options: &PolicyPreview) -> Result<Exit> {
    let registry = &options.registry;
    let named = NamedRelease::at(&options.release, options.arch.clone(), registry.ca.file.clone(), &registry.access)?;
    let payload = named.payload(&Selection::default(), &ReleaseLimits::default())?;
    let applied = payload.manifests.iter().filter(|manifest| !manifest.deletes());
    let objects: Vec<&Value> = applied.map(|manifest| &manifest.object).collect();
    let preview = match options.files.as_slice() {
        [] => Preview::of_cluster(options, &objects)?,
        files => Preview::of_files(&files::read_objects(files)?),
    };
    let outcome = preview.evaluate(&objects, &options.limits, options.output.constraint_violations_limit);
    report::print(&outcome, Occasion::Preview, options.output.format)
}

/// Runs `clearway policy evaluate`: the same for objects that the operator sends, with the results as JSON.
pub(super) fn evaluate_request(options: &PolicyEvaluate) -> Result<Exit> {
    if let Some(seconds) = options.cpu_limit {
        limit_cpu_time(seconds).context("cannot limit the CPU time of the process")?;
    }
    let request: PolicyRequest =
        serde_json::from_reader(std::io::stdin().lock()).context("standard input is not a request of the operator")?;
    let placed = |objects: Vec<Value>| objects.into_iter().map(|object| ("cluster".to_owned(), object));
    let all: Vec<(String, Value)> = placed(request.policies).collect();
    let policies = LoadedPolicies::of(&all);
    let mut inventory = Inventory::default();
    policies.extend(&mut inventory, &request.inventory);
    let name = |namespace: &Value| text(namespace, "/metadata/name").to_owned();
    let namespaces = request.namespaces.into_iter().map(|one| (name(&one), Ok(Some(Arc::new(one))))).collect();
    let preview = Preview { policies, inventory, namespaces };
    let objects: Vec<&Value> = request.objects.iter().collect();
    let outcome = preview.evaluate(&objects, &options.limits, VIOLATIONS_LIMIT);
    report::print(&outcome, Occasion::Preview, PolicyReportFormat::Json)
}

/// What the objects of a release are evaluated with.
struct Preview {
    policies: LoadedPolicies,
    inventory: Inventory,
    /// Namespaces by name: nothing if one does not exist, or why it cannot be read.
    namespaces: BTreeMap<String, Result<Option<Arc<Value>>, StoreError>>,
}

impl Preview {
    fn evaluate(mut self, objects: &[&Value], limits: &PolicyLimits, violations_limit: usize) -> Outcome {
        let Preview { policies, inventory, namespaces } = &mut self;
        if !policies.inventory_users().is_empty() {
            let synced =
                |object: &&&Value| policies.synced.is_empty() || policies.synced.contains(&ObjectKind::of(object));
            policies.extend(inventory, objects.iter().filter(synced).copied());
        }
        for object in objects.iter().filter(|object| ObjectKind::of(object).is_namespace()) {
            namespaces.insert(text(object, "/metadata/name").to_owned(), Ok(Some(Arc::new((*object).clone()))));
        }
        let setting = Setting {
            policies,
            point: EnforcementPoint::Webhook,
            inventory,
            limits,
            started: clock::now(),
            violations_limit,
        };
        let excluded = policies.excluded(Process::Webhook);
        // A release is small, and this also runs in the memory of the operator.
        evaluate(&setting, 1, |evaluation| {
            for object in objects.iter().filter(|object| !excluded.excludes(object)) {
                match namespaces.get(text(object, "/metadata/namespace")) {
                    Some(Err(error)) => {
                        evaluation.fail_object(object, format!("its namespace cannot be read: {error}"));
                    }
                    Some(Ok(namespace)) => evaluation.add(Cow::Borrowed(object), namespace.clone()),
                    None => evaluation.add(Cow::Borrowed(object), None),
                }
            }
        })
    }

    fn of_cluster(options: &PolicyPreview, objects: &[&Value]) -> Result<Self> {
        runtime::block_on(async {
            let store = connect(&options.connection).await?;
            let mut policies = LoadedPolicies::of(&policies::read_cluster(&store).await?);
            let inventory = policies.read_inventory(&store).await;
            let namespaces = namespaces_of(&store, objects.iter().copied()).await;
            let namespaces = namespaces.into_iter().map(|(name, found)| (name, found.map(|one| one.map(Arc::new))));
            let namespaces = namespaces.collect();
            Ok(Preview { policies, inventory, namespaces })
        })?
    }

    fn of_files(objects: &[(String, Value)]) -> Self {
        let policies = LoadedPolicies::of(objects);
        let mut inventory = Inventory::default();
        let others = || objects.iter().map(|(_, object)| object).filter(|object| !is_policy(object));
        if !policies.inventory_users().is_empty() {
            policies.extend(&mut inventory, others());
        }
        let namespaces = others().filter(|object| ObjectKind::of(object).is_namespace());
        let namespaces = namespaces
            .map(|object| (text(object, "/metadata/name").to_owned(), Ok(Some(Arc::new(object.clone())))))
            .collect();
        Preview { policies, inventory, namespaces }
    }
}

fn text<'o>(object: &'o Value, path: &str) -> &'o str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}
