//! One update with everything that is known about it, and the paths between two versions.

use askama::Template;
use clearway_core::{Arch, Version};
use clearway_graph::{Effect, Path, Revision, Statement, Verdict, paths};

use super::channel::check_channel;
use super::risk_text::RiskText;
use super::{Page, PageError, TextLink, page};
use crate::address::{ChannelView, Route};
use crate::foreign_text;
use crate::frame::{Frame, Parts};

/// Channels and reasons that are listed.
const MOST_LISTED: usize = 500;
/// Bytes of one path that are listed. Every update of a path may have many risks, and names of strangers may be long.
const PATH_BYTES: usize = 1 << 20;

#[derive(Template)]
#[template(path = "update.html")]
struct UpdatePage {
    frame: Frame,
    channel: TextLink,
    arch: String,
    from: String,
    to: String,
    /// `good`, `warning`, `bad` or `unknown`.
    state: &'static str,
    word: &'static str,
    sentence: String,
    reasons: Vec<String>,
    more_reasons: usize,
    channels: Vec<TextLink>,
    more_channels: usize,
    risks: Vec<RiskText>,
    paths: Vec<PathText>,
    no_path: Option<String>,
}

/// A path, as text.
struct PathText {
    title: &'static str,
    note: String,
    hops: Vec<HopText>,
    more_hops: usize,
}

/// One update of a path.
struct HopText {
    from: String,
    to: String,
    link: String,
    risks: Vec<TextLink>,
}

/// The page of the update from one version to another.
pub fn render(
    revision: &Revision,
    channel: &str,
    arch: &Arch,
    (from, to): (&Version, &Version),
    parts: Parts,
) -> Result<Page, PageError> {
    check_channel(revision, channel, arch)?;
    let graph = revision.graph(channel, arch);
    let is_member = |version: &Version| graph.find(version).or_else(|| graph.find(&version.without_build())).is_some();
    if let Some(version) = [from, to].into_iter().find(|version| !is_member(version)) {
        return Err(super::channel::missing_version(version, channel));
    }
    let Some(explanation) = revision.explain(from, to, arch) else {
        return Err(PageError::NotFound(format!("The release {from} or {to} does not exist for {arch}.")));
    };
    let (state, word, sentence) = match explanation.verdict {
        Verdict::Recommended => ("good", "Unconditional", "This update is offered to every cluster.".to_owned()),
        Verdict::Conditional(risks) => (
            "warning",
            "Conditional",
            match risks.len() {
                1 => "This update is offered to clusters to which its risk does not apply.".to_owned(),
                count => format!("This update is offered to clusters to which none of its {count} risks applies."),
            },
        ),
        Verdict::Removed => ("bad", "Blocked", "This update is not offered to any cluster.".to_owned()),
        Verdict::NotListed => ("unknown", "Not an update", "No release lists this as one update.".to_owned()),
    };
    let risks = match explanation.verdict {
        Verdict::Conditional(risks) => risks.iter().map(|risk| RiskText::new(risk)).collect(),
        _ => Vec::new(),
    };
    let hops = |path: &Path| {
        let hop = |hop: &clearway_graph::Hop| HopText {
            from: hop.from.to_string(),
            to: hop.to.to_string(),
            link: link(channel, arch, &hop.from, &hop.to),
            risks: hop
                .risks
                .iter()
                .map(|risk| TextLink {
                    text: foreign_text::line(risk.name()),
                    link: Route::Risk { name: risk.name().to_owned() }.link(),
                })
                .collect(),
        };
        let mut left = PATH_BYTES;
        let fits = |hop: &HopText| {
            let risks: usize = hop.risks.iter().map(|risk| risk.text.len() + risk.link.len()).sum();
            let rest = left.checked_sub(hop.link.len() + hop.from.len() + hop.to.len() + risks);
            left = rest.unwrap_or(0);
            rest.is_some()
        };
        path.hops.iter().map(hop).take_while(fits).collect::<Vec<_>>()
    };
    let (mut found, mut no_path) = (Vec::new(), None);
    match paths(&graph, from, to) {
        Ok(best) => {
            let mut seen: Vec<&Path> = Vec::new();
            let all = [
                ("Fewest updates", &best.shortest, true),
                ("Fewest conditional updates", &best.fewest_conditional_hops, true),
                ("Fewest risks", &best.fewest_risks.path, best.fewest_risks.exact),
            ];
            for (title, path, exact) in all {
                // One path is often the best by every measure.
                if seen.contains(&path) {
                    continue;
                }
                seen.push(path);
                let hops = hops(path);
                let more_hops = path.hops.len() - hops.len();
                found.push(PathText { title, note: note(path, exact), hops, more_hops });
            }
        }
        Err(why) => no_path = Some(why.to_string()),
    }
    let channel_link = |name: &str| TextLink {
        text: foreign_text::line(name),
        link: Route::Channel(ChannelView::new(name, arch.clone())).link(),
    };
    page(&UpdatePage {
        frame: Frame::new(format!("{from} to {to}"), parts, &Route::Overview),
        channel: channel_link(channel),
        arch: arch.to_string(),
        from: from.to_string(),
        to: to.to_string(),
        state,
        word,
        sentence,
        reasons: explanation.said.iter().take(MOST_LISTED).map(reason).collect(),
        more_reasons: explanation.said.len().saturating_sub(MOST_LISTED),
        channels: explanation.channels.iter().take(MOST_LISTED).map(|name| channel_link(name)).collect(),
        more_channels: explanation.channels.len().saturating_sub(MOST_LISTED),
        risks,
        paths: found,
        no_path,
    })
}

fn note(path: &Path, exact: bool) -> String {
    let (updates, conditional, risks) = (path.hops.len(), path.conditional_hops(), path.risk_names().len());
    let count = |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    let conditions = if conditional > 0 {
        format!("{conditional} conditional, with {}", count(risks, "risk"))
    } else {
        "all unconditional".to_owned()
    };
    let bound = if exact { "" } else { " (the search stopped early, a path with fewer risks may exist)" };
    format!("{}, {conditions}{bound}", count(updates, "update"))
}

fn link(channel: &str, arch: &Arch, from: &Version, to: &Version) -> String {
    Route::Update { channel: channel.to_owned(), arch: arch.clone(), from: from.clone(), to: to.clone() }.link()
}

fn reason(said: &Statement<'_>) -> String {
    let file = foreign_text::line;
    match said {
        Statement::Listed { key, file: path } => format!("{} lists it under {key}", file(path)),
        Statement::Metadata { key, file: path } => format!("{} says so in {key}", file(path)),
        Statement::Blocked(block) => match &block.effect {
            Effect::Condition(risk) => {
                format!("{} adds the risk {}", file(&block.file), foreign_text::line(risk.name()))
            }
            Effect::Remove => format!("{} removes it", file(&block.file)),
        },
    }
}
