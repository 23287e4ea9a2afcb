//! A query as it is put to a metrics store: read, fenced, and in one form.
//!
//! Two texts that differ in spaces, comments or quotes are one question, asked once (U9). The fence stands here, before
//! any store is asked, so that no implementation of evidence can forget it (U18).

use std::sync::Arc;

use clearway_promql::Query;

use super::{Failure, FailureClass};
use crate::settings::Settings;

/// A query that may be asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    query: Query,
    text: Arc<str>,
    /// Selectors that a store of several clusters answers for all of them.
    lacking: usize,
}

impl Question {
    /// The question of a text, or why it is none that may be asked.
    pub fn new(text: &str, settings: &Settings) -> Result<Self, Failure> {
        let query = Query::parse(text, &settings.limits).map_err(|errors| {
            let first = errors.0.first();
            let (message, place) = match first {
                Some(error) => (error.message.clone(), error.diagnostic(text).place.position),
                None => (errors.to_string(), None),
            };
            let place = place.map(|at| format!(" (line {}, column {})", at.line, at.column)).unwrap_or_default();
            Failure::new(FailureClass::Malformed, format!("The query is not valid PromQL{place}: {message}"))
        })?;
        settings.fence.check(&query).map_err(|refusal| {
            let limit = refusal.limit.as_str();
            Failure::new(FailureClass::Refused, format!("The fence refuses the query (limit `{limit}`): {refusal}"))
        })?;
        let text = query.to_string().into();
        Ok(Question { query, text, lacking: 0 })
    }

    /// The same question about one cluster of a store that holds several.
    pub fn for_cluster(&self, id: &str, settings: &Settings) -> Result<Self, Failure> {
        let refused = |error: &dyn std::fmt::Display| {
            Failure::new(FailureClass::Refused, format!("The query cannot be run for the cluster `{id}`: {error}"))
        };
        let made = self.query.for_cluster(id, &settings.limits).map_err(|errors| refused(&errors))?;
        settings.fence.check(&made.query).map_err(|refusal| refused(&refusal))?;
        let text = made.query.to_string().into();
        Ok(Question { query: made.query, text, lacking: made.lacking.len() })
    }

    /// The canonical text: what is sent, and what tells questions apart.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The same text, to be kept.
    pub(crate) fn shared_text(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    /// The query.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// Bytes of memory that it takes.
    pub(crate) fn memory(&self) -> usize {
        self.query.memory().saturating_add(self.text.len())
    }

    /// How many selectors were not narrowed to the cluster the question was made for.
    pub(crate) fn lacking(&self) -> usize {
        self.lacking
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(text: &str) -> Result<Question, String> {
        Question::new(text, &Settings::default()).map_err(|failure| failure.message)
    }

    #[test]
    fn two_spellings_are_one_question() {
        let one = question("max(up{a='b'}) # why\n").unwrap();
        assert_eq!(one.text(), r#"max(up{a="b"})"#);
        assert_eq!(one.text(), question("max( up{ a = \"b\" } )").unwrap().text());
    }

    #[test]
    fn what_is_no_query_is_named_with_its_place_and_what_is_refused_with_its_limit() {
        let broken = question("max(\nup{)").unwrap_err();
        assert!(broken.starts_with("The query is not valid PromQL (line 2, column 4):"), "{broken}");
        let refused = question("max({a=\"b\"})").unwrap_err();
        assert!(refused.starts_with("The fence refuses the query (limit `metric-name`): The selector"), "{refused}");
    }

    #[test]
    fn a_shared_store_is_asked_for_one_cluster() {
        let made = question("group(a{_id=\"\"}) or group(b)").unwrap().for_cluster("7", &Settings::default()).unwrap();
        assert_eq!((made.text(), made.lacking()), ("group(a{_id=\"7\"}) or group(b)", 1));
    }
}
