//! The named formats of Kubernetes, and what is wrong with a text that does not have one.

use std::sync::LazyLock;

use clearway_schema::is_request_uri;
use regex::Regex;

use crate::value::convert::base64_bytes;
use crate::value::time::parse_date;

/// A format.
#[derive(Debug)]
pub(crate) struct NamedFormat {
    /// The name in expressions.
    pub(crate) key: &'static str,
    /// The name of the format itself.
    pub(crate) name: &'static str,
    /// The length of a regular expression for it, by which checking a text costs.
    pub(crate) regex_size: u64,
    check: fn(&str) -> Vec<String>,
}

const UUID: &str = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
const TIME: &str = "^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$";

static FORMATS: &[NamedFormat] = &[
    NamedFormat { key: "dns1123Label", name: "DNS1123Label", regex_size: 30, check: dns1123_label },
    NamedFormat { key: "dns1123Subdomain", name: "DNS1123Subdomain", regex_size: 60, check: dns1123_subdomain },
    NamedFormat { key: "dns1035Label", name: "DNS1035Label", regex_size: 30, check: dns1035_label },
    NamedFormat { key: "qualifiedName", name: "QualifiedName", regex_size: 60, check: qualified_name },
    NamedFormat {
        key: "dns1123LabelPrefix",
        name: "DNS1123LabelPrefix",
        regex_size: 30,
        check: |text| dns1123_label(&without_last_dash(text)),
    },
    NamedFormat {
        key: "dns1123SubdomainPrefix",
        name: "DNS1123SubdomainPrefix",
        regex_size: 60,
        check: |text| dns1123_subdomain(&without_last_dash(text)),
    },
    NamedFormat {
        key: "dns1035LabelPrefix",
        name: "DNS1035LabelPrefix",
        regex_size: 30,
        check: |text| dns1035_label(&without_last_dash(text)),
    },
    NamedFormat { key: "labelValue", name: "LabelValue", regex_size: 40, check: label_value },
    NamedFormat {
        key: "uri",
        name: "URI",
        regex_size: 1103,
        check: |text| unless(is_request_uri(text), "invalid URI"),
    },
    NamedFormat {
        key: "uuid",
        name: "uuid",
        regex_size: UUID.len() as u64,
        check: |text| unless(matches(UUID, text), "does not match the UUID format"),
    },
    NamedFormat { key: "byte", name: "byte", regex_size: 84, check: |text| unless(is_base64(text), "invalid base64") },
    NamedFormat {
        key: "date",
        name: "date",
        regex_size: TIME.len() as u64,
        check: |text| unless(parse_date(text).is_some(), "invalid date"),
    },
    NamedFormat {
        key: "datetime",
        name: "datetime",
        regex_size: TIME.len() as u64,
        check: |text| unless(is_date_time(text), "invalid datetime"),
    },
];

impl NamedFormat {
    /// A format by its name in expressions.
    pub(crate) fn find(key: &str) -> Option<&'static NamedFormat> {
        FORMATS.iter().find(|format| format.key == key)
    }

    /// What is wrong with a text.
    pub(crate) fn check(&self, text: &str) -> Vec<String> {
        (self.check)(text)
    }
}

fn unless(valid: bool, message: &str) -> Vec<String> {
    if valid { Vec::new() } else { vec![message.to_owned()] }
}

fn is_base64(text: &str) -> bool {
    base64_bytes(text, false, true).is_some() && !text.is_empty()
}

/// A date, a `T` of either case, and a time of day with an offset.
fn is_date_time(text: &str) -> bool {
    if text.len() < 4 {
        return false;
    }
    let lower = text.to_ascii_lowercase();
    let Some((date, time)) = lower.split_once('t') else { return false };
    if time.contains('t') || parse_date(date).is_none() {
        return false;
    }
    let plausible = matches(TIME, time);
    let number =
        |range: std::ops::Range<usize>| time.get(range).and_then(|digits| digits.parse::<u32>().ok()).unwrap_or(99);
    plausible && number(0..2) <= 23 && number(3..5) <= 59 && number(6..8) <= 59
}

