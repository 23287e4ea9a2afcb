//! Files below one directory, and nothing outside of it.
//!
//! A directory from a stranger may hold links that lead elsewhere, named pipes that never answer, and files that are
//! replaced between a look and the opening. So every path is walked name by name from an open directory, the system is
//! never asked to follow a link (`file_tree::resolve` does, inside the directory), what is no regular file is not
//! opened, and what was opened is looked at again. The directory itself is named by the user and may be a link.
//!
//! `read_settled` reads such a directory again when it changed while it was read.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, readlinkat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::files::file_tree::{FileTree, Node, ReadError, Refusal, Target, join, names_of, resolve, split_last};

/// How often a directory that changes while it is read is read, the first time included.
pub const READS: usize = 5;
/// Names in one directory.
pub(crate) const NAMES: usize = 100_000;
/// The pause before the second reading; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// Bytes of a file that are made room for before they are read.
const LARGE: u64 = 16 << 20;
/// How many names are tried for a new file.
const NEW_NAMES: usize = 1_000;
/// How many files were written, so that each has a name of its own before it is complete.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// A directory that is read without leaving it. It remembers what was looked at, so that changes are noticed.
#[derive(Debug)]
pub struct ConfinedDirectory {
    root: OwnedFd,
    /// What it was named; absolute links that lead below where that leads are inside.
    named: PathBuf,
    /// The directory that was opened last, with its path.
    last: Option<(Vec<u8>, OwnedFd)>,
    seen: BTreeMap<Vec<u8>, Identity>,
    listed: BTreeMap<Vec<u8>, Vec<Vec<u8>>>,
    /// Whether a file was replaced between a look at it and its opening, or changed its size while it was read.
    torn: bool,
}

/// What changes when something else is at a path, or its content is another.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Identity {
    node: Node,
    device: u64,
    inode: u64,
    size: i64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Identity {
    fn new(node: Node, stat: &Stat) -> Self {
        // The types of these fields differ between systems.
        #[allow(clippy::unnecessary_cast, clippy::cast_possible_wrap, clippy::cast_lossless)]
        Identity {
            node,
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            size: stat.st_size as i64,
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        }
    }

    fn missing() -> Self {
        Identity { node: Node::Missing, device: 0, inode: 0, size: 0, modified: (0, 0), changed: (0, 0) }
    }
}

impl ConfinedDirectory {
    /// Opens a directory that the user named; a link to one is followed.
    pub fn open(path: &Path) -> io::Result<Self> {
        let root = rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(ConfinedDirectory::new(root, path.to_owned()))
    }

    /// The names in a directory below this one, sorted; `None` if there is no such directory.
    pub fn list_names(&mut self, path: &Path) -> io::Result<Option<Vec<OsString>>> {
        match self.find(Path::new(""), path)? {
            Target::Missing => Ok(None),
            Target::File(_) => Err(io::Error::other("it is a file, not a directory")),
            Target::Directory(place) => {
                let names = self.list(&place)?;
                self.listed.insert(place, names.clone());
                Ok(Some(names.into_iter().map(OsString::from_vec).collect()))
            }
        }
    }

    /// The content of a file of at most `limit` bytes, which something in this directory refers to by `path`, relative to the
    /// directory `base` below this one.
    pub fn read_file(&mut self, base: &Path, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        let place = match self.find(base, path)? {
            Target::File(place) => place,
            Target::Missing => return Err(io::ErrorKind::NotFound.into()),
            Target::Directory(_) => return Err(io::Error::other("it is a directory, not a file")),
        };
        self.read(&place, limit).map_err(|error| match error {
            ReadError::TooLarge => too_large(limit),
            ReadError::Refused(why) => io::Error::other(why),
        })
    }

