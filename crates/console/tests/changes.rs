//! The page of an update of a cluster with its forms, the page of what came of one, and the page of who is affected.

use std::sync::Arc;

use clearway_advice::{Assessment, Cluster, RiskProof, Statement, Status, Update, Verdict};
use clearway_console::pages::change::{self, FormOptions, RequestState};
use clearway_console::pages::cluster::{self, ClusterState};
use clearway_console::pages::cluster_risks;
use clearway_console::{Change, ChangeAction, ChangeOutcome, ChangeResult, Parts};
use clearway_core::{Timestamp, Version};
use serde_json::json;

const PARTS: Parts = Parts { graph: false, objects: false, clusters: true };
const ASKING: Option<FormOptions> = Some(FormOptions { has_identity: false });

fn now() -> Timestamp {
    Timestamp::from_seconds(1_700_000_100).unwrap()
}

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

fn risk(name: &str, verdict: Verdict) -> Arc<RiskProof> {
    let (url, message) = ("https://example.com/1".to_owned(), format!("{name} goes wrong."));
    Arc::new(RiskProof { name: name.to_owned(), url, message, verdict, decided_by: None, rules: Vec::new() })
}

fn update(to: &str, status: Status, risks: Vec<Arc<RiskProof>>) -> Update {
    let (reason, message) = ("Reason".to_owned(), "Message.".to_owned());
    Update {
        version: version(to),
        payload: format!("r.example.com/p:{to}"),
        conditional: !risks.is_empty(),
        evaluating: None,
        recommended: Statement { status, reason, message },
        risks,
    }
}

fn cluster(kind: &str, name: &str, updates: Vec<Update>) -> ClusterState {
    let cluster = Cluster { id: None, version: version("1.0.0") };
    ClusterState {
        kind: kind.to_owned(),
        name: name.to_owned(),
        object: Arc::new(json!({})),
        retrieved_at: None,
        assessment: Some(Arc::new(Assessment {
            graph_revision: None,
            cluster,
            time: now(),
            updates,
            diagnostics: Vec::new(),
        })),
        requests: RequestState::default(),
    }
}

/// 1.1.0 is recommended; 1.2.0 has a risk that applies, one that does not, and one that nobody knows about.
fn clusters() -> Vec<ClusterState> {
    let risks =
        vec![risk("Applies", Verdict::Match), risk("Harmless", Verdict::NoMatch), risk("<b>Unknown", Verdict::Unknown)];
    let updates = vec![update("1.2.0", Status::False, risks), update("1.1.0", Status::True, Vec::new())];
    vec![cluster("ClusterVersion", "version", updates)]
}

fn page(clusters: &[ClusterState], to: &str, forms: Option<FormOptions>) -> String {
    let found = cluster::render_update(clusters, ("ClusterVersion", "version"), &version(to), now(), PARTS, forms);
    found.unwrap().html
}

#[test]
fn without_changes_a_page_has_no_forms() {
    let page = page(&clusters(), "1.2.0", None);
    assert!(!page.contains("<form") && !page.contains("token"), "{page}");
    assert!(page.contains("The console does not change the cluster.") && page.contains("clearway upgrade --to 1.2.0"));
}

#[test]
fn risks_that_may_apply_can_be_accepted_and_ticks_are_shown_where_they_are_needed() {
    let mut clusters = clusters();
    let risky = page(&clusters, "1.2.0", ASKING);
    assert_eq!(risky.matches("method=\"post\"").count(), 3, "{risky}");
    assert_eq!(risky.matches("action=\"/console/accept-risk\"").count(), 2);
    for text in [
        "name=\"risk\" value=\"Applies\"",
        "name=\"risk\" value=\"&#60;b&#62;Unknown\"",
        "name=\"version\" value=\"1.2.0\"",
        "Start it although it is not recommended",
        "kubectl create token",
    ] {
        assert!(risky.contains(text), "{text}: {risky}");
    }
    assert!(!risky.contains("value=\"Harmless\"") && !risky.contains("another update is in progress"), "{risky}");
    assert_eq!(risky.matches("It is not known whether the risk applies.").count(), 1);
    let ids: Vec<&str> = risky.split(" id=\"token-").skip(1).collect();
    assert_eq!(ids.len(), 3, "each form has a text of its own");
    let safe = page(&clusters, "1.1.0", ASKING);
    assert!(safe.matches("method=\"post\"").count() == 1 && !safe.contains("type=\"checkbox\""), "{safe}");

    clusters[0].requests = RequestState {
        accepted_risks: [("Applies".to_owned(), "Accepted: <i>known</i>".to_owned())].into(),
        recommended: ["1.2.0".to_owned()].into(),
        objections: "the cluster is already upgrading".to_owned(),
    };
    let accepted = page(&clusters, "1.2.0", ASKING);
    for text in [
        "Accepted: &#60;i&#62;known&#60;/i&#62;",
        "with the accepted risks",
        "the cluster is already upgrading",
        "Start it although another update is in progress or failing, or the object is invalid",
    ] {
        assert!(accepted.contains(text), "{text}: {accepted}");
    }
    assert!(!accepted.contains("although it is not recommended"), "{accepted}");
}

