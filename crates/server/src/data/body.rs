//! One body as it goes out: its bytes in every coding worth sending, each with its own entity tag.
//!
//! All of it is made once, before anybody asks. Packed with gzip it is always kept; plain, and in the other codings, as
//! long as there is room for that. A plain body that is not kept is unpacked while it is sent.

use std::io::{Read as _, Write as _};

use bytes::Bytes;
use clearway_core::Digest;
use http::{HeaderMap, HeaderValue};

use crate::request::negotiate::{Coding, codings};

/// Below this a packet is a packet, whatever is in it.
const WORTH_COMPRESSING: usize = 1024;
/// Levels at which the bodies of a large graph are made in seconds; the next ones cost several times as much for a few
/// per cent.
const GZIP_LEVEL: u32 = 6;
const BROTLI_QUALITY: i32 = 5;
const BROTLI_WINDOW: i32 = 22;
const ZSTD_LEVEL: i32 = 6;

/// A body in the codings that are kept of it: the smallest of plain and gzip always, the others where there is room.
#[derive(Debug, Clone)]
pub(crate) struct Body {
    /// The plain body is the first.
    variants: Vec<Variant>,
}

/// A body in one coding.
#[derive(Debug, Clone)]
pub(crate) struct Variant {
    pub(crate) coding: Coding,
    pub(crate) content: Content,
    /// The strong entity tag.
    pub(crate) tag: HeaderValue,
}

/// The bytes of a variant.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// As they are sent.
    Kept(Bytes),
    /// Unpacked on the way, from what gzip made of them.
    Packed {
        /// What gzip made of them.
        gzip: Bytes,
        /// How many there are.
        length: usize,
    },
}

impl Content {
    /// How many bytes are sent.
    fn length(&self) -> usize {
        match self {
            Content::Kept(bytes) => bytes.len(),
            Content::Packed { length, .. } => *length,
        }
    }
}

