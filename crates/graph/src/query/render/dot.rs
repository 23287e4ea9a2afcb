//! The drawing in Graphviz's language.

use clearway_core::terminal_text;

use super::Drawing;
use super::view::{Kind, View, drawn_names};

/// Draws in DOT.
pub(super) fn draw(view: &View<'_>) -> Drawing {
    let mut out = Drawing::with_capacity(0);
    out.push_str("digraph updates {\n");
    out.line(format_args!("  label={};", quoted(&format!("{}\n{}", view.title, view.summary()))));
    out.push_str("  labelloc=t; rankdir=LR; ranksep=1.2; nodesep=0.12; fontname=\"sans-serif\";\n");
    out.push_str("  node [shape=box, style=rounded, fontname=\"monospace\", fontsize=10, height=0.25];\n");
    out.push_str("  edge [fontname=\"sans-serif\", fontsize=8, arrowsize=0.6];\n");
    let minors = view.runs();
    for (at, (name, runs)) in minors.iter().enumerate() {
        out.line(format_args!("  subgraph cluster_{at} {{"));
        out.line(format_args!("    label={}; color=gray;", quoted(name)));
        for run in runs {
            let Some(first) = run.nodes.first() else { continue };
            let about: Vec<_> = run.nodes.iter().map(|place| view.about(*place)).collect();
            let (label, tooltip) = (quoted(&view.run_name(run)), quoted(&about.join("\n\n")));
            let focus = if view.focus.contains(first) { ", penwidth=2" } else { "" };
            out.line(format_args!("    n{first} [label={label}, tooltip={tooltip}{focus}];"));
        }
        out.push_str("  }\n");
    }
    for run in minors.iter().flat_map(|(_, runs)| runs) {
        let Some(from) = run.nodes.first() else { continue };
        for update in &run.updates {
            let to = update.to;
            let style = match update.kind {
                Kind::Plain => String::new(),
                Kind::Conditional => {
                    let label = quoted(&drawn_names(update.risks, view.updates.len()).join("\n"));
                    format!(" [style=dashed, color=\"#b45309\", fontcolor=\"#b45309\", label={label}]")
                }
                Kind::Removed => " [style=dotted, color=\"#b91c1c\", arrowhead=tee]".to_owned(),
            };
            out.line(format_args!("  n{from} -> n{to}{style};"));
        }
    }
    out.push_str("}\n");
    out
}

/// A text in quotes, with line breaks as DOT has them.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in terminal_text::escape(text).chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
