//! Scenario: a cluster on vSphere behind a proxy, with three risks on one update, one target that is Unknown, and others
//! that are recommended (U5, U10, U11, U14). The administrator requests the update anyway, and that is recorded (U12).

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use clearway_advice::render;
use clearway_core::Version;
use clearway_release::{Metadata, ReleaseLimits};

use super::console;
use super::hints::introduce;
use super::narration::Narrator;
use super::product::{Product, embedded};
use super::stage::{Setting, Stage};
use super::status_wait::is_settled;
use super::{QUESTION, without_checks};
use crate::commands::assess;

/// The product and the cluster of the story.
const STORY: Product = Product {
    home: "examples/story",
    graph_data: embedded! { "story/graph-data":
        "blocked-edges/4.6.30-ThanosDNSUnmarshalError.yaml"
        "blocked-edges/4.6.40-AWSOldBootImages.yaml"
        "blocked-edges/4.6.99-example-ExampleReason.yaml"
        "blocked-edges/4.7.4-auth-connection-leak.yaml"
        "blocked-edges/4.7.4-vsphere-hostnames-changing.yaml"
        "blocked-edges/4.7.4-vsphere-hw-17-cross-node-networking.yaml"
        "channels/stable-4.6.yaml"
        "raw/metadata.json"
        "releases/openshift.yaml"
        "version"
    },
    cluster: embedded! { "story/cluster": "series.snap" "snapshot.json" },
};

/// What the administrator would like to have.
const TARGET: &str = "4.7.4";

/// The release of it, for the purpose: the real one is an image that is not at hand.
const RELEASE: &str = r#"apiVersion: v1
kind: Namespace
metadata:
  name: openshift-authentication
  annotations: {clearway.dev/run-level: "10"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: oauth-openshift, namespace: openshift-authentication}
spec:
  replicas: 2
  selector: {matchLabels: {app: oauth-openshift}}
  template:
    metadata: {labels: {app: oauth-openshift}}
    spec:
      containers:
      - name: oauth-openshift
        image: registry.example.com/oauth-server@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
"#;

/// The product of the story, with its cluster at 4.6.23.
pub(super) fn setting() -> Result<Setting> {
    let metadata = Metadata {
        version: TARGET.parse()?,
        previous: vec!["4.6.23".to_owned()],
        next: Vec::new(),
        metadata: BTreeMap::new(),
    };
    let stream = ("oauth.yaml".to_owned(), RELEASE.as_bytes());
    let packed = clearway_release::pack([stream], &metadata, "authentication", &ReleaseLimits::default())
        .map_err(|problems| anyhow::anyhow!("the sample release is refused: {}", problems.len()))?;
    let text = |content: Vec<u8>| String::from_utf8(content).context("a manifest is not UTF-8");
    let files: Result<Vec<(String, String)>> =
        packed.files.into_iter().map(|(name, content)| Ok((name, text(content)?))).collect();
    Ok(Setting {
        product: STORY,
        releases: vec![(TARGET, files?)],
        version: Version::new(4, 6, 23),
        channel: "stable-4.6",
        metrics: STORY.metrics(),
    })
}

/// Tells the story.
pub(super) async fn run(stage: &mut Stage, narrator: &mut Narrator, kept_in: Option<&Path>) -> Result<()> {
    let assessment = STORY.assess(kept_in)?;
    let command = STORY.command(kept_in);
    narrator.page(QUESTION).await?;
    narrator.prose(&format!(
        "A cluster at {} on vSphere, virtual hardware 14, behind a proxy. Its administrator wants to update to {TARGET}. \
         Three bugs of {TARGET} are known, and each is on some clusters only. Does this cluster have them?",
        assessment.cluster.version,
    ))?;
    narrator.page("Which updates are safe for this cluster?").await?;
    narrator.command(&command)?;
    narrator.table(&assess::table(&assessment))?;
    narrator.page("And why?").await?;
    narrator.command(&format!("{command} --why"))?;
    narrator.lines(without_checks(&render::assessment(&assessment)).trim_end())?;

    narrator.page("What does the administrator see?").await?;
    introduce(stage, narrator).await?;
    narrator.prose(&format!(
        "In the graph of this demo, the image of {TARGET} is a directory with a sample release; the other images are those of the story."
    ))?;
    stage.until("advice", is_settled).await?;
    let root = stage.state.root().to_owned();
    narrator.upgrade(&root, &["--include-not-recommended"]).await?;
    console::show_page(stage, narrator).await?;

    narrator.page("What if the update is needed anyway?").await?;
    narrator
        .prose("An update that is not recommended can be requested with an explicit flag, and this is recorded:")?;
    narrator.upgrade(&root, &["--to", TARGET, "--allow-not-recommended"]).await?;
    narrator.lines("")?;
    stage.rolled_out(narrator, TARGET).await?;
    narrator.upgrade(&root, &["history", "--details"]).await
}
