//! What a registry is asked for besides layers: tags, digests, manifests and small blobs.
//!
//! Every answer is read within a limit, and what a digest names is checked against it.

use clearway_core::{CapExceeded, Digest};
use reqwest::header::{HeaderMap, LINK};
use reqwest::{Method, Url};

use crate::oci::OciError;
use crate::oci::access::pace::AttemptError;
use crate::oci::access::registry::{Registry, RegistryRequest, bounded};
use crate::oci::image::media::Descriptor;
use crate::oci::reference::{At, Repository};

/// Tags asked for in one page.
const PAGE: u32 = 1000;
/// Tags in one page at least, on average: a registry that sends fewer never ends.
const LEAST_IN_PAGE: usize = 50;
/// Letters that are kept of an entry that is none of a tag: the longest tag has 128.
const SHOWN: usize = 128;

impl Registry {
    /// The tags of a repository, in order.
    pub(in crate::oci) async fn tags(&self, repository: &Repository) -> Result<Vec<String>, OciError> {
        #[derive(serde::Deserialize)]
        struct Page {
            // A repository whose tags are all gone has `null`.
            tags: Option<Vec<String>>,
        }
        let at = format!("{repository} (list of tags)");
        let protocol = |why: &str| OciError::Protocol { at: at.clone(), why: why.to_owned() };
        let mut next = Some(self.url(repository, &format!("tags/list?n={PAGE}"))?);
        let mut tags = Vec::new();
        let mut pages = 0;
        while let Some(url) = next {
            let ask = &RegistryRequest {
                repository,
                method: Method::GET,
                url: url.clone(),
                accept: None,
                within: Some(self.options.timeout),
                at: &at,
                what: "repository",
                sends: None,
            };
            let page = || async move {
                let response = self.attempt(ask).await?;
                let link = next_page(response.headers(), &ask.url);
                let body = bounded(response, ("page_bytes", self.options.limits.page_bytes), ask.at).await?;
                Ok::<_, AttemptError>((link, body))
            };
            let (link, body) = self.options.pace.persist(&at, page).await?;
            let page: Page = serde_json::from_slice(&body).map_err(|_| protocol("it is not a list of tags"))?;
            let page = page.tags.unwrap_or_default();
            next = link.map_err(|()| protocol("its next page is on another host"))?.filter(|next| *next != url);
            // A page without tags that names another one could go on for ever.
            pages += 1;
            let most = self.options.limits.tags;
            if let Some(above) = CapExceeded::first([("tags", tags.len() + page.len(), most, "tags in one repository")])
            {
                return Err(protocol(&format!("it has {above}")));
            }
            if next.is_some() && pages > most / LEAST_IN_PAGE {
                return Err(protocol("its list of tags does not end"));
            }
            tags.extend(page.into_iter().map(shown));
        }
        tags.sort();
        tags.dedup();
        Ok(tags)
    }

    /// The digest that a tag has now, without its manifest where the registry can say so.
    pub(in crate::oci) async fn digest(&self, repository: &Repository, reference: &At) -> Result<Digest, OciError> {
        if let At::Digest(digest) = reference {
            return Ok(digest.clone());
        }
        let at = format!("{repository}{reference}");
        let ask = &RegistryRequest::manifest(self, repository, Method::HEAD, &reference.in_path(), &at)?;
        let head = || async move { Ok(self.attempt(ask).await?.headers().clone()) };
        match self.options.pace.persist(&at, head).await {
            Ok(headers) => {
                if let Some(digest) = named_digest(&headers) {
                    return Ok(digest);
                }
            }
            // A registry that does not know HEAD.
            Err(OciError::Protocol { .. }) => {}
            Err(error) => return Err(error),
        }
        let body = self.body(repository, reference, &at).await?;
        Ok(Digest::sha256(&body))
    }

    /// The manifest of a digest, checked.
    pub(in crate::oci) async fn manifest(
        &self,
        repository: &Repository,
        digest: &Digest,
        at: &str,
    ) -> Result<Vec<u8>, OciError> {
        let body = self.body(repository, &At::Digest(digest.clone()), at).await?;
        if digest.matches(&body) {
            Ok(body)
        } else {
            Err(OciError::Mismatch { at: at.to_owned(), digest: digest.clone() })
        }
    }

    /// A blob that is small, such as a configuration, checked.
    pub(in crate::oci) async fn small_blob(
        &self,
        repository: &Repository,
        blob: &Descriptor,
        at: &str,
    ) -> Result<Vec<u8>, OciError> {
        self.blob_within(repository, blob, at, ("manifest_bytes", self.options.limits.manifest_bytes)).await
    }