/// Patterns of this module only; each is compiled once.
fn matches(pattern: &'static str, text: &str) -> bool {
    static KNOWN: LazyLock<std::sync::Mutex<std::collections::HashMap<&'static str, Option<Regex>>>> =
        LazyLock::new(std::sync::Mutex::default);
    let mut known = KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let regex = known.entry(pattern).or_insert_with(|| Regex::new(pattern).ok()).clone();
    drop(known);
    regex.is_some_and(|regex| regex.is_match(text))
}

fn without_last_dash(text: &str) -> String {
    if text.len() > 1 && text.ends_with('-') {
        let kept = text.len().saturating_sub(2);
        return format!("{}a", text.get(..kept).unwrap_or_default());
    }
    text.to_owned()
}

fn too_long(text: &str, most: usize) -> Vec<String> {
    if text.len() > most { vec![format!("must be no more than {most} characters")] } else { Vec::new() }
}

fn explain(message: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{message} (e.g. {}regex used for validation is '{pattern}')", examples.join(" or "))
}

const DNS1123_LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const DNS1123_SUBDOMAIN: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const DNS1035_LABEL: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";

fn dns1123_label(text: &str) -> Vec<String> {
    let mut wrong = too_long(text, 63);
    if !matches("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", text) {
        if is_subdomain(text) {
            wrong.push("must not contain dots".to_owned());
        } else {
            let message = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
            wrong.push(explain(message, DNS1123_LABEL, &["my-name", "123-abc"]));
        }
    }
    wrong
}

fn is_subdomain(text: &str) -> bool {
    matches("^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", text)
}

fn dns1123_subdomain(text: &str) -> Vec<String> {
    let mut wrong = too_long(text, 253);
    if !is_subdomain(text) {
        let message = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
        wrong.push(explain(message, DNS1123_SUBDOMAIN, &["example.com"]));
    }
    wrong
}

fn dns1035_label(text: &str) -> Vec<String> {
    let mut wrong = too_long(text, 63);
    if !matches("^[a-z]([-a-z0-9]*[a-z0-9])?$", text) {
        let message = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
        wrong.push(explain(message, DNS1035_LABEL, &["my-name", "abc-123"]));
    }
    wrong
}

fn label_value(text: &str) -> Vec<String> {
    let mut wrong = too_long(text, 63);
    if !matches("^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$", text) {
        let message = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
        wrong.push(explain(message, LABEL_VALUE, &["MyValue", "my_value", "12345"]));
    }
    wrong
}

fn qualified_name(text: &str) -> Vec<String> {
    let message = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
    let examples = &["MyName", "my.name", "123-abc"];
    let mut wrong = Vec::new();
    let parts: Vec<&str> = text.split('/').collect();
    let name = match parts.as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                wrong.push("prefix part must be non-empty".to_owned());
            } else {
                wrong.extend(dns1123_subdomain(prefix).into_iter().map(|message| format!("prefix part {message}")));
            }
            *name
        }
        _ => {
            let explained = explain(&format!("a valid label key {message}"), QUALIFIED, examples);
            return vec![format!(
                "{explained} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        wrong.push("name part must be no more than 63 characters".to_owned());
    }
    if !matches("^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$", name) {
        wrong.push(format!("name part {}", explain(message, QUALIFIED, examples)));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_checked() {
        for (format, text, valid) in [
            ("dns1123Label", "my-name", true),
            ("dns1123Label", "a.b", false),
            ("dns1123LabelPrefix", "my-name-", true),
            ("dns1123Subdomain", "a.b", true),
            ("dns1035Label", "1a", false),
            ("qualifiedName", "example.com/MyName", true),
            ("qualifiedName", "a/b/c", false),
            ("labelValue", "", true),
            ("labelValue", "-", false),
            ("uri", "https://example.com", true),
            ("uri", "example", false),
            ("uuid", "00000000-0000-0000-0000-000000000000", true),
            ("uuid", "0", false),
            ("byte", "aGVsbG8=", true),
            ("byte", "a", false),
            ("date", "2020-02-29", true),
            ("date", "2021-02-29", false),
            ("datetime", "2020-01-01T00:00:00Z", true),
            ("datetime", "2020-01-01", false),
        ] {
            assert_eq!(NamedFormat::find(format).unwrap().check(text).is_empty(), valid, "{format} {text}");
        }
        assert!(NamedFormat::find("other").is_none());
    }
}
