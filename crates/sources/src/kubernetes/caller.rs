//! Requests with the identity of a caller: someone who sent this program a bearer token of theirs.
//!
//! Of the program's own connection only the address of the API server and the certificates that prove it are used. The
//! caller's token is the one credential, so the API server decides with the caller's rights and its audit log names the
//! caller.

use clearway_core::BearerToken;
use http::Request;
use kube::config::AuthInfo;
use serde_json::{Value, json};

use super::{ANSWER, Cluster, ClusterError, Connection, configuration};

/// Whom the API server takes a caller for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallerIdentity {
    /// The user of the token.
    User(String),
    /// The API server accepts the token, or cannot be asked whom it belongs to: what follows is decided by it anyway.
    NotTold,
    /// The API server does not accept the token.
    Refused,
}

impl Cluster {
    /// Prepares a connection to the same API server with the identity of a caller and nothing of one's own: no client
    /// certificate, token, password, credential plug-in or impersonation. Nothing is sent yet.
    pub async fn connect_as_caller(connection: &Connection, caller: &BearerToken) -> Result<Self, ClusterError> {
        let mut config = configuration::load(connection).await?;
        config.auth_info = AuthInfo { token: Some(caller.secret().to_owned().into()), ..AuthInfo::default() };
        let connection = Connection { impersonate: None, ..connection.clone() };
        Self::with_config(config, &connection)
    }

    /// Asks the API server who it takes this connection for (`SelfSubjectReview`).
    pub async fn caller_identity(&self) -> Result<CallerIdentity, ClusterError> {
        let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview", "metadata": {}});
        let failed = |error| self.error("create", "selfsubjectreviews", "", error);
        let request = Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews")
            .header("Content-Type", "application/json")
            .body(review.to_string().into_bytes())
            .map_err(|error| failed(kube::Error::HttpError(error)))?;
        let answer = async {
            match self.client.request::<Value>(request).await {
                Ok(answer) => Ok(match answer["status"]["userInfo"]["username"].as_str() {
                    Some(name) => CallerIdentity::User(name.to_owned()),
                    None => CallerIdentity::NotTold,
                }),
                Err(kube::Error::Api(status)) if status.code == 401 => Ok(CallerIdentity::Refused),
                // Not allowed to ask, or a server older than the question.
                Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => Ok(CallerIdentity::NotTold),
                Err(error) => Err(error),
            }
        };
        self.within(ANSWER, answer, failed).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    /// Answers one request, and gives its head.
    async fn answer_once(listener: TcpListener, answer: &str) -> String {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
            let mut bytes = [0; 4096];
            let read = stream.read(&mut bytes).await.unwrap();
            assert!(read > 0, "the request ended early");
            request.extend_from_slice(&bytes[..read]);
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8_lossy(&request).to_lowercase()
    }

    /// Everything that a kubeconfig can say about its user is left out, also the program that would fetch credentials.
    #[tokio::test]
    async fn a_caller_is_known_by_the_token_alone() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (dir, address) = (tempfile::tempdir().unwrap(), listener.local_addr().unwrap());
        let (file, ran) = (dir.path().join("kubeconfig"), dir.path().join("ran"));
        let user = json!({
            "token": "of-the-operator", "username": "operator", "password": "of-the-operator",
            "as": "system:admin", "as-groups": ["system:masters"],
            "exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "touch", "args": [ran]},
        });
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": format!("http://{address}")}}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        });
        fs::write(&file, config.to_string()).unwrap();
        let connection = Connection { kubeconfig: Some(file), ..Connection::default() };
        let caller = BearerToken::read("of-the-caller").unwrap();
        let body = json!({"status": {"userInfo": {"username": "jane"}}}).to_string();
        let answer = format!(
            "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let ask = async {
            let cluster = Cluster::connect_as_caller(&connection, &caller).await.unwrap();
            cluster.caller_identity().await.unwrap()
        };
        let (head, identity) = tokio::join!(answer_once(listener, &answer), ask);
        assert_eq!(identity, CallerIdentity::User("jane".to_owned()));
        assert!(head.contains("authorization: bearer of-the-caller\r\n"), "{head}");
        assert!(!head.contains("of-the-operator") && !head.contains("impersonate"), "{head}");
        assert!(!ran.exists(), "the credential plug-in was run");
    }
}
