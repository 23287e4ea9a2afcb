//! `clearway graph explain`: why an update is offered, conditional, blocked or missing.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use clearway_core::suggestion::did_you_mean;
use clearway_core::{Arch, Version};
use clearway_graph::{Edge, Effect, Explanation, Inputs, Revision, Risk, Statement, Verdict};
use serde_json::{Value, json};

use super::source::{self, GraphInput, ServiceAnswer};
use crate::arguments::GraphExplain;
use crate::exit::Exit;
use crate::output;

/// Runs the command. The exit code is the answer: 0 offered to all, 1 not offered, 2 it depends on the cluster.
pub(super) fn run(options: &GraphExplain) -> Result<Exit> {
    let (channel, arch) = (options.channel.as_deref(), options.arch.arch.as_ref());
    let (from, to) = (options.from.without_build(), options.to.without_build());
    let given = match source::service(&options.source)? {
        Some(service) => {
            let arch = source::arch_of(&service, arch)?;
            match channel.or(service.channel()) {
                Some(channel) => return of_answer(source::answer(&service, channel, &arch)?, &from, &to, options),
                None => return of_files(&source::data_of(&service)?, &from, &to, &arch, options),
            }
        }
        None => source::read_input(&options.source)?,
    };
    match given {
        GraphInput::Files(inputs) => of_files(&inputs, &from, &to, &arch.cloned().unwrap_or_default(), options),
        GraphInput::Answer(mut answer) => {
            answer.check(channel, arch)?;
            answer.channel = channel.map(str::to_owned);
            of_answer(answer, &from, &to, options)
        }
    }
}

fn of_files(inputs: &Inputs, from: &Version, to: &Version, arch: &Arch, options: &GraphExplain) -> Result<Exit> {
    let revision = super::revision(inputs)?;
    if let Some(channel) = &options.channel {
        super::check_channel(&revision, channel, arch)?;
    }
    let Some(mut explanation) = revision.explain(from, to, arch) else {
        bail!("{}", unknown(&revision, from, to, arch));
    };
    let elsewhere = options.channel.as_deref().filter(|channel| !explanation.channels.contains(channel));
    if let (Some(channel), None) = (&options.channel, elsewhere) {
        explanation.channels.retain(|name| name == channel);
    }
    output::print_data(options.output.format, &data(&explanation), || {
        let but = elsewhere
            .map(|channel| format!("\n\n{channel} does not contain both releases, so the update is not offered there"));
        text(&explanation) + &but.unwrap_or_default()
    })?;
    Ok(match explanation.verdict {
        _ if elsewhere.is_some() => Exit::No,
        Verdict::Recommended => Exit::Yes,
        Verdict::Conditional(_) => Exit::Unknown,
        Verdict::Removed | Verdict::NotListed => Exit::No,
    })
}

/// What an answer says of an update: everything clients see, and nothing of how it came about.
fn of_answer(answer: ServiceAnswer, from: &Version, to: &Version, options: &GraphExplain) -> Result<Exit> {
    let answer = answer.with_printed_diagnostics();
    let place = |version: &Version| {
        let found = answer.graph.find(version);
        found.with_context(|| format!("release {version} not found in {}", answer.name))
    };
    let edge = Edge { from: place(from)?, to: place(to)? };
    let found = answer.graph.updates().find(|(update, _)| *update == edge).map(|(_, risks)| risks);
    let (verdict, sentence, exit) = match found {
        None => ("NotOffered", format!("{from} to {to} is not offered"), Exit::No),
        Some([]) => ("Recommended", format!("{from} to {to} is offered to every cluster"), Exit::Yes),
        Some(risks) => ("Conditional", conditional(from, to, risks), Exit::Unknown),
    };
    let risks = found.unwrap_or_default();
    let data = json!({
        "from": from.to_string(),
        "to": to.to_string(),
        "verdict": verdict,
        "because": [format!("{} says so", answer.name)],
        "channels": answer.channel.iter().collect::<Vec<_>>(),
        "risks": risks.iter().filter_map(|risk| serde_json::from_str(risk.json()).ok()).collect::<Vec<Value>>(),
    });
    output::print_data(options.output.format, &data, || {
        let mut lines = vec![sentence, format!("  because {} says so", answer.name)];
        lines.push("  the files involved are known only from graph-data".to_owned());
        lines.extend(risks.iter().flat_map(|risk| described(risk)));
        lines.join("\n")
    })?;
    Ok(exit)
}

fn conditional(from: &Version, to: &Version, risks: &[Arc<Risk>]) -> String {
    format!("{from} to {to} is offered to clusters to which none of {} risks applies", risks.len())
}

/// What a risk says, and its rules.
fn described(risk: &Risk) -> Vec<String> {
    let mut lines = vec![format!("\n{}: {}\n  {}", risk.name(), output::printable(risk.message()), risk.url())];
    for rule in risk.rules() {
        let query = rule.promql().map(|query| format!("\n    {}", query.trim_end().replace('\n', "\n    ")));
        lines.push(format!("  {}{}", rule.kind, query.unwrap_or_default()));
    }
    lines
}

fn unknown(revision: &Revision, from: &Version, to: &Version, arch: &Arch) -> String {
    let missing = [from, to].into_iter().find(|version| revision.release(version, arch).is_none()).unwrap_or(from);
    let others: Vec<&str> =
        revision.arches().iter().filter(|other| revision.release(missing, other).is_some()).map(Arch::as_str).collect();
    if others.is_empty() {
        let known: Vec<String> = revision
            .channels()
            .flat_map(|channel| revision.graph(&channel.name, arch).nodes().to_vec())
            .map(|node| node.version().without_build().to_string())
            .collect();
        format!("release {missing} not found{}", did_you_mean(&missing.to_string(), known.iter().map(String::as_str)))
    } else {
        format!("release {missing} not found for {arch}, only for {}: use --arch", super::listing(&others))
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

fn sentence(said: &Statement<'_>) -> String {
    match said {
        Statement::Listed { key, file } => format!("{file} lists it under `{key}`"),
        Statement::Metadata { key, file } => format!("{file} says so in `{key}`"),
        Statement::Blocked(block) => match &block.effect {
            Effect::Condition(risk) => format!("{} adds the risk {}", block.file, risk.name()),
            Effect::Remove => format!("{} removes it", block.file),
        },
    }
}

/// What became of the edge, who had a say in it, and the risks it carries.
pub(crate) fn text(explanation: &Explanation<'_>) -> String {
    let (from, to) = (explanation.from.node.version(), explanation.to.node.version());
    let mut lines = vec![match explanation.verdict {
        Verdict::NotListed => format!("{from} to {to} is not an update: no release lists it"),
        Verdict::Recommended => format!("{from} to {to} is offered to every cluster"),
        Verdict::Conditional(risks) => conditional(from, to, risks),
        Verdict::Removed => format!("{from} to {to} is not offered to any cluster"),
    }];
    lines.extend(explanation.said.iter().map(|said| format!("  because {}", sentence(said))));
    let channels: Vec<String> = explanation.channels.iter().map(|name| (*name).to_owned()).collect();
    lines.push(if channels.is_empty() {
        "  but no channel contains both releases, so no cluster gets it".to_owned()
    } else {
        format!("  in the channels {}", channels.join(", "))
    });
    if let Verdict::Conditional(risks) = explanation.verdict {
        lines.extend(risks.iter().flat_map(|risk| described(risk)));
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
