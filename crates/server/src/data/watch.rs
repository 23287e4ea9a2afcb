//! Tells when something in a directory changes, once it has come to rest.

mod places;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;

/// A change is told when nothing followed it for this long: a checkout writes many files.
const REST: Duration = Duration::from_millis(300);
/// But no later than this after the first change of a row that does not end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Watches the directories of graph-data that are read, where their links lead, and a link to the directory itself; what
/// else is in the directory has no say, however much it is.
///
/// Not every file system tells of changes; whoever watches also looks from time to time.
#[derive(Debug)]
pub(crate) struct Watch {
    changed: Arc<Notify>,
    path: PathBuf,
    watcher: Option<RecommendedWatcher>,
}

impl Watch {
    /// Watches nothing before it is renewed.
    pub(crate) fn new(path: &Path) -> Self {
        Watch { changed: Arc::default(), path: path.to_owned(), watcher: None }
    }

    /// Watches anew, on a thread that may wait for the file system.
    pub(crate) async fn renewed(mut self) -> Option<Self> {
        let renew = move || {
            self.renew();
            self
        };
        tokio::task::spawn_blocking(renew).await.ok()
    }

    /// Watches anew: after a link was moved, or a directory made or replaced, the old watch does not see all of it.
    fn renew(&mut self) {
        // Events have absolute paths; on some systems with every link in them resolved.
        let places = [std::path::absolute(&self.path).ok(), self.path.canonicalize().ok()];
        let changed = Arc::clone(&self.changed);
        let told = move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| !matches!(event.kind, EventKind::Access(_)) && concerns(&event, &places)) {
                changed.notify_one();
            }
        };
        let config = notify::Config::default().with_follow_symlinks(false);
        let directory = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        let watcher = RecommendedWatcher::new(told, config).and_then(|mut watcher| {
            watcher.watch(&directory, RecursiveMode::NonRecursive)?;
            for place in places::below(&directory) {
                // One that is gone by now, or closed to us, is looked at from time to time.
                if let Err(error) = watcher.watch(&place, RecursiveMode::NonRecursive) {
                    tracing::debug!(%error, path = %place.display(), "cannot be watched; polling it instead");
                }
            }
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;

    /// Whether this process watches a directory, as the system tells.
    fn is_watched(path: &Path) -> bool {
        let inode = format!(" ino:{:x} ", fs::metadata(path).unwrap().ino());
        let files =
            fs::read_dir("/proc/self/fdinfo").unwrap().filter_map(|entry| fs::read_to_string(entry.ok()?.path()).ok());
        files
            .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
            .any(|line| line.starts_with("inotify ") && line.contains(&inode))
    }

    #[test]
    fn what_is_not_read_is_not_watched() {
        let root = tempfile::tempdir().unwrap();
        for directory in ["channels/archive", "signatures/sha256/ab/more", "docs/a/b", "other"] {
            fs::create_dir_all(root.path().join(directory)).unwrap();
        }
        let mut watch = Watch::new(root.path());
        watch.renew();
        for read in ["", "channels", "signatures", "signatures/sha256", "signatures/sha256/ab"] {
            assert!(is_watched(&root.path().join(read)), "{read}");
        }
        for unread in ["channels/archive", "signatures/sha256/ab/more", "docs", "docs/a", "docs/a/b", "other"] {
            assert!(!is_watched(&root.path().join(unread)), "{unread}");
        }
    }
}
