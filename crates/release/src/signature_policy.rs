//! Whether a release may be applied, given what its signatures say and what the administrator asked for.

use serde::Serialize;

/// What signatures say about a release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "signature")]
pub enum Verdict {
    /// A trusted key signed it.
    Verified {
        /// The name of the key.
        key: String,
        /// What was signed.
        what: String,
    },
    /// Nobody signed it.
    Unsigned,
    /// Somebody signed something, but no trusted key this.
    Failed {
        /// In words.
        why: String,
    },
}

/// Why a release may be carried out. It is recorded with the update.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "accepted")]
pub enum Acceptance {
    /// A trusted key signed it.
    Verified {
        /// Which.
        key: String,
    },
    /// No keys are configured, so nobody asked.
    Unchecked,
    /// It would have been refused, and the administrator forced it.
    Waived {
        /// What was waived.
        why: String,
    },
}

/// Why a release may not be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the release cannot be verified: {why}")]
pub struct VerificationError {
    /// What is missing.
    pub why: String,
}

/// Decides. Without a verdict no keys are configured; with keys, one of them must have signed the release, unless the
/// administrator forces it.
pub fn accept(verdict: Option<&Verdict>, force: bool) -> Result<Acceptance, VerificationError> {
    let why = match verdict {
        None => return Ok(Acceptance::Unchecked),
        Some(Verdict::Verified { key, .. }) => return Ok(Acceptance::Verified { key: key.clone() }),
        Some(Verdict::Unsigned) => "it is not signed".to_owned(),
        Some(Verdict::Failed { why }) => why.clone(),
    };
    if force { Ok(Acceptance::Waived { why }) } else { Err(VerificationError { why }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_keys_one_must_have_signed_unless_it_is_forced() {
        let verified = Verdict::Verified { key: "k".to_owned(), what: "d".to_owned() };
        let failed = Verdict::Failed { why: "no".to_owned() };
        let waived = |why: &str| Ok(Acceptance::Waived { why: why.to_owned() });
        let refused = |why: &str| Err(VerificationError { why: why.to_owned() });
        let key = || Ok(Acceptance::Verified { key: "k".to_owned() });
        for (verdict, force, want) in [
            (None, false, Ok(Acceptance::Unchecked)),
            (None, true, Ok(Acceptance::Unchecked)),
            (Some(&verified), false, key()),
            (Some(&verified), true, key()),
            (Some(&Verdict::Unsigned), false, refused("it is not signed")),
            (Some(&Verdict::Unsigned), true, waived("it is not signed")),
            (Some(&failed), false, refused("no")),
            (Some(&failed), true, waived("no")),
        ] {
            assert_eq!(accept(verdict, force), want, "{verdict:?} {force}");
        }
    }
}
