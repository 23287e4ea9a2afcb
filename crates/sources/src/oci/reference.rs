//! Names in a registry: a repository, and an image in it by tag or by digest.
//!
//! The host is always written: a name without one means different images on different machines.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use clearway_core::Digest;

/// The longest name of a repository that registries take.
const LONGEST_PATH: usize = 255;

/// A repository: `[oci://]host[:port]/path`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Repository {
    host: String,
    path: String,
}

/// An image or artifact: `oci://host[:port]/path[:tag|@digest]`. Without either, the tag is `latest`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    repository: Repository,
    at: At,
}

/// Which image of a repository is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum At {
    /// Whatever the tag points to now.
    Tag(String),
    /// Exactly this one.
    Digest(Digest),
}

/// Why a text names no repository or image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` does not name {what}: {why}; write it as `{form}`")]
pub struct ReferenceError {
    text: String,
    what: &'static str,
    why: &'static str,
    form: &'static str,
}

impl Repository {
    /// The host with its port, as it is written in names of images.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The path on the host.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether the host is this machine.
    pub(super) fn is_loopback(&self) -> bool {
        is_loopback(host_alone(&self.host))
    }

    /// The host that answers; for the Docker Hub it has another name than the one in names of images.
    pub(super) fn api_host(&self) -> &str {
        if self.host == "docker.io" { "registry-1.docker.io" } else { &self.host }
    }
}

impl Image {
    /// Where it is.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Its tag, unless it is named by digest.
    pub fn tag(&self) -> Option<&str> {
        match &self.at {
            At::Tag(tag) => Some(tag),
            At::Digest(_) => None,
        }
    }

    pub(super) fn at(&self) -> &At {
        &self.at
    }
}

/// Whether a host, without its port, is this machine by one of its usual names.
pub(super) fn is_loopback(host: &str) -> bool {
    host == "localhost" || ip_address(host).is_some_and(|address| address.is_loopback())
}

/// Whether a host, without its port, is this machine in any spelling, or something that only this machine and its neighbours reach,
/// such as the metadata service of a cloud. What names of others resolve to is not known here.
pub(super) fn is_here(host: &str) -> bool {
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    if name == "localhost" || name.ends_with(".localhost") {
        return true;
    }
    // Connecting to no address in particular is connecting to this machine.
    ip_address(&name).is_some_and(|address| match address.to_canonical() {
        IpAddr::V4(address) => address.is_loopback() || address.octets().first() == Some(&0) || address.is_link_local(),
        IpAddr::V6(address) => address.is_loopback() || address.is_unspecified() || address.is_unicast_link_local(),
    })
}

fn ip_address(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Whether a text is a tag as registries take them.
pub(super) fn is_tag(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (1..=128).contains(&text.len())
        && text.bytes().next().is_some_and(word)
        && text.bytes().all(|byte| word(byte) || byte == b'.' || byte == b'-')
}

impl At {
    /// As it stands in the path of a request.
    pub(super) fn in_path(&self) -> String {
        match self {
            At::Tag(tag) => tag.clone(),
            At::Digest(digest) => digest.to_string(),
        }
    }
}

impl FromStr for Repository {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        repository(text).map_err(|why| ReferenceError {
            text: shown(text),
            what: "a repository",
            why,
            form: "host[:port]/path",
        })
    }
}

impl FromStr for Image {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        image(text).map_err(|why| ReferenceError {
            text: shown(text),
            what: "an image",
            why,
            form: "oci://host[:port]/path[:tag|@digest]",
        })
    }
}

fn repository(text: &str) -> Result<Repository, &'static str> {
    let name = text.strip_prefix("oci://").unwrap_or(text);
    if name.contains("://") {
        return Err("only the scheme `oci://` is allowed");
    }
    let (host, path) = name.split_once('/').ok_or("the path after the host is missing")?;
    let host = host.to_ascii_lowercase();
    if !is_host(&host) {
        return Err("it must begin with a host, such as `quay.io` or `localhost:5000`");
    }
    if path.len() > LONGEST_PATH || !path.split('/').all(is_component) {
        return Err("the path must be lower-case words of letters and digits, joined by `/`, `.`, `_` or `-`");
    }
    Ok(Repository { host, path: path.to_owned() })
}

