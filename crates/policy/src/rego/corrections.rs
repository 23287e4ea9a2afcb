//! Where the engine reads Rego otherwise than OPA does, the text is changed so that it means what it means to OPA.
//!
//! | correction | what the engine makes of it | what OPA makes of it |
//! |---|---|---|
//! | a `(` on a new line | the arguments of what the line before ends with | a new expression |
//! | bodies behind each other, `p[x] { … } { … }` | an error for sets, an `else` for functions | one rule for each |
//! | `not f(x.y)` without `x.y` | true | the body is undefined: references are looked up in front of `not` |
//! | `[path, value] := walk(x)` in a comprehension | nothing | every part of `x` |
//! | `sprintf("…", [x], y)` | an error for functions supplied by us | `y = sprintf("…", [x])` |
//!
//! Changes keep lines, and columns are mapped back ([`EditedText`]).

use std::collections::BTreeSet;
use std::fmt::Write as _;

use regorus::unstable::{
    AssignOp, BoolOp, Expr, Lexer, Literal, LiteralStmt, Module, Query, Rule, RuleHead, TokenKind,
};

use super::builtins;
use super::edits::{Edit, EditedText};
use super::error::{RegoError, RegoErrorKind};
use super::syntax::{self, Part};
use super::{MAX_COLUMN, RegoVersion, variables};

/// How often a text is corrected: each pass frees one level of what was nested.
const PASSES: usize = 40;

/// How deep brackets may be nested. The engine reads an array twice, once as a comprehension: each level doubles the time.
pub(super) const MAX_BRACKETS: usize = 14;

/// Variables of corrected texts begin with this.
const PREFIX: &str = "clearway_hoisted_";

/// A module that means to the engine what its original means to OPA.
#[derive(Debug)]
pub(crate) struct Corrected {
    pub(crate) text: EditedText,
    pub(crate) module: Module,
}

/// Corrects and parses a module.
pub(crate) fn correct(name: &str, text: &str, version: RegoVersion) -> Result<Corrected, RegoError> {
    let mut edited = EditedText::new(text);
    let tokens = tokens(name, text)?;
    let mut edits = split_lines(&tokens);
    if version == RegoVersion::V0 {
        edits.extend(split_bodies(text, &tokens));
    }
    edited.apply(edits);
    let mut counter = 0;
    for pass in 0..PASSES {
        let module = syntax::parse(name, edited.text(), version).map_err(|error| placed(error, &edited))?;
        if pass == 0 {
            // Corrections below give some of them a value.
            variables::check(name, &module).map_err(|error| placed(error, &edited))?;
        }
        let mut edits = Vec::new();
        for rule in &module.policy {
            correct_rule(&module, rule, edited.text(), &mut counter, &mut edits);
        }
        if edits.is_empty() {
            return Ok(Corrected { text: edited, module });
        }
        edited.apply(edits);
    }
    Err(RegoError::of_module(RegoErrorKind::Limit, name, "negated expressions are nested too deep"))
}

/// The same error at its place in the original text.
pub(crate) fn placed(mut error: RegoError, text: &EditedText) -> RegoError {
    (error.line, error.column) = text.original_place(error.line, error.column);
    error
}

struct Token {
    kind: Kind,
    start: usize,
    end: usize,
    line: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Open(char),
    Close,
    /// `=` or `:=`.
    Assign,
    Symbol,
    Word,
    /// A word that an expression cannot end with.
    Keyword,
    Constant,
}

