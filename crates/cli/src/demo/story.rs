//! The story that conditional updates were invented for, in its own words: a cluster on vSphere behind a proxy, three
//! risks on one update, one target that cannot be told, and others that are recommended (U5, U10, U11, U14).

use std::io::Write;

use anyhow::Result;
use clearway_advice::{Assessment, Status, render};

use super::heading;
use super::product::{Product, embedded};
use crate::arguments::Demo;
use crate::assess;
use crate::output;

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

/// Tells the story.
pub(super) fn run(out: &mut impl Write, options: &Demo) -> Result<()> {
    let kept_in = options.keep.as_deref();
    if let Some(directory) = kept_in {
        STORY.write(directory)?;
    }
    let assessment = STORY.assess(kept_in)?;
    let command = STORY.command(kept_in);
    writeln!(
        out,
        "A cluster at {} on vSphere, virtual hardware 14, behind a proxy. Its administrator would like to have {}.\n",
        assessment.cluster.version,
        assessment.updates.first().map(|update| update.version.to_string()).unwrap_or_default()
    )?;
    writeln!(out, "{}", heading(&format!("Which updates are safe for this cluster?   ({command})")))?;
    write!(out, "{}", assess::table(&assessment))?;
    writeln!(out, "\n{}", heading("What is its administrator told?"))?;
    write!(out, "{}", told(&assessment))?;
    writeln!(out, "\n{}", heading("And why?   (the same with --why)"))?;
    writeln!(out, "{}", render::assessment(&assessment).trim_end())?;
    if kept_in.is_none() {
        writeln!(out, "\n{}", heading("Try it on your own"))?;
        writeln!(out, "  clearway demo story --keep samples   the same as files, to try the commands on")?;
    }
    Ok(())
}

/// The updates as a client of the cluster lists them: recommended ones with their image, the others with the condition
/// that says why not.
fn told(assessment: &Assessment) -> String {
    let mut text = "Recommended updates:\n\n".to_owned();
    let rows =
        assessment.with_status(Status::True).map(|update| vec![update.version.to_string(), update.payload.clone()]);
    text += &indented(&output::table(&["VERSION", "IMAGE"], rows), 2);
    text += "\nSupported but not recommended updates:\n";
    for update in assessment.updates.iter().filter(|update| update.recommended.status != Status::True) {
        let said = &update.recommended;
        let message = if said.message.contains('\n') {
            format!("\n{}", indented(&said.message, 2))
        } else {
            format!(" {}\n", said.message)
        };
        let (version, image) = (&update.version, &update.payload);
        let lines = format!(
            "Version: {version}\nImage: {image}\nRecommended: {}\nReason: {}\nMessage:{message}",
            said.status, said.reason
        );
        text.push('\n');
        text += &indented(&lines, 2);
    }
    text
}

/// The lines of a text, moved to the right; empty ones stay empty.
fn indented(text: &str, by: usize) -> String {
    let line = |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("{:by$}{line}\n", "") };
    text.lines().map(line).collect()
}
