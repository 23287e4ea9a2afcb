//! One body as it goes out: its bytes in every coding worth sending, each with its own entity tag.
//!
//! All of it is made once, before anybody asks.

use std::io::Write as _;

use bytes::Bytes;
use clearway_core::Digest;
use http::{HeaderMap, HeaderValue};

use crate::negotiate::{Coding, codings};

/// Below this a packet is a packet, whatever is in it.
const WORTH_COMPRESSING: usize = 1024;
/// Levels at which the bodies of a large graph are made in seconds; the next ones cost several times as much for a few
/// per cent.
const GZIP_LEVEL: u32 = 6;
const BROTLI_QUALITY: i32 = 5;
const BROTLI_WINDOW: i32 = 22;
const ZSTD_LEVEL: i32 = 6;

/// A body in every coding that makes it smaller.
#[derive(Debug)]
pub(crate) struct Body {
    /// The plain body is the first.
    variants: Vec<Variant>,
}

/// A body in one coding.
#[derive(Debug)]
pub(crate) struct Variant {
    pub(crate) coding: Coding,
    pub(crate) bytes: Bytes,
    /// The strong entity tag.
    pub(crate) tag: HeaderValue,
}

impl Variant {
    fn new(coding: Coding, bytes: Bytes, digest: &Digest) -> Self {
        Variant { coding, bytes, tag: tag(digest, coding) }
    }
}

/// The tag is a hash of the plain body, and names the coding: other bytes, another tag.
fn tag(digest: &Digest, coding: Coding) -> HeaderValue {
    let hash: String = digest.hex().chars().take(32).collect();
    let text = match coding.name() {
        Some(name) => format!("\"{hash}-{name}\""),
        None => format!("\"{hash}\""),
    };
    // Hexadecimal digits and names of codings are always a header.
    HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static("\"\""))
}

impl Body {
    /// A body in every coding. `digest` is that of the bytes.
    pub(crate) fn compressed(bytes: &Bytes, digest: &Digest) -> Self {
        let mut variants = vec![Variant::new(Coding::Identity, bytes.clone(), digest)];
        if bytes.len() >= WORTH_COMPRESSING {
            for (coding, compressed) in
                [(Coding::Gzip, gzip(bytes)), (Coding::Brotli, brotli(bytes)), (Coding::Zstd, zstd(bytes))]
            {
                let smaller = compressed.filter(|compressed| compressed.len() < bytes.len());
                variants.extend(smaller.map(|compressed| Variant::new(coding, shrunk(compressed), digest)));
            }
        }
        Body { variants }
    }

    /// A body that is compressed already.
    pub(crate) fn plain(bytes: Bytes) -> Self {
        let digest = Digest::sha256(&bytes);
        Body { variants: vec![Variant::new(Coding::Identity, bytes, &digest)] }
    }

    /// What to send to a client: what it wishes for most, and of several such the smallest.
    pub(crate) fn choose(&self, headers: &HeaderMap) -> Option<&Variant> {
        let wished = codings(headers);
        // A client that refuses even the plain body gets it all the same: the standard leaves that to the server, and a
        // graph is worth more than an error about its coding.
        self.variants.iter().max_by_key(|variant| (wished(variant.coding), std::cmp::Reverse(variant.bytes.len())))
    }

    /// The bytes that all of it takes.
    pub(crate) fn size(&self) -> usize {
        self.variants.iter().map(|variant| variant.bytes.len()).sum()
    }
}

/// Bytes without the room that their buffer had left: there are hundreds of them, for as long as a revision lasts.
fn shrunk(mut bytes: Vec<u8>) -> Bytes {
    bytes.shrink_to_fit();
    Bytes::from(bytes)
}

/// Nothing if it fails, which writing into memory does not: then the coding is not offered.
fn gzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(GZIP_LEVEL));
    writer.write_all(bytes).ok()?;
    writer.finish().ok()
}

fn brotli(bytes: &[u8]) -> Option<Vec<u8>> {
    let parameters = brotli::enc::BrotliEncoderParams {
        quality: BROTLI_QUALITY,
        lgwin: BROTLI_WINDOW,
        size_hint: bytes.len(),
        ..Default::default()
    };
    let mut out = Vec::new();
    brotli::BrotliCompress(&mut &*bytes, &mut out, &parameters).ok()?;
    Some(out)
}

fn zstd(bytes: &[u8]) -> Option<Vec<u8>> {
    zstd::bulk::compress(bytes, ZSTD_LEVEL).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::header::ACCEPT_ENCODING;
    use std::io::Read as _;

    fn body(text: &str) -> Body {
        Body::compressed(&Bytes::from(text.to_owned()), &Digest::sha256(text.as_bytes()))
    }

    fn chosen<'b>(body: &'b Body, wish: &'static str) -> &'b Variant {
        let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(wish))]);
        body.choose(&headers).unwrap()
    }

    #[test]
    fn every_coding_unpacks_to_the_same_bytes() {
        let text = "0123456789abcdef".repeat(1000);
        let body = body(&text);
        let unpacked = |wish| {
            let bytes = &chosen(&body, wish).bytes;
            let mut out = String::new();
            match wish {
                "gzip" => flate2::read::GzDecoder::new(&**bytes).read_to_string(&mut out),
                "br" => brotli::Decompressor::new(&**bytes, 4096).read_to_string(&mut out),
                "zstd" => zstd::Decoder::new(&**bytes).unwrap().read_to_string(&mut out),
                _ => (&**bytes).read_to_string(&mut out),
            }
            .unwrap();
            out
        };
        for wish in ["identity", "gzip", "br", "zstd"] {
            assert!(unpacked(wish) == text, "{wish}");
        }
    }

    #[test]
    fn each_coding_has_its_own_tag() {
        let body = body(&"x".repeat(2000));
        let tags: std::collections::BTreeSet<String> = ["identity", "gzip", "br", "zstd"]
            .into_iter()
            .map(|wish| chosen(&body, wish).tag.to_str().unwrap().to_owned())
            .collect();
        assert_eq!(tags.len(), 4, "{tags:?}");
    }

    #[test]
    fn what_does_not_shrink_is_sent_plain() {
        let body = body("{}");
        assert_eq!(chosen(&body, "gzip, br").coding, Coding::Identity);
        assert_eq!(chosen(&body, "identity;q=0").coding, Coding::Identity);
    }

    #[test]
    fn the_smallest_of_equal_wishes_is_sent() {
        let text: String = (0..5000).map(|number: u32| number.to_string() + ",").collect();
        let body = body(&text);
        let smallest = body.variants.iter().map(|variant| variant.bytes.len()).min().unwrap();
        assert_eq!(chosen(&body, "gzip, br, zstd").bytes.len(), smallest);
        assert_eq!(chosen(&body, "gzip;q=1, br;q=0.9, zstd;q=0.9").coding, Coding::Gzip);
    }
}
