//! The formats of texts, as the API server checks them. Others it ignores.

use std::sync::LazyLock;

use regex::Regex;

use super::uri;

/// A format of strings that is checked here, by its name in schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// `byte`: base64.
    Byte,
    /// `date`.
    Date,
    /// `date-time`.
    DateTime,
    /// `ipv6`.
    Ipv6,
    /// `k8s-long-name`: a DNS subdomain.
    LongName,
    /// `password`: anything.
    Password,
    /// `k8s-short-name`: a DNS label.
    ShortName,
    /// `uri`.
    Uri,
    /// `uuid`.
    Uuid,
    /// `uuid3`.
    Uuid3,
    /// `uuid4`.
    Uuid4,
    /// `uuid5`.
    Uuid5,
}

/// The formats that the API server checks and that are not checked here.
const NOT_HERE: &[&str] = &[
    "bsonobjectid",
    "email",
    "hostname",
    "ipv4",
    "cidr",
    "mac",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "duration",
];

impl Format {
    /// The format of a name; nothing if the API server does not know it, and an error if only the server does.
    pub(super) fn named(name: &str) -> Result<Option<Self>, ()> {
        let format = match name.replace('-', "").as_str() {
            "byte" => Format::Byte,
            "date" => Format::Date,
            "datetime" => Format::DateTime,
            "ipv6" => Format::Ipv6,
            "k8slongname" => Format::LongName,
            "password" => Format::Password,
            "k8sshortname" => Format::ShortName,
            "uri" => Format::Uri,
            "uuid" => Format::Uuid,
            "uuid3" => Format::Uuid3,
            "uuid4" => Format::Uuid4,
            "uuid5" => Format::Uuid5,
            other if NOT_HERE.contains(&other) => return Err(()),
            _ => return Ok(None),
        };
        Ok(Some(format))
    }

    /// The name in messages.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Format::Byte => "byte",
            Format::Date => "date",
            Format::DateTime => "date-time",
            Format::Ipv6 => "ipv6",
            Format::LongName => "k8s-long-name",
            Format::Password => "password",
            Format::ShortName => "k8s-short-name",
            Format::Uri => "uri",
            Format::Uuid => "uuid",
            Format::Uuid3 => "uuid3",
            Format::Uuid4 => "uuid4",
            Format::Uuid5 => "uuid5",
        }
    }

    /// Whether a text is of this format.
    pub(super) fn holds(self, text: &str) -> bool {
        match self {
            Format::Byte => PATTERNS.byte.is_match(text),
            Format::Date => is_date(text),
            Format::DateTime => is_date_time(text),
            Format::Ipv6 => text.contains(':') && text.parse::<core::net::Ipv6Addr>().is_ok(),
            Format::LongName => text.len() <= 253 && PATTERNS.long_name.is_match(text),
            Format::Password => true,
            Format::ShortName => text.len() <= 63 && PATTERNS.short_name.is_match(text),
            Format::Uri => uri::is_request_uri(text),
            Format::Uuid => PATTERNS.uuid.is_match(text),
            Format::Uuid3 => PATTERNS.uuid3.is_match(text),
            Format::Uuid4 => PATTERNS.uuid4.is_match(text),
            Format::Uuid5 => PATTERNS.uuid5.is_match(text),
        }
    }
}

struct Patterns {
    byte: Regex,
    date: Regex,
    time: Regex,
    long_name: Regex,
    short_name: Regex,
    uuid: Regex,
    uuid3: Regex,
    uuid4: Regex,
    uuid5: Regex,
}

#[expect(clippy::unwrap_used, reason = "the patterns are constants, and a test compiles them")]
static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    let read = |pattern: &str| Regex::new(pattern).unwrap();
    let uuid = |middle: &str| read(&format!("(?i)^[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{middle}-?[0-9a-f]{{12}}$"));
    Patterns {
        byte: read("^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$"),
        date: read("^[0-9]{4}-[0-9]{2}-[0-9]{2}$"),
        time: read(r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$"),
        long_name: read("^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"),
        short_name: read("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"),
        uuid: uuid("[0-9a-f]{4}-?[0-9a-f]{4}"),
        uuid3: uuid("3[0-9a-f]{3}-?[0-9a-f]{4}"),
        uuid4: uuid("4[0-9a-f]{3}-?[89ab][0-9a-f]{3}"),
        uuid5: uuid("5[0-9a-f]{3}-?[89ab][0-9a-f]{3}"),
    }
});

fn is_date(text: &str) -> bool {
    let mut numbers = text.split('-').filter_map(|part| part.parse::<u16>().ok());
    let (Some(year), Some(month), Some(day)) = (numbers.next(), numbers.next(), numbers.next()) else { return false };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    PATTERNS.date.is_match(text) && (1..=days).contains(&day)
}

/// The server splits at each `t` and looks at the first two parts; what follows another `t` is not looked at.
fn is_date_time(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut parts = text.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    let Some(found) = PATTERNS.time.captures(time) else { return false };
    let at_most = |group: usize, limit: &str| found.get(group).is_some_and(|part| part.as_str() <= limit);
    is_date(date) && at_most(1, "23") && at_most(2, "59") && at_most(3, "59")
}