    /// Replaces a file, or makes it with the directories on the way. A reader, or whoever comes back after a crash, finds the
    /// old content or the new one. `path` is free of links; what is there and no file is left alone.
    pub(crate) fn write_file(&mut self, path: &[u8], content: &[u8]) -> io::Result<()> {
        let (above, name) = split_last(path);
        self.make_directories(above)?;
        if !matches!(self.look(path)?.node, Node::Missing | Node::File) {
            return Err(io::Error::other("the path exists and is not a file"));
        }
        let directory = self.directory(above)?;
        let (scratch, mut file) = new_file(directory)?;
        let written = file.write_all(content).and_then(|()| file.sync_all());
        let moved = written.and_then(|()| Ok(renameat(directory, scratch.as_str(), directory, name)?));
        if moved.is_err() {
            // It is of no use to anybody; that it cannot be removed says nothing new.
            let _ = unlinkat(directory, scratch.as_str(), AtFlags::empty());
        }
        moved
    }

    /// Opens a regular file to add to its end; it is made if it is not there.
    pub(crate) fn open_to_append(&mut self, path: &[u8]) -> io::Result<File> {
        let (above, name) = split_last(path);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = openat(self.directory(above)?, name, flags | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)?;
        let stat = fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(io::Error::other(format!("it is {}, not a file", describe(stat.st_mode))));
        }
        Ok(File::from(file))
    }

    /// Removes a file; one that is not there is as good.
    pub(crate) fn remove_file(&mut self, path: &[u8]) -> io::Result<()> {
        let (above, name) = split_last(path);
        let directory = match self.directory(above) {
            Err(error) if is_absence(&error) => return Ok(()),
            directory => directory?,
        };
        match unlinkat(directory, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn make_directories(&mut self, path: &[u8]) -> io::Result<()> {
        let mut above: Vec<u8> = Vec::new();
        for name in names_of(path) {
            match mkdirat(self.directory(&above)?, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
                Ok(()) | Err(Errno::EXIST) => above = join(&above, name),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// What a path that something in this directory refers to leads to.
    pub(crate) fn find(&mut self, base: &Path, path: &Path) -> io::Result<Target> {
        let refused = |refusal: Refusal| io::Error::other(refusal.to_string());
        let (base, path) = (path_bytes(base), path_bytes(path));
        if path.starts_with(b"/") {
            let inside = self.inside(path).ok_or_else(|| refused(Refusal::Outside(path.to_vec())))?.to_vec();
            return resolve(self, b"", &inside).map_err(refused);
        }
        resolve(self, b"", &join(base, path)).map_err(refused)
    }

    /// A directory below this one by a path, which may have links inside of this one.
    pub(crate) fn enter(&mut self, path: &Path) -> io::Result<Self> {
        match self.find(Path::new(""), path)? {
            Target::Directory(place) => self.below(&place),
            Target::File(_) => Err(io::Error::other("it is a file, not a directory")),
            Target::Missing => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// A directory below this one, which is not left either. `place` is free of links.
    pub(crate) fn below(&mut self, place: &[u8]) -> io::Result<Self> {
        let root = self.directory(place)?.try_clone_to_owned()?;
        Ok(ConfinedDirectory::new(root, self.named.join(OsStr::from_bytes(place))))
    }

    fn new(root: OwnedFd, named: PathBuf) -> Self {
        ConfinedDirectory { root, named, last: None, seen: BTreeMap::new(), listed: BTreeMap::new(), torn: false }
    }

    /// Opens a regular file. `path` is free of links.
    pub(crate) fn open_file(&mut self, path: &[u8]) -> io::Result<File> {
        Ok(self.open_sized(path)?.0)
    }

    /// The same, with its size.
    fn open_sized(&mut self, path: &[u8]) -> io::Result<(File, u64)> {
        let (directory, name) = split_last(path);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = openat(self.directory(directory)?, name, flags, Mode::empty())?;
        let stat = fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(io::Error::other(format!("it is {}, not a file", describe(stat.st_mode))));
        }
        let identity = Identity::new(Node::File, &stat);
        self.torn |= self.seen.get(path).is_some_and(|before| *before != identity);
        Ok((File::from(file), u64::try_from(identity.size).unwrap_or_default()))
    }

    /// The content of the file that a path leads to, inside the directory; `None` if nothing is there.
    pub(crate) fn content(&mut self, path: &[u8], limit: u64) -> Result<Option<Vec<u8>>, ReadError> {
        match resolve(self, &[], path).map_err(|refusal| ReadError::Refused(refusal.to_string()))? {
            Target::Missing => Ok(None),
            Target::File(path) => self.read(&path, limit).map(Some),
            Target::Directory(_) => Err(ReadError::Refused("it is a directory, not a file".to_owned())),
        }
    }

    /// Whether everything that was looked at is still what it was. `now` is the directory, opened again: a link to it may
    /// lead to another one by now.
    fn is_unchanged(&self, mut now: ConfinedDirectory) -> io::Result<bool> {
        if self.torn {
            return Ok(false);
        }
        let (before, after) = (fstat(&self.root)?, fstat(&now.root)?);
        if (before.st_dev, before.st_ino) != (after.st_dev, after.st_ino) {
            return Ok(false);
        }
        for (path, identity) in &self.seen {
            if now.look(path).ok().as_ref() != Some(identity) {
                return Ok(false);
            }
        }
        for (path, names) in &self.listed {
            if now.names(path).ok().as_ref() != Some(names) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The open directory at a path.
    fn directory(&mut self, path: &[u8]) -> io::Result<BorrowedFd<'_>> {
        if path.is_empty() {
            return Ok(self.root.as_fd());
        }
        if self.last.as_ref().is_none_or(|(last, _)| last != path) {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mut opened: Option<OwnedFd> = None;
            for name in names_of(path) {
                let above = opened.as_ref().map_or(self.root.as_fd(), AsFd::as_fd);
                opened = Some(openat(above, name, flags, Mode::empty())?);
            }
            self.last = opened.map(|opened| (path.to_vec(), opened));
        }
        Ok(self.last.as_ref().map_or(self.root.as_fd(), |(_, opened)| opened.as_fd()))
    }

    fn look(&mut self, path: &[u8]) -> io::Result<Identity> {
        if path.is_empty() {
            return Ok(Identity::new(Node::Directory, &fstat(&self.root)?));
        }
        let (directory, name) = split_last(path);
        let above = match self.directory(directory) {
            Ok(above) => above,
            Err(error) if is_absence(&error) => return Ok(Identity::missing()),
            Err(error) => return Err(error),
        };
        let stat = match statat(above, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Identity::missing()),
            Err(error) => return Err(error.into()),
        };
        let node = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Node::File,
            FileType::Directory => Node::Directory,
            FileType::Symlink => Node::Link(readlinkat(above, name, Vec::new())?.into_bytes()),
            _ => Node::Other(describe(stat.st_mode)),
        };
        Ok(Identity::new(node, &stat))
    }

    fn list(&mut self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(self.directory(path)?)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(name.to_vec());
            }
            if names.len() > NAMES {
                return Err(io::Error::other(format!("more than {NAMES} names in one directory (the cap `names`)")));
            }
        }
        names.sort_unstable();
        Ok(names)
    }
}

impl FileTree for ConfinedDirectory {
    fn node(&mut self, path: &[u8]) -> Result<Node, String> {
        let identity = self.look(path).map_err(|error| in_words(&error))?;
        let node = identity.node.clone();
        self.seen.insert(path.to_vec(), identity);
        Ok(node)
    }

    fn names(&mut self, directory: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let names = self.list(directory).map_err(|error| in_words(&error))?;
        self.listed.insert(directory.to_vec(), names.clone());
        Ok(names)
    }

    fn read(&mut self, file: &[u8], limit: u64) -> Result<Vec<u8>, ReadError> {
        let refused = |error: io::Error| ReadError::Refused(in_words(&error));
        let (opened, size) = self.open_sized(file).map_err(refused)?;
        if size > limit {
            return Err(ReadError::TooLarge);
        }
        let mut content = Vec::with_capacity(usize::try_from(size.min(LARGE)).unwrap_or_default());
        opened.take(limit.saturating_add(1)).read_to_end(&mut content).map_err(refused)?;
        self.torn |= content.len() as u64 != size;
        if content.len() as u64 > limit { Err(ReadError::TooLarge) } else { Ok(content) }
    }

    fn inside<'t>(&self, target: &'t [u8]) -> Option<&'t [u8]> {
        let place = self.named.canonicalize().ok()?;
        let rest = target.strip_prefix(path_bytes(&place))?;
        (rest.is_empty() || rest.starts_with(b"/") || place.as_os_str() == "/").then_some(rest)
    }
}

