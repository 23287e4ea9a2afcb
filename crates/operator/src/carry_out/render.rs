//! The objects of a release as files, for those who have something else apply them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clearway_bundle::to_yaml;
use clearway_core::ObjectId;
use clearway_release::Payload;
use clearway_sources::files::write_atomically;

use clearway_update::owner::Owner;

/// The file that lists what is to be removed, one object a line. What applies directories passes it over.
pub const PRUNE: &str = "prune.txt";
/// The file that lists the others, so that those of an earlier release can be told from what is not ours.
pub const RENDERED: &str = ".clearway-rendered";

/// The objects of a release as they would be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// Names and contents, in the order in which they would be applied; the names sort in that order.
    pub files: Vec<(String, String)>,
    /// What the release deletes.
    pub deletes: Vec<ObjectId>,
}

/// Why files could not be written.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// A file cannot be read, written or removed.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// There is something else in the directory.
    #[error("{} contains files that this command did not write; name an empty directory, or one that it wrote before", path.display())]
    Occupied {
        /// The directory.
        path: PathBuf,
    },
    /// An object that YAML cannot hold.
    #[error("{id} cannot be written as YAML: {why}")]
    Yaml {
        /// The object.
        id: ObjectId,
        /// Why.
        why: String,
    },
}

/// The objects of a release with the label of an owner, without those that are not touched. The same release gives the same
/// bytes.
pub fn render(payload: &Payload, owner: &Owner, unmanaged: &BTreeSet<ObjectId>) -> Result<Rendered, RenderError> {
    let (mut files, mut deletes) = (Vec::new(), Vec::new());
    let stages = payload.stages();
    let manifests = stages.iter().flat_map(|stage| &stage.lanes).flat_map(|lane| &lane.manifests);
    for manifest in manifests {
        let id = manifest.id.clone();
        if unmanaged.contains(&id) {
            continue;
        }
        if manifest.deletes() {
            deletes.push(id);
            continue;
        }
        let text = to_yaml(&owner.stamped(manifest))
            .map_err(|error| RenderError::Yaml { id: id.clone(), why: error.to_string() })?;
        files.push((name(files.len() + 1, &id), text));
    }
    Ok(Rendered { files, deletes })
}

/// `0007-deployment-shop-web.yaml`: a number that sorts, and what people look for.
fn name(number: usize, id: &ObjectId) -> String {
    let words = [id.kind.as_str(), id.namespace.as_str(), id.name.as_str()];
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '.' { letter } else { '-' };
    let words: String = words.join("-").to_lowercase().chars().map(plain).take(200).collect();
    format!("{number:05}-{words}.yaml")
}

/// Makes a directory hold exactly these files, and the list of what is to be removed if one is given. What an earlier call
/// wrote and is not among them goes; anything else in the directory is a reason not to touch it.
pub fn write_rendered(path: &Path, rendered: &Rendered, prune: Option<&[ObjectId]>) -> Result<(), RenderError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| RenderError::Io { path, error }
    };
    fs::create_dir_all(path).map_err(failed(path))?;
    let list = path.join(RENDERED);
    let before: BTreeSet<String> = match fs::read_to_string(&list) {
        Ok(text) => {
            text.lines().filter(|name| !name.contains(['/', '\\']) && *name != "..").map(str::to_owned).collect()
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if fs::read_dir(path).map_err(failed(path))?.next().is_some() {
                return Err(RenderError::Occupied { path: path.to_owned() });
            }
            BTreeSet::new()
        }
        Err(error) => return Err(failed(&list)(error)),
    };
    let mut files: Vec<(&str, String)> =
        rendered.files.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    if let Some(prune) = prune {
        let all: BTreeSet<String> = prune.iter().chain(&rendered.deletes).map(ToString::to_string).collect();
        files.push((PRUNE, lines(&all)));
    }
    let now: BTreeSet<String> = files.iter().map(|(name, _)| (*name).to_owned()).collect();
    // Listed before they are written: whoever is interrupted knows the next time what was ours.
    let both: BTreeSet<String> = before.union(&now).cloned().collect();
    write_atomically(&list, lines(&both).as_bytes()).map_err(failed(&list))?;
    for (name, text) in files {
        let file = path.join(name);
        write_atomically(&file, text.as_bytes()).map_err(failed(&file))?;
    }
    for gone in before.difference(&now) {
        let file = path.join(gone);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(&file)(error)),
            _ => {}
        }
    }
    write_atomically(&list, lines(&now).as_bytes()).map_err(failed(&list))
}

fn lines(words: &BTreeSet<String>) -> String {
    words.iter().flat_map(|word| [word, "\n"]).collect()
}