fn tokens(name: &str, text: &str) -> Result<Vec<Token>, RegoError> {
    let source = syntax::source(name, text)?;
    let mut lexer = Lexer::new(&source);
    lexer.set_max_col(MAX_COLUMN);
    let mut tokens = Vec::new();
    let mut depth = 0_usize;
    loop {
        let token = lexer
            .next_token()
            .map_err(|error| RegoError::of_engine(RegoErrorKind::Syntax, name, &error.to_string()))?;
        let span = &token.1;
        let kind = match (&token.0, span.text()) {
            (TokenKind::Eof, _) => return Ok(tokens),
            (TokenKind::Symbol, "(") => Kind::Open('('),
            (TokenKind::Symbol, "[") => Kind::Open('['),
            (TokenKind::Symbol, "{") => Kind::Open('{'),
            (TokenKind::Symbol, ")" | "]" | "}") => Kind::Close,
            (TokenKind::Symbol, "=" | ":=") => Kind::Assign,
            (TokenKind::Symbol, _) => Kind::Symbol,
            (
                TokenKind::Ident,
                "in" | "not" | "some" | "every" | "with" | "as" | "if" | "contains" | "else" | "default" | "import"
                | "package",
            ) => Kind::Keyword,
            (TokenKind::Ident, _) => Kind::Word,
            _ => Kind::Constant,
        };
        match kind {
            Kind::Open(_) => depth = depth.saturating_add(1),
            Kind::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_BRACKETS {
            let message = format!("brackets are nested deeper than {MAX_BRACKETS} levels");
            return Err(RegoError::at(RegoErrorKind::Limit, name, (span.line, span.col), message));
        }
        tokens.push(Token { kind, start: span.start as usize, end: span.end as usize, line: span.line });
    }
}

/// A `;` in front of each `(` that begins a line behind the end of a reference.
fn split_lines(tokens: &[Token]) -> Vec<Edit> {
    let ends_reference = |token: &Token| matches!(token.kind, Kind::Word | Kind::Close);
    let pairs = tokens.iter().zip(tokens.iter().skip(1));
    pairs
        .filter(|(before, token)| token.kind == Kind::Open('(') && token.line > before.line && ends_reference(before))
        .map(|(_, token)| Edit::insert(token.start, ";"))
        .collect()
}

/// The head of the rule once more in front of each further body.
fn split_bodies(text: &str, tokens: &[Token]) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut depth = 0_usize;
    // The first token of the rule at hand, its first body, and whether a body just ended.
    let (mut start, mut body, mut ended) = (0, None, false);
    let mut has_else = false;
    for (number, token) in tokens.iter().enumerate() {
        let before = number.checked_sub(1).and_then(|before| tokens.get(before));
        if depth == 0 {
            let opens_body = token.kind == Kind::Open('{') && before.is_some_and(|before| before.kind != Kind::Assign);
            let is_else = text.get(token.start..token.end) == Some("else");
            if ended && opens_body {
                if let (Some(first), false) = (body, has_else) {
                    edits
                        .push(Edit::insert(token.start, head_text(text, tokens.get(start..first).unwrap_or_default())));
                }
            } else if ended && is_else {
                has_else = true;
            } else if ended && !(has_else && before.is_some_and(|before| before.kind == Kind::Keyword)) {
                (start, body, has_else) = (number, None, false);
            } else if opens_body && body.is_none() {
                body = Some(number);
            } else if body.is_none() && begins_rule(token, before) {
                start = number;
            }
            ended = false;
        }
        match token.kind {
            Kind::Open(_) => depth = depth.saturating_add(1),
            Kind::Close => {
                depth = depth.saturating_sub(1);
                ended = depth == 0 && body.is_some() && text.get(token.start..token.end) == Some("}");
            }
            _ => {}
        }
    }
    edits
}

/// Whether a token may begin a rule: a word in front of a line, behind something that can end.
fn begins_rule(token: &Token, before: Option<&Token>) -> bool {
    let ended = |before: &Token| matches!(before.kind, Kind::Word | Kind::Constant | Kind::Close);
    token.kind == Kind::Word && before.is_some_and(|before| token.line > before.line && ended(before))
}

/// Tokens on one line, without comments.
fn head_text(text: &str, tokens: &[Token]) -> String {
    let mut head = String::from(" ");
    let mut end = None;
    for token in tokens {
        let gap = end.and_then(|end: usize| text.get(end..token.start)).unwrap_or_default();
        // The quotes of a string belong to no token.
        let quotes: String = gap.chars().filter(|char| matches!(char, '"' | '`')).collect();
        let spaced = gap.chars().any(char::is_whitespace);
        match quotes.as_str() {
            "" => head.push_str(if spaced { " " } else { "" }),
            quotes if gap.contains('#') => head.push_str(quotes.get(..1).unwrap_or_default()),
            _ => head.push_str(&gap.replace(['\n', '\r'], " ")),
        }
        head.push_str(text.get(token.start..token.end).unwrap_or_default());
        end = Some(token.end);
    }
    head.push(' ');
    head
}