/// Why a directory could not be read as a whole.
#[derive(Debug)]
pub(crate) enum DirectoryError<E> {
    /// It cannot be opened.
    Open(io::Error),
    /// It changed each of the [`READS`] times that it was read.
    Changing,
    /// Reading failed, and not because of a change.
    Read(E),
}

/// What happens around the readings of a directory; tests change the directory here, and do not wait.
pub(crate) trait ReadHooks {
    /// After a reading, before the directory is looked at again.
    fn after_reading(&mut self, _reading: usize) {}

    /// Before the directory is read again.
    fn before_next(&mut self, reading: usize);
}

/// Gives whoever changes the directory time to finish.
pub(crate) struct Pauses;

impl ReadHooks for Pauses {
    fn before_next(&mut self, reading: usize) {
        thread::sleep(FIRST_PAUSE * (1 << reading.min(8)));
    }
}

/// Reads a directory, and again if it changed meanwhile.
pub(crate) fn read_settled<T, E>(
    path: &Path,
    hooks: &mut dyn ReadHooks,
    read: impl FnMut(&mut ConfinedDirectory) -> Result<T, E>,
) -> Result<T, DirectoryError<E>> {
    read_settled_by(|| ConfinedDirectory::open(path), hooks, read)
}

/// The same for a directory that is opened in some way.
pub(crate) fn read_settled_by<T, E>(
    mut open: impl FnMut() -> io::Result<ConfinedDirectory>,
    hooks: &mut dyn ReadHooks,
    mut read: impl FnMut(&mut ConfinedDirectory) -> Result<T, E>,
) -> Result<T, DirectoryError<E>> {
    for reading in 0..READS {
        if reading > 0 {
            hooks.before_next(reading - 1);
        }
        let mut directory = open().map_err(DirectoryError::Open)?;
        let outcome = read(&mut directory);
        hooks.after_reading(reading);
        // A directory that is gone by now has changed.
        if open().and_then(|now| directory.is_unchanged(now)).unwrap_or(false) {
            return outcome.map_err(DirectoryError::Read);
        }
    }
    Err(DirectoryError::Changing)
}