#[test]
fn an_identity_that_the_request_has_is_not_asked_for() {
    let page = page(&clusters(), "1.2.0", Some(FormOptions { has_identity: true }));
    assert_eq!(page.matches("method=\"post\"").count(), 3);
    assert!(!page.contains("type=\"password\"") && page.contains("the identity that your browser or proxy sends"));
}

#[test]
fn what_came_of_a_form_is_said_as_text() {
    let action = ChangeAction::AcceptRisk { risk: "<b>".to_owned(), reason: String::new(), until: String::new() };
    let change =
        Change { kind: "ClusterVersion".to_owned(), name: "version".to_owned(), version: version("1.2.0"), action };
    for (result, title) in [(ChangeResult::Done, "Accepted risk"), (ChangeResult::Forbidden, "Nothing was changed")] {
        let sentence = "User \"<script>\" cannot patch\u{202e}.".to_owned();
        let outcome = ChangeOutcome { result, sentence, warnings: vec!["<img>".to_owned()] };
        let page = change::render(&change, &outcome, PARTS).unwrap().html;
        assert!(page.contains(&format!("<h1>{title}</h1>")), "{page}");
        assert!(page.contains("&#60;script&#62;") && page.contains("\\u{202e}") && page.contains("&#60;img&#62;"));
        assert!(
            page.contains("href=\"/console/cluster-update?kind=ClusterVersion&#38;name=version&#38;version=1.2.0\"")
        );
    }
}

#[test]
fn a_risk_says_which_clusters_and_components_it_applies_to() {
    let mut clusters = clusters();
    let updates = vec![
        update("1.3.0", Status::Unknown, vec![risk("Applies", Verdict::Unknown)]),
        update("1.2.0", Status::False, vec![risk("Applies", Verdict::NoMatch)]),
    ];
    clusters.push(cluster("ComponentVersion", "mesh", updates));
    let mut waiting = cluster("ComponentVersion", "new", Vec::new());
    waiting.assessment = None;
    clusters.push(waiting);
    let page = cluster_risks::render(&clusters, PARTS).unwrap().html;
    let section = page.split("<h2>Applies</h2>").nth(1).unwrap().split("</section>").next().unwrap();
    let rows: Vec<&str> = section.split("<th scope=\"row\">").skip(1).collect();
    assert_eq!(rows.len(), 3, "{section}");
    for (row, wanted) in rows.iter().zip([
        ["ClusterVersion version", "Applies to this cluster", ">1.2.0<"],
        ["ComponentVersion mesh", "Unknown", ">1.3.0<"],
        ["ComponentVersion mesh", "Does not apply to this cluster", ">1.2.0<"],
    ]) {
        for text in wanted {
            assert!(row.contains(text), "{text}: {row}");
        }
    }
    assert!(page.contains("3 risks") && page.contains("ComponentVersion new have not been assessed yet"), "{page}");
    assert!(page.contains("&#60;b&#62;Unknown") && !page.contains("<b>Unknown"), "{page}");
    assert!(page.contains("aria-current=\"page\">Risks"), "{page}");
    let none = cluster_risks::render(&[], PARTS).unwrap().html;
    assert!(none.contains("No update of the clusters and components has a known risk."), "{none}");
}
