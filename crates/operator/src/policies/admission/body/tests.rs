//! Bodies that stand still, bodies that are large, and who is read beside them.

use std::convert::Infallible;
use std::future::pending;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::{FutureExt as _, StreamExt as _, stream};
use hyper::body::{Frame, SizeHint};

use super::*;

/// A body as a client sends it: an announced length, if it announces one, and parts that arrive at once; then it stands
/// still, or is over.
struct Sent {
    announced: Option<u64>,
    parts: Pin<Box<dyn futures::Stream<Item = Bytes> + Send>>,
}

impl Body for Sent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.parts.poll_next_unpin(context).map(|part| part.map(|part| Ok(Frame::data(part))))
    }

    fn size_hint(&self) -> SizeHint {
        self.announced.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

const STALL: Duration = Duration::from_secs(2);
const WHOLE: Duration = Duration::from_secs(10);
const PART: usize = 16 << 10;

fn parts(bytes: u64) -> impl futures::Stream<Item = Bytes> + Send {
    let bytes = usize::try_from(bytes).unwrap();
    stream::iter((0..bytes).step_by(PART).map(move |begin| Bytes::from(vec![b'x'; PART.min(bytes - begin)])))
}

/// A body that announces its length and is all there.
fn whole(bytes: u64) -> Sent {
    Sent { announced: Some(bytes), parts: Box::pin(parts(bytes)) }
}

/// A body of which a part arrives, and then nothing.
fn stalled(announced: Option<u64>, bytes: u64) -> Sent {
    Sent { announced, parts: Box::pin(parts(bytes).chain(stream::once(pending()))) }
}

fn bodies() -> Bodies {
    Bodies::new(Patience { stall: STALL, whole: WHOLE })
}

/// As long as the API server waits at the longest.
fn deadline() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

/// What is read without any waiting.
fn at_once(bodies: &Bodies, body: Sent) -> Option<Result<ReadBody<'_>, BodyFailure>> {
    bodies.read(body, deadline()).now_or_never()
}

#[tokio::test(start_paused = true)]
async fn bodies_of_which_nothing_arrives_take_no_memory_and_end() {
    let bodies = bodies();
    let silent = [None, Some(MAX_BODY_BYTES), Some(USUAL_BODY_BYTES)].repeat(500);
    let mut held: Vec<_> =
        silent.iter().map(|announced| Box::pin(bodies.read(stalled(*announced, 0), deadline()))).collect();
    for body in &mut held {
        assert!(body.now_or_never().is_none());
    }
    for bytes in [0, 1, 1_000, USUAL_BODY_BYTES, MAX_BODY_BYTES] {
        let read = at_once(&bodies, whole(bytes)).unwrap().unwrap();
        assert_eq!(u64::try_from(read.bytes.len()).unwrap(), bytes);
    }
    let begin = Instant::now();
    for body in held {
        assert_eq!(body.await.unwrap_err(), BodyFailure::Stalled);
    }
    assert_eq!(begin.elapsed(), STALL, "whatever time the client named");
}

#[tokio::test(start_paused = true)]
async fn large_and_unannounced_bodies_leave_memory_for_usual_ones() {
    let bodies = bodies();
    let mut held = [None, Some(MAX_BODY_BYTES), None]
        .map(|announced| Box::pin(bodies.read(stalled(announced, MAX_BODY_BYTES - 1), deadline())));
    for body in &mut held {
        assert!(body.now_or_never().is_none());
    }
    let usual: Vec<_> =
        (0..USUAL_BODIES_BYTES / USUAL_BODY_BYTES).map(|_| at_once(&bodies, whole(USUAL_BODY_BYTES))).collect();
    assert!(usual.iter().all(|read| matches!(read, Some(Ok(_)))));
    drop((held, usual));
    assert!(at_once(&bodies, whole(MAX_BODY_BYTES)).unwrap().is_ok(), "all of it is free again");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_goes_on_too_slowly_ends() {
    for (pause, is_read) in [(STALL / 2, true), (STALL * 2, false)] {
        let slow = parts(10 << 16).ready_chunks(5).then(move |five| async move {
            tokio::time::sleep(pause).await;
            Bytes::from(five.concat())
        });
        let body = Sent { announced: None, parts: Box::pin(slow) };
        assert_eq!(bodies().read(body, deadline()).await.is_ok(), is_read, "{pause:?}");
    }
    // A byte now and then is not enough.
    let trickle = stream::repeat(()).then(|()| async {
        tokio::time::sleep(STALL / 4).await;
        Bytes::from_static(b"x")
    });
    let begin = Instant::now();
    let body = Sent { announced: None, parts: Box::pin(trickle) };
    assert_eq!(bodies().read(body, deadline()).await.unwrap_err(), BodyFailure::Stalled);
    assert_eq!(begin.elapsed(), STALL);
}

#[tokio::test(start_paused = true)]
async fn reading_ends_whatever_time_the_client_names() {
    let slow = stream::repeat(()).then(|()| async {
        tokio::time::sleep(STALL / 2).await;
        Bytes::from(vec![b'x'; PROGRESS])
    });
    let (body, begin) = (Sent { announced: None, parts: Box::pin(slow) }, Instant::now());
    assert_eq!(bodies().read(body, deadline()).await.unwrap_err(), BodyFailure::TooLate);
    assert_eq!(begin.elapsed(), WHOLE);
}

#[tokio::test(start_paused = true)]
async fn bodies_that_wait_for_each_other_end() {
    let bodies = bodies();
    let half = || stalled(None, 21 << 20);
    let (one, other) = (bodies.read(half(), deadline()), bodies.read(half(), deadline()));
    let (one, other) = tokio::join!(one, other);
    assert_eq!([one.unwrap_err(), other.unwrap_err()], [BodyFailure::Stalled, BodyFailure::NoRoom]);
    assert!(at_once(&bodies, whole(MAX_BODY_BYTES)).unwrap().is_ok());
}

/// Who holds nothing waits for its turn, as long as its request may take.
#[tokio::test(start_paused = true)]
async fn a_body_waits_for_memory_until_its_deadline() {
    let bodies = bodies();
    let parts = MAX_BODIES_BYTES >> 20;
    let all: Vec<_> = (0..parts).map(|_| at_once(&bodies, whole(1 << 20)).unwrap().unwrap()).collect();
    let begin = Instant::now();
    let refused = bodies.read(whole(USUAL_BODY_BYTES), begin + Duration::from_secs(5)).await;
    assert_eq!((refused.unwrap_err(), begin.elapsed()), (BodyFailure::NoRoom, Duration::from_secs(5)));
    let mut waits = Box::pin(bodies.read(whole(USUAL_BODY_BYTES), deadline()));
    assert!((&mut waits).now_or_never().is_none());
    drop(all);
    assert!(waits.now_or_never().unwrap().is_ok());
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_before_and_while_it_arrives() {
    for body in [stalled(Some(MAX_BODY_BYTES + 1), 0), stalled(None, MAX_BODY_BYTES + 1)] {
        assert_eq!(at_once(&bodies(), body).unwrap().unwrap_err(), BodyFailure::TooLarge);
    }
}
