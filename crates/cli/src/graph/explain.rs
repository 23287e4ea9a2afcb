//! `clearway graph explain`: why an update is offered, conditional, blocked or missing, and every file that had a say.

use anyhow::{Result, bail};
use clearway_core::{Arch, Version};
use clearway_graph::{Effect, Explanation, Revision, Said, Verdict};
use serde_json::{Value, json};

use crate::arguments::GraphExplain;
use crate::exit::Exit;
use crate::output;

/// Runs the command. The exit code is the answer: 0 offered to all, 1 not offered, 2 it depends on the cluster.
pub(super) fn run(options: &GraphExplain) -> Result<Exit> {
    let revision = super::revision(&super::inputs(&options.source)?)?;
    let (from, to) = (options.from.without_build(), options.to.without_build());
    let Some(explanation) = revision.explain(&from, &to, &options.arch) else {
        bail!("{}", unknown(&revision, &from, &to, &options.arch));
    };
    output::print_data(options.output, &data(&explanation), || text(&explanation))?;
    Ok(match explanation.verdict {
        Verdict::Recommended => Exit::Yes,
        Verdict::Conditional(_) => Exit::Unknown,
        Verdict::Removed | Verdict::NotListed => Exit::No,
    })
}

fn unknown(revision: &Revision, from: &Version, to: &Version, arch: &Arch) -> String {
    let missing = [from, to].into_iter().find(|version| revision.release(version, arch).is_none()).unwrap_or(from);
    let others: Vec<&str> =
        revision.arches().iter().filter(|other| revision.release(missing, other).is_some()).map(Arch::as_str).collect();
    if others.is_empty() {
        format!("no release {missing} is known")
    } else {
        format!("no release {missing} is known for {arch}, only for {}: use --arch", super::listing(&others))
    }
}

fn word(verdict: &Verdict<'_>) -> &'static str {
    match verdict {
        Verdict::NotListed => "NotListed",
        Verdict::Recommended => "Recommended",
        Verdict::Conditional(_) => "Conditional",
        Verdict::Removed => "Blocked",
    }
}

fn sentence(said: &Said<'_>) -> String {
    match said {
        Said::Listed { key, file } => format!("{file} lists it under `{key}`"),
        Said::Metadata { key, file } => format!("{file} says so in `{key}`"),
        Said::Blocked(block) => match &block.effect {
            Effect::Condition(risk) => format!("{} gives it the risk {}", block.file, risk.name()),
            Effect::Remove => format!("{} takes it away", block.file),
        },
    }
}

/// What became of the edge, who had a say in it, and the risks it carries.
pub(crate) fn text(explanation: &Explanation<'_>) -> String {
    let (from, to) = (explanation.from.node.version(), explanation.to.node.version());
    let mut lines = vec![match explanation.verdict {
        Verdict::NotListed => format!("{from} to {to} is not an update: no release lists it"),
        Verdict::Recommended => format!("{from} to {to} is offered to every cluster"),
        Verdict::Conditional(risks) => {
            format!("{from} to {to} is offered to clusters that none of {} risks matches", risks.len())
        }
        Verdict::Removed => format!("{from} to {to} is offered to nobody"),
    }];
    lines.extend(explanation.said.iter().map(|said| format!("  because {}", sentence(said))));
    let channels: Vec<String> = explanation.channels.iter().map(|name| (*name).to_owned()).collect();
    lines.push(if channels.is_empty() {
        "  but no channel holds both releases, so no cluster sees it".to_owned()
    } else {
        format!("  in the channels {}", channels.join(", "))
    });
    if let Verdict::Conditional(risks) = explanation.verdict {
        for risk in risks {
            lines.push(format!("\n{}: {}\n  {}", risk.name(), output::printable(risk.message()), risk.url()));
            for rule in risk.rules() {
                let query = rule.promql().map(|query| format!("\n    {}", query.trim_end().replace('\n', "\n    ")));
                lines.push(format!("  {}{}", rule.kind, query.unwrap_or_default()));
            }
        }
    }
    lines.join("\n")
}

fn data(explanation: &Explanation<'_>) -> Value {
    let risks: Vec<Value> = match explanation.verdict {
        Verdict::Conditional(risks) => risks.iter().filter_map(|risk| serde_json::from_str(risk.json()).ok()).collect(),
        _ => Vec::new(),
    };
    json!({
        "from": explanation.from.node.version().to_string(),
        "to": explanation.to.node.version().to_string(),
        "verdict": word(&explanation.verdict),
        "because": explanation.said.iter().map(sentence).collect::<Vec<_>>(),
        "channels": explanation.channels,
        "risks": risks,
    })
}
