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
        let changed = Arc::clone(&self.changed);
        match watcher(&self.path, move |_| changed.notify_one()) {
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

/// Watches a directory of graph-data, and calls a function with each change.
fn watcher(path: &Path, told: impl Fn(notify::Event) + Send + 'static) -> notify::Result<RecommendedWatcher> {
    // Events have absolute paths; on some systems with every link in them resolved.
    let places = [std::path::absolute(path).ok(), path.canonicalize().ok()];
    let receive = move |event: notify::Result<notify::Event>| {
        let is_change = |event: &notify::Event| !matches!(event.kind, EventKind::Access(_)) && concerns(event, &places);
        if let Some(event) = event.ok().filter(is_change) {
            told(event);
        }
    };
    let config = notify::Config::default().with_follow_symlinks(false);
    let directory = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut watcher = RecommendedWatcher::new(receive, config)?;
    watcher.watch(&directory, RecursiveMode::NonRecursive)?;
    for place in places::below(&directory) {
        // One that is gone by now, or closed to us, is looked at from time to time.
        if let Err(error) = watcher.watch(&place, RecursiveMode::NonRecursive) {
            tracing::debug!(%error, path = %place.display(), "cannot be watched; polling it instead");
        }
    }
    if let Some(parent) = path.parent().filter(|_| path.is_symlink()) {
        // The link itself is in there.
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        watcher.watch(parent, RecursiveMode::NonRecursive)?;
    }
    Ok(watcher)
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
    use std::os::unix::fs::{MetadataExt as _, symlink};
    use std::sync::mpsc::channel;

    use clearway_core::Limits;
    use clearway_testbed::IN_TIME;

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

    /// Reading the files is no change of them, nor is what happens beside a link to them. Changes are told in their order, so
    /// the first one that is told says which they are.
    #[test]
    fn looking_is_no_change() {
        let (root, links, elsewhere) =
            (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (channel_file, next) = (root.path().join("channels/c.yaml"), elsewhere.path().join("next.yaml"));
        let link = links.path().join("current");
        fs::create_dir(root.path().join("channels")).unwrap();
        fs::write(&channel_file, "name: c\nversions: []\n").unwrap();
        symlink(root.path(), &link).unwrap();
        for path in [root.path(), &link] {
            let (told, changes) = channel();
            let _watcher = watcher(path, move |event| told.send(event).unwrap()).unwrap();
            clearway_sources::graph_data::directory(path, &Limits::for_graph_data()).unwrap();
            places::below(path);
            fs::write(links.path().join("neighbour"), "x").unwrap();
            fs::copy(&channel_file, &next).unwrap();
            fs::rename(&next, &channel_file).unwrap();
            let first = changes.recv_timeout(IN_TIME).unwrap();
            assert!(first.paths[0].ends_with("channels/c.yaml"), "{first:?}");
        }
    }
}
