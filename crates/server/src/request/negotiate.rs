//! What a client takes: the `Accept` and `Accept-Encoding` headers, as RFC 9110 has them.
//!
//! Both are lists of wishes with a weight. What cannot be read in them wishes for nothing; it never fails a request
//! that has another readable wish.

use http::HeaderMap;
use http::header::{ACCEPT, ACCEPT_ENCODING};

/// The two names under which the graph is served. The bytes are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MediaType {
    /// `application/json`
    Json,
    /// `application/vnd.redhat.cincinnati.v1+json`, which whoever sends no `Accept` gets, as from Cincinnati.
    Cincinnati,
}

impl MediaType {
    pub(crate) const ALL: [MediaType; 2] = [MediaType::Json, MediaType::Cincinnati];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            MediaType::Json => "application/json",
            MediaType::Cincinnati => "application/vnd.redhat.cincinnati.v1+json",
        }
    }

    fn subtype(self) -> &'static str {
        self.as_str().split_once('/').map_or("", |(_, subtype)| subtype)
    }
}

/// How a body is coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    /// As it is.
    Identity,
    /// `gzip`
    Gzip,
    /// `br`
    Brotli,
    /// `zstd`
    Zstd,
}

impl Coding {
    pub(crate) const ALL: [Coding; 4] = [Coding::Identity, Coding::Gzip, Coding::Brotli, Coding::Zstd];

    /// The name in `Content-Encoding`; the plain body has none.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Coding::Identity => None,
            Coding::Gzip => Some("gzip"),
            Coding::Brotli => Some("br"),
            Coding::Zstd => Some("zstd"),
        }
    }

    fn is_called(self, name: &str) -> bool {
        let own = self.name().unwrap_or("identity");
        own.eq_ignore_ascii_case(name) || (self == Coding::Gzip && name.eq_ignore_ascii_case("x-gzip"))
    }
}

/// A weight in thousandths, as precise as the standard lets it be.
type Weight = u16;
const FULL: Weight = 1000;

/// The media type to answer with; none if the client takes neither.
pub(crate) fn media_type(headers: &HeaderMap) -> Option<MediaType> {
    if !headers.contains_key(ACCEPT) {
        return Some(MediaType::Cincinnati);
    }
    // For each type the most specific wish decides, and of the two types the one wished for more; where the wish is
    // the same, the one that was named, and then plain JSON.
    let mut best: Option<((Weight, Specificity), MediaType)> = None;
    for candidate in MediaType::ALL {
        let wish = wishes(headers, &ACCEPT)
            .filter_map(|(range, weight)| Some((matches(range, candidate)?, weight)))
            .max_by_key(|(specificity, _)| *specificity);
        let Some((specificity, weight)) = wish.filter(|(_, weight)| *weight > 0) else { continue };
        if best.is_none_or(|(known, _)| known < (weight, specificity)) {
            best = Some(((weight, specificity), candidate));
        }
    }
    best.map(|(_, media_type)| media_type)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Specificity {
    Anything,
    AnySubtype,
    Named,
}

fn matches(range: &str, candidate: MediaType) -> Option<Specificity> {
    // A lone `*` is no media range, but clients send it and Cincinnati takes it.
    let (kind, subtype) = if range == "*" { ("*", "*") } else { range.split_once('/')? };
    match (kind, subtype) {
        ("*", "*") => Some(Specificity::Anything),
        (kind, "*") if kind.eq_ignore_ascii_case("application") => Some(Specificity::AnySubtype),
        (kind, subtype)
            if kind.eq_ignore_ascii_case("application") && subtype.eq_ignore_ascii_case(candidate.subtype()) =>
        {
            Some(Specificity::Named)
        }
        _ => None,
    }
}

/// How much a client wishes for each coding. A coding it refuses weighs nothing.
pub(crate) fn codings(headers: &HeaderMap) -> impl Fn(Coding) -> Weight + use<> {
    let mut named: [Option<Weight>; 4] = [None; 4];
    let mut any: Option<Weight> = None;
    for (name, weight) in wishes(headers, &ACCEPT_ENCODING) {
        if name == "*" {
            any = Some(weight);
        }
        for (coding, slot) in Coding::ALL.into_iter().zip(&mut named) {
            if coding.is_called(name) {
                *slot = Some(weight);
            }
        }
    }
    move |coding| {
        let said = Coding::ALL.into_iter().zip(named).find(|(one, _)| *one == coding).and_then(|(_, weight)| weight);
        // The plain body may always be sent unless it is refused, but whatever was named is preferred to it.
        said.or(any).unwrap_or(u16::from(coding == Coding::Identity))
    }
}

/// Every element of a list header with its weight; a weight that cannot be read counts as full, as if it were not there.
fn wishes<'h>(headers: &'h HeaderMap, name: &http::HeaderName) -> impl Iterator<Item = (&'h str, Weight)> + use<'h> {
    headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).map(
        |element| {
            let mut parts = element.split(';').map(str::trim);
            let range = parts.next().unwrap_or_default();
            let weight = parts
                .find_map(|parameter| {
                    let (key, value) = parameter.split_once('=')?;
                    key.trim().eq_ignore_ascii_case("q").then_some(value.trim())
                })
                .map_or(FULL, weight);
            (range, weight)
        },
    )
}

