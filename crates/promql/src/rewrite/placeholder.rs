//! The placeholder for the cluster: `_id=""`.
//!
//! A store that holds many clusters tells them apart by the label `_id`. Queries of update graphs are written with
//! `_id=""` on every selector: in a cluster's own store no series has the label, so the matcher changes nothing; for a
//! shared store the empty value is replaced by the cluster's id. That happens in the tree: in the text, the same
//! characters may stand in a string or a comment.

use crate::error::Errors;
use crate::query::Query;
use crate::syntax::ast::{MatchOp, Span};
use crate::syntax::limits::Limits;
use crate::syntax::walk::selectors_mut;

/// The label that tells clusters apart.
pub const CLUSTER_ID_LABEL: &str = "_id";

/// A query made for one cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Substitution {
    /// The query with the cluster's id in place of the placeholder, in its canonical text.
    pub query: Query,
    /// How many selectors had the placeholder.
    pub replaced: usize,
    /// Where, in the original text, selectors stand that lack it: on a shared store they see every cluster.
    pub lacking: Vec<Span>,
}

impl Query {
    /// This query for the cluster `id`: every matcher `_id=""` becomes `_id="<id>"`.
    ///
    /// Fails only if the longer text, or the id, breaks a limit.
    pub fn for_cluster(&self, id: &str, limits: &Limits) -> Result<Substitution, Errors> {
        let mut expr = self.expr().clone();
        let mut replaced: usize = 0;
        let mut lacking = Vec::new();
        selectors_mut(&mut expr, &mut |selector| {
            let mut found = false;
            for matcher in &mut selector.matchers {
                let is_placeholder = matcher.label.text == CLUSTER_ID_LABEL
                    && matcher.op == MatchOp::Equal
                    && matcher.value.text.is_empty();
                if is_placeholder {
                    id.clone_into(&mut matcher.value.text);
                    found = true;
                }
            }
            if found {
                replaced = replaced.saturating_add(1);
            } else {
                lacking.push(selector.span);
            }
        });
        let query = Query::parse(&expr.to_string(), limits)?;
        Ok(Substitution { query, replaced, lacking })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn substitute(text: &str, id: &str) -> Substitution {
        let limits = Limits::default();
        Query::parse(text, &limits).unwrap().for_cluster(id, &limits).unwrap()
    }

    #[test]
    fn every_selector_gets_the_id_and_nothing_else_changes() {
        let text = r#"label_replace(group(max_over_time(x{_id="",a="_id=\"\""}[1h])), "b", "_id=\"\"", "", "") or 0 * group({_id='', __name__="y"} offset 5m) # _id="""#;
        let made = substitute(text, "0b\"7");
        assert_eq!(
            made.query.to_string(),
            r#"label_replace(group(max_over_time(x{_id="0b\"7",a="_id=\"\""}[1h])), "b", "_id=\"\"", "", "") or 0 * group({__name__="y",_id="0b\"7"} offset 5m)"#
        );
        assert_eq!((made.replaced, made.lacking), (2, vec![]));
    }

    #[test]
    fn selectors_without_the_placeholder_are_named() {
        let text = r#"group(x{_id=""}) or on (_id) group(y{_id=~".+"}) or z"#;
        let made = substitute(text, "a");
        let lacking: Vec<&str> = made.lacking.iter().map(|span| &text[span.start..span.end]).collect();
        assert_eq!((made.replaced, lacking), (1, vec![r#"y{_id=~".+"}"#, "z"]));
    }
}
