//! Rules of routes: matches, filters, backends, and what makes a rule invalid (rule 2.9).
//!
//! Validation in CRDs refuses most invalid rules, but an object may be older than the validation (V6). So a rule carries
//! its problems from reading on; whether the route is still accepted is decided elsewhere.

use std::fmt::Write as _;

use clearway_yaml::Node;

use super::key::{Name, RouteKind};
use super::reference::Reference;
use super::route::Backend;
use super::{items, text};

/// A rule of a route.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rule {
    /// Its name, if it has one.
    pub name: Option<Name>,
    /// Which requests it is for, in words.
    pub requests: String,
    /// Its filters.
    pub filters: Vec<Filter>,
    /// Where requests go.
    pub backends: Vec<Backend>,
    /// Why it cannot be used.
    pub problems: Vec<RuleProblem>,
}

/// Why a rule cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleProblem {
    /// Filters that exclude each other.
    IncompatibleFilters(String),
    /// A value of an enum that is not known.
    UnsupportedValue(String),
    /// A feature that the implementation does not have, by its name, and where it is used.
    Feature(&'static str, String),
}

/// A filter of a rule or a backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Its type, as it is written.
    pub kind: Name,
    /// What it refers to.
    pub reference: Option<FilterReference>,
    /// The kind of path modifier of a redirect or a rewrite.
    prefix_replaced: bool,
    problems: Vec<RuleProblem>,
}

/// What a filter refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilterReference {
    /// A copy of the requests goes there.
    Mirror(Reference),
    /// A service that decides about requests.
    Authorization(Reference),
    /// An extension of an implementation.
    Extension(Reference),
}

impl FilterReference {
    /// The reference itself.
    pub fn reference(&self) -> &Reference {
        match self {
            FilterReference::Mirror(reference)
            | FilterReference::Authorization(reference)
            | FilterReference::Extension(reference) => reference,
        }
    }
}

/// Methods of HTTP that the API lists.
const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
/// How a header or a query parameter is compared.
const VALUE_MATCHES: [&str; 2] = ["Exact", "RegularExpression"];
/// Filters that may be used once in a rule.
const ONCE: [&str; 5] = ["RequestHeaderModifier", "ResponseHeaderModifier", "RequestRedirect", "URLRewrite", "CORS"];

impl Rule {
    /// The rule that the CRD of HTTPRoute puts where none are given.
    pub(super) fn for_every_path() -> Self {
        Rule { requests: "every request".to_owned(), ..Rule::default() }
    }

    pub(super) fn read(kind: RouteKind, node: Node<'_>, namespace: &Name) -> Self {
        let mut problems = Vec::new();
        let requests = match kind {
            RouteKind::Http | RouteKind::Grpc => describe_matches(kind, node, &mut problems),
            RouteKind::Tls | RouteKind::Tcp => "every connection".to_owned(),
            RouteKind::Udp => "every datagram".to_owned(),
        };
        let filters: Vec<Filter> =
            items(Some(node), "filters").map(|node| Filter::read(kind, node, namespace)).collect();
        let backends: Vec<Backend> =
            items(Some(node), "backendRefs").map(|node| Backend::read(kind, node, namespace)).collect();
        check_filters(&filters, &mut problems);
        for backend in &backends {
            check_filters(&backend.filters, &mut problems);
        }
        if filters.iter().any(|filter| &*filter.kind == "RequestRedirect") && !backends.is_empty() {
            let what = "RequestRedirect cannot be combined with backendRefs".to_owned();
            problems.push(RuleProblem::IncompatibleFilters(what));
        }
        let mut matches = items(Some(node), "matches");
        let only_match = matches.next().filter(|_| matches.next().is_none());
        let by_prefix = match only_match {
            Some(only) => only.at(&["path", "type"]).is_none_or(|kind| kind.raw() == "PathPrefix"),
            // Without matches the default is one prefix.
            None => items(Some(node), "matches").next().is_none(),
        };
        if !by_prefix && filters.iter().any(|filter| filter.prefix_replaced) {
            let what = "ReplacePrefixMatch needs exactly one match, of type PathPrefix".to_owned();
            problems.push(RuleProblem::IncompatibleFilters(what));
        }
        Rule { name: text(node, "name").map(Name::from), requests, filters, backends, problems }
    }

