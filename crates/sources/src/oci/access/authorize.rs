//! Telling a registry who asks: with a password, or with a token that somebody else gives.

use reqwest::header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Response, Url};

use crate::oci::OciError;
use crate::oci::access::challenge::{self, Challenge};
use crate::oci::access::credentials::Login;
use crate::oci::access::pace::AttemptError;
use crate::oci::access::registry::{Registry, RegistryRequest, bounded, classify_error, may_ask};

/// What is read of an answer that is a token.
const TOKEN_BYTES: u64 = 1 << 20;

/// What a registry was told, and which telling of it this is.
#[derive(Clone, Default)]
pub(in crate::oci) struct Grant {
    pub(in crate::oci) header: Option<HeaderValue>,
    pub(in crate::oci) turn: u64,
}

impl Registry {
    /// What to tell a registry that answered 401. Tokens are not followed to their end: one that has run out brings
    /// another 401, and here a new one.
    pub(in crate::oci) async fn authorize(
        &self,
        ask: &RegistryRequest<'_>,
        response: &Response,
        turn: u64,
    ) -> Result<HeaderValue, AttemptError> {
        // Held until the token is there: the others that wait for it find it then.
        let mut granted = self.granted.lock().await;
        let known = granted.entry(ask.repository.clone()).or_default();
        if let Some(header) = known.header.as_ref().filter(|_| known.turn != turn) {
            return Ok(header.clone());
        }
        let denied = |why: &str| {
            let (at, hint) = (ask.at.to_owned(), self.options.credentials.hint());
            AttemptError::Lasting(OciError::Denied { at, why: why.to_owned(), hint })
        };
        let offers = response.headers().get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let login = self.options.credentials.login(ask.repository)?;
        let header = match (challenge::choose(offers), login) {
            (Some(Challenge::Bearer { realm, service }), login) => {
                let token = self.token(ask, &realm, service.as_deref(), login.as_ref()).await?;
                HeaderValue::try_from(format!("Bearer {token}")).ok()
            }
            (Some(Challenge::Basic), Some(login)) => {
                let request = self.client.get(ask.url.clone()).basic_auth(login.user, Some(login.password));
                request.build().ok().and_then(|request| request.headers().get(AUTHORIZATION).cloned())
            }
            (Some(Challenge::Basic), None) => return Err(denied("it requires authentication")),
            (None, _) => return Err(denied("it requires an unsupported authentication scheme")),
        };
        let mut header = header.ok_or_else(|| denied("it returned an invalid token"))?;
        header.set_sensitive(true);
        *known = Grant { header: Some(header.clone()), turn: turn + 1 };
        Ok(header)
    }

    async fn token(
        &self,
        ask: &RegistryRequest<'_>,
        realm: &str,
        service: Option<&str>,
        login: Option<&Login>,
    ) -> Result<String, AttemptError> {
        #[derive(serde::Deserialize)]
        struct Answer {
            token: Option<String>,
            access_token: Option<String>,
        }
        let at = || ask.at.to_owned();
        let mut url = Url::parse(realm)
            .map_err(|_| OciError::Protocol { at: at(), why: "it does not name a token URL".to_owned() })?;
        if !may_ask(self.options.plain_http, &ask.url, &url) {
            let why = "it requests the password for a host without TLS, or for this machine".to_owned();
            return Err(OciError::Protocol { at: at(), why }.into());
        }
        let rights = if ask.sends.is_some() { "pull,push" } else { "pull" };
        url.query_pairs_mut()
            .extend_pairs(service.map(|service| ("service", service)))
            .append_pair("scope", &format!("repository:{}:{rights}", ask.repository.path()));
        let mut request = self.client.get(url).timeout(self.options.timeout);
        if let Some(login) = login {
            request = request.basic_auth(&login.user, Some(&login.password));
        }
        let response = request.send().await.map_err(|error| classify_error(error, ask.at))?;
        let token = RegistryRequest { what: "source of tokens", url: response.url().clone(), ..ask.again() };
        let answer = bounded(self.judge(&token, response).await?, ("token_bytes", TOKEN_BYTES), ask.at).await?;
        let answer: Option<Answer> = serde_json::from_slice(&answer).ok();
        answer.and_then(|answer| answer.token.or(answer.access_token)).ok_or_else(|| {
            OciError::Protocol { at: at(), why: "the token service returned no token".to_owned() }.into()
        })
    }
}
