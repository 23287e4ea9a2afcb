//! SARIF 2.1.0, the format in which code hosting shows findings beside the lines they are about.

use serde_json::{Map, Value, json};

use super::{Diagnostic, Position, Severity};

/// What a linter says about one of its rules, whatever was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The stable code, such as `SC011`.
    pub code: &'static str,
    /// One line: what the rule asks for.
    pub title: &'static str,
    /// Why it asks for it, in at most a thousand characters, which is what code hosting takes.
    pub why: &'static str,
    /// The whole page, in Markdown.
    pub text: &'static str,
}

/// The head of a log, up to and including the opening bracket of its results.
pub fn head(rules: &[Rule], tool_version: &str) -> String {
    let rules: Vec<Value> = rules
        .iter()
        .map(|rule| {
            json!({
                "id": rule.code,
                "shortDescription": {"text": rule.title},
                "fullDescription": {"text": rule.why},
                "help": {"text": rule.text, "markdown": rule.text},
            })
        })
        .collect();
    let driver = json!({
        "name": "clearway",
        "semanticVersion": tool_version,
        "informationUri": "https://clearway.dev",
        "rules": rules,
    });
    format!(
        r#"{{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":[{{"columnKind":"unicodeCodePoints","tool":{{"driver":{driver}}},"results":["#
    )
}

/// What closes the log that [`head`] opened.
pub const TAIL: &str = "]}]}";

/// One element of the results.
pub fn result(diagnostic: &Diagnostic) -> Value {
    let place = &diagnostic.place;
    let mut location = Map::new();
    if let Some(file) = &place.file {
        // Code hosting refuses a whole log for one result without a line, so a file as such is told by its first.
        let start = place.position.unwrap_or(Position { line: 1, column: 1 });
        let mut region = json!({"startLine": start.line, "startColumn": start.column});
        let shown = diagnostic.excerpt.as_ref().and_then(|excerpt| excerpt.text.get(excerpt.start..excerpt.end));
        if let (Some(shown), Some(region)) = (shown, region.as_object_mut()) {
            region.insert("endLine".to_owned(), json!(start.line));
            region.insert("endColumn".to_owned(), json!(start.column + shown.chars().count()));
        }
        let physical = json!({"artifactLocation": {"uri": uri(file)}, "region": region});
        location.insert("physicalLocation".to_owned(), physical);
    }
    let logical: Vec<Value> = [&place.object, &place.path]
        .into_iter()
        .flatten()
        .map(|name| json!({"fullyQualifiedName": name, "kind": "member"}))
        .collect();
    if !logical.is_empty() {
        location.insert("logicalLocations".to_owned(), Value::Array(logical));
    }
    let level = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    };
    let text = match &diagnostic.help {
        Some(help) => format!("{}\nhelp: {help}", diagnostic.message),
        None => diagnostic.message.clone(),
    };
    let mut result = json!({"ruleId": diagnostic.code, "level": level, "message": {"text": text}});
    if let (false, Some(result)) = (location.is_empty(), result.as_object_mut()) {
        result.insert("locations".to_owned(), json!([location]));
    }
    result
}

/// A file name as a relative URI: what a URI reserves is percent-encoded.
fn uri(file: &str) -> String {
    use std::fmt::Write as _;
    // Code hosting compares it with the paths of a repository, which do not begin with a dot.
    let file = file.strip_prefix("./").unwrap_or(file);
    file.bytes().fold(String::with_capacity(file.len()), |mut uri, byte| {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
        uri
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Excerpt, Place};
    use super::*;

    #[test]
    fn head_results_and_tail_make_one_valid_log() {
        let place = Place {
            file: Some("./dir/a b.yaml".into()),
            position: Some(Position { line: 3, column: 7 }),
            object: Some("Gateway shop/web".into()),
            path: None,
        };
        let diagnostic = Diagnostic::new("SC002", Severity::Info, "bad")
            .at(place)
            .with_help("mend it")
            .with_excerpt(Excerpt::of("a: [é]", 3..7));
        let rule = Rule { code: "SC002", title: "status is one of three words", why: "…", text: "…" };
        let log: Value =
            serde_json::from_str(&format!("{}{}{TAIL}", head(&[rule], "0.1.0"), result(&diagnostic))).unwrap();
        let run = &log["runs"][0];
        assert_eq!(run["tool"]["driver"]["rules"][0]["id"], "SC002");
        assert_eq!(
            run["results"][0],
            json!({
                "ruleId": "SC002",
                "level": "note",
                "message": {"text": "bad\nhelp: mend it"},
                "locations": [{
                    "physicalLocation": {
                        "artifactLocation": {"uri": "dir/a%20b.yaml"},
                        "region": {"startLine": 3, "startColumn": 7, "endLine": 3, "endColumn": 10},
                    },
                    "logicalLocations": [{"fullyQualifiedName": "Gateway shop/web", "kind": "member"}],
                }],
            })
        );
    }
}
