//! Digests and codes of messages, in hexadecimal.

use regorus::Value;
use sha2::{Digest as _, Sha256, Sha512};

use super::{Function, texts};

mod legacy_digests;

use legacy_digests::{md5, sha1};

pub(super) const FUNCTIONS: &[(&str, usize, Function)] = &[
    ("crypto.md5", 1, |arguments| digest(arguments, md5)),
    ("crypto.sha1", 1, |arguments| digest(arguments, sha1)),
    ("crypto.sha256", 1, |arguments| digest(arguments, sha256)),
    ("crypto.hmac.equal", 2, |arguments| {
        let [first, second] = texts(arguments)?;
        Some(Value::from(first == second))
    }),
    ("crypto.hmac.md5", 2, |arguments| hmac(arguments, md5, 64)),
    ("crypto.hmac.sha1", 2, |arguments| hmac(arguments, sha1, 64)),
    ("crypto.hmac.sha256", 2, |arguments| hmac(arguments, sha256, 64)),
    ("crypto.hmac.sha512", 2, |arguments| hmac(arguments, sha512, 128)),
];

type Hash = fn(&[u8]) -> Vec<u8>;

fn sha256(bytes: &[u8]) -> Vec<u8> {
    Sha256::digest(bytes).to_vec()
}

fn sha512(bytes: &[u8]) -> Vec<u8> {
    Sha512::digest(bytes).to_vec()
}

fn digest(arguments: &[Value], hash: Hash) -> Option<Value> {
    let [text] = texts(arguments)?;
    Some(hex(&hash(text.as_bytes())))
}

/// RFC 2104, with blocks of that many bytes.
fn hmac(arguments: &[Value], hash: Hash, block: usize) -> Option<Value> {
    let [text, key] = texts(arguments)?;
    let mut key = if key.len() > block { hash(key.as_bytes()) } else { key.as_bytes().to_vec() };
    key.resize(block, 0);
    let mut inner: Vec<u8> = key.iter().map(|byte| byte ^ 0x36).collect();
    inner.extend_from_slice(text.as_bytes());
    let mut outer: Vec<u8> = key.iter().map(|byte| byte ^ 0x5c).collect();
    outer.extend(hash(&inner));
    Some(hex(&hash(&outer)))
}

fn hex(bytes: &[u8]) -> Value {
    Value::from(super::hex_text(bytes))
}