fn correct_rule(module: &Module, rule: &Rule, text: &str, counter: &mut u32, edits: &mut Vec<Edit>) {
    let locals = local_names(rule);
    let mut rules: BTreeSet<&str> = module
        .policy
        .iter()
        .filter_map(|rule| {
            let (name, arity, _) = syntax::rule_name(rule);
            let (first, _) = syntax::reference(name)?;
            arity.is_none().then_some(first)
        })
        .collect();
    rules.extend(module.imports.iter().filter_map(|import| import.r#as.as_ref()).map(regorus::unstable::Span::text));
    let is_document = |name: &str| rules.contains(name) && !locals.contains(name);
    for part in syntax::rule_parts(rule) {
        syntax::walk(part, &mut |part| {
            if let Part::Query(query) = part {
                let before = edits.len();
                correct_query(query, text, &is_document, counter, edits);
                // What is moved is looked at in the next pass.
                return edits.len() == before;
            }
            true
        });
    }
}

/// The names that a rule declares itself: arguments, `:=`, `some` and `every`.
fn local_names(rule: &Rule) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    let pattern = |expr, names: &mut BTreeSet<_>| {
        syntax::walk(Part::Expr(expr), &mut |part| {
            if let Part::Expr(Expr::Var { span, .. }) = part {
                names.insert(span.text());
            }
            true
        });
    };
    if let Rule::Spec { head: RuleHead::Func { args, .. }, .. } = rule {
        for arg in args {
            pattern(arg.as_ref(), &mut names);
        }
    }
    for part in syntax::rule_parts(rule) {
        syntax::walk(part, &mut |part| {
            match part {
                Part::Expr(Expr::AssignExpr { op: AssignOp::ColEq, lhs, .. }) => pattern(lhs.as_ref(), &mut names),
                Part::Query(query) => {
                    for stmt in &query.stmts {
                        match &stmt.literal {
                            Literal::SomeVars { vars, .. } => {
                                names.extend(vars.iter().map(regorus::unstable::Span::text));
                            }
                            Literal::SomeIn { key, value, .. } => {
                                if let Some(key) = key {
                                    pattern(key.as_ref(), &mut names);
                                }
                                pattern(value.as_ref(), &mut names);
                            }
                            Literal::Every { key, value, .. } => {
                                names.extend(key.iter().map(regorus::unstable::Span::text));
                                names.insert(value.text());
                            }
                            _ => {}
                        }
                    }
                }
                Part::Expr(_) => {}
            }
            true
        });
    }
    names
}

fn correct_query(
    query: &Query,
    text: &str,
    is_document: &dyn Fn(&str) -> bool,
    counter: &mut u32,
    edits: &mut Vec<Edit>,
) {
    for stmt in &query.stmts {
        match &stmt.literal {
            Literal::NotExpr { expr, .. } => {
                let mut hoisted = Vec::new();
                hoist_operands(expr.as_ref(), is_document, &mut hoisted);
                hoist(query, stmt, &hoisted, text, counter, edits);
            }
            Literal::Expr { expr, .. } => {
                split_output(expr.as_ref(), text, edits);
                iterate_walk(expr.as_ref(), text, edits);
            }
            _ => {}
        }
    }
}

/// Moves expressions in front of a negated one.
fn hoist(query: &Query, stmt: &LiteralStmt, hoisted: &[&Expr], text: &str, counter: &mut u32, edits: &mut Vec<Edit>) {
    if hoisted.is_empty() {
        return;
    }
    let modifiers: String = stmt
        .with_mods
        .iter()
        .filter_map(|modifier| text.get(modifier.span.start as usize..modifier.span.end as usize))
        .flat_map(|modifier| [" ", modifier])
        .collect();
    let start = stmt.span.start as usize;
    // `p if not f(x.y)` has one expression and no braces.
    let bare = query.span.start as usize == start && !in_comprehension(text, start);
    let mut front = String::from(if bare { "{ " } else { "" });
    for expr in hoisted {
        let (from, to) = extent(expr, text);
        let Some(words) = text.get(from..to) else { return };
        let name = format!("{PREFIX}{counter}");
        *counter = counter.saturating_add(1);
        // Writing into a text cannot fail.
        let _ = write!(front, "{name} := {}{modifiers}; ", one_line(words));
        // Lines that the moved part had stay.
        let lines = "\n".repeat(words.matches('\n').count());
        edits.push(Edit { start: from, end: to, text: format!("{name}{lines}") });
    }
    edits.push(Edit::insert(start, front));
    if bare {
        edits.push(Edit::insert(stmt.span.end as usize, " }"));
    }
}

/// Whether an expression is the first of a comprehension, behind its `|`.
fn in_comprehension(text: &str, start: usize) -> bool {
    text.get(..start).is_some_and(|before| before.trim_end().ends_with('|'))
}

/// Words without line breaks and comments.
fn one_line(words: &str) -> String {
    if !words.contains('\n') {
        return words.to_owned();
    }
    let line = |line: &str| -> String {
        let mut quoted = None;
        let mut escaped = false;
        for (at, char) in line.char_indices() {
            match (quoted, char) {
                (None, '"' | '`') => quoted = Some(char),
                (None, '#') => return line.get(..at).unwrap_or_default().to_owned(),
                (Some('"'), '\\') if !escaped => {
                    escaped = true;
                    continue;
                }
                (Some(open), char) if open == char && !escaped => quoted = None,
                _ => {}
            }
            escaped = false;
        }
        line.to_owned()
    };
    words.lines().map(line).collect::<Vec<String>>().join(" ")
}

/// The operands that OPA looks up in front of a negated expression.
fn hoist_operands<'m>(expr: &'m Expr, is_document: &dyn Fn(&str) -> bool, out: &mut Vec<&'m Expr>) {
    match expr {
        Expr::Call { params, .. } => params.iter().for_each(|param| hoist_one(param.as_ref(), is_document, out)),
        Expr::BoolExpr { op: BoolOp::Eq, lhs, rhs, .. } | Expr::AssignExpr { lhs, rhs, .. } => {
            hoist_term(lhs.as_ref(), is_document, out);
            hoist_term(rhs.as_ref(), is_document, out);
        }
        Expr::BoolExpr { lhs, rhs, .. } | Expr::BinExpr { lhs, rhs, .. } | Expr::ArithExpr { lhs, rhs, .. } => {
            hoist_one(lhs.as_ref(), is_document, out);
            hoist_one(rhs.as_ref(), is_document, out);
        }
        Expr::Membership { key, value, collection, .. } => {
            if let Some(key) = key {
                hoist_one(key.as_ref(), is_document, out);
            }
            hoist_one(value.as_ref(), is_document, out);
            hoist_one(collection.as_ref(), is_document, out);
        }
        other => hoist_term(other, is_document, out),
    }
}

