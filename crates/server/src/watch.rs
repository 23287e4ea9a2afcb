//! Tells when something in a directory changes, once it has come to rest.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;

/// A change is told when nothing followed it for this long: a checkout writes many files.
const REST: Duration = Duration::from_millis(300);
/// But no later than this after the first change of a row that does not end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Watches a directory, and where a link to it leads.
///
/// Not every file system tells of changes; whoever watches also looks from time to time.
#[derive(Debug)]
pub(crate) struct Watch {
    changed: Arc<Notify>,
    path: PathBuf,
    watcher: Option<RecommendedWatcher>,
}

impl Watch {
    pub(crate) fn new(path: &Path) -> Self {
        let mut watch = Watch { changed: Arc::default(), path: path.to_owned(), watcher: None };
        watch.renew();
        watch
    }

    /// Watches anew: after a link was moved, or a directory replaced, the old watch sees nothing any more.
    pub(crate) fn renew(&mut self) {
        let changed = Arc::clone(&self.changed);
        let told = move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| !matches!(event.kind, EventKind::Access(_))) {
                changed.notify_one();
            }
        };
        let watcher = notify::recommended_watcher(told).and_then(|mut watcher| {
            watcher.watch(&self.path, RecursiveMode::Recursive)?;
            if let Some(parent) = self.path.parent().filter(|_| self.path.is_symlink()) {
                // The link itself is in there.
                let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
                watcher.watch(parent, RecursiveMode::NonRecursive)?;
            }
            Ok(watcher)
        });
        match watcher {
            Ok(watcher) => self.watcher = Some(watcher),
            Err(error) => {
                tracing::debug!(%error, path = %self.path.display(), "cannot be watched; it is looked at from time to time");
                self.watcher = None;
            }
        }
    }

    /// Waits until something changed and came to rest.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
        let quiet = async { while tokio::time::timeout(REST, self.changed.notified()).await.is_ok() {} };
        // A directory that never rests is read all the same.
        let _ = tokio::time::timeout(PATIENCE, quiet).await;
    }
}
