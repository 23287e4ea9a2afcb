//! Asking the API server who somebody is, and whether they may do something: for programs that answer others themselves.

use http::Request;
use serde_json::{Value, json};

use super::{ANSWER, Cluster, ClusterError};

/// A user, as the API server tells who a token belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Name, uid, groups and whatever else authorizers look at, as they came.
    info: Value,
}

impl User {
    /// The name.
    pub fn name(&self) -> &str {
        self.info["username"].as_str().unwrap_or_default()
    }
}

impl Cluster {
    /// The user that a bearer token belongs to; none if the API server does not accept the token (`TokenReview`).
    pub async fn user_of_token(&self, token: &str) -> Result<Option<User>, ClusterError> {
        let review = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "metadata": {}, "spec": {"token": token},
        });
        let mut answer = self.review("/apis/authentication.k8s.io/v1/tokenreviews", "tokenreviews", &review).await?;
        let accepted = answer["status"]["authenticated"] == true;
        Ok(accepted.then(|| User { info: answer["status"]["user"].take() }))
    }

    /// Whether a user may get a path of an HTTP server, such as `/metrics` (`SubjectAccessReview`).
    pub async fn may_get_path(&self, user: &User, path: &str) -> Result<bool, ClusterError> {
        let User { info } = user;
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {},
            "spec": {
                "user": info["username"], "uid": info["uid"], "groups": info["groups"], "extra": info["extra"],
                "nonResourceAttributes": {"path": path, "verb": "get"},
            },
        });
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let answer = self.review(path, "subjectaccessreviews", &review).await?;
        Ok(answer["status"]["allowed"] == true)
    }

    async fn review(&self, path: &str, resource: &str, review: &Value) -> Result<Value, ClusterError> {
        let failed = |error| self.error("create", resource, "", error);
        let request = Request::post(path).header("Content-Type", "application/json");
        let request =
            request.body(review.to_string().into_bytes()).map_err(|error| failed(kube::Error::HttpError(error)))?;
        self.within(ANSWER, self.client.request::<Value>(request), failed).await
    }
}
