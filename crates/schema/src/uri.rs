//! What is a URI for the API server: what Go's `url.ParseRequestURI` takes, no more and no less.
//!
//! No crate parses as Go does, and a URL that is accepted here but refused there would stop every write of a status.

use core::net::Ipv6Addr;

/// Whether a text is an absolute URI, or an absolute path.
pub fn is_request_uri(text: &str) -> bool {
    if text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) || text.is_empty() {
        return false;
    }
    if text == "*" {
        return true;
    }
    let Some((scheme, rest)) = scheme(text) else { return false };
    let rest = rest.split('?').next().unwrap_or_default();
    if !rest.starts_with('/') {
        return !scheme.is_empty();
    }
    match rest.strip_prefix("//").filter(|_| !scheme.is_empty()) {
        Some(after) => {
            let (authority, path) = after.find('/').and_then(|at| after.split_at_checked(at)).unwrap_or((after, ""));
            is_authority(&scheme.to_ascii_lowercase(), authority) && is_escaped(path)
        }
        None => is_escaped(rest),
    }
}

/// The scheme, which may be empty, and what follows it; nothing if the scheme is missing before its colon.
fn scheme(text: &str) -> Option<(&str, &str)> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return None,
            b':' => return text.split_once(':'),
            _ => break,
        }
    }
    Some(("", text))
}

fn is_authority(scheme: &str, authority: &str) -> bool {
    let (user, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    let user_ok = user.is_none_or(|user| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
        user.chars().all(allowed) && is_escaped(user)
    });
    user_ok && is_host(scheme, host)
}

fn is_host(scheme: &str, host: &str) -> bool {
    if let Some(literal) = host.strip_prefix('[') {
        let Some((address, port)) = literal.rsplit_once(']') else { return false };
        let (address, zone) =
            address.split_once("%25").map_or((address, None), |(address, zone)| (address, Some(zone)));
        let zone_ok =
            zone.is_none_or(|zone| !zone.is_empty() && zone.bytes().all(|byte| byte >= 0x80 || is_host_byte(byte)));
        return !address.contains('[') && address.parse::<Ipv6Addr>().is_ok() && zone_ok && is_port(port);
    }
    if host.contains('[') {
        return false;
    }
    // Only for these two schemes a colon may not be part of the host itself.
    let strict = matches!(scheme, "http" | "https");
    let port = if strict { host.find(':') } else { host.rfind(':') };
    let port = port.and_then(|at| host.get(at..)).unwrap_or_default();
    is_port(port) && is_escaped_host(host)
}

fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(&byte)
}

/// In a host only bytes beyond ASCII, and the percent sign, may be escaped.
fn is_escaped_host(host: &str) -> bool {
    let plain = host.bytes().all(|byte| byte >= 0x80 || byte == b'%' || is_host_byte(byte));
    let high = |escape: &str| {
        escape.starts_with("25")
            || escape.bytes().next().is_some_and(|digit| matches!(digit, b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F'))
    };
    plain && is_escaped(host) && host.split('%').skip(1).all(high)
}

/// Whether every percent sign is followed by two hexadecimal digits.
fn is_escaped(text: &str) -> bool {
    let two_digits = |after: &str| {
        let bytes = after.as_bytes();
        bytes.len() >= 2 && bytes.iter().take(2).all(u8::is_ascii_hexdigit)
    };
    text.split('%').skip(1).all(two_digits)
}