impl Variant {
    fn new(coding: Coding, content: Content, digest: &Digest) -> Self {
        Variant { coding, content, tag: tag(digest, coding) }
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
    /// A body in as little room as it can be served from: packed with gzip, where that makes it smaller.
    ///
    /// `digest` is that of the bytes.
    pub(crate) fn packed(bytes: Vec<u8>, digest: &Digest) -> Self {
        let packed = if bytes.len() < WORTH_COMPRESSING { None } else { gzip(&bytes) };
        let variants = match packed.filter(|packed| packed.len() < bytes.len()) {
            Some(packed) => {
                let gzip = shrunk(packed);
                vec![
                    Variant::new(Coding::Identity, Content::Packed { gzip: gzip.clone(), length: bytes.len() }, digest),
                    Variant::new(Coding::Gzip, Content::Kept(gzip), digest),
                ]
            }
            None => vec![Variant::new(Coding::Identity, Content::Kept(shrunk(bytes)), digest)],
        };
        Body { variants }
    }

    /// The same body with the plain bytes and every other coding that makes it smaller, each as far as `room` says that
    /// there is room for so many bytes.
    pub(crate) fn unfolded(&self, digest: &Digest, room: &dyn Fn(usize) -> bool) -> Self {
        let mut body = self.clone();
        let Some(Variant { content: Content::Packed { gzip, length }, .. }) = self.variants.first() else {
            return body;
        };
        let Some(plain) = unpacked(gzip, *length).filter(|_| room(*length)) else { return body };
        let plain = Bytes::from(plain);
        if let Some(first) = body.variants.first_mut() {
            first.content = Content::Kept(plain.clone());
        }
        for (coding, pack) in [(Coding::Brotli, brotli as fn(&[u8]) -> Option<Vec<u8>>), (Coding::Zstd, zstd)] {
            let packed = pack(&plain).filter(|packed| packed.len() < plain.len() && room(packed.len()));
            body.variants.extend(packed.map(|packed| Variant::new(coding, Content::Kept(shrunk(packed)), digest)));
        }
        body
    }

    /// The same body in as little room as it can be served from.
    pub(crate) fn folded(&self) -> Self {
        let gzip = self.variants.iter().find(|variant| variant.coding == Coding::Gzip);
        let (Some(plain), Some(gzip)) = (self.variants.first(), gzip) else { return self.clone() };
        let Content::Kept(bytes) = &gzip.content else { return self.clone() };
        let content = Content::Packed { gzip: bytes.clone(), length: plain.content.length() };
        Body { variants: vec![Variant { content, ..plain.clone() }, gzip.clone()] }
    }

    /// A body in every coding. `digest` is that of the bytes.
    pub(crate) fn compressed(bytes: &Bytes, digest: &Digest) -> Self {
        Body::packed(bytes.to_vec(), digest).unfolded(digest, &|_| true)
    }

    /// A body that is compressed already.
    pub(crate) fn plain(bytes: Bytes) -> Self {
        let digest = Digest::sha256(&bytes);
        Body { variants: vec![Variant::new(Coding::Identity, Content::Kept(bytes), &digest)] }
    }

    /// What to send to a client: what it wishes for most, and of several such the smallest.
    pub(crate) fn choose(&self, headers: &HeaderMap) -> Option<&Variant> {
        let wished = codings(headers);
        // A client that refuses even the plain body gets it all the same: the standard leaves that to the server, and a
        // graph is worth more than an error about its coding.
        self.variants.iter().max_by_key(|variant| (wished(variant.coding), std::cmp::Reverse(variant.content.length())))
    }

    /// The bytes that all of it takes.
    pub(crate) fn size(&self) -> usize {
        let kept = |variant: &Variant| match &variant.content {
            Content::Kept(bytes) => bytes.len(),
            Content::Packed { .. } => 0,
        };
        self.variants.iter().map(kept).sum()
    }

    /// The bytes of the plain body.
    pub(crate) fn length(&self) -> usize {
        self.variants.first().map_or(0, |plain| plain.content.length())
    }
}

/// What gzip was given.
fn unpacked(gzip: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(length);
    flate2::read::GzDecoder::new(gzip).read_to_end(&mut plain).ok()?;
    Some(plain)
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

    fn body(text: &str) -> Body {
        Body::compressed(&Bytes::from(text.to_owned()), &Digest::sha256(text.as_bytes()))
    }

    fn chosen<'b>(body: &'b Body, wish: &'static str) -> &'b Variant {
        let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(wish))]);
        body.choose(&headers).unwrap()
    }

    fn kept(variant: &Variant) -> &Bytes {
        match &variant.content {
            Content::Kept(bytes) => bytes,
            Content::Packed { .. } => panic!("not kept"),
        }
    }

    #[test]
    fn what_there_is_no_room_for_is_left_out_and_the_plain_body_is_still_sent() {
        let text = "0123456789abcdef".repeat(1000);
        let digest = Digest::sha256(text.as_bytes());
        let packed = Body::packed(text.clone().into_bytes(), &digest);
        let plain = chosen(&packed, "identity");
        assert!(matches!(&plain.content, Content::Packed { length, .. } if *length == text.len()));
        assert_eq!((packed.size(), packed.length()), (kept(chosen(&packed, "gzip")).len(), text.len()));
        assert_eq!(chosen(&packed, "br").coding, Coding::Identity);
        let whole = packed.unfolded(&digest, &|_| true);
        assert_eq!(chosen(&whole, "identity").tag, plain.tag, "the same bytes have the same tag");
        assert!(*kept(chosen(&whole, "identity")) == text && chosen(&whole, "br").coding == Coding::Brotli);
        assert!(whole.size() > packed.size() + text.len());
        let none = packed.unfolded(&digest, &|_| false);
        assert_eq!((none.size(), whole.folded().size()), (packed.size(), packed.size()));
    }

    #[test]
    fn every_coding_unpacks_to_the_same_bytes() {
        let text = "0123456789abcdef".repeat(1000);
        let body = body(&text);
        let unpacked = |wish| {
            let bytes = kept(chosen(&body, wish));
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
        let smallest = body.variants.iter().map(|variant| variant.content.length()).min().unwrap();
        assert_eq!(kept(chosen(&body, "gzip, br, zstd")).len(), smallest);
        assert_eq!(chosen(&body, "gzip;q=1, br;q=0.9, zstd;q=0.9").coding, Coding::Gzip);
    }
}
