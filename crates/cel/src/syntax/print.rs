//! The canonical text of an expression: one line, one space, double quotes. It reads back as the same tree.

#![expect(clippy::format_push_string, reason = "writing to a text does not fail, and this is how it reads best")]

use std::fmt;

use crate::syntax::ast::{Ast, Child, NodeId, NodeKind, Range, Text};
use crate::syntax::token::is_keyword;

/// Prints an expression.
pub fn print(ast: &Ast) -> String {
    print_part(ast, ast.root())
}

/// Prints a part of an expression, as it would stand alone.
pub(crate) fn print_part(ast: &Ast, part: NodeId) -> String {
    let mut printer = Printer { ast, out: String::new(), tasks: Vec::new() };
    printer.tasks.push(Task::Node(part, CONDITIONAL));
    while let Some(task) = printer.tasks.pop() {
        match task {
            Task::Word(word) => printer.out.push_str(word),
            Task::Name(name) => printer.out.push_str(printer.ast.text(name)),
            Task::Field(name) => printer.field(name),
            Task::Node(node, binding) => printer.node(node, binding),
        }
    }
    printer.out
}

impl fmt::Display for Ast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print(self))
    }
}

/// How tight a part must bind to stand without parentheses.
const CONDITIONAL: u8 = 0;
const OR: u8 = 1;
const AND: u8 = 2;
const RELATION: u8 = 3;
const UNARY: u8 = 6;
const MEMBER: u8 = 7;

enum Task {
    Word(&'static str),
    Name(Text),
    Field(Text),
    Node(NodeId, u8),
}

struct Printer<'a> {
    ast: &'a Ast,
    out: String,
    /// What is to be printed, the next one last.
    tasks: Vec<Task>,
}

