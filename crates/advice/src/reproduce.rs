//! The commands that show an observation again, to be pasted into a shell.

use clearway_core::Timestamp;

use crate::evidence::ObjectKind;

/// Evaluates a query over series in a file.
pub fn promql(query: &str, file: &str, time: Timestamp) -> String {
    let (query, file) = (quoted(query), quoted(file));
    // A query may start with a minus, as an option does.
    if query.starts_with("'-") {
        return format!("clearway promql query --series {file} --time {time} -- {query}");
    }
    format!("clearway promql query {query} --series {file} --time {time}")
}

/// Asks a metrics store at its HTTP API; `url` is what stands before `/api/v1`.
pub fn curl(query: &str, url: &str, time: Timestamp) -> String {
    let url = quoted(&format!("{}/api/v1/query", url.trim_end_matches('/')));
    format!("curl -sSG {url} --data-urlencode {} -d time={}", quoted(&format!("query={query}")), time.as_seconds())
}

/// Shows the objects of a kind.
pub fn kubectl(kind: &ObjectKind) -> String {
    format!("kubectl get {} --all-namespaces -o yaml", quoted(&kind.to_string()))
}

/// A text as one word of a shell.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(plain) {
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
            promql("max(up{a='b'})", "x.series", time),
            r"clearway promql query 'max(up{a='\''b'\''})' --series x.series --time 2027-01-15T08:00:00Z"
        );
        assert_eq!(promql("-1", "-", time), "clearway promql query --series '-' --time 2027-01-15T08:00:00Z -- '-1'");
        assert_eq!(
            curl("max(up)", "http://localhost:9090/", time),
            "curl -sSG http://localhost:9090/api/v1/query --data-urlencode 'query=max(up)' -d time=1800000000"
        );
        assert_eq!(
            kubectl(&ObjectKind::new("apps/v1", "Deployment")),
            "kubectl get Deployment.apps --all-namespaces -o yaml"
        );
    }
}
