//! The drawing in Mermaid's language.

use clearway_core::terminal_text;

use super::Drawing;
use super::view::{Kind, View, drawn_names};

/// Draws a Mermaid flowchart.
pub(super) fn draw(view: &View<'_>) -> Drawing {
    let mut out = Drawing::with_capacity(0);
    let mut title = String::new();
    crate::model::risk::push_text(&mut title, &terminal_text::escape(view.title));
    out.line(format_args!("---\ntitle: {title}\n---"));
    out.line(format_args!("%% {}", view.summary()));
    out.push_str("flowchart LR\n");
    let minors = view.runs();
    for (at, (name, runs)) in minors.iter().enumerate() {
        out.line(format_args!("  subgraph m{at}[{}]", quoted(name)));
        for run in runs {
            let Some(first) = run.nodes.first() else { continue };
            let class = if view.focus.contains(first) { ":::focus" } else { "" };
            out.line(format_args!("    n{first}[{}]{class}", quoted(&view.run_name(run))));
        }
        out.push_str("  end\n");
    }
    for run in minors.iter().flat_map(|(_, runs)| runs) {
        let Some(from) = run.nodes.first() else { continue };
        for update in &run.updates {
            let to = update.to;
            match update.kind {
                Kind::Plain => out.line(format_args!("  n{from} --> n{to}")),
                Kind::Conditional => {
                    let label = quoted(&drawn_names(update.risks, view.updates.len()).join("\n"));
                    out.line(format_args!("  n{from} -.->|{label}| n{to}"));
                }
                Kind::Removed => out.line(format_args!("  n{from} --x|\"removed\"| n{to}")),
            }
        }
    }
    out.push_str("  classDef focus stroke-width:3px\n");
    out
}

/// A text in quotes; what Mermaid or HTML would understand is written as Mermaid's entities.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in terminal_text::escape(text).chars() {
        match c {
            '"' => out.push_str("#quot;"),
            '#' => out.push_str("#35;"),
            '&' => out.push_str("#amp;"),
            '<' => out.push_str("#lt;"),
            '>' => out.push_str("#gt;"),
            '`' => out.push_str("#96;"),
            '\n' => out.push_str("<br/>"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
