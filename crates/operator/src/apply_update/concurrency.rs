//! Several things at a time, but not all at once.

use futures::future::BoxFuture;
use futures::stream::{self, StreamExt as _};

/// Does things side by side, so many at a time; what came of them is in their order.
pub(crate) async fn side_by_side<'f, T: Send + 'f>(
    most: usize,
    things: impl IntoIterator<Item = BoxFuture<'f, T>>,
) -> Vec<T> {
    let things: Vec<BoxFuture<'f, T>> = things.into_iter().collect();
    stream::iter(things).buffered(most.max(1)).collect().await
}
