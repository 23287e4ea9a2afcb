//! The story that conditional updates were invented for, in its own words: a cluster on vSphere behind a proxy, three
//! risks on one update, one target that cannot be told, and others that are recommended (U5, U10, U11, U14). Then its
//! administrator decides for that update all the same, and that is recorded (U12).

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use clearway_advice::render;
use clearway_core::Version;
use clearway_release::{Metadata, ReleaseLimits};

use super::ending::introduce;
use super::heading;
use super::narration::Teller;
use super::product::{Product, embedded};
use super::stage::{Setting, Stage};
use super::watching::is_settled;
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
    let text = |content: Vec<u8>| String::from_utf8(content).context("a manifest that is no text");
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
pub(super) async fn run(stage: &mut Stage, teller: &mut Teller, kept_in: Option<&Path>) -> Result<()> {
    let assessment = STORY.assess(kept_in)?;
    let command = STORY.command(kept_in);
    teller.prose(&format!(
        "A cluster at {} on vSphere, virtual hardware 14, behind a proxy. Its administrator would like to have {TARGET}.",
        assessment.cluster.version,
    ))?;
    writeln!(teller.out, "\n{}", heading(&format!("Which updates are safe for this cluster?   ({command})")))?;
    write!(teller.out, "{}", assess::table(&assessment))?;
    writeln!(teller.out, "\n{}", heading("And why?   (the same with --why)"))?;
    writeln!(teller.out, "{}", render::assessment(&assessment).trim_end())?;

    teller.heading("What does its administrator see?")?;
    introduce(stage, teller).await?;
    teller.prose(&format!(
        "The image of {TARGET} in the graph is a directory here, with a release made for the purpose; the others are those of the story."
    ))?;
    stage.until("advice", is_settled).await?;
    let root = stage.state.root().to_owned();
    teller.upgrade(&root, &["--include-not-recommended"]).await?;

    teller.heading("And if it has to be all the same?")?;
    teller.prose(
        "Nothing is refused for not being recommended. It has to be asked for in so many words, and it is recorded:",
    )?;
    teller.upgrade(&root, &["--to", TARGET, "--allow-not-recommended"]).await?;
    teller.lines("")?;
    stage.rolled_out(teller, TARGET).await?;
    teller.upgrade(&root, &["history", "--details"]).await
}
