//! A risk that is published while somebody watches: an update goes from recommended to not (U10, U11).

use anyhow::{Context as _, Result};
use clearway_conditions::Status as Word;
use clearway_sources::files::write_atomically;

use super::ending::introduce;
use super::narration::Teller;
use super::stage::Stage;
use super::watching::{advice, line, message};

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

pub(super) async fn run(stage: &mut Stage, teller: &mut Teller) -> Result<()> {
    teller.heading("What if a risk becomes known?")?;
    introduce(stage, teller).await?;
    let is = |word: Word| move |status: &_| advice(status, VERSION).is_some_and(|(said, _)| said == word);
    let status = stage.until("advice", is(Word::True)).await?;
    teller.say(&line(&status, VERSION))?;
    let path = stage.directory.join("graph-data").join(FILE);
    write_atomically(&path, RISK.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
    teller.say(&format!("a file is added to the graph-data, {FILE}:"))?;
    teller.lines("")?;
    for text in RISK.lines() {
        teller.lines(&format!("    {text}"))?;
    }
    teller.lines("")?;
    let status = stage.until("advice with the risk", is(Word::False)).await?;
    teller.say(&line(&status, VERSION))?;
    teller.lines("")?;
    teller.prose(&message(&status, VERSION))?;
    teller.lines("")?;
    teller.prose(
        "The service saw the file, the operator the new graph; the query was asked of this cluster, which is behind a proxy. \
         Clusters without one go on being recommended the update.",
    )?;
    let root = stage.state.root().to_owned();
    teller.upgrade(&root, &[]).await
}
