//! The description of the service for programs (`OpenAPI` 3.0), with the service's own prefix in its paths.

use serde_json::Value;

/// Paths without a prefix.
const DESCRIPTION: &str = include_str!("openapi.json");

/// The description of a service with this prefix.
pub(crate) fn description(prefix: &str) -> String {
    // It is part of the program and a test reads it, so the template itself never goes out.
    let Ok(mut document) = serde_json::from_str::<Value>(DESCRIPTION) else { return DESCRIPTION.to_owned() };
    if let Some(paths) = document.get_mut("paths").and_then(Value::as_object_mut) {
        *paths = std::mem::take(paths).into_iter().map(|(path, item)| (format!("{prefix}{path}"), item)).collect();
    }
    if let Some(version) = document.pointer_mut("/info/version") {
        *version = Value::from(env!("CARGO_PKG_VERSION"));
    }
    document.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paths_are_those_of_the_service() {
        let document: Value = serde_json::from_str(&description("/api/upgrades_info")).unwrap();
        let paths: Vec<&String> = document["paths"].as_object().unwrap().keys().collect();
        assert_eq!(
            paths,
            [
                "/api/upgrades_info/graph",
                "/api/upgrades_info/graph-data",
                "/api/upgrades_info/openapi",
                "/api/upgrades_info/signatures/{digest}/{signature}",
                "/api/upgrades_info/v1/graph",
                "/api/upgrades_info/v1/openapi"
            ]
        );
        assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    }
}
