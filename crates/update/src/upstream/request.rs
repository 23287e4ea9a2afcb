//! What the update service is asked, and what comes of it, in the words of `RetrievedUpdates`.

use clearway_conditions::{Reason, reason};
use clearway_core::{Address, Arch, Digest, Timestamp, Version};

use crate::api::{Spec, Status};
use crate::desired_update::architecture::{is_multi, requests_multi};
use crate::reconciler::RE_EVALUATE;
use crate::upstream::knowledge::UnusableAnswer;

/// A question to an update service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamRequest {
    /// The address of the service.
    pub upstream: Address,
    /// The channel.
    pub channel: String,
    /// The architecture.
    pub arch: Arch,
    /// The cluster's id.
    pub id: String,
    /// The version the cluster runs.
    pub version: Version,
}

/// Why there is no current answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrievalError {
    /// The word that clients know.
    pub reason: Reason,
    /// A sentence.
    pub message: String,
    /// Whether what was said before is still worth something: it is while only the service is in trouble.
    pub passing: bool,
    /// Whether the service gave an answer, which cannot be used.
    pub answered: bool,
}

impl UpstreamRequest {
    /// What is to be asked for an object; if it cannot be asked, why. The first trouble counts.
    pub fn of(
        spec: &Spec,
        status: &Status,
        default_upstream: Option<&Address>,
        arch: &Arch,
    ) -> Result<Self, RetrievalError> {
        let no = |reason: Reason, message: &str| RetrievalError {
            reason,
            message: message.to_owned(),
            passing: false,
            answered: false,
        };
        let upstream = spec.upstream.as_deref().map(Address::from).or(default_upstream.cloned());
        let upstream = upstream
            .ok_or_else(|| no(reason!("NoUpstream"), "No updateService server has been set to retrieve updates."))?;
        if !(upstream.expose().starts_with("https://") || upstream.expose().starts_with("http://")) {
            let message =
                format!("failed to parse update service URL: {upstream:?} does not begin with https:// or http://");
            return Err(no(reason!("InvalidURI"), &message));
        }
        if let Err(why) = check_id(&spec.cluster_id) {
            return Err(no(reason!("InvalidID"), &format!("invalid cluster ID: {why}")));
        }
        if status.desired.version.is_empty() {
            let message =
                "The cluster version does not have a semantic version assigned and cannot calculate valid upgrades.";
            return Err(no(reason!("NoCurrentVersion"), message));
        }
        let channel = spec.channel.as_deref();
        let channel = channel.ok_or_else(|| no(reason!("NoChannel"), "The update channel has not been configured."))?;
        let version: Version = status.desired.version.parse().map_err(|_| {
            let message =
                "The current cluster version is not a valid semantic version and cannot be used to calculate upgrades.";
            no(reason!("InvalidCurrentVersion"), message)
        })?;
        // Whoever asks for the change of architecture wants to know what there is after it.
        let multi = is_multi(status) || requests_multi(spec);
        let arch = if multi { Arch::MULTI.parse().unwrap_or_else(|_| arch.clone()) } else { arch.clone() };
        let (channel, id) = (channel.to_owned(), spec.cluster_id.to_ascii_lowercase());
        Ok(UpstreamRequest { upstream, channel, arch, id, version })
    }
}

impl RetrievalError {
    /// The answer could not be read at all.
    pub fn of_reading(why: &str) -> Self {
        let message = format!("Unable to retrieve available updates: {why}");
        RetrievalError { reason: reason!("ResponseInvalid"), message, passing: true, answered: true }
    }

    /// The answer ended a process twice while it was assessed, so it is not assessed again.
    pub fn of_set_aside(digest: &Digest) -> Self {
        let message = format!(
            "Unable to use the available updates: the answer {digest} is set aside, because the operator ended twice while assessing it. Change the annotation {RE_EVALUATE} to try it again."
        );
        RetrievalError { reason: reason!("RevisionSetAside"), message, passing: true, answered: true }
    }

    /// Processes ended while they assessed new answers, so the next one waits.
    pub fn of_wait(digest: &Digest, until: Timestamp, ended: usize) -> Self {
        let message = format!(
            "Unable to use the available updates: the answer {digest} is set aside until {until}, because the operator ended {ended} times while assessing new answers. Change the annotation {RE_EVALUATE} to try it now."
        );
        RetrievalError { reason: reason!("RevisionSetAside"), message, passing: true, answered: true }
    }

