//! The drawing as a picture.

use clearway_core::terminal_text;

use super::layout::{BOX, Layout, ROW, Trunk, lay_out};
use super::view::{Kind, View};
use super::{Drawing, PageDrawing};

/// The style of drawings. Colours twice, because not every viewer knows variables; the second ones where the reader prefers dark.
pub const STYLE: &str = "\
text{font:11px sans-serif;fill:#1f2937}.v{font:11px ui-monospace,Menlo,Consolas,monospace}\
.h{font-weight:bold;font-size:13px}.t1{font-weight:bold;font-size:16px}.s{fill:#6b7280}\
.g{font-size:9px;fill:#92400e;paint-order:stroke;stroke:#fff;stroke-width:4px}.n{font-size:8px;fill:#92400e;text-anchor:middle}\
.bg{fill:#fff}.band{fill:#f3f4f6}.b{fill:#fff;stroke:#9ca3af}.new{stroke:#111827;stroke-width:1.6}\
.f{fill:#fef3c7;stroke:#b45309;stroke-width:2}.pre{fill:#6b7280;font-style:italic}\
.r{stroke:#d1d5db;fill:none}.l{fill:none;stroke-width:1.2}.d{fill:none;stroke-linecap:round;stroke-width:5}\
.o{fill:none;stroke-linecap:round;stroke-width:2.6;stroke:#fff}\
.p .l,.p .d{stroke:#1d4ed8}.c .l,.c .d{stroke:#d97706}.c .l{stroke-dasharray:5 3}\
.x .l,.x .d{stroke:#dc2626}.x .l{stroke-dasharray:1 3}.p .a{fill:#1d4ed8}.c .a{fill:#d97706}.x .a{fill:#dc2626}\
.w .l{stroke-width:.8}.w .d{stroke-width:3.4}.w .o{stroke-width:1.6}g:hover .l{stroke-width:3}\
@media(prefers-color-scheme:dark){text{fill:#e5e7eb}.s,.pre{fill:#9ca3af}.g,.n{fill:#fbbf24}.g{stroke:#111827}.bg{fill:#111827}\
.band{fill:#1f2937}.b{fill:#111827;stroke:#6b7280}.new{stroke:#f9fafb}.f{fill:#451a03;stroke:#f59e0b}\
.r{stroke:#374151}.o{stroke:#111827}.p .l,.p .d{stroke:#60a5fa}.c .l,.c .d{stroke:#f59e0b}\
.x .l,.x .d{stroke:#f87171}.p .a{fill:#60a5fa}.c .a{fill:#f59e0b}.x .a{fill:#f87171}}";

/// Draws a picture.
pub(super) fn draw(view: &View<'_>) -> Drawing {
    draw_with(view, None)
}

/// Draws an element of a page.
pub(super) fn draw_for_page(view: &View<'_>, page: PageDrawing<'_>) -> Drawing {
    draw_with(view, Some(page))
}

