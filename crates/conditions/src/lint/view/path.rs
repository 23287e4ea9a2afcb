//! The way from an object to one of its values, kept on the stack and written out only for a finding.

use std::fmt::Write as _;

use clearway_yaml::Node;

/// One step and the steps before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Step<'p>,
}

/// One step.
#[derive(Debug, Clone, Copy)]
enum Step<'p> {
    Key(&'p str),
    Item(usize, Node<'p>),
}

/// Names longer than this are told by their number: a path is for people.
const LONGEST_NAME: usize = 80;

impl<'p> Path<'p> {
    /// The first step.
    pub(crate) fn root(key: &'p str) -> Self {
        Path { parent: None, step: Step::Key(key) }
    }

    /// The value under a key.
    pub(crate) fn key(&'p self, key: &'p str) -> Path<'p> {
        Path { parent: Some(self), step: Step::Key(key) }
    }

    /// An element of a list, named by its `name` where it has one.
    pub(crate) fn item(&'p self, index: usize, node: Node<'p>) -> Path<'p> {
        Path { parent: Some(self), step: Step::Item(index, node) }
    }

    /// The path as text, such as `status.listeners[name=http].conditions`.
    pub(crate) fn render(&self) -> String {
        let mut steps = vec![self.step];
        let mut at = self;
        while let Some(parent) = at.parent {
            steps.push(parent.step);
            at = parent;
        }
        let mut text = String::new();
        for step in steps.iter().rev() {
            match step {
                Step::Key(key) => {
                    if !text.is_empty() {
                        text.push('.');
                    }
                    text.push_str(key);
                }
                Step::Item(index, node) => match node.get("name").and_then(Node::as_text).filter(|name| is_label(name))
                {
                    Some(name) => _ = write!(text, "[name={name}]"),
                    None => _ = write!(text, "[{index}]"),
                },
            }
        }
        text
    }
}

/// Whether a name can stand in a path as it is.
pub(crate) fn is_label(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= LONGEST_NAME
        && !name.contains(|at: char| matches!(at, '[' | ']') || at.is_control())
}
