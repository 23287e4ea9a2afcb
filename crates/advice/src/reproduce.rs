//! The commands that show an observation again, to be pasted into a shell.

use std::fmt::Write as _;

use clearway_core::{GroupKind, Timestamp};

use crate::evidence::ObjectRequest;

/// Evaluates a query over series in a file or directory. `format` is the kind of file, where it was named.
pub fn promql(query: &str, file: &str, format: Option<&str>, time: Timestamp) -> String {
    let format = format.map(|format| format!(" --series-format {format}")).unwrap_or_default();
    let (query, options) = (quoted(query), format!("--series {}{format} --time {time}", quoted(file)));
    // One that starts with a minus must not be taken for an option: `-s` is a query, too.
    if is_like_option(&query) {
        return format!("clearway promql query {options} -- {query}");
    }
    format!("clearway promql query {query} {options}")
}

/// How a client of an HTTP API proves who it is and whom it trusts: files that are named, and never what is in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HttpAccess {
    /// A file with a bearer token.
    pub token_file: Option<String>,
    /// Certificates that are trusted.
    pub ca_file: Option<String>,
    /// A client certificate and its key.
    pub identity: Option<(String, String)>,
    /// Whether the address has a user, a password or parameters, which are not shown.
    pub hides_parts: bool,
}

/// Asks a metrics store at its HTTP API; `url` is what stands before `/api/v1`. The token is read when the command runs,
/// and is no argument of any process.
pub fn curl(query: &str, url: &str, time: Timestamp, access: &HttpAccess) -> String {
    let mut command = String::new();
    if let Some(file) = &access.token_file {
        let _ = write!(command, "printf 'Authorization: Bearer %s' \"$(cat {})\" | ", quoted(file));
    }
    command.push_str("curl -sSG");
    if access.token_file.is_some() {
        command.push_str(" -H @-");
    }
    if let Some(file) = &access.ca_file {
        let _ = write!(command, " --cacert {}", quoted(file));
    }
    if let Some((certificate, key)) = &access.identity {
        let _ = write!(command, " --cert {} --key {}", quoted(certificate), quoted(key));
    }
    let url = quoted(&format!("{}/api/v1/query", url.trim_end_matches('/')));
    let query = quoted(&format!("query={query}"));
    let _ = write!(command, " {url} --data-urlencode {query} -d time={}", time.as_seconds());
    if access.hides_parts {
        command.push_str(" # add the user, password and parameters of the address, which are not shown");
    }
    command
}

/// Evaluates the policies of the cluster over the objects of a release.
pub fn policy_preview(release: &str) -> String {
    format!("clearway policy preview --release={}", quoted(release))
}

/// Shows the objects that were asked for. `options` say which cluster is meant.
pub fn kubectl(request: &ObjectRequest, options: &[String]) -> String {
    let mut command = "kubectl".to_owned();
    for option in options {
        let _ = write!(command, " {}", quoted(option));
    }
    let _ = write!(command, " get {}", quoted(&request.kind.to_string()));
    match (&request.namespace, &request.name) {
        (None, None) => command.push_str(" --all-namespaces"),
        (Some(namespace), None) => {
            let _ = write!(command, " --namespace={}", quoted(namespace));
        }
        (Some(namespace), Some(name)) => {
            let _ = write!(command, " --namespace={} {}", quoted(namespace), quoted(name));
        }
        (None, Some(name)) => {
            let _ = write!(command, " --all-namespaces --field-selector={}", quoted(&format!("metadata.name={name}")));
        }
    }
    command + " -o yaml"
}

/// Shows the files of a state directory with the objects of a kind; `directory` is the one with all objects.
pub fn object_files(kind: &GroupKind, directory: &str) -> String {
    let group = if kind.group.is_empty() { "core" } else { &kind.group };
    let pattern = format!("*/{group}/{}/*.yaml", kind.kind);
    format!("find {} -path {} -exec cat {{}} +", quoted(directory), quoted(&pattern))
}

/// Whether a program would take a quoted word for an option.
fn is_like_option(word: &str) -> bool {
    word.trim_start_matches('\'').starts_with('-')
}

/// A text as one word of a shell.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_pasted() {
        let time = Timestamp::from_seconds(1_800_000_000).unwrap();
        assert_eq!(
            promql("max(up{a='b'})", "x.series", None, time),
            r"clearway promql query 'max(up{a='\''b'\''})' --series x.series --time 2027-01-15T08:00:00Z"
        );
        assert_eq!(
            promql("-up", "a b", Some("text"), time),
            "clearway promql query --series 'a b' --series-format text --time 2027-01-15T08:00:00Z -- -up"
        );
        let deployments = |namespace: Option<&str>, name: Option<&str>| ObjectRequest {
            kind: GroupKind::from_api_version("apps/v1", "Deployment"),
            namespace: namespace.map(str::to_owned),
            name: name.map(str::to_owned),
        };
        for (namespace, name, want) in [
            (None, None, "kubectl get Deployment.apps --all-namespaces -o yaml"),
            (Some("shop"), None, "kubectl get Deployment.apps --namespace=shop -o yaml"),
            (Some("shop"), Some("web"), "kubectl get Deployment.apps --namespace=shop web -o yaml"),
            (
                None,
                Some("a b"),
                "kubectl get Deployment.apps --all-namespaces --field-selector='metadata.name=a b' -o yaml",
            ),
        ] {
            assert_eq!(kubectl(&deployments(namespace, name), &[]), want);
        }
        assert_eq!(
            kubectl(&deployments(None, None), &["--kubeconfig=/a b/c".to_owned(), "--context=d".to_owned()]),
            "kubectl '--kubeconfig=/a b/c' --context=d get Deployment.apps --all-namespaces -o yaml"
        );
        assert_eq!(
            object_files(&GroupKind::from_api_version("v1", "Node"), "state/objects"),
            "find state/objects -path '*/core/Node/*.yaml' -exec cat {} +"
        );
    }

    #[test]
    fn a_token_is_read_when_the_command_runs() {
        let time = Timestamp::from_seconds(1_800_000_000).unwrap();
        let url = "http://localhost:9090/";
        let plain = "curl -sSG http://localhost:9090/api/v1/query --data-urlencode 'query=max(up)' -d time=1800000000";
        assert_eq!(curl("max(up)", url, time, &HttpAccess::default()), plain);
        let access = HttpAccess {
            token_file: Some("/run/my token".to_owned()),
            ca_file: Some("ca.pem".to_owned()),
            identity: Some(("a.crt".to_owned(), "a.key".to_owned())),
            hides_parts: true,
        };
        assert_eq!(
            curl("max(up)", url, time, &access),
            "printf 'Authorization: Bearer %s' \"$(cat '/run/my token')\" | curl -sSG -H @- --cacert ca.pem --cert a.crt \
             --key a.key http://localhost:9090/api/v1/query --data-urlencode 'query=max(up)' -d time=1800000000 # add the \
             user, password and parameters of the address, which are not shown"
        );
    }
}