    /// Every reference of the rule: backends with their filters, then filters.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        let of_backends = self.backends.iter().flat_map(|backend| {
            std::iter::once(&backend.reference).chain(backend.filters.iter().filter_map(Filter::reference))
        });
        of_backends.chain(self.filters.iter().filter_map(Filter::reference))
    }
}

impl Filter {
    pub(super) fn read(kind: RouteKind, node: Node<'_>, namespace: &Name) -> Self {
        let mut filter = Filter {
            kind: text(node, "type").unwrap_or("").into(),
            reference: None,
            prefix_replaced: false,
            problems: Vec::new(),
        };
        let mut problems = Vec::new();
        let at = |path: &[&str]| node.at(path).filter(|node| node.is_mapping());
        match (&*filter.kind, kind) {
            ("ResponseHeaderModifier", RouteKind::Http) => {
                problems.push(feature("HTTPRouteResponseHeaderModification", "filter ResponseHeaderModifier"));
            }
            ("RequestHeaderModifier" | "ResponseHeaderModifier", _) => {}
            ("RequestMirror", _) => {
                if kind == RouteKind::Http {
                    problems.push(feature("HTTPRouteRequestMirror", "filter RequestMirror"));
                }
                filter.reference = at(&["requestMirror", "backendRef"])
                    .map(|node| FilterReference::Mirror(Reference::read(node, namespace, "", "Service")));
            }
            ("ExtensionRef", _) => {
                // It names no namespace: it is always that of the route.
                filter.reference = at(&["extensionRef"])
                    .map(|node| FilterReference::Extension(Reference::read(node, namespace, "", "")));
            }
            ("RequestRedirect", RouteKind::Http) => {
                check_redirect(node.get("requestRedirect"), &mut problems);
                filter.prefix_replaced = check_path(at(&["requestRedirect", "path"]), &mut problems);
            }
            ("URLRewrite", RouteKind::Http) => {
                filter.prefix_replaced = check_path(at(&["urlRewrite", "path"]), &mut problems);
            }
            ("CORS", RouteKind::Http) => problems.push(feature("HTTPRouteCORS", "filter CORS")),
            ("ExternalAuth", RouteKind::Http) => {
                filter.reference = at(&["externalAuth", "backendRef"])
                    .map(|node| FilterReference::Authorization(Reference::read(node, namespace, "", "Service")));
            }
            (other, _) => problems.push(unsupported("filter type", other)),
        }
        filter.problems = problems;
        filter
    }

    fn reference(&self) -> Option<&Reference> {
        self.reference.as_ref().map(FilterReference::reference)
    }
}

fn feature(name: &'static str, what: &str) -> RuleProblem {
    RuleProblem::Feature(name, what.to_owned())
}

fn unsupported(what: &str, value: &str) -> RuleProblem {
    RuleProblem::UnsupportedValue(format!("{what} `{value}` is not supported"))
}

fn check_redirect(node: Option<Node<'_>>, problems: &mut Vec<RuleProblem>) {
    let Some(node) = node else { return };
    if let Some(scheme) = text(node, "scheme").filter(|scheme| !["http", "https"].contains(scheme)) {
        problems.push(unsupported("redirect scheme", scheme));
    }
    let code = node.get("statusCode").filter(|code| !code.is_null());
    if let Some(code) = code.filter(|code| !["301", "302", "303", "307", "308"].contains(&code.raw())) {
        problems.push(unsupported("redirect status code", code.raw()));
    }
}

/// Checks a path modifier; true if it replaces a prefix.
fn check_path(node: Option<Node<'_>>, problems: &mut Vec<RuleProblem>) -> bool {
    match node.and_then(|node| text(node, "type")) {
        Some("ReplacePrefixMatch") => true,
        Some("ReplaceFullPath") | None => false,
        Some(other) => {
            problems.push(unsupported("path modifier", other));
            false
        }
    }
}