    /// The answer takes more memory than the object may keep.
    pub fn of_memory(object: &str, bytes: usize, room: usize) -> Self {
        let message = format!(
            "Unable to retrieve available updates: the answer for {object} takes {bytes} bytes of memory, and the limit for it is {room} at present (the cap \"answer_memory\")"
        );
        RetrievalError { reason: reason!("ResponseInvalid"), message, passing: true, answered: true }
    }

    /// The service answered, but not about this cluster's version.
    pub fn of_answer(error: &UnusableAnswer, ask: &UpstreamRequest) -> Self {
        let (reason, passing, why) = match error {
            UnusableAnswer::NoGraph(why) => (reason!("ResponseInvalid"), true, format!("{}: {why}", ask.upstream)),
            UnusableAnswer::NotInGraph(missing) => {
                let why = format!(
                    "currently reconciling cluster version {} not found in the {:?} channel",
                    missing.version, ask.channel
                );
                (reason!("VersionNotFound"), false, why)
            }
        };
        let message = format!("Unable to retrieve available updates: {why}");
        RetrievalError { reason, message, passing, answered: true }
    }
}

/// Whether a text is an RFC 4122 UUID in its usual form: `8-4-4-4-12` hexadecimal digits.
pub fn check_id(id: &str) -> Result<(), &'static str> {
    let groups: Vec<&str> = id.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let digits = groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if lengths != [8, 4, 4, 4, 12] || !digits {
        return Err("it is not a UUID such as 8d3c9d26-95cf-4b4e-8d0d-0a1f4e6b7c11");
    }
    let variant = groups.get(3).and_then(|group| group.chars().next()).map(|c| c.to_ascii_lowercase());
    if matches!(variant, Some('8' | '9' | 'a' | 'b')) { Ok(()) } else { Err("it must be an RFC4122-variant UUID") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{MULTI, Update};

    fn spec(upstream: &str, id: &str, channel: &str) -> Spec {
        let set = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Spec { cluster_id: id.to_owned(), upstream: set(upstream), channel: set(channel), ..Spec::default() }
    }

    fn at(version: &str) -> Status {
        let mut status = Status::default();
        status.desired.version = version.to_owned();
        status
    }

    #[test]
    fn what_cannot_be_asked_is_named_and_the_first_trouble_counts() {
        const ID: &str = "8d3c9d26-95cf-4b4e-8d0d-0a1f4e6b7c11";
        let arch: Arch = "amd64".parse().unwrap();
        for (spec, version, default, want) in [
            (spec("", ID, "stable-1"), "1.0.0", None, "NoUpstream"),
            (spec("ftp://x", "x", "stable-1"), "1.0.0", None, "InvalidURI"),
            (spec("http://x", "not-an-id", ""), "", None, "InvalidID"),
            (spec("http://x", "8d3c9d26-95cf-4b4e-cd0d-0a1f4e6b7c11", ""), "", None, "InvalidID"),
            (spec("http://x", ID, ""), "", None, "NoCurrentVersion"),
            (spec("http://x", ID, ""), "1.0", None, "NoChannel"),
            (spec("http://x", ID, "stable-1"), "1.0", None, "InvalidCurrentVersion"),
            (spec("", ID, "stable-1"), "1.0.0", Some("http://y"), "asked"),
        ] {
            let asked = UpstreamRequest::of(&spec, &at(version), default.map(Address::from).as_ref(), &arch);
            assert_eq!(asked.map_or_else(|trouble| trouble.reason.as_str().to_owned(), |_| "asked".to_owned()), want);
        }
        let mut multi = at("1.0.0");
        multi.desired.architecture = Some(MULTI.to_owned());
        assert_eq!(
            UpstreamRequest::of(&spec("http://x", ID, "c"), &multi, None, &arch).unwrap().arch.as_str(),
            "multi"
        );
        let update = Update { architecture: Some(MULTI.to_owned()), ..Update::default() };
        let wanted = Spec { desired_update: Some(update), ..spec("http://x", ID, "c") };
        assert_eq!(UpstreamRequest::of(&wanted, &at("1.0.0"), None, &arch).unwrap().arch.as_str(), "multi");
    }
}