    /// A blob of at most so many bytes, by the name of the cap, checked.
    pub(in crate::oci) async fn blob_within(
        &self,
        repository: &Repository,
        blob: &Descriptor,
        at: &str,
        most: (&'static str, u64),
    ) -> Result<Vec<u8>, OciError> {
        let ask = &self.blob(repository, &blob.digest, at)?;
        let within = Some(self.options.timeout);
        let ask = &RegistryRequest { within, method: Method::GET, url: ask.url.clone(), ..*ask };
        let get = || async move { bounded(self.attempt(ask).await?, most, ask.at).await };
        let body = self.options.pace.persist(at, get).await?;
        if blob.digest.matches(&body) {
            Ok(body)
        } else {
            Err(OciError::Mismatch { at: at.to_owned(), digest: blob.digest.clone() })
        }
    }

    /// The request for a blob.
    pub(in crate::oci) fn blob<'a>(
        &self,
        repository: &'a Repository,
        digest: &Digest,
        at: &'a str,
    ) -> Result<RegistryRequest<'a>, OciError> {
        let url = self.url(repository, &format!("blobs/{digest}"))?;
        let what = "layer or configuration";
        Ok(RegistryRequest { repository, method: Method::GET, url, accept: None, within: None, at, what, sends: None })
    }

    async fn body(&self, repository: &Repository, reference: &At, at: &str) -> Result<Vec<u8>, OciError> {
        let ask = &RegistryRequest::manifest(self, repository, Method::GET, &reference.in_path(), at)?;
        let most = ("manifest_bytes", self.options.limits.manifest_bytes);
        let get = || async move { bounded(self.attempt(ask).await?, most, ask.at).await };
        self.options.pace.persist(at, get).await
    }
}

/// A tag, or the beginning of what is too long for one.
fn shown(mut tag: String) -> String {
    if tag.len() > SHOWN {
        tag.truncate(tag.floor_char_boundary(SHOWN));
        tag.push('…');
        tag.shrink_to_fit();
    }
    tag
}

fn named_digest(headers: &HeaderMap) -> Option<Digest> {
    headers.get("docker-content-digest")?.to_str().ok()?.trim().parse().ok()
}

/// The URL of the next page, if there is one. It must be on the same host: what the registry was told about us is sent
/// along.
fn next_page(headers: &HeaderMap, here: &Url) -> Result<Option<Url>, ()> {
    let links = headers.get_all(LINK).iter().filter_map(|value| value.to_str().ok());
    let Some(target) = links.flat_map(|value| value.split(',')).find_map(next_target) else { return Ok(None) };
    let next = here.join(target).map_err(|_| ())?;
    if next.origin() == here.origin() { Ok(Some(next)) } else { Err(()) }
}

/// The target of `<target>; rel="next"`.
fn next_target(link: &str) -> Option<&str> {
    let (target, parameters) = link.trim().strip_prefix('<')?.split_once('>')?;
    let is_next = |parameter: &str| {
        let (key, value) = parameter.split_once('=').unwrap_or_default();
        key.trim().eq_ignore_ascii_case("rel") && value.trim().trim_matches('"').eq_ignore_ascii_case("next")
    };
    parameters.split(';').any(is_next).then_some(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_on_the_same_host() {
        let here = Url::parse("https://r.example.com/v2/a/tags/list?n=2").unwrap();
        for (link, want) in [
            (
                r#"</v2/a/tags/list?n=2&last=b>; rel="next""#,
                Ok(Some("https://r.example.com/v2/a/tags/list?n=2&last=b")),
            ),
            ("<?last=b>; title=x; rel=next", Ok(Some("https://r.example.com/v2/a/tags/list?last=b"))),
            ("<https://r.example.com/x>; rel=\"next\"", Ok(Some("https://r.example.com/x"))),
            ("</first>; rel=\"first\", </second>; rel=\"next\"", Ok(Some("https://r.example.com/second"))),
            ("<https://evil.example.com/x>; rel=\"next\"", Err(())),
            ("<http://r.example.com/x>; rel=\"next\"", Err(())),
            ("</v2/a>; rel=\"last\"", Ok(None)),
            ("nonsense", Ok(None)),
        ] {
            let headers = HeaderMap::from_iter([(LINK, link.parse().unwrap())]);
            let next = next_page(&headers, &here);
            assert_eq!(
                next.as_ref().map(|next| next.as_ref().map(Url::as_str)),
                want.as_ref().map(|want| *want),
                "{link}"
            );
        }
    }
}
