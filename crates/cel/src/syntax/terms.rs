//! What an expression consists of, for comparing two of them: its terms, and the fields it looks at.

use std::collections::BTreeSet;

use super::ast::{Ast, NodeId, NodeKind, Range};
use super::print::print_part;

/// The names in an expression.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MentionedNames {
    /// The fields that are selected, with or without `has`, of whatever value.
    pub fields: BTreeSet<String>,
    /// The variables that are used as a whole, and not only to select a field of them.
    pub variables: BTreeSet<String>,
}

impl Ast {
    /// The canonical texts of the terms that must all hold: those of a chain of `&&`, or the whole expression.
    pub fn conjuncts(&self) -> BTreeSet<String> {
        match self.node(self.root()).kind {
            NodeKind::And(terms) => self.terms(terms),
            _ => BTreeSet::from([print_part(self, self.root())]),
        }
    }

    /// The canonical texts of the terms of which one must hold: those of a chain of `||`, or the whole expression.
    pub fn disjuncts(&self) -> BTreeSet<String> {
        match self.node(self.root()).kind {
            NodeKind::Or(terms) => self.terms(terms),
            _ => BTreeSet::from([print_part(self, self.root())]),
        }
    }

    fn terms(&self, terms: Range) -> BTreeSet<String> {
        self.children(terms).iter().map(|child| print_part(self, child.node)).collect()
    }

    /// The names of fields and variables that the expression mentions.
    pub fn mentioned_names(&self) -> MentionedNames {
        let mut names = MentionedNames::default();
        let mut selected: BTreeSet<NodeId> = BTreeSet::new();
        for node in &self.nodes {
            if let NodeKind::Select { operand, field, .. } = node.kind {
                names.fields.insert(self.text(field).to_owned());
                selected.insert(operand);
            }
        }
        for (id, node) in (0..).zip(&self.nodes) {
            if let NodeKind::Ident { name, .. } = node.kind
                && !selected.contains(&id)
            {
                names.variables.insert(self.text(name).to_owned());
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use crate::{Limits, parse};

    #[test]
    fn terms_are_compared_by_their_canonical_text() {
        let parse = |text| parse(text, &Limits::default()).unwrap();
        let (old, new) = (parse("self.a > 1 && has(self.b)"), parse("has( self.b )"));
        assert!(new.conjuncts().is_subset(&old.conjuncts()));
        let (old, new) = (parse("self.a == 'x'"), parse(r#"self.a == "x" || self.a == 'y'"#));
        assert!(old.disjuncts().is_subset(&new.disjuncts()));
    }

    #[test]
    fn names_are_fields_and_whole_variables() {
        let ast =
            parse("has(self.a) && self.b.all(x, x > oldSelf.c) && size(oldSelf) > 1", &Limits::default()).unwrap();
        let names = ast.mentioned_names();
        assert_eq!(names.fields.into_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(names.variables.into_iter().collect::<Vec<_>>(), ["oldSelf", "x"]);
    }
}
