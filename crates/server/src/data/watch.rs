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
        // Events have absolute paths; on some systems with every link in them resolved.
        let places = [std::path::absolute(&self.path).ok(), self.path.canonicalize().ok()];
        let changed = Arc::clone(&self.changed);
        let told = move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| !matches!(event.kind, EventKind::Access(_)) && concerns(&event, &places)) {
                changed.notify_one();
            }
        };
        // A link may lead anywhere, and all that is below would be watched. What may be read is inside the directory.
        let config = notify::Config::default().with_follow_symlinks(false);
        let directory = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        let watcher = RecommendedWatcher::new(told, config).and_then(|mut watcher| {
            watcher.watch(&directory, RecursiveMode::Recursive)?;
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
                tracing::debug!(%error, path = %self.path.display(), "cannot be watched; polling it instead");
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

/// Whether an event is about one of these places, and not about what else is in the directory of a link.
fn concerns(event: &notify::Event, places: &[Option<PathBuf>]) -> bool {
    let here = |changed: &PathBuf| {
        // A file of a mounted ConfigMap changes when the kubelet moves this link.
        let is_mount = changed.file_name().is_some_and(|name| name == "..data");
        let is_place =
            |place: &PathBuf| changed.starts_with(place) || changed.file_name() == place.file_name() || is_mount;
        places.iter().flatten().any(is_place)
    };
    // An event without a path says that some were lost.
    event.paths.is_empty() || event.paths.iter().any(here)
}
