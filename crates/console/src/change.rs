//! What a caller can change with a form, and what came of it. Nothing here changes anything.
//!
//! A body of a request becomes a [`Change`] and the caller's token; whoever makes the change gives a [`ChangeOutcome`],
//! which [`pages::change`](crate::pages::change) shows.

use clearway_core::{BearerToken, BearerTokenError, Version};

use crate::address::{BadAddress, PREFIX, Parameters, Route};

/// What the tick says that lets an update start that is not recommended, on the page and in refusals.
pub const ALLOW_NOT_RECOMMENDED: &str = "Start it although it is not recommended";
/// What the tick says that lets an update start in spite of conditions of the object.
pub const ALLOW_WITH_WARNINGS: &str =
    "Start it although another update is in progress or failing, or the object is invalid";

/// The last part of the path that starts an update.
const START: &str = "start-update";
/// The last part of the path that accepts a risk.
const ACCEPT: &str = "accept-risk";

/// A change of the object that describes a cluster or a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The kind of the object, such as `ClusterVersion`.
    pub kind: String,
    /// The name of the object.
    pub name: String,
    /// The update whose page has the form.
    pub version: Version,
    /// What is to change.
    pub action: ChangeAction,
}

/// What a change does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeAction {
    /// Requests the update.
    StartUpdate {
        /// Also if it is not recommended.
        allow_not_recommended: bool,
        /// Also if another update is in progress or failing, or the object is invalid.
        allow_with_warnings: bool,
    },
    /// Accepts a risk of the update.
    AcceptRisk {
        /// Its name.
        risk: String,
        /// Why it is accepted; empty if the field was left empty.
        reason: String,
        /// When the acceptance ends, as it was written; empty if it does not end.
        until: String,
    },
}

/// Why a body is not a change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadForm {
    /// A field is missing, or has a value that it cannot have.
    #[error(transparent)]
    Field(#[from] BadAddress),
    /// The token cannot be one.
    #[error("The field Token cannot be used: {0}.")]
    Token(#[from] BearerTokenError),
}

/// Whether a path is one that changes something.
pub fn is_change(path: &str) -> bool {
    action_name(path).is_some()
}

fn action_name(path: &str) -> Option<&'static str> {
    let rest = path.strip_prefix(PREFIX)?;
    [START, ACCEPT].into_iter().find(|name| *name == rest)
}

/// The address that a form is sent to.
pub(crate) fn start_link() -> String {
    format!("{PREFIX}{START}")
}

/// The address that a form is sent to.
pub(crate) fn accept_link() -> String {
    format!("{PREFIX}{ACCEPT}")
}

impl Change {
    /// Reads the form that was sent to a path, and the token in it, if there is one.
    pub fn read(path: &str, body: &[u8]) -> Result<(Self, Option<BearerToken>), BadForm> {
        let name = action_name(path).ok_or(BadAddress::NoPage)?;
        let fields = Parameters::read(body);
        let action = if name == START {
            ChangeAction::StartUpdate {
                allow_not_recommended: fields.get("allow-not-recommended").is_some(),
                allow_with_warnings: fields.get("allow-with-warnings").is_some(),
            }
        } else {
            ChangeAction::AcceptRisk {
                risk: fields.text("risk")?,
                // Browsers send the line breaks of a field with a carriage return.
                reason: fields.get("reason").unwrap_or_default().replace("\r\n", "\n"),
                until: fields.get("until").unwrap_or_default().to_owned(),
            }
        };
        let change = Change {
            kind: fields.text("kind")?,
            name: fields.text("name")?,
            version: fields.version("version")?.ok_or(BadAddress::Missing("version"))?,
            action,
        };
        let token = fields.get("token").map(BearerToken::read).transpose()?;
        Ok((change, token))
    }

    /// The page that the form is on.
    pub fn page(&self) -> Route {
        Route::ClusterUpdate { kind: self.kind.clone(), name: self.name.clone(), version: self.version.clone() }
    }
}

/// What came of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeOutcome {
    /// Whether it was made.
    pub result: ChangeResult,
    /// What was made, or why not, in a sentence.
    pub sentence: String,
    /// What the caller should know besides.
    pub warnings: Vec<String>,
}

/// Whether a change was made, and whose matter it is if not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeResult {
    /// It was made, or nothing had to be changed.
    Done,
    /// The form has something wrong in it.
    Invalid,
    /// The API server does not accept the caller's token.
    Unauthenticated,
    /// The caller is not allowed to make it.
    Forbidden,
    /// There is no such object.
    NotFound,
    /// The state of the object does not allow it.
    Refused,
    /// The API server cannot be reached, or failed.
    Unreachable,
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &str = "kind=ClusterVersion&name=version&version=4.7.4";

    #[test]
    fn a_form_is_read() {
        let body = format!("{OBJECT}&allow-not-recommended=yes&token=%20abc%0A");
        let (change, token) = Change::read("/console/start-update", body.as_bytes()).unwrap();
        let action = ChangeAction::StartUpdate { allow_not_recommended: true, allow_with_warnings: false };
        assert_eq!((change.action.clone(), token.unwrap().secret()), (action, "abc"));
        assert_eq!(change.page().link(), format!("/console/cluster-update?{OBJECT}"));
        let body = format!("{OBJECT}&risk=a%26b&reason=one%0D%0Atwo&until=&token=");
        let (change, token) = Change::read("/console/accept-risk", body.as_bytes()).unwrap();
        let (risk, reason) = ("a&b".to_owned(), "one\ntwo".to_owned());
        assert_eq!(change.action, ChangeAction::AcceptRisk { risk, reason, until: String::new() });
        assert_eq!(token, None);
    }

    #[test]
    fn what_is_wrong_with_a_form_is_said_without_the_token() {
        let long = format!("{OBJECT}&token=top%20secret");
        for (path, body, sentence) in [
            ("/console/other", OBJECT, "There is no page at this address."),
            ("/console/start-update", "kind=a&name=b", "The parameter version is missing."),
            ("/console/accept-risk", OBJECT, "The parameter risk is missing."),
            (
                "/console/start-update",
                "kind=a&name=b&version=new",
                "\"new\" is not a value of the parameter version: use a version such as 4.14.3.",
            ),
            (
                "/console/start-update",
                &long,
                "The field Token cannot be used: a token consists of letters, digits and ASCII punctuation; this one has other characters.",
            ),
        ] {
            let error = Change::read(path, body.as_bytes()).unwrap_err();
            assert_eq!(error.to_string(), sentence, "{path} {body}");
            assert!(!format!("{error:?}").contains("secret"), "{error:?}");
        }
    }
}
