//! The objects that the console of the operator shows: read when a page is opened, and then kept for a while.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clearway_console::pages::cluster_objects::ClusterObjects;
use clearway_core::GroupVersionKind;
use clearway_operator::driver::MemoryPermit;
use clearway_sources::clock;
use clearway_sources::store::{Store, StoreError};
use futures::future::BoxFuture;
use tokio::sync::Mutex;

/// How long objects are shown before they are read again.
const SHOWN_FOR: Duration = Duration::from_secs(30);
/// Objects of one page of a list.
const PAGE: u32 = 250;
/// Objects that are read of one kind.
const MOST_OBJECTS: usize = 5_000;

/// Reads objects, at most once in a while.
pub(crate) struct ObjectReader {
    read: Box<dyn Fn() -> BoxFuture<'static, ClusterObjects> + Send + Sync>,
    last: Mutex<Option<Arc<ClusterObjects>>>,
}

impl ObjectReader {
    /// Reads from the store that `connect` opens, each time anew: nobody may open the pages for days. Whoever reads has the
    /// permit for memory.
    pub(super) fn new<S, F>(memory: MemoryPermit, connect: impl Fn() -> F + Clone + Send + Sync + 'static) -> Self
    where
        S: Store,
        F: Future<Output = Result<S>> + Send + 'static,
    {
        let read = move || -> BoxFuture<'static, ClusterObjects> {
            let (connect, memory) = (connect.clone(), memory.clone());
            Box::pin(async move {
                match connect().await {
                    Ok(store) => read_all(&store, &memory).await,
                    Err(error) => problem(format!("{error:#}")),
                }
            })
        };
        ObjectReader { read: Box::new(read), last: Mutex::default() }
    }

    /// The objects, as they were read not long ago.
    pub(super) async fn objects(&self) -> Arc<ClusterObjects> {
        let mut last = self.last.lock().await;
        let is_fresh = |objects: &&Arc<ClusterObjects>| {
            objects.read_at.is_some_and(|read_at| clock::now().since(read_at) < SHOWN_FOR)
        };
        if let Some(objects) = last.as_ref().filter(is_fresh) {
            return Arc::clone(objects);
        }
        let mut objects = (self.read)().await;
        objects.read_at = Some(clock::now());
        let objects = Arc::new(objects);
        *last = Some(Arc::clone(&objects));
        objects
    }
}

fn problem(problem: String) -> ClusterObjects {
    let mut objects = ClusterObjects::default();
    objects.problems.insert(problem);
    objects
}

async fn read_all<S: Store>(store: &S, memory: &MemoryPermit) -> ClusterObjects {
    let kinds = match store.kinds().await {
        Ok(kinds) => kinds,
        Err(error) => return problem(error.to_string()),
    };
    let mut objects = ClusterObjects::default();
    for kind in kinds.iter().filter(|kind| ClusterObjects::shows(kind)) {
        if let Err(error) = read_kind(store, kind, memory, &mut objects).await {
            objects.problems.insert(error.to_string());
        }
    }
    objects
}

async fn read_kind<S: Store>(
    store: &S,
    kind: &GroupVersionKind,
    memory: &MemoryPermit,
    objects: &mut ClusterObjects,
) -> Result<(), StoreError> {
    let (mut token, mut read, mut size) = (None, 0, PAGE);
    loop {
        // Between two pages others may read.
        let _permit = memory.acquire().await;
        let page = match store.page(kind, token.as_deref(), size).await {
            Err(StoreError::AnswerTooLarge { .. }) if size > 1 => {
                size /= 2;
                continue;
            }
            page => page?,
        };
        read += page.items.len();
        page.items.iter().for_each(|object| objects.add(object));
        token = page.next;
        if token.is_none() {
            return Ok(());
        }
        if read >= MOST_OBJECTS {
            objects.problems.insert(format!("Only the first {read} objects of the kind {} are shown.", kind.kind));
            return Ok(());
        }
    }
}