fn check_filters(filters: &[Filter], problems: &mut Vec<RuleProblem>) {
    problems.extend(filters.iter().flat_map(|filter| filter.problems.iter().cloned()));
    let count = |kind: &str| filters.iter().filter(|filter| &*filter.kind == kind).count();
    if count("RequestRedirect") > 0 && count("URLRewrite") > 0 {
        let what = "RequestRedirect and URLRewrite cannot be combined".to_owned();
        problems.push(RuleProblem::IncompatibleFilters(what));
    }
    for kind in ONCE.into_iter().filter(|kind| count(kind) > 1) {
        problems.push(RuleProblem::IncompatibleFilters(format!("filter {kind} cannot be repeated")));
    }
}

/// Says in words which requests the matches of a rule are for, and notes values that are not known.
fn describe_matches(kind: RouteKind, rule: Node<'_>, problems: &mut Vec<RuleProblem>) -> String {
    let mut all: Vec<String> = Vec::new();
    for node in items(Some(rule), "matches") {
        let mut words = String::new();
        match kind {
            RouteKind::Http => describe_http(node, &mut words, problems),
            _ => describe_grpc(node, &mut words, problems),
        }
        for (list, word) in [("headers", "header"), ("queryParams", "query")] {
            for value in items(Some(node), list) {
                if let Some(other) = text(value, "type").filter(|kind| !VALUE_MATCHES.contains(kind)) {
                    problems.push(unsupported(&format!("{word} match type"), other));
                }
                let _ = write!(words, "{word} {}={} ", cut(value, "name"), cut(value, "value"));
            }
            if list == "queryParams" && items(Some(node), list).next().is_some() && kind == RouteKind::Http {
                problems.push(feature("HTTPRouteQueryParamMatching", "query parameter match"));
            }
        }
        all.push(if words.is_empty() { "every request".to_owned() } else { words.trim_end().to_owned() });
    }
    // A rule may have many matches; some of them are enough to know which rule is meant.
    let shown = 3;
    let more = all.len().saturating_sub(shown);
    all.truncate(shown);
    match (all.is_empty(), more) {
        (true, _) => "every request".to_owned(),
        (false, 0) => all.join(" or "),
        (false, more) => format!("{} or {more} more", all.join(" or ")),
    }
}

fn describe_http(node: Node<'_>, words: &mut String, problems: &mut Vec<RuleProblem>) {
    if let Some(method) = text(node, "method") {
        if METHODS.contains(&method) {
            problems.push(feature("HTTPRouteMethodMatching", "method match"));
        } else {
            problems.push(unsupported("method", method));
        }
        let _ = write!(words, "{method} ");
    }
    let path = node.get("path").filter(|path| path.is_mapping());
    let value = path.and_then(|path| text(path, "value")).unwrap_or("/");
    let value: String = value.chars().take(80).collect();
    match path.and_then(|path| text(path, "type")).unwrap_or("PathPrefix") {
        "PathPrefix" if value == "/" => {}
        "PathPrefix" => {
            let _ = write!(words, "path {value}* ");
        }
        "Exact" => {
            let _ = write!(words, "path {value} ");
        }
        "RegularExpression" => {
            let _ = write!(words, "path ~{value} ");
        }
        other => problems.push(unsupported("path match type", other)),
    }
}

fn describe_grpc(node: Node<'_>, words: &mut String, problems: &mut Vec<RuleProblem>) {
    let Some(method) = node.get("method").filter(|method| method.is_mapping()) else { return };
    if let Some(other) = text(method, "type").filter(|kind| !VALUE_MATCHES.contains(kind)) {
        problems.push(unsupported("method match type", other));
    }
    let part = |key: &str| text(method, key).map_or_else(|| "*".to_owned(), |text| text.chars().take(80).collect());
    let _ = write!(words, "method {}/{} ", part("service"), part("method"));
}

fn cut(node: Node<'_>, key: &str) -> String {
    node.get(key).map_or("", Node::raw).chars().take(40).collect()
}
