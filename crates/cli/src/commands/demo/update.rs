//! Scenario: two updates are requested, applied and recorded, and removed objects are pruned (U12, U22).

use anyhow::{Result, bail};
use clearway_conditions::Status as Word;
use clearway_core::{GroupVersionKind, ObjectReference};
use clearway_sources::store::Store as _;

use super::console;
use super::hints::introduce;
use super::narration::Narrator;
use super::stage::Stage;
use super::status_wait::{advice, line};

/// Where the cluster goes. The risks of the second are on the way from 1.4.2 only.
const HOPS: [&str; 2] = ["1.4.3", "1.5.2"];

pub(super) async fn run(stage: &mut Stage, narrator: &mut Narrator) -> Result<()> {
    narrator.page("How is an update applied?").await?;
    introduce(stage, narrator).await?;
    console::announce(stage, narrator)?;
    narrator.prose(
        "In the graph of this demo, the releases 1.4.2, 1.4.3 and 1.5.2 are directories; the other images do not exist.",
    )?;
    narrator.lines("")?;
    let root = stage.state.root().to_owned();
    let banner = ObjectReference {
        kind: GroupVersionKind::new("v1", "ConfigMap"),
        namespace: "platform".to_owned(),
        name: "banner".to_owned(),
    };
    for version in HOPS {
        let recommended = |status: &_| advice(status, version) == Some((Word::True, "NoKnownRisks".to_owned()));
        let status = stage.until("advice", recommended).await?;
        narrator.say(&line(&status, version))?;
        if stage.state.get(&banner).await?.is_none() {
            bail!("the sample cluster has no {banner}");
        }
        narrator.upgrade(&root, &["--to", version]).await?;
        narrator.lines("")?;
        stage.rolled_out(narrator, version).await?;
        if stage.state.get(&banner).await?.is_none() {
            narrator.say(&format!("{banner}: deleted, {version} does not contain it"))?;
        }
    }
    narrator.upgrade(&root, &["history"]).await
}