/// A side of an equality, or an expression that is only a term: of a reference, what stands in its brackets.
fn hoist_term<'m>(expr: &'m Expr, is_document: &dyn Fn(&str) -> bool, out: &mut Vec<&'m Expr>) {
    match expr {
        Expr::RefDot { .. } | Expr::RefBrack { .. } => {
            let mut next = Some(expr);
            while let Some(part) = next {
                next = match part {
                    Expr::RefDot { refr, .. } => Some(refr.as_ref()),
                    Expr::RefBrack { refr, index, .. } => {
                        hoist_one(index.as_ref(), is_document, out);
                        Some(refr.as_ref())
                    }
                    _ => None,
                };
            }
        }
        Expr::Var { .. } => {}
        other => hoist_one(other, is_document, out),
    }
}

fn hoist_one<'m>(expr: &'m Expr, is_document: &dyn Fn(&str) -> bool, out: &mut Vec<&'m Expr>) {
    match expr {
        Expr::Var { span, .. } if is_document(span.text()) => out.push(expr),
        Expr::RefDot { .. }
        | Expr::RefBrack { .. }
        | Expr::Call { .. }
        | Expr::BinExpr { .. }
        | Expr::BoolExpr { .. }
        | Expr::ArithExpr { .. }
        | Expr::Membership { .. } => out.push(expr),
        Expr::Array { items, .. } | Expr::Set { items, .. } => {
            for item in items {
                hoist_one(item.as_ref(), is_document, out);
            }
        }
        Expr::Object { fields, .. } => fields.iter().for_each(|(_, key, value)| {
            hoist_one(key.as_ref(), is_document, out);
            hoist_one(value.as_ref(), is_document, out);
        }),
        _ => {}
    }
}

