//! Which texts can be names of objects, namespaces, kinds and API groups: the forms that an API server accepts.
//!
//! Names in rules, releases and references are written by strangers, and become parts of paths, files and commands.

/// Letters in a DNS label.
const LABEL: usize = 63;
/// Letters in a DNS subdomain, and in the name of an object.
const SUBDOMAIN: usize = 253;

/// Whether a text is a DNS label (RFC 1123), which the names of namespaces are: `kube-system`.
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= LABEL && is_label(text)
}

/// Whether a text is a DNS subdomain (RFC 1123), which API groups and the names of most objects are: `a.example.com`.
pub fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= SUBDOMAIN && text.split('.').all(is_label)
}

/// Whether a text can be a kind: letters, digits and dashes, with a letter in front, as a CRD may define it.
pub fn is_kind(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_alphabetic()) && is_dns_label(&text.to_ascii_lowercase())
}

/// Whether a text can be the name of any object: one segment of a path. Roles have names such as `system:node`.
pub fn is_object_name(text: &str) -> bool {
    let is_letter = |letter: char| !(letter.is_control() || matches!(letter, '/' | '%'));
    (1..=SUBDOMAIN).contains(&text.len()) && !matches!(text, "." | "..") && text.chars().all(is_letter)
}

fn is_label(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(is_letter) && !text.starts_with('-') && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is a label, a subdomain, a kind, an object's name.
    #[test]
    fn names_have_the_forms_of_the_api() {
        let long = "a".repeat(64);
        for (text, want) in [
            ("web", [true, true, true, true]),
            ("kube-system", [true, true, true, true]),
            ("0-a", [true, true, false, true]),
            ("a.example.com", [false, true, false, true]),
            ("Deployment", [false, false, true, true]),
            ("My-Kind", [false, false, true, true]),
            ("system:node", [false, false, false, true]),
            (&long, [false, true, false, true]),
            ("A.B", [false, false, false, true]),
            ("a b", [false, false, false, true]),
            (" ", [false, false, false, true]),
            ("a?watch=1", [false, false, false, true]),
            ("-a", [false, false, false, true]),
            ("a..b", [false, false, false, true]),
            ("", [false, false, false, false]),
            (".", [false, false, false, false]),
            ("..", [false, false, false, false]),
            ("a/b", [false, false, false, false]),
            ("a%2fb", [false, false, false, false]),
            ("a\nb", [false, false, false, false]),
        ] {
            let forms = [is_dns_label(text), is_dns_subdomain(text), is_kind(text), is_object_name(text)];
            assert_eq!(forms, want, "{text:?}");
        }
        assert!(!is_dns_subdomain(&"a".repeat(254)) && !is_object_name(&"a".repeat(254)));
    }
}