/// The content of a regular file that is not opened in a way that could wait for somebody. Links are followed: this is for
/// files of our own and those that the user names.
pub fn read_regular_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open_regular_file(path)?.take(limit.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > limit {
        return Err(too_large(limit));
    }
    Ok(content)
}

/// Such a file, to be read as a stream.
pub fn open_regular_file(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty())?;
    let stat = fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(io::Error::other(format!("it is {}, not a file", describe(stat.st_mode))));
    }
    Ok(File::from(file))
}

/// A new file, and its name, for what is about to replace another file. In a container each process has the same id, so a
/// name may be that of a file which a killed process has left behind: it is passed over.
fn new_file(directory: BorrowedFd<'_>) -> io::Result<(String, File)> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for _ in 0..NEW_NAMES {
        let name = format!(".new-{}-{}", std::process::id(), WRITTEN.fetch_add(1, Ordering::Relaxed));
        match openat(directory, name.as_str(), flags, Mode::RUSR | Mode::WUSR) {
            Err(Errno::EXIST) => {}
            opened => return Ok((name, File::from(opened?))),
        }
    }
    Err(io::Error::other(format!("{NEW_NAMES} files named .new-… are in the way; remove them")))
}

fn too_large(limit: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {limit} bytes"))
}

/// What something is, by its mode.
fn describe(mode: rustix::fs::RawMode) -> &'static str {
    match FileType::from_raw_mode(mode) {
        FileType::RegularFile => "a file",
        FileType::Directory => "a directory",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Unknown => "of an unknown type",
    }
}

/// What the system said, without the number of the error.
fn in_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::NotFound => "not found".to_owned(),
        _ => error.to_string(),
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        // The kernel's word for a link where none is followed.
        || error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

/// A path as bytes.
fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

#[cfg(test)]
mod tests;
