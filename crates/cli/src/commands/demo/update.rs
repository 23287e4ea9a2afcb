//! Updates that are asked for, carried out and recorded; and what a release no longer has goes (U12, U22).

use anyhow::{Result, bail};
use clearway_conditions::Status as Word;
use clearway_core::{GroupVersionKind, ObjectReference};
use clearway_sources::store::Store as _;

use super::ending::introduce;
use super::narration::Teller;
use super::stage::Stage;
use super::watching::{advice, line};

/// Where the cluster goes. The risks of the second are on the way from 1.4.2 only.
const HOPS: [&str; 2] = ["1.4.3", "1.5.2"];

pub(super) async fn run(stage: &mut Stage, teller: &mut Teller) -> Result<()> {
    teller.heading("How is an update carried out?")?;
    introduce(stage, teller).await?;
    teller.prose(
        "The releases 1.4.2, 1.4.3 and 1.5.2 are directories here; in the graph they stand in place of the images, which are made up.",
    )?;
    teller.lines("")?;
    let root = stage.state.root().to_owned();
    let banner = ObjectReference {
        kind: GroupVersionKind::new("v1", "ConfigMap"),
        namespace: "platform".to_owned(),
        name: "banner".to_owned(),
    };
    for version in HOPS {
        let recommended = |status: &_| advice(status, version) == Some((Word::True, "NoKnownRisks".to_owned()));
        let status = stage.until("advice", recommended).await?;
        teller.say(&line(&status, version))?;
        if stage.state.get(&banner).await?.is_none() {
            bail!("the sample cluster lost {banner}");
        }
        teller.upgrade(&root, &["--to", version]).await?;
        teller.lines("")?;
        stage.rolled_out(teller, version).await?;
        if stage.state.get(&banner).await?.is_none() {
            teller.say(&format!("{banner}: gone, {version} no longer has it"))?;
        }
    }
    teller.upgrade(&root, &["history"]).await
}
