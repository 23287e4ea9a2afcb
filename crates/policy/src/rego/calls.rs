//! Which rule uses which: unknown functions and rules that depend on themselves are refused, and so is a chain of rules
//! that needs more stack than an evaluation has.

use std::collections::{BTreeMap, BTreeSet};

use regorus::unstable::{Expr, Literal, Module, Query};

use super::MAX_STACK_WEIGHT;
use super::builtins::{self, Support};
use super::error::{RegoError, RegoErrorKind};
use super::syntax::{self, Component, Part};

/// A rule or function: everything of the same name in a package.
struct Node {
    module: usize,
    place: (u32, u32),
    /// The number of arguments of a function.
    arity: Option<usize>,
    uses: BTreeSet<usize>,
    /// How much stack it needs without what it uses.
    weight: u64,
}

/// Modules with their names.
pub(crate) struct Calls<'m> {
    modules: &'m [(String, Module)],
    /// Paths such as `data.lib.x.f`.
    paths: BTreeMap<String, usize>,
    nodes: Vec<Node>,
}

impl<'m> Calls<'m> {
    /// Checks all calls of some modules, and says whether one of them uses the inventory.
    pub(crate) fn check(modules: &'m [(String, Module)]) -> Result<bool, RegoError> {
        let mut calls = Calls { modules, paths: BTreeMap::new(), nodes: Vec::new() };
        calls.collect();
        let inventory = calls.link()?;
        calls.check_recursion()?;
        Ok(inventory)
    }

    fn error(&self, kind: RegoErrorKind, module: usize, place: (u32, u32), message: String) -> RegoError {
        let name = self.modules.get(module).map_or("", |(name, _)| name.as_str());
        RegoError::at(kind, name, place, message)
    }

    fn collect(&mut self) {
        for (number, (_, module)) in self.modules.iter().enumerate() {
            let package = package_path(module);
            for rule in &module.policy {
                let (refr, arity, _) = syntax::rule_name(rule);
                let Some(path) = rule_path(&package, refr) else { continue };
                let next = self.nodes.len();
                let node = *self.paths.entry(path).or_insert(next);
                if node == next {
                    let place = (rule.span().line, rule.span().col);
                    self.nodes.push(Node { module: number, place, arity, uses: BTreeSet::new(), weight: 0 });
                }
            }
        }
    }

    fn link(&mut self) -> Result<bool, RegoError> {
        let mut inventory = false;
        for (number, (_, module)) in self.modules.iter().enumerate() {
            let package = package_path(module);
            for rule in &module.policy {
                let (refr, _, _) = syntax::rule_name(rule);
                let Some(node) = rule_path(&package, refr).and_then(|path| self.paths.get(&path).copied()) else {
                    continue;
                };
                let mut uses = BTreeSet::new();
                let mut first = None;
                for part in syntax::rule_parts(rule) {
                    syntax::walk(part, &mut |part| {
                        if let Part::Expr(expr) = part {
                            if let Expr::Call { fcn, params, .. } = expr {
                                let checked = self.check_call(number, module, &package, fcn.as_ref(), params.len());
                                first = first.take().or(checked.err());
                            }
                            if let Some(reference) = syntax::reference(expr) {
                                inventory |= is_inventory(&reference);
                                uses.extend(self.resolve(module, &package, &reference));
                            }
                        }
                        first.is_none()
                    });
                }
                if let Some(error) = first {
                    return Err(error);
                }
                let weight = syntax::rule_parts(rule).into_iter().map(weight).sum::<u64>().saturating_add(1);
                if let Some(node) = self.nodes.get_mut(node) {
                    node.uses.extend(uses);
                    node.weight = node.weight.max(weight);
                }
            }
        }
        Ok(inventory)
    }

    /// A call must name a function of a module, or one of the language, and have its number of arguments; one more is the
    /// output.
    fn check_call(
        &self,
        number: usize,
        module: &Module,
        package: &str,
        function: &Expr,
        arguments: usize,
    ) -> Result<(), RegoError> {
        let place = syntax::place(function);
        let Some(path) = syntax::constant_path(function) else {
            let message = "a function must be named by a constant path".to_owned();
            return Err(self.error(RegoErrorKind::UndefinedFunction, number, place, message));
        };
        let name = path.join(".");
        let found =
            Calls::candidates(module, package, &path).into_iter().find_map(|path| self.paths.get(&path).copied());
        let arity = match (found.and_then(|found| self.nodes.get(found)), builtins::support(&name)) {
            (Some(node), _) if node.arity.is_some() => node.arity,
            (Some(_), _) => {
                let message = format!("{name} is a rule, not a function");
                return Err(self.error(RegoErrorKind::UndefinedFunction, number, place, message));
            }
            (None, Some(Support::Arity(arity))) => Some(arity),
            (None, Some(Support::Variadic)) => None,
            (None, Some(Support::Unsupported(reason))) => {
                return Err(self.error(
                    RegoErrorKind::Unsupported,
                    number,
                    place,
                    format!("{name} is not supported: {reason}"),
                ));
            }
            (None, None) => {
                let message = format!("undefined function {name}");
                return Err(self.error(RegoErrorKind::UndefinedFunction, number, place, message));
            }
        };
        match arity {
            Some(arity) if arguments != arity && arguments != arity.saturating_add(1) => {
                let message =
                    format!("{name}: arity mismatch: the function has {arity} arguments, the call {arguments}");
                Err(self.error(RegoErrorKind::UndefinedFunction, number, place, message))
            }
            _ => Ok(()),
        }
    }

