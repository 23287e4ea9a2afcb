//! What somebody may have meant by a name that is not a file: a URL without its scheme, or an image.

/// Advice for a name that may be one of a server: `; for an update service, write https://…`. Empty for a plain file name.
pub(crate) fn remote(name: &str, service: &str, image: &str) -> String {
    if !looks_remote(name) {
        return String::new();
    }
    let scheme = if is_local(name) { "http" } else { "https" };
    format!("; for {service}, write {scheme}://{name}, and for {image}, oci://{name}")
}

/// Advice for a name that may be one of an image.
pub(crate) fn image(name: &str) -> String {
    if looks_remote(name) { format!("; for an image, write oci://{name}") } else { String::new() }
}

/// Whether a name begins with a host: `registry.example.com/x`, `localhost:5000/x`, `10.0.0.1`.
fn looks_remote(name: &str) -> bool {
    if name.contains("://") || name.starts_with(['/', '.', '~', '-']) {
        return false;
    }
    let (host, path) = name.split_once('/').unwrap_or((name, ""));
    let (host, port) = match host.split_once(':') {
        // A path in a git revision, such as `v1.2.0:config/crd`.
        Some((_, port)) if port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) => return false,
        Some((host, port)) => (host, port),
        None => (host, ""),
    };
    let is_host =
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-');
    let has_port = !port.is_empty();
    // A lone `data.yaml` is a file, and so is `releases/1.5.0`.
    is_host && (has_port || host == "localhost" || (host.contains('.') && !path.is_empty()))
}

fn is_local(name: &str) -> bool {
    name.starts_with("localhost") || name.starts_with("127.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_told_from_a_file() {
        for name in
            ["api.example.com/api/upgrades_info", "localhost:8080/api", "localhost", "10.0.0.1:80", "registry:5000/x"]
        {
            assert!(looks_remote(name), "{name}");
        }
        for name in [
            "graph-data",
            "data.yaml",
            "releases/1.5.0",
            "./a.b/c",
            "/srv/a.b",
            "../x.y/z",
            "a b.c/d",
            "",
            "https://x.y/z",
            "v1.2.0:config/crd",
        ] {
            assert!(!looks_remote(name), "{name}");
        }
        assert_eq!(image("r.example.com/p:1"), "; for an image, write oci://r.example.com/p:1");
        assert_eq!(
            remote("localhost:8080/api", "an update service", "graph-data in a registry"),
            "; for an update service, write http://localhost:8080/api, and for graph-data in a registry, oci://localhost:8080/api"
        );
    }
}
