//! Events of Kubernetes: what is recorded about an object for the people who look after it.

/// The type of an Event, as Kubernetes has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventType {
    /// Something happened as it should.
    Normal,
    /// Somebody should look.
    Warning,
}

/// Something that happened to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Whether somebody should look.
    pub type_: EventType,
    /// The reason in camel case, for machines: `PayloadLoaded`.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
    /// The release it is about, if it is about one: Events about different releases are not counted together.
    pub release: Option<String>,
}

impl EventType {
    /// The word in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            EventType::Normal => "Normal",
            EventType::Warning => "Warning",
        }
    }
}

impl Event {
    /// An event that is about no release.
    pub fn new(type_: EventType, reason: &str, message: impl Into<String>) -> Self {
        Event { type_, reason: reason.to_owned(), message: message.into(), release: None }
    }

    /// The same about a release.
    #[must_use]
    pub fn about(self, release: &str) -> Self {
        Event { release: Some(release.to_owned()), ..self }
    }
}
