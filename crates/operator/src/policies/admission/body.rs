//! The bodies of requests: read as they arrive, within memory and time that no client can take from the others.
//!
//! Anyone who reaches the port can begin requests. So memory is taken for what has arrived and not for what was announced, a
//! part of it is only for bodies whose announced length is that of usual requests, and a body that does not go on is given up.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Body;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};

use super::{MAX_BODIES_BYTES, MAX_BODY_BYTES, USUAL_BODIES_BYTES, USUAL_BODY_BYTES};

/// The unit in which memory is counted.
const KIB: u64 = 1 << 10;
/// Bytes by which a body goes on.
const PROGRESS: usize = 64 << 10;

/// How long clients may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// For the next [`PROGRESS`] bytes of a body; the API server sends all of it at once.
    pub(super) stall: Duration,
    /// For a whole body, whatever time for the answer the client names.
    pub(super) whole: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Patience { stall: Duration::from_secs(2), whole: Duration::from_secs(10) }
    }
}

/// The memory for bodies.
#[derive(Debug)]
pub(super) struct Bodies {
    /// For bodies that are announced with a usual length, in KiB.
    usual: Semaphore,
    /// For all bodies, in KiB.
    any: Semaphore,
    patience: Patience,
}

/// A body, with the memory that it takes.
#[derive(Debug)]
pub(super) struct ReadBody<'b> {
    pub(super) bytes: Vec<u8>,
    pub(super) room: Room<'b>,
}

/// Memory that is free again when this is dropped.
#[derive(Debug, Default)]
pub(super) struct Room<'b> {
    kib: u64,
    permits: Vec<SemaphorePermit<'b>>,
}

/// Why a body was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BodyFailure {
    /// It is larger than anything that is reviewed.
    TooLarge,
    /// It did not go on.
    Stalled,
    /// It did not end in time.
    TooLate,
    /// There was no memory for it in time.
    NoRoom,
    /// It cannot be read.
    Broken(String),
}

impl Bodies {
    /// All memory is free.
    pub(super) fn new(patience: Patience) -> Self {
        let room = |bytes: u64| Semaphore::new(usize::try_from(bytes / KIB).unwrap_or(Semaphore::MAX_PERMITS));
        let (usual, any) = (room(USUAL_BODIES_BYTES), room(MAX_BODIES_BYTES.saturating_sub(USUAL_BODIES_BYTES)));
        Bodies { usual, any, patience }
    }

    /// Reads a body before a deadline.
    pub(super) async fn read<B>(&self, body: B, deadline: Instant) -> Result<ReadBody<'_>, BodyFailure>
    where
        B: Body<Data = Bytes, Error: fmt::Display>,
    {
        let announced = body.size_hint().exact();
        if announced.is_some_and(|bytes| bytes > MAX_BODY_BYTES) {
            return Err(BodyFailure::TooLarge);
        }
        let is_usual = announced.is_some_and(|bytes| bytes <= USUAL_BODY_BYTES);
        let mut body = std::pin::pin!(body);
        let (mut bytes, mut room) = (Vec::new(), Room::default());
        let deadline = deadline.min(Instant::now() + self.patience.whole);
        let (mut goes_on_by, mut goes_on_at) = (Instant::now() + self.patience.stall, PROGRESS);
        loop {
            let frame = timeout_at(deadline.min(goes_on_by), body.frame())
                .await
                .map_err(|_| if goes_on_by < deadline { BodyFailure::Stalled } else { BodyFailure::TooLate })?;
            let Some(frame) = frame else { return Ok(ReadBody { bytes, room }) };
            let frame = frame.map_err(|error| BodyFailure::Broken(error.to_string()))?;
            let Ok(data) = frame.into_data() else { continue };
            let length = bytes.len().saturating_add(data.len());
            let counted = u64::try_from(length).unwrap_or(u64::MAX);
            if counted > MAX_BODY_BYTES {
                return Err(BodyFailure::TooLarge);
            }
            let begin = Instant::now();
            self.take(&mut room, counted, is_usual, deadline).await?;
            // What we waited for is not the client's fault.
            goes_on_by += begin.elapsed();
            bytes.extend_from_slice(&data);
            if length >= goes_on_at {
                (goes_on_by, goes_on_at) = (Instant::now() + self.patience.stall, length.saturating_add(PROGRESS));
            }
        }
    }

    /// Takes memory for all bytes of a body that are there.
    async fn take<'b>(
        &'b self,
        room: &mut Room<'b>,
        bytes: u64,
        is_usual: bool,
        deadline: Instant,
    ) -> Result<(), BodyFailure> {
        let kib = bytes.div_ceil(KIB);
        let Ok(missing @ 1..) = u32::try_from(kib.saturating_sub(room.kib)) else { return Ok(()) };
        let free = is_usual.then_some(&self.usual).into_iter().chain([&self.any]);
        let mut taken = free.filter_map(|part| part.try_acquire_many(missing).ok());
        let permit = if let Some(permit) = taken.next() {
            permit
        } else {
            // Who holds nothing can wait. Bodies of which each has a part and waits for more would wait for each other.
            let until = if room.kib == 0 { deadline } else { deadline.min(Instant::now() + self.patience.stall) };
            let part = if is_usual { &self.usual } else { &self.any };
            let permit = timeout_at(until, part.acquire_many(missing)).await;
            permit.ok().and_then(Result::ok).ok_or(BodyFailure::NoRoom)?
        };
        room.kib = kib;
        room.permits.push(permit);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
