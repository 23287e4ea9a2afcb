//! A metrics outage: what is not known is not recommended, and when it is known again, it is (U9, U16).

use anyhow::Result;
use clearway_conditions::Status as Word;

use super::ending::introduce;
use super::narration::Teller;
use super::platform;
use super::stage::Stage;
use super::watching::{advice, line, message};

/// An update with risks that do not apply to the cluster.
const RISKY: &str = "1.5.2";
/// One without.
const PLAIN: &str = "1.4.3";

pub(super) async fn run(stage: &mut Stage, teller: &mut Teller) -> Result<()> {
    teller.heading("What if the metrics go away?")?;
    introduce(stage, teller).await?;
    let is = |word: Word| move |status: &_| advice(status, RISKY).is_some_and(|(said, _)| said == word);
    let status = stage.until("advice", is(Word::True)).await?;
    teller.say(&line(&status, RISKY))?;
    teller.say(&line(&status, PLAIN))?;
    stage.starve()?;
    teller.say("the metrics are taken away")?;
    let status = stage.until("advice without metrics", is(Word::Unknown)).await?;
    teller.say(&line(&status, RISKY))?;
    teller.say(&line(&status, PLAIN))?;
    teller.lines("")?;
    for text in message(&status, RISKY).lines().filter(|text| !text.is_empty()) {
        teller.lines(&format!("    {text}"))?;
    }
    teller.lines("")?;
    teller.prose(&format!(
        "What is not known is never recommended. {PLAIN} has no risks, so it needs no metrics and stays recommended."
    ))?;
    teller.lines("")?;
    stage.feed(&platform::setting(platform::FAST_DISKS).metrics)?;
    teller.say("the metrics are back")?;
    let status = stage.until("advice with metrics again", is(Word::True)).await?;
    teller.say(&line(&status, RISKY))
}
