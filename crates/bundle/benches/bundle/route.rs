//! A CRD in the shape of Gateway API's routes: deep lists of unions, with descriptions, patterns, limits and rules in CEL.

use serde_json::{Value, json};

/// A sentence or two, as descriptions of fields are.
fn about(what: &str) -> String {
    format!(
        "{what} says what a request has to be like, and what becomes of it. Implementations that do not support it set the \
         condition of the route to False, with a reason.\n\nSupport: Core"
    )
}

fn text(what: &str, longest: usize, pattern: &str) -> Value {
    json!({"type": "string", "description": about(what), "minLength": 1, "maxLength": longest, "pattern": pattern})
}

fn word(what: &str, words: &[&str]) -> Value {
    json!({"type": "string", "description": about(what), "enum": words})
}

fn port() -> Value {
    json!({"type": "integer", "format": "int32", "minimum": 1, "maximum": 65535, "description": about("port")})
}

fn rule(rule: &str) -> Value {
    json!({"rule": rule, "message": format!("this must hold: {rule}")})
}

fn list(item: &Value, most: usize, keys: &[&str]) -> Value {
    let mut list = json!({"type": "array", "maxItems": most, "items": item, "description": about("a list")});
    if keys.is_empty() {
        list["x-kubernetes-list-type"] = "atomic".into();
    } else {
        list["x-kubernetes-list-type"] = "map".into();
        list["x-kubernetes-list-map-keys"] = json!(keys);
    }
    list
}

const NAME: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
const HEADER: &str = "^[A-Za-z0-9!#$%&'*+\\-.^_\\x60|~]+$";
const GROUP: &str = "^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

fn headers() -> Value {
    let header = json!({
        "type": "object", "required": ["name", "value"],
        "properties": {
            "name": text("name", 256, HEADER),
            "value": {"type": "string", "minLength": 1, "maxLength": 4096, "description": about("value")},
            "type": word("type", &["Exact", "RegularExpression"]),
        },
    });
    list(&header, 16, &["name"])
}

fn backend() -> Value {
    json!({
        "type": "object", "required": ["name"], "description": about("a backend"),
        "properties": {
            "group": {"type": "string", "maxLength": 253, "pattern": GROUP, "default": "", "description": about("group")},
            "kind": text("kind", 63, "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$"),
            "name": text("name", 253, NAME),
            "namespace": text("namespace", 63, "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"),
            "port": port(),
            "weight": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 1_000_000, "default": 1},
        },
        "x-kubernetes-validations": [rule(
            "(has(self.group) && size(self.group) > 0) || !has(self.kind) || self.kind != 'Service' || has(self.port)",
        )],
    })
}

fn filter() -> Value {
    let mut properties = json!({
        "type": word("type", &["RequestHeaderModifier", "ResponseHeaderModifier", "RequestRedirect", "URLRewrite"]),
    });
    let mut rules = Vec::new();
    for (kind, field) in [("RequestHeaderModifier", "requestHeaders"), ("ResponseHeaderModifier", "responseHeaders")] {
        properties[field] = json!({
            "type": "object", "description": about(field),
            "properties": {"set": headers(), "add": headers(), "remove": list(&json!({"type": "string"}), 16, &[])},
        });
        rules.push(rule(&format!("!(has(self.{field}) && self.type != '{kind}')")));
        rules.push(rule(&format!("!(!has(self.{field}) && self.type == '{kind}')")));
    }
    properties["requestRedirect"] = json!({
        "type": "object", "description": about("requestRedirect"),
        "properties": {
            "scheme": word("scheme", &["http", "https"]), "hostname": text("hostname", 253, NAME), "port": port(),
            "statusCode": {"type": "integer", "enum": [301, 302, 303, 307, 308], "default": 302},
        },
    });
    rules.push(rule("!(has(self.requestRedirect) && self.type != 'RequestRedirect')"));
    json!({
        "type": "object", "required": ["type"], "description": about("a filter"), "properties": properties,
        "x-kubernetes-validations": rules,
    })
}

fn match_schema() -> Value {
    json!({
        "type": "object", "description": about("a match"),
        "properties": {
            "path": {
                "type": "object", "description": about("path"),
                "properties": {
                    "type": word("type", &["Exact", "PathPrefix", "RegularExpression"]),
                    "value": {"type": "string", "maxLength": 1024, "description": about("value")},
                },
                "x-kubernetes-validations": [
                    rule("(self.type in ['Exact','PathPrefix']) ? self.value.startsWith('/') : true"),
                    rule("(self.type in ['Exact','PathPrefix']) ? !self.value.contains('//') : true"),
                    rule("(self.type in ['Exact','PathPrefix']) ? !self.value.contains('/./') : true"),
                    rule("self.type in ['Exact','PathPrefix'] || self.type == 'RegularExpression'"),
                    rule("(self.type in ['Exact','PathPrefix']) ? self.value.matches(r\"\"\"^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+$\"\"\") : true"),
                ],
            },
            "headers": headers(),
            "queryParams": headers(),
            "method": word("method", &["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"]),
        },
    })
}