fn weight(text: &str) -> Weight {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 3 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return FULL;
    }
    match whole {
        "0" => format!("{fraction:0<3}").parse().unwrap_or(FULL),
        _ => FULL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn headers(name: &http::HeaderName, values: &[&[u8]]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for value in values {
            map.append(name, HeaderValue::from_bytes(value).unwrap());
        }
        map
    }

    #[test]
    fn accept_is_read_as_the_standard_says() {
        use MediaType::{Cincinnati, Json};
        const VENDOR: &[u8] = b"application/vnd.redhat.cincinnati.v1+json";
        let cases: &[(&[&[u8]], Option<MediaType>)] = &[
            (&[], Some(Cincinnati)),
            (&[b"*"], Some(Json)),
            (&[b"*/*"], Some(Json)),
            (&[b"application/*"], Some(Json)),
            (&[b"application/json"], Some(Json)),
            (&[b"APPLICATION/JSON"], Some(Json)),
            (&[b"application/json;charset=utf-8"], Some(Json)),
            (&[VENDOR], Some(Cincinnati)),
            (&[b"*/*, application/vnd.redhat.cincinnati.v1+json"], Some(Cincinnati)),
            (&[b"application/json, application/vnd.redhat.cincinnati.v1+json;q=0.9"], Some(Json)),
            (&[b"application/json;q=0.2, */*;q=0.1"], Some(Json)),
            (&[b"application/json;q=0, */*"], Some(Cincinnati)),
            (&[b"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"], Some(Json)),
            (&[b"text/html", b"application/json"], Some(Json)),
            (&[b"text/html"], None),
            (&[b"application/json;q=0"], None),
            (&[b"*/*;q=0.000"], None),
            (&[b"application/json;q=nonsense"], Some(Json)),
            (&[b""], None),
            (&[b"\xff\xfe"], None),
            (&[b"\xff\xfe", b"application/json"], Some(Json)),
            (&[b";;,,;q=,/,"], None),
        ];
        for (values, want) in cases {
            let shown: Vec<_> = values.iter().map(|value| String::from_utf8_lossy(value)).collect();
            assert_eq!(media_type(&headers(&ACCEPT, values)), *want, "{shown:?}");
        }
    }

    #[test]
    fn encodings_weigh_what_the_client_says() {
        let cases: &[(&[u8], [Weight; 4])] = &[
            (b"gzip", [1, 1000, 0, 0]),
            (b"x-gzip", [1, 1000, 0, 0]),
            (b"gzip, deflate, br, zstd", [1, 1000, 1000, 1000]),
            (b"gzip;q=0.5, br;q=0", [1, 500, 0, 0]),
            (b"*", [1000, 1000, 1000, 1000]),
            (b"identity;q=0, *;q=0.25", [0, 250, 250, 250]),
            (b"identity", [1000, 0, 0, 0]),
            (b"GZIP", [1, 1000, 0, 0]),
            (b"", [1, 0, 0, 0]),
        ];
        for (value, want) in cases {
            let weigh = codings(&headers(&ACCEPT_ENCODING, &[value]));
            assert_eq!(Coding::ALL.map(weigh), *want, "{}", String::from_utf8_lossy(value));
        }
        assert_eq!(Coding::ALL.map(codings(&HeaderMap::new())), [1, 0, 0, 0]);
    }
}
