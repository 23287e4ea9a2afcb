//! The bytes of an answer on their way to a client: as they are kept, or unpacked while they are sent.
//!
//! A revision of many large answers keeps them packed only. A client that takes no packed body gets it unpacked piece by
//! piece, with the memory of one piece and not of the whole.

use std::convert::Infallible;
use std::io::Read as _;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf as _, Bytes};
use flate2::read::GzDecoder;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;

/// Bytes that are unpacked at a time.
const PIECE: usize = 64 << 10;

/// The body of an answer.
#[derive(Debug)]
pub struct AnswerBody(Content);

#[derive(Debug)]
enum Content {
    /// The bytes that are left to send.
    Whole(Option<Bytes>),
    Unpacking(Box<Unpacking>),
}

#[derive(Debug)]
struct Unpacking {
    decoder: GzDecoder<bytes::buf::Reader<Bytes>>,
    left: usize,
    /// As many bodies are unpacked at one time as there are permits.
    _permit: OwnedSemaphorePermit,
}

/// Bytes that hold a permit: the connection may have them long after it has dropped the body.
struct HeldBytes {
    bytes: Bytes,
    _permit: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for HeldBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl AnswerBody {
    /// Bytes as they are.
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        AnswerBody(Content::Whole(Some(bytes.into()).filter(|bytes| !bytes.is_empty())))
    }

    /// The same bytes, which hold a permit until the last of them was sent or given up.
    pub(crate) fn holding(self, permit: OwnedSemaphorePermit) -> Self {
        match self.0 {
            Content::Whole(Some(bytes)) => AnswerBody::whole(Bytes::from_owner(HeldBytes { bytes, _permit: permit })),
            other => AnswerBody(other),
        }
    }

    /// The bytes, of which there are `length`, that were packed with gzip.
    pub(crate) fn unpacking(packed: Bytes, length: usize, permit: OwnedSemaphorePermit) -> Self {
        let decoder = GzDecoder::new(packed.reader());
        AnswerBody(Content::Unpacking(Box::new(Unpacking { decoder, left: length, _permit: permit })))
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = match &mut self.0 {
            Content::Whole(bytes) => bytes.take(),
            Content::Unpacking(unpacking) => unpacking.next(),
        };
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Content::Whole(bytes) => bytes.is_none(),
            Content::Unpacking(unpacking) => unpacking.left == 0,
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match &self.0 {
            Content::Whole(bytes) => bytes.as_ref().map_or(0, |bytes| bytes.len() as u64),
            Content::Unpacking(unpacking) => unpacking.left as u64,
        })
    }
}

impl Unpacking {
    /// The next piece. It was packed here, so unpacking does not fail; if it did, the client would see an answer that is
    /// shorter than was said, and ask again.
    fn next(&mut self) -> Option<Bytes> {
        let mut piece = vec![0; PIECE.min(self.left)];
        let read = self.decoder.read(&mut piece).ok().filter(|read| *read > 0)?;
        piece.truncate(read);
        self.left -= read;
        Some(piece.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt as _;
    use std::io::Write as _;
    use std::sync::Arc;
    use tokio::sync::Semaphore;

    #[tokio::test]
    async fn a_body_is_unpacked_to_the_bytes_that_were_packed_and_gives_its_permit_back() {
        let permits = Arc::new(Semaphore::new(1));
        for length in [1, PIECE, PIECE + 1, 5 * PIECE] {
            let text: Vec<u8> = (0..=250).cycle().take(length).collect();
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(&text).unwrap();
            let packed = Bytes::from(packed.finish().unwrap());
            let permit = Arc::clone(&permits).try_acquire_owned().unwrap();
            let body = AnswerBody::unpacking(packed, text.len(), permit);
            assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(length as u64), false));
            assert!(body.collect().await.unwrap().to_bytes() == text, "{length}");
        }
        assert_eq!(permits.available_permits(), 1);
    }

    #[tokio::test]
    async fn an_empty_body_ends_before_it_begins() {
        let body = AnswerBody::whole("");
        assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(0), true));
        let body = AnswerBody::whole("x");
        assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(1), false));
        assert_eq!(body.collect().await.unwrap().to_bytes(), "x");
    }

    #[tokio::test]
    async fn a_permit_is_held_until_the_bytes_are_gone() {
        let permits = Arc::new(Semaphore::new(1));
        let permit = Arc::clone(&permits).try_acquire_owned().unwrap();
        let body = AnswerBody::whole("x").holding(permit);
        let bytes = body.collect().await.unwrap().to_bytes();
        assert_eq!((bytes.as_ref(), permits.available_permits()), (&b"x"[..], 0));
        drop(bytes);
        assert_eq!(permits.available_permits(), 1);
    }
}