/// A CRD; `changed` is the next version of it, with fields, words, limits, patterns, rules and texts that differ.
pub(crate) fn crd(number: usize, changed: bool) -> Value {
    let mut filter = filter();
    let mut one = match_schema();
    if changed {
        filter["properties"]["cors"] = json!({"type": "object", "properties": {"origins": headers()}});
        let words = filter.pointer_mut("/properties/type/enum").and_then(Value::as_array_mut);
        words.expect("words").push("CORS".into());
        let rules = filter["x-kubernetes-validations"].as_array_mut().expect("rules");
        rules.push(rule("!(has(self.cors) && self.type != 'CORS')"));
        one["properties"]["headers"]["maxItems"] = 32.into();
        one["properties"]["method"]["description"] = "method is the method.".into();
        let name = one.pointer_mut("/properties/queryParams/items/properties/name/pattern").expect("a pattern");
        *name = "^[A-Za-z0-9!#$%&'*+\\-.^_\\x60|~:]+$".into();
    }
    let mut backend_with_filters = backend();
    backend_with_filters["properties"]["filters"] = list(&filter, 16, &[]);
    let rules = json!({
        "type": "object", "description": about("a rule"),
        "properties": {
            "name": text("name", 253, NAME),
            "matches": list(&one, 64, &[]),
            "filters": list(&filter, 16, &[]),
            "backendRefs": list(&backend_with_filters, 16, &[]),
            "timeouts": {
                "type": "object",
                "properties": {"request": text("request", 20, "^([0-9]{1,5}(h|m|s|ms)){1,4}$")},
                "x-kubernetes-validations": [rule("!has(self.request) || duration(self.request) <= duration('24h')")],
            },
        },
        "x-kubernetes-validations": [
            rule("(has(self.backendRefs) && size(self.backendRefs) > 0) ? (!has(self.filters) || self.filters.all(f, !has(f.requestRedirect))) : true"),
            rule("!has(self.filters) || self.filters.filter(f, f.type == 'RequestRedirect').size() <= 1"),
        ],
    });
    let schema = json!({
        "type": "object", "required": ["spec"], "description": about("a route"),
        "properties": {
            "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
            "spec": {
                "type": "object", "description": about("spec"),
                "properties": {
                    "parentRefs": list(&backend(), 32, &[]),
                    "hostnames": list(&text("a hostname", 253, NAME), 16, &[]),
                    "rules": list(&rules, 16, &[]),
                },
                "x-kubernetes-validations": [
                    rule("!has(self.rules) || self.rules.all(r, !has(r.matches) || r.matches.size() <= 64)"),
                ],
            },
        },
    });
    let version = |name: &str, storage: bool| json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema}});
    let bundle = if changed { "v1.1.0" } else { "v1.0.0" };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("routes{number}.example.com"),
            "annotations": {"example.com/bundle-version": bundle, "example.com/channel": "experimental"},
        },
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": format!("Route{number}"), "plural": format!("routes{number}")},
            "versions": [version("v1", true), version("v1beta1", false)],
        },
    })
}

/// An object of such a CRD with this many rules, each with matches, filters and backends.
pub(crate) fn object(rules: usize) -> Value {
    let header = |name: &str| json!({"name": name, "value": "one, two", "type": "Exact"});
    let one = |number: usize| {
        json!({
            "name": format!("rule-{number}"),
            "matches": [
                {"path": {"type": "PathPrefix", "value": format!("/shop/{number}")}, "method": "GET"},
                {"path": {"type": "Exact", "value": "/cart"}, "headers": [header("version"), header("tenant")]},
            ],
            "filters": [{"type": "RequestHeaderModifier", "requestHeaders": {"add": [header("x-route")], "remove": ["x-internal"]}}],
            "backendRefs": [
                {"group": "", "kind": "Service", "name": "shop-v1", "port": 8080, "weight": 90},
                {"group": "", "kind": "Service", "name": "shop-v2", "namespace": "canary", "port": 8080, "weight": 10},
            ],
            "timeouts": {"request": "10s"},
        })
    };
    json!({
        "apiVersion": "example.com/v1", "kind": "Route0", "metadata": {"name": "shop", "namespace": "default"},
        "spec": {
            "parentRefs": [{"group": "example.com", "kind": "Gateway", "name": "public"}],
            "hostnames": ["shop.example.com", "www.example.com"],
            "rules": (0..rules).map(one).collect::<Vec<_>>(),
        },
    })
}