fn image(text: &str) -> Result<Image, &'static str> {
    let (name, digest) = match text.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (text, None),
    };
    // A colon before the last slash belongs to the port.
    let (name, tag) = match name.rsplit_once(':') {
        Some((before, tag)) if !tag.contains('/') => (before, Some(tag)),
        _ => (name, None),
    };
    if tag.is_some_and(|tag| !is_tag(tag)) {
        return Err("a tag is at most 128 letters, digits, `.`, `_` and `-`, and does not begin with `.` or `-`");
    }
    let at = match digest {
        // A digest says which image is meant; a tag beside it only says how it was found.
        Some(digest) => At::Digest(digest.parse().map_err(|_| "the part after `@` is not a digest")?),
        None => At::Tag(tag.unwrap_or("latest").to_owned()),
    };
    Ok(Image { repository: repository(name)?, at })
}

/// A host is told from the first word of a path by a dot, a port, or by being `localhost`.
fn is_host(text: &str) -> bool {
    let host = host_alone(text);
    let port = text.get(host.len()..).unwrap_or_default();
    let has_port = port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    if !port.is_empty() && !has_port {
        return false;
    }
    if let Some(address) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return address.parse::<std::net::Ipv6Addr>().is_ok();
    }
    let label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    host.split('.').all(label) && (host.contains('.') || has_port || host == "localhost")
}

/// The host without its port.
fn host_alone(text: &str) -> &str {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => host,
        _ => text,
    }
}

/// One word of a path: runs of letters and digits, with `.`, `_`, `__` or dashes between them.
fn is_component(text: &str) -> bool {
    let mut separator = 0_usize;
    let mut before: Option<u8> = None;
    for byte in text.bytes() {
        let fits = match (byte, before) {
            (b'a'..=b'z' | b'0'..=b'9', _) => {
                separator = 0;
                true
            }
            (b'-', Some(b'-')) => true,
            (b'_', Some(b'_')) => {
                separator += 1;
                separator < 2
            }
            (b'.' | b'_' | b'-', Some(last)) => last.is_ascii_alphanumeric(),
            _ => false,
        };
        if !fits {
            return false;
        }
        before = Some(byte);
    }
    before.is_some_and(|last| last.is_ascii_alphanumeric())
}

