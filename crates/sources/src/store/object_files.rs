//! One object a file, as YAML.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::StoreError;
use crate::files::write_atomically;

/// An object that is longer is refused, as an API server does.
const OBJECT_BYTES: u64 = 3 << 20;

/// What is in a directory, by name; nothing if it is not there.
pub(super) fn entries(directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let listed = fs::read_dir(directory).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    let mut paths: Vec<PathBuf> = match listed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed.map_err(|error| cannot("list", directory, &error))?,
    };
    let hidden = |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    paths.retain(|path| !hidden(path));
    paths.sort();
    Ok(paths)
}

/// The object in a file, if there is one.
pub(super) fn read(path: &Path) -> Result<Option<Value>, StoreError> {
    let text = match fs::metadata(path) {
        Ok(found) if found.len() > OBJECT_BYTES => {
            return Err(StoreError::Refused { why: format!("{} is longer than {OBJECT_BYTES} bytes", path.display()) });
        }
        Ok(_) => fs::read_to_string(path),
        Err(error) => Err(error),
    };
    let text = match text {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(cannot("read", path, &error)),
    };
    let object: Value = serde_saphyr::from_str(&text)
        .map_err(|error| StoreError::Refused { why: format!("{} is no object: {error}", path.display()) })?;
    Ok(Some(object))
}

/// Puts an object into a file, which holds the old one or the new one at any moment.
pub(super) fn write(path: &Path, object: &Value) -> Result<(), StoreError> {
    let text = serde_saphyr::to_string(object).map_err(|error| StoreError::Refused {
        why: format!("{} cannot be written as YAML: {error}", path.display()),
    })?;
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| write_atomically(path, text.as_bytes())).map_err(|error| cannot("write", path, &error))
}

/// Removes a file, if it is there.
pub(super) fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(cannot("remove", path, &error)),
        _ => Ok(()),
    }
}

/// What failed, and where.
pub(super) fn cannot(verb: &str, path: &Path, error: &io::Error) -> StoreError {
    StoreError::Away { why: format!("cannot {verb} {}: {error}", path.display()) }
}