    /// The paths that a name may stand for: through an import, of the same package, or of `data`.
    fn candidates(module: &Module, package: &str, path: &[String]) -> Vec<String> {
        let Some((first, rest)) = path.split_first() else { return Vec::new() };
        let mut candidates = Vec::new();
        let behind = |base: &str| rest.iter().fold(base.to_owned(), |path, name| format!("{path}.{name}"));
        for import in &module.imports {
            let imported = syntax::constant_path(import.refr.as_ref()).unwrap_or_default();
            let alias = import.r#as.as_ref().map_or(imported.last().map(String::as_str), |alias| Some(alias.text()));
            if alias == Some(first.as_str()) {
                candidates.push(behind(&imported.join(".")));
            }
        }
        if first == "data" {
            candidates.push(path.join("."));
        } else {
            candidates.push(behind(&format!("{package}.{first}")));
        }
        candidates
    }

    /// The rules that a reference may look at.
    fn resolve(&self, module: &Module, package: &str, (first, components): &(&str, Vec<Component>)) -> Vec<usize> {
        let constant = components.iter().map_while(|component| match component {
            Component::Name(name) => Some(name.clone()),
            Component::Dynamic => None,
        });
        let path: Vec<String> = std::iter::once((*first).to_owned()).chain(constant).collect();
        let mut found = Vec::new();
        for candidate in Calls::candidates(module, package, &path) {
            // A rule whose path is a part of the reference, or every rule below it.
            let mut prefix = candidate.as_str();
            loop {
                if let Some(node) = self.paths.get(prefix) {
                    found.push(*node);
                    break;
                }
                match prefix.rsplit_once('.') {
                    Some((shorter, _)) => prefix = shorter,
                    None => break,
                }
            }
            let below = format!("{candidate}.");
            found.extend(
                self.paths
                    .range(below.clone()..)
                    .take_while(|(path, _)| path.starts_with(&below))
                    .map(|(_, node)| *node),
            );
        }
        found
    }

    /// Depth first, without recursion; on the way back, the stack that each rule needs with everything it uses.
    fn check_recursion(&self) -> Result<(), RegoError> {
        let mut done: BTreeMap<usize, u64> = BTreeMap::new();
        for start in 0..self.nodes.len() {
            let mut stack: Vec<(usize, Vec<usize>)> = vec![(start, self.uses(start))];
            while let Some((node, rest)) = stack.last_mut() {
                let node = *node;
                match rest.pop() {
                    Some(next) if done.contains_key(&next) => {}
                    Some(next) if stack.iter().any(|(open, _)| *open == next) => {
                        return Err(self.recursion(&stack, next));
                    }
                    Some(next) => stack.push((next, self.uses(next))),
                    None => {
                        let below =
                            self.uses(node).iter().filter_map(|used| done.get(used)).max().copied().unwrap_or(0);
                        let own = self.nodes.get(node).map_or(0, |node| node.weight);
                        let weight = below.saturating_add(own);
                        if weight > MAX_STACK_WEIGHT
                            && let Some(node) = self.nodes.get(node)
                        {
                            let message = format!(
                                "rules use each other too deeply: {weight} nested expressions, at most {MAX_STACK_WEIGHT} are evaluated"
                            );
                            return Err(self.error(RegoErrorKind::Limit, node.module, node.place, message));
                        }
                        done.insert(node, weight);
                        stack.pop();
                    }
                }
            }
        }
        Ok(())
    }

    fn uses(&self, node: usize) -> Vec<usize> {
        self.nodes.get(node).map(|node| node.uses.iter().copied().collect()).unwrap_or_default()
    }

    fn recursion(&self, stack: &[(usize, Vec<usize>)], next: usize) -> RegoError {
        let name = |node: usize| {
            self.paths.iter().find(|(_, number)| **number == node).map_or("?", |(path, _)| path.as_str()).to_owned()
        };
        let cycle = stack.iter().map(|(node, _)| *node).skip_while(|node| *node != next);
        let chain: Vec<String> = cycle.chain([next]).map(name).collect();
        let message = format!("rule {} is recursive: {}", name(next), chain.join(" -> "));
        let (module, place) = self.nodes.get(next).map_or((0, (0, 0)), |node| (node.module, node.place));
        self.error(RegoErrorKind::Recursion, module, place, message)
    }
}

/// How much stack a part of a rule needs: expressions that are evaluated inside each other, and iterations.
fn weight(part: Part<'_>) -> u64 {
    match part {
        Part::Query(query) => query_weight(query),
        Part::Expr(_) => 2,
    }
}

fn query_weight(query: &Query) -> u64 {
    let mut total = 0_u64;
    let mut stack = vec![query];
    while let Some(query) = stack.pop() {
        for stmt in &query.stmts {
            total = total.saturating_add(match &stmt.literal {
                Literal::SomeIn { .. } | Literal::Every { .. } => 2,
                _ => 1,
            });
        }
        let mut inner = Vec::new();
        syntax::walk(Part::Query(query), &mut |part| match part {
            Part::Query(found) if !std::ptr::eq(found, query) => {
                inner.push(found);
                false
            }
            _ => true,
        });
        stack.extend(inner);
    }
    total
}

fn package_path(module: &Module) -> String {
    let path = syntax::constant_path(module.package.refr.as_ref()).unwrap_or_default();
    format!("data.{}", path.join("."))
}

/// The path of a rule, up to what is dynamic in its name.
fn rule_path(package: &str, refr: &Expr) -> Option<String> {
    let (first, components) = syntax::reference(refr)?;
    let mut path = format!("{package}.{first}");
    for component in components {
        match component {
            Component::Name(name) => {
                path.push('.');
                path.push_str(&name);
            }
            Component::Dynamic => break,
        }
    }
    Some(path)
}

fn is_inventory((first, components): &(&str, Vec<Component>)) -> bool {
    *first == "data" && matches!(components.first(), Some(Component::Name(name)) if name == "inventory")
}