fn draw_with(view: &View<'_>, page: Option<PageDrawing<'_>>) -> Drawing {
    let layout = lay_out(view);
    let mut out = Drawing::with_capacity(4096 + view.nodes.len() * 320 + view.updates.len() * 24);
    head(&mut out, view, &layout, page);
    for column in &layout.columns {
        let (x, width, height) = (column.x - 8, column.width + 16, column.bottom - 90);
        put(
            &mut out,
            format_args!("<rect class=\"band\" x=\"{x}\" y=\"98\" width=\"{width}\" height=\"{height}\" rx=\"6\"/>"),
        );
        put(&mut out, format_args!("<text class=\"h\" x=\"{}\" y=\"116\">{}</text>", column.x, escaped(&column.name)));
        put(&mut out, format_args!("<text class=\"s\" x=\"{}\" y=\"128\">{}</text>", column.x, column.count));
    }
    let rows: String = layout
        .spots
        .values()
        .filter_map(|spot| Some(format!("M{} {}H{}", spot.x + spot.width, spot.y + 11, spot.row_end?)))
        .collect();
    put(&mut out, format_args!("<path class=\"r\" d=\"{rows}\"/>"));
    for trunk in &layout.trunks {
        draw_trunk(&mut out, view, &layout, trunk, page.is_some());
    }
    let newest: Vec<u32> = crate::query::stranded::minors(view.graph).iter().map(|minor| minor.newest).collect();
    for (place, spot) in &layout.spots {
        let version = view.version(*place);
        let state = match (view.focus.contains(place), newest.contains(place)) {
            (true, _) => "b f",
            (_, true) => "b new",
            _ => "b",
        };
        let text = if version.pre_release().is_empty() { "v" } else { "v pre" };
        let (x, y, width) = (spot.x, spot.y, spot.width);
        if let Some(page) = page {
            let (link, version) = (escaped(&(page.link)(&version)), escaped(&version.to_string()));
            put(&mut out, format_args!("<a href=\"{link}\" data-version=\"{version}\">"));
        }
        put(&mut out, format_args!("<g><title>{}</title>", escaped(&view.about(*place))));
        put(
            &mut out,
            format_args!("<rect class=\"{state}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{BOX}\" rx=\"3\"/>"),
        );
        let (x, y) = (x + 7, y + 11);
        put(
            &mut out,
            format_args!("<text class=\"{text}\" x=\"{x}\" y=\"{y}\">{}</text></g>", escaped(&version.to_string())),
        );
        if page.is_some() {
            out.push_str("</a>");
        }
    }
    for label in &layout.labels {
        for (y, line) in (label.y + 9..).step_by(11).zip(&label.lines) {
            put(
                &mut out,
                format_args!(
                    "<text class=\"g\" xml:space=\"preserve\" x=\"{}\" y=\"{y}\">{}</text>",
                    label.x,
                    escaped(line)
                ),
            );
        }
    }
    if !layout.sets.is_empty() {
        let y = layout.legend;
        put(&mut out, format_args!("<text class=\"h\" x=\"24\" y=\"{y}\">Risks of the dashed updates</text>"));
        for ((number, text), y) in layout.list.iter().zip((y + 20..).step_by(14)) {
            if let Some(number) = number {
                put(&mut out, format_args!("<text x=\"24\" y=\"{y}\">{number}</text>"));
            }
            put(&mut out, format_args!("<text x=\"52\" y=\"{y}\">{}</text>", escaped(text)));
        }
    }
    out.push_str("</svg>\n");
    out
}

fn head(out: &mut Drawing, view: &View<'_>, layout: &Layout, page: Option<PageDrawing<'_>>) {
    let (width, height) = (layout.width, layout.height);
    let zoomed = |length: i64| length.saturating_mul(page.map_or(100, |page| i64::from(page.zoom))) / 100;
    // What is inside an image is not read aloud, and links have to be.
    let role = if page.is_some() { "class=\"drawing\" role=\"group\"" } else { "role=\"img\"" };
    put(
        out,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{}\" \
             height=\"{}\" {role} aria-labelledby=\"title desc\">",
            zoomed(width),
            zoomed(height)
        ),
    );
    let title = if view.title.is_empty() { "Updates" } else { view.title };
    put(out, format_args!("<title id=\"title\">{}</title>", escaped(title)));
    let how = "Each column is a minor, oldest version first. A dot on a version's row is an update to the version at \
               the arrow of that line.";
    put(out, format_args!("<desc id=\"desc\">{}. {how}</desc>", escaped(&view.summary())));
    if page.is_none() {
        put(out, format_args!("<style>{STYLE}</style>"));
    }
    put(out, format_args!("<rect class=\"bg\" width=\"{width}\" height=\"{height}\"/>"));
    put(out, format_args!("<text class=\"t1\" x=\"24\" y=\"34\">{}</text>", escaped(title)));
    put(out, format_args!("<text class=\"s\" x=\"24\" y=\"52\">{}</text>", escaped(&view.summary())));
    let kinds = [
        (Kind::Plain, "update"),
        (Kind::Conditional, "conditional update, by number of its risks"),
        (Kind::Removed, "removed"),
    ];
    let mut x = 24;
    for (kind, text) in kinds.into_iter().filter(|(kind, _)| view.updates.iter().any(|update| update.kind == *kind)) {
        put(out, format_args!("<g class=\"{}\"><path class=\"l\" d=\"M{x} 72h30\"/>", class(kind)));
        arrow(out, x + 36, 72, true);
        dots(out, kind, &format!("M{} 72h.01", x + 8));
        put(out, format_args!("</g><text x=\"{}\" y=\"76\">{text}</text>", x + 44));
        x += 70 + super::layout::px(text.len()) * 6;
    }
    put(
        out,
        format_args!(
            "<text class=\"s\" x=\"{x}\" y=\"76\">a dot on a row: from that version to the one at the arrow</text>"
        ),
    );
}