impl Printer<'_> {
    fn node(&mut self, id: NodeId, binding: u8) {
        let kind = self.ast.node(id).kind;
        if own_binding(kind) < binding {
            self.later([Task::Word("("), Task::Node(id, CONDITIONAL), Task::Word(")")]);
            return;
        }
        match kind {
            NodeKind::Null => self.out.push_str("null"),
            NodeKind::Bool(value) => self.out.push_str(if value { "true" } else { "false" }),
            NodeKind::Int(value) => self.out.push_str(&value.to_string()),
            NodeKind::Uint(value) => self.out.push_str(&format!("{value}u")),
            NodeKind::Double(value) => self.out.push_str(&format!("{value:?}")),
            NodeKind::String(text) => push_string(self.ast.text(text), &mut self.out),
            NodeKind::Bytes(text) => push_bytes(self.ast.blob(text), &mut self.out),
            NodeKind::Ident { name, root } => self.later([dot(root), Task::Name(name)]),
            NodeKind::Select { operand, field, optional } => {
                let dot = Task::Word(if optional { ".?" } else { "." });
                self.later([Task::Node(operand, MEMBER), dot, Task::Field(field)]);
            }
            NodeKind::Index { operand, index, optional } => {
                let open = Task::Word(if optional { "[?" } else { "[" });
                self.later([Task::Node(operand, MEMBER), open, Task::Node(index, CONDITIONAL), Task::Word("]")]);
            }
            NodeKind::Call { name, root, arguments } => {
                self.list("(", arguments, ")");
                self.later([dot(root), Task::Name(name)]);
            }
            NodeKind::MemberCall { target, name, arguments } => {
                self.list("(", arguments, ")");
                self.later([Task::Node(target, MEMBER), Task::Word("."), Task::Name(name)]);
            }
            NodeKind::Not(operand) => self.later([Task::Word("!"), Task::Node(operand, MEMBER)]),
            NodeKind::Negate(operand) => {
                // A minus right before a number would belong to the number.
                if starts_with_number(self.ast, operand) {
                    self.later([Task::Word("-("), Task::Node(operand, CONDITIONAL), Task::Word(")")]);
                } else {
                    self.later([Task::Word("-"), Task::Node(operand, MEMBER)]);
                }
            }
            NodeKind::Binary { op, left, right } => {
                let binding = op.precedence().saturating_add(2);
                let word = |word| [Task::Word(" "), Task::Word(word), Task::Word(" ")];
                let [before, symbol, after] = word(op.symbol());
                let right = Task::Node(right, binding.saturating_add(1));
                self.later([Task::Node(left, binding), before, symbol, after, right]);
            }
            NodeKind::And(terms) => self.terms(terms, " && ", RELATION),
            NodeKind::Or(terms) => self.terms(terms, " || ", AND),
            NodeKind::Conditional { condition, then, otherwise } => self.later([
                Task::Node(condition, OR),
                Task::Word(" ? "),
                Task::Node(then, OR),
                Task::Word(" : "),
                Task::Node(otherwise, CONDITIONAL),
            ]),
            NodeKind::List(elements) => self.list("[", elements, "]"),
            NodeKind::Map(entries) => self.entries(entries),
            NodeKind::Message { name, root, fields } => {
                self.fields(fields);
                self.later([dot(root), Task::Name(name)]);
            }
        }
    }

    /// Puts tasks before everything else, in their order.
    fn later<const N: usize>(&mut self, tasks: [Task; N]) {
        self.tasks.extend(tasks.into_iter().rev());
    }

    fn terms(&mut self, terms: Range, between: &'static str, binding: u8) {
        for (index, child) in self.ast.children(terms).iter().enumerate().rev() {
            self.tasks.push(Task::Node(child.node, binding));
            if index > 0 {
                self.tasks.push(Task::Word(between));
            }
        }
    }

    fn list(&mut self, open: &'static str, elements: Range, close: &'static str) {
        self.tasks.push(Task::Word(close));
        for (index, child) in self.ast.children(elements).iter().enumerate().rev() {
            self.tasks.push(Task::Node(child.node, CONDITIONAL));
            self.separate(index, *child);
        }
        self.tasks.push(Task::Word(open));
    }

    fn entries(&mut self, entries: Range) {
        self.tasks.push(Task::Word("}"));
        for (index, entry) in self.ast.children(entries).chunks(2).enumerate().rev() {
            if let [key, value] = entry {
                self.later([Task::Node(key.node, CONDITIONAL), Task::Word(": "), Task::Node(value.node, CONDITIONAL)]);
                self.separate(index, *key);
            }
        }
        self.tasks.push(Task::Word("{"));
    }

    fn fields(&mut self, fields: Range) {
        self.tasks.push(Task::Word("}"));
        for (index, child) in self.ast.children(fields).iter().enumerate().rev() {
            self.later([Task::Field(child.field), Task::Word(": "), Task::Node(child.node, CONDITIONAL)]);
            self.separate(index, *child);
        }
        self.tasks.push(Task::Word("{"));
    }

    /// What stands before an element.
    fn separate(&mut self, index: usize, child: Child) {
        let word = match (index > 0, child.optional) {
            (true, true) => ", ?",
            (true, false) => ", ",
            (false, true) => "?",
            (false, false) => "",
        };
        self.tasks.push(Task::Word(word));
    }

    /// The name of a field: between backticks where it must be.
    fn field(&mut self, name: Text) {
        let name = self.ast.text(name);
        let keyword = is_keyword(name);
        let plain = name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
        if plain && !keyword && !name.starts_with(|char: char| char.is_ascii_digit()) {
            self.out.push_str(name);
        } else {
            self.out.push('`');
            self.out.push_str(name);
            self.out.push('`');
        }
    }
}

fn dot(root: bool) -> Task {
    Task::Word(if root { "." } else { "" })
}

fn own_binding(kind: NodeKind) -> u8 {
    match kind {
        NodeKind::Conditional { .. } => CONDITIONAL,
        NodeKind::Or(_) => OR,
        NodeKind::And(_) => AND,
        NodeKind::Binary { op, .. } => op.precedence().saturating_add(2),
        NodeKind::Not(_) | NodeKind::Negate(_) => UNARY,
        _ => MEMBER,
    }
}

/// Whether the text of a part begins with a number.
fn starts_with_number(ast: &Ast, mut id: NodeId) -> bool {
    loop {
        id = match ast.node(id).kind {
            NodeKind::Int(_) | NodeKind::Uint(_) | NodeKind::Double(_) => return true,
            NodeKind::Select { operand, .. } | NodeKind::Index { operand, .. } => operand,
            NodeKind::MemberCall { target, .. } => target,
            _ => return false,
        };
    }
}

/// Appends a string between double quotes.
pub(crate) fn push_string(text: &str, out: &mut String) {
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            char if char.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(char))),
            char => out.push(char),
        }
    }
    out.push('"');
}

/// Appends bytes between double quotes.
pub(crate) fn push_bytes(bytes: &[u8], out: &mut String) {
    out.push_str("b\"");
    for byte in bytes {
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x20..=0x7e => out.push(char::from(*byte)),
            byte => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests;
