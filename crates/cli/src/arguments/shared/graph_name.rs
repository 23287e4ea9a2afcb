//! The name of a graph: a path, the URL of a service, an image, or a git revision.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use clearway_core::Address;

/// The name of a graph as written on the command line. `Display` omits the credentials of a URL.
#[derive(Clone)]
pub(crate) struct GraphName(PathBuf);

impl GraphName {
    /// The name as a path, or as a git revision. Anything that is a URL shows its credentials here.
    pub(crate) fn as_path(&self) -> &Path {
        &self.0
    }

    /// The address of a service. Every scheme counts except that of images, so that a mistaken one is refused as an address
    /// and not looked for as a file, with its credentials in the message.
    pub(crate) fn address(&self) -> Option<Address> {
        let text = self.0.to_str()?;
        let (scheme, _) = text.split_once("://")?;
        let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter));
        (is_scheme && scheme != "oci").then(|| Address::from(text))
    }

    /// The name of an image or artifact in a registry, which has its scheme in front.
    pub(crate) fn image(&self) -> Option<&str> {
        self.0.to_str().filter(|name| name.starts_with("oci://"))
    }
}

impl From<OsString> for GraphName {
    fn from(name: OsString) -> Self {
        GraphName(name.into())
    }
}

impl fmt::Display for GraphName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address() {
            Some(address) => address.fmt(f),
            None => self.0.display().fmt(f),
        }
    }
}

impl fmt::Debug for GraphName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_told_from_a_path_and_shows_no_credentials() {
        for (name, shown, is_address) in [
            ("https://me:hunter2@h/p/graph?token=hunter2", "https://h/p/graph?…", true),
            ("HTTP://me:hunter2@h/p", "HTTP://h/p", true),
            ("ftp://me:hunter2@h/p", "ftp://h/p", true),
            ("/home/me@example.com/graph-data", "/home/me@example.com/graph-data", false),
            ("a/b://c", "a/b://c", false),
            ("HEAD~1", "HEAD~1", false),
            ("oci://h/p@sha256:abc", "oci://h/p@sha256:abc", false),
            (".", ".", false),
        ] {
            let name = GraphName::from(OsString::from(name));
            assert_eq!((name.to_string().as_str(), name.address().is_some()), (shown, is_address));
            assert!(!format!("{name:?}").contains("hunter2"), "{name:?}");
        }
    }
}
