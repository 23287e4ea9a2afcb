//! Files that are written from the types of the product, and checked to be so.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clearway_bundle::{Channel, to_yaml};
use clearway_operator::api;
use clearway_operator::install::kustomize;

/// Writes, or checks, the CRDs of both channels: `crds/CHANNEL/NAME.yaml`.
pub(crate) fn crds(check: bool) -> Result<()> {
    let mut files = BTreeMap::new();
    for channel in Channel::ALL {
        for crd in api::crds(channel)? {
            let name = crd.pointer("/metadata/name").and_then(serde_json::Value::as_str).context("a CRD has a name")?;
            files.insert(PathBuf::from(channel.as_str()).join(format!("{name}.yaml")), to_yaml(&crd)?);
        }
    }
    keep(Path::new("crds"), &files, check, "make crds")
}

/// Writes, or checks, the manifests for kustomize and the alerts: `deploy`.
pub(crate) fn deploy(check: bool) -> Result<()> {
    let files = kustomize::files()?.into_iter().map(|(name, text)| (PathBuf::from(name), text)).collect();
    keep(Path::new("deploy"), &files, check, "make crds")
}

/// Makes a directory hold exactly these files, or says that it does not.
fn keep(directory: &Path, files: &BTreeMap<PathBuf, String>, check: bool, command: &str) -> Result<()> {
    let mut differing = Vec::new();
    for (name, text) in files {
        let path = directory.join(name);
        if fs::read_to_string(&path).ok().as_ref() != Some(text) {
            differing.push(path.display().to_string());
            if !check {
                fs::create_dir_all(path.parent().unwrap_or(directory))?;
                fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
            }
        }
    }
    for path in below(directory)? {
        let known = path.strip_prefix(directory).is_ok_and(|name| files.contains_key(name));
        if !known {
            differing.push(path.display().to_string());
            if !check {
                fs::remove_file(&path)?;
            }
        }
    }
    if check && !differing.is_empty() {
        bail!("not as the types have them: {}; run `{command}` and commit what it writes", differing.join(", "));
    }
    println!("{}: {} files, {} changed", directory.display(), files.len(), differing.len());
    Ok(())
}

/// All files below a directory.
fn below(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let Ok(entries) = fs::read_dir(directory) else { return Ok(files) };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(below(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}
