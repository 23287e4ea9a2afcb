//! Answers that are read within a bound on bytes and memory: which objects rules ask for is a stranger's choice.

use std::time::Duration;

use clearway_core::JsonSize;
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use kube::api::ListParams;
use kube::client::Body;
use kube::core::Status;
use serde_json::Value;

use super::{Cluster, ClusterError, LONG_ANSWER, Page, Resource};

/// Bytes of one answer. The API server stores no object above 1.5 MiB.
pub const PAGE_BYTES: usize = 8 << 20;
/// Bytes of memory that one answer may take once it is read: an eighth of what the operator's container has.
pub const PAGE_MEMORY: usize = 32 << 20;
/// Bytes of an answer that says what went wrong.
const STATUS_BYTES: usize = 64 << 10;

impl Cluster {
    /// The next page of the objects of a kind in all namespaces, with so many objects at most;
    /// [`ClusterError::AnswerTooLarge`] asks for fewer. `token` is where the page before ended.
    pub async fn page(&self, resource: &Resource, token: Option<&str>, objects: u32) -> Result<Page, ClusterError> {
        let parameters =
            ListParams { limit: Some(objects), continue_token: token.map(str::to_owned), ..ListParams::default() };
        let request = Self::collection(resource, None)?
            .list(&parameters)
            .map_err(|error| self.error("list", &resource.to_string(), "", kube::Error::BuildRequest(error)))?;
        let list = self.bounded("list", resource, "", LONG_ANSWER, request).await?;
        Ok(Page::of_list(list, resource))
    }

    /// What the server answers, read here: the client reads any number of bytes, and logs what it cannot parse.
    pub(super) async fn bounded(
        &self,
        verb: &'static str,
        resource: &Resource,
        name: &str,
        limit: Duration,
        request: Request<Vec<u8>>,
    ) -> Result<Value, ClusterError> {
        let failed = |error| self.error(verb, &resource.to_string(), name, error);
        let too_large = || ClusterError::AnswerTooLarge { resource: resource.to_string(), limit: PAGE_BYTES };
        let bytes = self.within(limit, self.answer(request), failed).await?.ok_or_else(too_large)?;
        if JsonSize::of_text(&bytes).memory > PAGE_MEMORY {
            return Err(too_large());
        }
        serde_json::from_slice(&bytes).map_err(|error| failed(kube::Error::SerdeError(error)))
    }

    /// The body of an answer; nothing if it is larger than [`PAGE_BYTES`].
    async fn answer(&self, request: Request<Vec<u8>>) -> kube::Result<Option<Vec<u8>>> {
        let response = self.client.send(request.map(Body::from)).await?;
        let code = response.status();
        if !(code.is_client_error() || code.is_server_error()) {
            return read(response.into_body(), PAGE_BYTES).await;
        }
        let body = read(response.into_body(), STATUS_BYTES).await?.unwrap_or_default();
        Err(kube::Error::Api(status(code, &body).boxed()))
    }
}

/// What the server says went wrong; a proxy on the way may say it in other words.
fn status(code: StatusCode, body: &[u8]) -> Status {
    serde_json::from_slice(body)
        .unwrap_or_else(|_| Status::failure(&String::from_utf8_lossy(body), "no status").with_code(code.as_u16()))
}

/// All bytes of a body; nothing if there are more than `limit`.
async fn read(mut body: Body, limit: usize) -> kube::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        if data.len() > limit.saturating_sub(bytes.len()) {
            return Ok(None);
        }
        bytes.extend_from_slice(&data);
    }
    Ok(Some(bytes))
}