/// A name for a message, without a user and a password in front of the host: no registry takes them there, and somebody may
/// have tried.
fn shown(text: &str) -> String {
    let (scheme, name) = text.split_once("://").unwrap_or(("", text));
    let (host, path) = name.find('/').and_then(|end| name.split_at_checked(end)).unwrap_or((name, ""));
    let host = host.rsplit('@').next().unwrap_or(host);
    let text = if scheme.is_empty() { format!("{host}{path}") } else { format!("{scheme}://{host}{path}") };
    text.chars().filter(|one| !one.is_control()).take(200).collect()
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.host, self.path)
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Tag(tag) => write!(f, ":{tag}"),
            At::Digest(digest) => write!(f, "@{digest}"),
        }
    }
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "oci://{}{}", self.repository, self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn a_repository_is_a_host_and_a_path() {
        for (text, want) in [
            ("quay.io/openshift-release-dev/ocp-release", Some("quay.io/openshift-release-dev/ocp-release")),
            ("oci://quay.io/a", Some("quay.io/a")),
            ("QUAY.io/a", Some("quay.io/a")),
            ("localhost/a", Some("localhost/a")),
            ("registry:5000/a/b__c/d.e/f--g", Some("registry:5000/a/b__c/d.e/f--g")),
            ("127.0.0.1:5000/a", Some("127.0.0.1:5000/a")),
            ("[::1]:5000/a", Some("[::1]:5000/a")),
            ("[::1]/a", Some("[::1]/a")),
            ("openshift-release-dev/ocp-release", None),
            ("quay.io", None),
            ("quay.io/", None),
            ("quay.io//a", None),
            ("quay.io/A", None),
            ("quay.io/a/../b", None),
            ("quay.io/a___b", None),
            ("quay.io/a._b", None),
            ("quay.io/-a", None),
            ("quay.io/a-", None),
            ("quay.io/a:tag", None),
            ("quay.io/a?x", None),
            ("user@quay.io/a", None),
            ("quay.io:0/a", None),
            ("quay.io:70000/a", None),
            ("quay..io/a", None),
            ("[::1/a", None),
            ("https://quay.io/a", None),
            ("docker://quay.io/a", None),
            ("", None),
        ] {
            let read = text.parse::<Repository>();
            assert_eq!(read.as_ref().ok().map(ToString::to_string).as_deref(), want, "{text}: {read:?}");
        }
    }

    #[test]
    fn an_image_is_a_repository_and_a_tag_or_a_digest() {
        let by_digest = format!("oci://quay.io/a@{DIGEST}");
        for (text, want) in [
            ("oci://quay.io/a", Some("oci://quay.io/a:latest")),
            ("quay.io/a:v1.2_3-x", Some("oci://quay.io/a:v1.2_3-x")),
            ("localhost:5000/a", Some("oci://localhost:5000/a:latest")),
            ("localhost:5000/a:1", Some("oci://localhost:5000/a:1")),
            (&by_digest, Some(by_digest.as_str())),
            (&by_digest.replace("a@", "a:tag@"), Some(by_digest.as_str())),
            ("quay.io/a:", None),
            ("quay.io/a:-x", None),
            ("quay.io/a@", None),
            ("quay.io/a@sha256:abc", None),
            ("quay.io:5000", None),
            (&format!("quay.io/a:{}", "x".repeat(129)), None),
        ] {
            let read = text.parse::<Image>();
            assert_eq!(read.as_ref().ok().map(ToString::to_string).as_deref(), want, "{text}: {read:?}");
        }
        let error = "https://quay.io/a".parse::<Image>().unwrap_err().to_string();
        assert_eq!(
            error,
            "`https://quay.io/a` does not name an image: only the scheme `oci://` is allowed; \
             write it as `oci://host[:port]/path[:tag|@digest]`"
        );
    }

    #[test]
    fn credentials_before_the_host_are_not_shown() {
        for (text, want) in [
            ("oci://me:hunter2@quay.io/a", "`oci://quay.io/a` does"),
            ("me:hunter2@quay.io/a@x", "`quay.io/a@x` does"),
            ("me:hunter2@quay.io", "`quay.io` does"),
        ] {
            for error in [text.parse::<Image>().unwrap_err(), text.parse::<Repository>().unwrap_err()] {
                assert!(error.to_string().starts_with(want), "{error}");
                assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
            }
        }
    }

    #[test]
    fn this_machine_is_told_from_others() {
        for (host, want) in [
            ("localhost:5000/a", true),
            ("127.0.0.1/a", true),
            ("127.8.8.8:1/a", true),
            ("[::1]:5000/a", true),
            ("localhost.example.com/a", false),
            ("10.0.0.1:5000/a", false),
            ("[2001:db8::1]/a", false),
        ] {
            assert_eq!(host.parse::<Repository>().unwrap().is_loopback(), want, "{host}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_and_what_is_read_is_written_so_that_it_is_read_again(
            text in r"(oci://)?([a-z0-9.\-]{1,8}|\[::1\]|localhost)(:[0-9]{1,5})?(/[a-z0-9._\-]{1,6}){0,3}(:[\w.\-]{0,4})?(@\PC{0,3})?|\PC{0,20}"
        ) {
            if let Ok(repository) = text.parse::<Repository>() {
                prop_assert_eq!(repository.to_string().parse(), Ok(repository));
            }
            if let Ok(image) = text.parse::<Image>() {
                prop_assert_eq!(image.to_string().parse(), Ok(image));
            }
        }
    }
}