fn draw_trunk(out: &mut Drawing, view: &View<'_>, layout: &Layout, trunk: &Trunk, on_page: bool) {
    let narrow = if trunk.narrow { " w" } else { "" };
    let ends = if on_page {
        let sources: Vec<_> = trunk.sources.iter().map(|place| view.version(*place).to_string()).collect();
        let (sources, target) = (escaped(&sources.join(" ")), view.version(trunk.target).to_string());
        format!(" data-from=\"{sources}\" data-to=\"{}\"", escaped(&target))
    } else {
        String::new()
    };
    put(
        out,
        format_args!(
            "<g class=\"{}{narrow}\"{ends}><title>{}</title>",
            class(trunk.kind),
            escaped(&about(view, layout, trunk))
        ),
    );
    let (x, (end, y)) = (trunk.x, trunk.end);
    let top = trunk.dots.iter().copied().fold(y, i64::min);
    let bottom = trunk.dots.iter().copied().fold(y, i64::max);
    let to_right = end > x;
    let tip = if to_right { end - 5 } else { end + 5 };
    put(out, format_args!("<path class=\"l\" d=\"M{x} {top}V{bottom}M{x} {y}H{tip}\"/>"));
    arrow(out, end, y, to_right);
    let marks = trunk.dots.iter().fold(String::new(), |marks, y| marks + &format!("M{x} {y}h.01"));
    dots(out, trunk.kind, &marks);
    if let Some(set) = trunk.set {
        let y = top - 5;
        let turn = if trunk.narrow { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
        put(out, format_args!("<text class=\"n\" x=\"{x}\" y=\"{y}\"{turn}>{set}</text>"));
    }
    out.push_str("</g>\n");
}

fn about(view: &View<'_>, layout: &Layout, trunk: &Trunk) -> String {
    let target = view.version(trunk.target);
    let sources: Vec<_> = trunk.sources.iter().map(|place| view.version(*place).to_string()).collect();
    let set = trunk.set.and_then(|set| layout.sets.get(set.checked_sub(1)?));
    let risks = set.map_or(String::new(), |(names, _)| format!("\nrisks: {}", names.join(", ")));
    let removed = if trunk.kind == Kind::Removed { "\nnot offered to any cluster" } else { "" };
    format!("to {target} from {}{risks}{removed}", sources.join(", "))
}

fn class(kind: Kind) -> char {
    match kind {
        Kind::Plain => 'p',
        Kind::Conditional => 'c',
        Kind::Removed => 'x',
    }
}

fn arrow(out: &mut Drawing, x: i64, y: i64, to_right: bool) {
    let back = if to_right { -6 } else { 6 };
    put(out, format_args!("<path class=\"a\" d=\"M{x} {y}l{back} -3v6z\"/>"));
}

/// Full dots, or rings for what is not simply open.
fn dots(out: &mut Drawing, kind: Kind, marks: &str) {
    put(out, format_args!("<path class=\"d\" d=\"{marks}\"/>"));
    if kind != Kind::Plain {
        put(out, format_args!("<path class=\"o\" d=\"{marks}\"/>"));
    }
}

fn put(out: &mut Drawing, text: std::fmt::Arguments<'_>) {
    out.line(text);
}

/// A text for XML; what could deceive a reader is shown as an escape, and characters that XML cannot hold are left out.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in terminal_text::escape(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            '\u{fffe}' | '\u{ffff}' => {}
            c if c < ' ' => {}
            c => out.push(c),
        }
    }
    out
}

const _: () = assert!(BOX < ROW);
