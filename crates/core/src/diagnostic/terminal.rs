//! A diagnostic for a person at a terminal, in the shape compilers made familiar.

use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};

use super::{Diagnostic, Excerpt, Severity};
use crate::terminal_text::{escape, escape_line};

/// Renders one diagnostic over several lines, without a final newline; `colour` adds ANSI styles.
pub fn render(diagnostic: &Diagnostic, colour: bool) -> String {
    let place = &diagnostic.place;
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    let title = level.primary_title(escape(&diagnostic.message).into_owned()).id(diagnostic.code.clone());
    let file = place.file.as_deref().map(|file| escape_line(file).into_owned());
    let excerpt = diagnostic.excerpt.as_ref().map(escaped);

    let mut elements: Vec<Element<'_>> = Vec::new();
    match (&excerpt, place.position) {
        (Some(excerpt), Some(position)) if !excerpt.text.starts_with('…') => elements.push(
            Snippet::source(excerpt.text.as_str())
                .line_start(position.line)
                .path(file.as_deref())
                .annotation(AnnotationKind::Primary.span(excerpt.start..excerpt.end))
                .into(),
        ),
        // The piece of a long line does not know its column in the file, so the place is given apart from it.
        (excerpt, Some(position)) => {
            elements.push(
                Origin::path(file.as_deref().unwrap_or("-")).line(position.line).char_column(position.column).into(),
            );
            elements.extend(excerpt.as_ref().map(|excerpt| note(&excerpt.text, "in")));
        }
        (_, None) => elements.extend(file.as_deref().map(|file| Origin::path(file).into())),
    }
    let object = match (&place.object, &place.path) {
        (Some(object), Some(path)) => Some(format!("{object}: {path}")),
        (object, path) => object.clone().or_else(|| path.clone()),
    };
    elements.extend(object.as_deref().map(|text| note(text, "at")));
    elements.extend(diagnostic.note.as_deref().map(|text| note(text, "note")));
    elements
        .extend(diagnostic.help.as_deref().map(|help| Element::from(Level::HELP.message(escape(help).into_owned()))));
    let group: Group<'_> = title.elements(elements);
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    renderer.render(&[group])
}

fn note(text: &str, label: &'static str) -> Element<'static> {
    Level::NOTE.with_name(label).message(escape(text).into_owned()).into()
}

/// An excerpt in which the same place is marked.
fn escaped(excerpt: &Excerpt) -> Excerpt {
    let Excerpt { text, start, end } = excerpt;
    let (Some(before), Some(marked), Some(after)) = (text.get(..*start), text.get(*start..*end), text.get(*end..))
    else {
        let text = escape(text).into_owned();
        return Excerpt { start: 0, end: text.len(), text };
    };
    let (before, marked) = (escape(before), escape(marked));
    let (start, end) = (before.len(), before.len().saturating_add(marked.len()));
    Excerpt { text: format!("{before}{marked}{}", escape(after)), start, end }
}

#[cfg(test)]
mod tests {
    use super::super::{Excerpt, Place, Position};
    use super::*;

    #[test]
    fn shows_the_line_with_a_caret_the_object_and_the_help() {
        let source = "status:\n  conditions:\n  - status: maybe\n";
        let at = source.find("maybe").unwrap();
        let diagnostic = Diagnostic::new("SC002", Severity::Error, "status is `maybe`")
            .at(Place {
                file: Some("web.yaml".into()),
                position: Some(Position { line: 3, column: 13 }),
                object: Some("Deployment.apps shop/web".into()),
                path: Some("status.conditions[0].status".into()),
            })
            .with_excerpt(Excerpt::of(source, at..at + 5))
            .with_help("write True, False or Unknown");
        let want = "\
error[SC002]: status is `maybe`
 --> web.yaml:3:13
  |
3 |   - status: maybe
  |             ^^^^^
  |
  = at: Deployment.apps shop/web: status.conditions[0].status
  = help: write True, False or Unknown";
        assert_eq!(render(&diagnostic, false), want);
    }

    #[test]
    fn without_a_source_only_what_is_known_is_shown() {
        let diagnostic = Diagnostic::new("SC010", Severity::Warning, "no summary")
            .at(Place { object: Some("Gateway shop/web".into()), ..Place::default() });
        assert_eq!(render(&diagnostic, false), "warning[SC010]: no summary\n |\n = at: Gateway shop/web");
    }

    #[test]
    fn foreign_text_cannot_drive_the_terminal() {
        let diagnostic = Diagnostic::new("SC006", Severity::Info, "bad \u{1b}[2J text");
        assert!(!render(&diagnostic, false).contains('\u{1b}'));
    }
}
