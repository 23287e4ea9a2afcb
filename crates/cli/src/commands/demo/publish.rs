//! Scenario: a published risk. An update is no longer recommended (U10, U11).

use anyhow::{Context as _, Result};
use clearway_conditions::Status as Word;
use clearway_sources::files::write_atomically;

use super::console;
use super::hints::introduce;
use super::narration::Narrator;
use super::stage::Stage;
use super::status_wait::{advice, line, message};

/// The update, and the file that declares a risk on it.
const VERSION: &str = "1.4.3";
const FILE: &str = "blocked-edges/1.4.3-StaleSettings.yaml";
const RISK: &str = r#"to: 1.4.3
from: ^1[.]4[.]2[+].*$
name: StaleSettings
url: https://example.com/issues/455
message: >-
  Behind a proxy the API keeps its old settings until it
  is restarted by hand.
matchingRules:
- type: PromQL
  promql:
    promql: max(cluster_proxy_enabled{type=~"https?"})
"#;

pub(super) async fn run(stage: &mut Stage, narrator: &mut Narrator) -> Result<()> {
    narrator.page("What if a risk is published?").await?;
    introduce(stage, narrator).await?;
    console::announce(stage, narrator)?;
    let is = |word: Word| move |status: &_| advice(status, VERSION).is_some_and(|(said, _)| said == word);
    let status = stage.until("advice", is(Word::True)).await?;
    narrator.say(&line(&status, VERSION))?;
    let path = stage.directory.join("graph-data").join(FILE);
    write_atomically(&path, RISK.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
    narrator.say(&format!("a file is added to the graph-data, {FILE}:"))?;
    narrator.lines("")?;
    for text in RISK.lines() {
        narrator.lines(&format!("    {text}"))?;
    }
    narrator.lines("")?;
    let status = stage.until("advice with the risk", is(Word::False)).await?;
    narrator.say(&line(&status, VERSION))?;
    narrator.lines("")?;
    narrator.prose(&message(&status, VERSION))?;
    narrator.lines("")?;
    narrator.prose(
        "The service read the file, and the operator the new graph. The operator ran the query on this cluster, which is \
         behind a proxy. For clusters without a proxy the update stays recommended.",
    )?;
    let root = stage.state.root().to_owned();
    narrator.upgrade(&root, &[]).await
}
