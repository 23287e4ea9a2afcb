//! A layer as it streams by: hashed, unpacked and looked at on the way, and never held.
//!
//! The whole layer is read and its digest compared even when what was looked for came early: a prefix that nobody
//! vouches for is foreign input, and release layers are a few megabytes. What follows the found file is only hashed, not
//! unpacked.

use std::io::{self, Read};
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use reqwest::Response;
use tokio::sync::mpsc;

use crate::oci::OciError;
use crate::oci::access::pace::AttemptError;
use crate::oci::access::registry::{Registry, classify_error};
use crate::oci::archive::{ArchiveDefect, Hasher};
use crate::oci::image::media::Descriptor;
use crate::oci::reference::Repository;

/// Pieces of a layer that wait to be looked at. With pieces of some hundred kilobytes at most, this is the memory that a
/// layer takes.
const WAITING: usize = 2;
/// The slowest a layer may come on average, in bytes per second. Without it, a registry that sends a byte now and then
/// would never be given up.
const SLOWEST: u64 = 32 << 10;

/// Looks at the content of a layer.
pub(in crate::oci) type LayerReader<T> = dyn Fn(&mut dyn Read) -> Result<T, ArchiveDefect> + Send + Sync;

enum Piece {
    Bytes(Bytes),
    End,
}

impl Registry {
    /// What `look` finds in a layer whose bytes are those that its digest names.
    pub(in crate::oci) async fn layer<T: Send + 'static>(
        &self,
        repository: &Repository,
        layer: &Descriptor,
        at: &str,
        look: std::sync::Arc<LayerReader<T>>,
    ) -> Result<Result<T, ArchiveDefect>, OciError> {
        if layer.size > self.options.limits.layer_bytes {
            let limit = self.options.limits.layer_bytes;
            return Err(OciError::TooLarge { at: at.to_owned(), cap: "layer_bytes", limit });
        }
        let ask = &self.blob(repository, &layer.digest, at)?;
        let whole = self.options.timeout + Duration::from_secs(layer.size / SLOWEST);
        let attempt = || {
            let look = std::sync::Arc::clone(&look);
            async move {
                let response = self.attempt(ask).await?;
                let (sender, receiver) = mpsc::channel(WAITING);
                let looked = tokio::task::spawn_blocking(move || {
                    look(&mut Feed { receiver, piece: Bytes::new(), ended: false })
                });
                let pumped = tokio::time::timeout(whole, pump(response, sender, layer, at)).await;
                pumped.map_err(|_| AttemptError::passing("the registry timed out"))??;
                looked.await.map_err(|_| AttemptError::passing("cannot read the layer"))
            }
        };
        self.options.pace.persist(at, attempt).await
    }
}

/// Moves a body to whoever looks at it, as fast as they look, and checks it.
async fn pump(
    mut response: Response,
    sender: mpsc::Sender<Piece>,
    layer: &Descriptor,
    at: &str,
) -> Result<(), AttemptError> {
    let mismatch = || OciError::Mismatch { at: at.to_owned(), digest: layer.digest.clone() };
    let mut sender = Some(sender);
    let mut hasher = Hasher::new(&layer.digest);
    let mut size: u64 = 0;
    while let Some(bytes) = response.chunk().await.map_err(|error| classify_error(error, at))? {
        size = size.saturating_add(bytes.len() as u64);
        if size > layer.size {
            return Err(mismatch().into());
        }
        hasher.update(&bytes);
        if let Some(open) = &sender
            && open.send(Piece::Bytes(bytes)).await.is_err()
        {
            // Nobody looks any more: it was found, or it is broken.
            sender = None;
        }
    }
    if size < layer.size {
        return Err(AttemptError::passing("the layer is truncated"));
    }
    if hasher.hex() != layer.digest.hex() {
        return Err(mismatch().into());
    }
    if let Some(open) = sender {
        let _ = open.send(Piece::End).await;
    }
    Ok(())
}

/// The pieces of a layer as a stream for a thread that may wait.
struct Feed {
    receiver: mpsc::Receiver<Piece>,
    piece: Bytes,
    /// Whether the end was reached, which is then found however often is read.
    ended: bool,
}

impl Read for Feed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() && !self.ended {
            match self.receiver.blocking_recv() {
                Some(Piece::Bytes(bytes)) => self.piece = bytes,
                Some(Piece::End) => self.ended = true,
                // Closed without an end: the body was cut off, and this attempt counts for nothing.
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
        let length = buffer.len().min(self.piece.len());
        self.piece.split_to(length).copy_to_slice(buffer.get_mut(..length).unwrap_or_default());
        Ok(length)
    }
}