/// `f(x, y)` of a function with one argument is `y = f(x)`.
fn split_output(expr: &Expr, text: &str, edits: &mut Vec<Edit>) {
    let Expr::Call { span, fcn, params, .. } = expr else { return };
    let arity = syntax::constant_path(fcn.as_ref()).and_then(|path| builtins::supplied_arity(&path.join(".")));
    let (Some(arity), Some((output, inputs))) = (arity, params.split_last()) else { return };
    let Some(last) = inputs.last() else { return };
    if inputs.len() != arity {
        return;
    }
    let ((from, to), (_, behind)) = (extent(output.as_ref(), text), extent(last.as_ref(), text));
    let Some(words) = text.get(from..to).filter(|words| !words.contains('\n')) else { return };
    edits.push(Edit::insert(span.start as usize, format!("{words} = ")));
    let lines = "\n".repeat(text.get(behind..to).map_or(0, |part| part.matches('\n').count()));
    edits.push(Edit { start: behind, end: to, text: lines });
}

/// `[path, value] := walk(x)` and `walk(x, [path, value])` iterate over all parts of a value.
fn iterate_walk(expr: &Expr, text: &str, edits: &mut Vec<Edit>) {
    let is_walk = |fcn: &Expr| matches!(fcn, Expr::Var { span, .. } if span.text() == "walk");
    let call = match expr {
        Expr::AssignExpr { rhs, .. } => rhs.as_ref(),
        call => call,
    };
    let Expr::Call { fcn, params, .. } = call else { return };
    if !is_walk(fcn.as_ref()) {
        return;
    }
    let name = fcn.span();
    let mut replaced = Edit { start: name.start as usize, end: name.end as usize, text: "clearway_walk".to_owned() };
    match (params.as_slice(), std::ptr::eq(call, expr)) {
        ([_], false) => edits.push(Edit::insert(extent(call, text).1, "[_]")),
        ([value, output], true) => {
            let ((from, to), (_, behind)) = (extent(output.as_ref(), text), extent(value.as_ref(), text));
            let Some(words) = text.get(from..to).filter(|words| !words.contains('\n')) else { return };
            replaced.text = format!("{words} = clearway_walk");
            edits.push(Edit { start: behind, end: to, text: String::new() });
            edits.push(Edit::insert(extent(call, text).1, "[_]"));
        }
        _ => return,
    }
    edits.push(replaced);
}

/// Where an expression begins and ends in the text, with the quotes of strings.
fn extent(expr: &Expr, text: &str) -> (usize, usize) {
    let mut first = expr;
    loop {
        first = match first {
            Expr::RefDot { refr, .. } | Expr::RefBrack { refr, .. } => refr.as_ref(),
            Expr::Call { fcn, .. } => fcn.as_ref(),
            Expr::BinExpr { lhs, .. } | Expr::BoolExpr { lhs, .. } | Expr::ArithExpr { lhs, .. } => lhs.as_ref(),
            Expr::Membership { key, value, .. } => key.as_ref().unwrap_or(value).as_ref(),
            _ => break,
        };
    }
    let quoted = |expr: &Expr| matches!(expr, Expr::String { .. } | Expr::RawString { .. });
    let mut start = (first.span().start as usize).min(expr.span().start as usize);
    let mut end = expr.span().end as usize;
    if quoted(first) && !text.get(start..).is_some_and(|rest| rest.starts_with(['"', '`'])) {
        start = start.saturating_sub(1);
    }
    if quoted(expr) && text.get(end..).is_some_and(|rest| rest.starts_with(['"', '`'])) {
        end = end.saturating_add(1);
    }
    // The parentheses around a first operand belong to no expression.
    while let Some(words) = text.get(start..end)
        && words.matches(')').count() > words.matches('(').count()
        && let Some(open) = text.get(..start).and_then(|before| before.rfind('('))
    {
        start = open;
    }
    (start, end)
}
