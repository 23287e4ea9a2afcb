//! The parameters of a request for a graph: which channel, and which architecture.

use std::borrow::Cow;

use clearway_core::Arch;

use crate::request::refusal::Refusal;

/// What a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GraphRequest<'q> {
    pub(crate) channel: Cow<'q, str>,
    pub(crate) arch: Cow<'q, str>,
}

/// A parameter that has a say in the answer. `id`, `version` and any other are taken and not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Channel,
    Arch,
}

impl Field {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Field::Channel => "channel",
            Field::Arch => "arch",
        }
    }

    /// What a value must look like, as clients are told.
    pub(crate) fn expression(self) -> &'static str {
        match self {
            Field::Channel => r"^[0-9a-z\-\.]+$",
            Field::Arch => "^[0-9a-z]+$",
        }
    }

    pub(crate) fn admits(self, value: &str) -> bool {
        let inside = |byte: u8| match self {
            Field::Channel => byte.is_ascii_digit() || byte.is_ascii_lowercase() || byte == b'-' || byte == b'.',
            Field::Arch => byte.is_ascii_digit() || byte.is_ascii_lowercase(),
        };
        !value.is_empty() && value.bytes().all(inside)
    }
}

/// Reads the query of an address. Of a parameter given twice the last one counts.
pub(crate) fn read(query: Option<&str>) -> Result<GraphRequest<'_>, Refusal> {
    let mut channel = None;
    let mut arch = None;
    for (key, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        match key.as_ref() {
            "channel" => channel = Some(value),
            "arch" => arch = Some(value),
            _ => {}
        }
    }
    let channel = checked(Field::Channel, channel.ok_or(Refusal::Missing(Field::Channel))?)?;
    let arch = checked(Field::Arch, arch.unwrap_or(Cow::Borrowed(Arch::DEFAULT)))?;
    Ok(GraphRequest { channel, arch })
}

fn checked(field: Field, value: Cow<'_, str>) -> Result<Cow<'_, str>, Refusal> {
    if field.admits(&value) { Ok(value) } else { Err(Refusal::Invalid(field, value.into_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_as_cincinnati_reads_them() {
        for (query, channel, arch) in [
            ("channel=stable-4.14", "stable-4.14", "amd64"),
            ("channel=stable-4.14&arch=arm64&id=x&version=4.1.0", "stable-4.14", "arm64"),
            ("chan%6eel=a.b-c", "a.b-c", "amd64"),
            ("channel=one&channel=two&arch=a&arch=b", "two", "b"),
            ("=&&&a=b=c&channel=x", "x", "amd64"),
        ] {
            let asked = read(Some(query)).unwrap();
            assert_eq!((asked.channel.as_ref(), asked.arch.as_ref()), (channel, arch), "{query}");
        }
    }

    #[test]
    fn the_field_that_is_wrong_is_named() {
        let invalid = |field, value: &str| Refusal::Invalid(field, value.to_owned());
        for (query, want) in [
            (None, Refusal::Missing(Field::Channel)),
            (Some("arch=amd64"), Refusal::Missing(Field::Channel)),
            (Some("channel="), invalid(Field::Channel, "")),
            (Some("channel=Foo"), invalid(Field::Channel, "Foo")),
            (Some("channel=a%zz"), invalid(Field::Channel, "a%zz")),
            (Some("channel=a%00"), invalid(Field::Channel, "a\0")),
            (Some("channel=%ff"), invalid(Field::Channel, "\u{fffd}")),
            (Some("channel=a+b"), invalid(Field::Channel, "a b")),
            (Some("channel=a&arch=AMD"), invalid(Field::Arch, "AMD")),
            (Some("channel=a&arch=x86-64"), invalid(Field::Arch, "x86-64")),
            (Some("channel=a&arch="), invalid(Field::Arch, "")),
            (Some("channel=..%2f..%2fetc"), invalid(Field::Channel, "../../etc")),
        ] {
            assert_eq!(read(query), Err(want), "{query:?}");
        }
    }
}
