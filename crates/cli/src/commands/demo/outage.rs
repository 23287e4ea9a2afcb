//! Scenario: a metrics outage. Unknown risks are not recommended, and recover with the metrics (U9, U16).

use anyhow::Result;
use clearway_conditions::Status as Word;

use super::console;
use super::hints::introduce;
use super::narration::Narrator;
use super::platform;
use super::stage::Stage;
use super::status_wait::{advice, line, message};

/// An update with risks that do not apply to the cluster.
const RISKY: &str = "1.5.2";
/// One without.
const PLAIN: &str = "1.4.3";

pub(super) async fn run(stage: &mut Stage, narrator: &mut Narrator) -> Result<()> {
    narrator.page("What if the metrics are lost?").await?;
    introduce(stage, narrator).await?;
    console::announce(stage, narrator)?;
    let is = |word: Word| move |status: &_| advice(status, RISKY).is_some_and(|(said, _)| said == word);
    let status = stage.until("advice", is(Word::True)).await?;
    narrator.say(&line(&status, RISKY))?;
    narrator.say(&line(&status, PLAIN))?;
    stage.remove_metrics()?;
    narrator.say("the metrics are removed")?;
    let status = stage.until("advice without metrics", is(Word::Unknown)).await?;
    narrator.say(&line(&status, RISKY))?;
    narrator.say(&line(&status, PLAIN))?;
    narrator.lines("")?;
    let told = message(&status, RISKY).replace(&stage.directory.display().to_string(), "…");
    for text in told.lines().filter(|text| !text.is_empty()) {
        narrator.lines(&format!("    {text}"))?;
    }
    narrator.lines("")?;
    narrator.prose(&format!(
        "An update with an Unknown risk is never recommended. {PLAIN} has no risks, so it needs no metrics and stays recommended."
    ))?;
    narrator.lines("")?;
    stage.set_metrics(&platform::setting(platform::FAST_DISKS).metrics)?;
    narrator.say("the metrics are back")?;
    let status = stage.until("advice with metrics again", is(Word::True)).await?;
    narrator.say(&line(&status, RISKY))
}
