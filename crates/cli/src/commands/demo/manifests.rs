//! Manifests before they are applied: the status that Gateway API objects will have, and the policies that they meet.

use anyhow::{Context as _, Result};
use clearway_core::Limits;
use clearway_policy::rego::Budget;
use clearway_policy::{
    Constraint, EnforcementPoint, Evaluator, Inventory, PolicySet, Review, Reviewer, Source, Template, read_documents,
};

use super::narration::Narrator;
use crate::commands::gateway::input::GatewayObjects;
use crate::commands::{gateway, policy};

/// The manifests, by their names in a directory.
pub(super) const GATEWAY: [(&str, &str); 1] =
    [("shop.yaml", include_str!("../../../../../examples/gateway/shop.yaml"))];
/// The policies, and an object for them.
pub(super) const POLICIES: [(&str, &str); 2] = [
    ("owner.yaml", include_str!("../../../../../examples/policies/owner.yaml")),
    ("namespace.yaml", include_str!("../../../../../examples/policies/namespace.yaml")),
];

/// The status of a route whose traffic fails in part, with the cause.
pub(super) async fn show_gateway(narrator: &mut Narrator) -> Result<()> {
    narrator.page("What will these routes do?").await?;
    narrator.command("clearway gateway status -f gateway --tree")?;
    let mut objects = GatewayObjects::default();
    for (name, text) in GATEWAY {
        objects.read_text(name, text);
    }
    narrator.lines(gateway::status_tree(&objects).trim_end())
}

/// A Namespace that violates a constraint, and why the constraint applies to it.
pub(super) async fn show_policies(narrator: &mut Narrator) -> Result<()> {
    let [(policies_name, policies_text), (object_name, object_text)] = POLICIES;
    let command = format!("clearway policy explain policies/{object_name} -f policies/{policies_name}");
    narrator.page("Which policies does this object violate?").await?;
    narrator.command(&command)?;
    let mut policies = PolicySet::new();
    let documents = read_documents(policies_text, policies_name, &Limits::default())?;
    for template in documents.iter().filter(|document| Template::is_template(document)) {
        policies.add_template(template)?;
    }
    for constraint in documents.iter().filter(|document| Constraint::is_constraint(document)) {
        policies.add_constraint(constraint)?;
    }
    let objects = read_documents(object_text, object_name, &Limits::default())?;
    let object = objects.first().context("the sample has no object")?;
    let reviewer = Reviewer {
        point: EnforcementPoint::Gator,
        inventory: &Inventory::of([])?,
        budget: &Budget { steps: 1_000_000, interrupt: None, now: 0 },
    };
    let review = Review::of_object(object, Source::Original);
    let explained = policies.explain(&review, &reviewer, &mut Evaluator::new());
    narrator.lines(policy::explanation_table(&explained).trim_end())
}
