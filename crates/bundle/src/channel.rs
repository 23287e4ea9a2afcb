//! The two channels, and how an installed CRD says which one it is of (V1, V8).

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

/// The annotation with the version of the bundle.
pub const BUNDLE_VERSION: &str = "clearway.dev/bundle-version";
/// The annotation with the channel.
pub const CHANNEL: &str = "clearway.dev/channel";

/// How settled an API is. Everything of the standard channel is in the experimental one, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Channel {
    /// What stays.
    Standard,
    /// What may still change, besides.
    Experimental,
}

/// A word that names no channel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a channel; use `standard` or `experimental`")]
pub struct UnknownChannel(pub String);

impl Channel {
    /// Both.
    pub const ALL: [Channel; 2] = [Channel::Standard, Channel::Experimental];

    /// The word in annotations and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Channel::Standard => "standard",
            Channel::Experimental => "experimental",
        }
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Channel {
    type Err = UnknownChannel;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let short = || UnknownChannel(text.chars().take(64).collect());
        Channel::ALL.into_iter().find(|channel| channel.as_str() == text).ok_or_else(short)
    }
}

/// What an installed CRD says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Installed {
    /// It is of one of our bundles.
    Ours {
        /// The channel; nothing if it is a word of a bundle that is not known here.
        channel: Option<Channel>,
        /// The version of the bundle, as it is written there.
        bundle_version: String,
    },
    /// It is somebody else's: it has none of our annotations.
    Foreign,
}

impl Installed {
    /// Reads the annotations of a CRD.
    pub fn of(crd: &Value) -> Self {
        let annotation = |key: &str| {
            let annotations = crd.get("metadata").and_then(|metadata| metadata.get("annotations"));
            annotations.and_then(|all| all.get(key)).and_then(Value::as_str)
        };
        match (annotation(CHANNEL), annotation(BUNDLE_VERSION)) {
            (None, None) => Installed::Foreign,
            (channel, version) => Installed::Ours {
                channel: channel.and_then(|word| word.parse().ok()),
                bundle_version: version.unwrap_or_default().to_owned(),
            },
        }
    }
}
