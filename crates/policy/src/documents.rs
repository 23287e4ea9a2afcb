//! Files of templates, constraints and objects as `gator` reads them.

use serde_json::Value;

use clearway_core::Limits;
use clearway_yaml::ReadEvent;

/// Why a file is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// The text is not YAML or JSON.
    #[error("invalid yaml: {0}")]
    Syntax(String),
}

/// The documents of a file. Empty ones, and those of comments only, are passed over.
pub fn read_documents(text: &str, file: &str, limits: &Limits) -> Result<Vec<Value>, DocumentError> {
    match read(text, file, limits) {
        Ok(documents) => Ok(documents),
        // Quoted texts may go on with less indentation than YAML allows; the libraries of Go accept that.
        Err(problem) => match indented(text) {
            Some(text) => read(&text, file, limits),
            None => Err(problem),
        },
    }
}

/// The first document of a file.
pub fn read_document(text: &str, file: &str, limits: &Limits) -> Result<Value, DocumentError> {
    Ok(read_documents(text, file, limits)?.into_iter().next().unwrap_or_default())
}

fn read(text: &str, file: &str, limits: &Limits) -> Result<Vec<Value>, DocumentError> {
    let mut documents = Vec::new();
    let mut problem = None;
    clearway_yaml::read(text.as_bytes(), file, limits, |event| match event {
        ReadEvent::Object { root, .. } => {
            let value = root.to_json();
            if !value.is_null() {
                documents.push(value);
            }
        }
        ReadEvent::Problem(diagnostic) => {
            let place = diagnostic.place.position.map(|at| format!("{}:{}: ", at.line, at.column)).unwrap_or_default();
            problem.get_or_insert_with(|| format!("{place}{}", diagnostic.message));
        }
    });
    problem.map_or(Ok(documents), |problem| Err(DocumentError::Syntax(problem)))
}

/// The text with lines inside of double quotes indented far enough; nothing if there are none.
fn indented(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut open: Option<usize> = None;
    let mut changed = false;
    for line in text.split_inclusive('\n') {
        let indent = line.len().saturating_sub(line.trim_start_matches(' ').len());
        if let Some(least) = open
            && indent < least
            && !line.trim().is_empty()
        {
            out.push_str(&" ".repeat(least.saturating_sub(indent)));
            changed = true;
        }
        out.push_str(line);
        // A value that begins with a quote and does not end on its line.
        let starts = open.is_none() && line.split_once(": \"").is_some();
        if open.is_some() || starts {
            let quoted = if open.is_some() { line } else { line.split_once(": \"").map_or("", |(_, rest)| rest) };
            let mut escaped = false;
            let mut closed = false;
            for char in quoted.chars() {
                match char {
                    '\\' if !escaped => {
                        escaped = true;
                        continue;
                    }
                    '"' if !escaped => {
                        closed = true;
                        break;
                    }
                    _ => {}
                }
                escaped = false;
            }
            open = match (closed, open) {
                (true, _) => None,
                (false, Some(least)) => Some(least),
                (false, None) => Some(indent.saturating_add(2)),
            };
        }
    }
    changed.then_some(out)
}
