//! Manifests: an image or a list of them, as Docker and as OCI write them.
//!
//! What a manifest is follows from its fields, which its digest covers, and not from the header it is sent with.

use std::collections::BTreeMap;
use std::fmt;

use clearway_core::{CapExceeded, Digest, RegistryLimits};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::oci::image::signature::ANNOTATION as SIGNATURE;

const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
const DOCKER_CONFIG: &str = "application/vnd.docker.container.image.v1+json";
pub(in crate::oci) const OCI_CONFIG: &str = "application/vnd.oci.image.config.v1+json";
pub(in crate::oci) const OCI_EMPTY: &str = "application/vnd.oci.empty.v1+json";
pub(in crate::oci) const OCI_LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
pub(in crate::oci) const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// What is asked for: without it, a registry may answer with schema 1, or with one image of a list.
pub(in crate::oci) const ACCEPT: &str = "application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.oci.image.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json";

/// The annotation by which build tools mark what is about an image and not one itself.
const ABOUT: &str = "vnd.docker.reference.type";

/// A manifest that is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::oci) enum Manifest {
    /// One image or artifact.
    Image(Image),
    /// Several of them: an OCI index or a Docker manifest list.
    Index(Vec<Descriptor>),
}

/// The parts of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::oci) struct Image {
    pub(in crate::oci) config: Option<Descriptor>,
    /// From the lowest to the top-most.
    pub(in crate::oci) layers: Vec<Descriptor>,
}

/// A reference from one manifest to something else.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::oci) struct Descriptor {
    #[serde(default)]
    pub(in crate::oci) media_type: String,
    pub(in crate::oci) digest: Digest,
    pub(in crate::oci) size: u64,
    #[serde(default)]
    platform: Option<Platform>,
    #[serde(default)]
    annotations: Option<Annotations>,
}

/// The annotations that are looked at. A manifest may have any number of others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Annotations(BTreeMap<&'static str, String>);

impl<'de> Deserialize<'de> for Annotations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Known;
        impl<'de> Visitor<'de> for Known {
            type Value = Annotations;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of strings")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut found = Annotations::default();
                while let Some(key) = map.next_key::<String>()? {
                    match [ABOUT, SIGNATURE].into_iter().find(|known| key == *known) {
                        Some(known) => drop(found.0.insert(known, map.next_value()?)),
                        None => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(found)
            }
        }
        deserializer.deserialize_map(Known)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
struct Platform {
    #[serde(default)]
    architecture: String,
    #[serde(default)]
    os: String,
}

/// Why bytes are no manifest that is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::oci) enum UnreadableManifest {
    /// A known kind of manifest, by name.
    Unsupported(String),
    /// Nothing that is known.
    Broken(String),
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    schema_version: u64,
    media_type: Option<String>,
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
    manifests: Option<Vec<Descriptor>>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    schema_version: u64,
}

impl Manifest {
    /// Reads a manifest; one above a cap is broken.
    pub(in crate::oci) fn read(bytes: &[u8], limits: &RegistryLimits) -> Result<Self, UnreadableManifest> {
        let manifest = Manifest::parse(bytes)?;
        let (images, layers) = match &manifest {
            Manifest::Image(image) => (0, image.layers.as_slice()),
            Manifest::Index(images) => (images.len(), &[][..]),
        };
        let packed = layers.iter().map(|layer| layer.size).fold(0, u64::saturating_add);
        let above = CapExceeded::first([
            ("images", images, limits.images, "images in one index"),
            ("layers", layers.len(), limits.layers, "layers in one image"),
        ]);
        let limit = limits.layer_bytes;
        let what = "bytes in all layers of one image";
        let above = above.or((packed > limit).then_some(CapExceeded { cap: "layer_bytes", limit, what }));
        above.map_or(Ok(manifest), |above| Err(UnreadableManifest::Broken(format!("it has {above}"))))
    }

    fn parse(bytes: &[u8]) -> Result<Self, UnreadableManifest> {
        let broken = |why: String| UnreadableManifest::Broken(format!("its manifest cannot be read: {why}"));
        // Schema 1 has other fields, so its version is looked at before anything else.
        let version: Version = serde_json::from_slice(bytes).map_err(|error| broken(error.to_string()))?;
        if version.schema_version == 1 {
            return Err(UnreadableManifest::Unsupported("a Docker schema 1 manifest".to_owned()));
        }
        let raw: Raw = serde_json::from_slice(bytes).map_err(|error| broken(error.to_string()))?;
        if raw.schema_version != 2 {
            return Err(UnreadableManifest::Unsupported(format!("a manifest of schema {}", raw.schema_version)));
        }
        let (manifest, types) = match (raw.layers, raw.manifests) {
            (Some(layers), None) => {
                (Manifest::Image(Image { config: raw.config, layers }), [DOCKER_MANIFEST, OCI_MANIFEST])
            }
            (None, Some(manifests)) => (Manifest::Index(manifests), [DOCKER_LIST, OCI_INDEX]),
            // Two readers could take it for two different images.
            (Some(_), Some(_)) => return Err(broken("it is both an image and an index".to_owned())),
            (None, None) => return Err(UnreadableManifest::Unsupported("a manifest without layers".to_owned())),
        };
        match raw.media_type {
            Some(named) if !types.contains(&named.as_str()) => Err(UnreadableManifest::Unsupported(format!(
                "a manifest of type `{}`",
                crate::oci::error::printable(&named)
            ))),
            _ => Ok(manifest),
        }
    }
}

/// Reads a manifest for the fuzzer: how many images or layers it has, or why it is none.
#[cfg(fuzzing)]
pub fn read_manifest(bytes: &[u8], limits: &RegistryLimits) -> Result<(usize, usize), String> {
    match Manifest::read(bytes, limits) {
        Ok(Manifest::Image(image)) => Ok((0, image.layers.len())),
        Ok(Manifest::Index(images)) => Ok((images.len(), 0)),
        Err(UnreadableManifest::Unsupported(why) | UnreadableManifest::Broken(why)) => Err(why),
    }
}

impl Image {
    /// Whether it is an image, whose layers are archives, and not an artifact, whose layers may be anything.
    pub(in crate::oci) fn is_image(&self) -> bool {
        self.config.as_ref().is_some_and(Descriptor::is_image_config)
    }
}

impl Descriptor {
    /// The architecture that a list names for it.
    pub(in crate::oci) fn architecture(&self) -> Option<&str> {
        let platform = self.platform.as_ref()?;
        Some(platform.architecture.as_str()).filter(|arch| !arch.is_empty() && *arch != "unknown")
    }

    /// Whether it is about an image (who built it, and how) and not one itself.
    pub(in crate::oci) fn is_attestation(&self) -> bool {
        let unknown = |platform: &Platform| platform.os == "unknown" && platform.architecture == "unknown";
        self.platform.as_ref().is_some_and(unknown)
            || self.annotations.as_ref().is_some_and(|annotations| annotations.0.contains_key(ABOUT))
    }

    /// Whether it is the configuration of an image, and not that of an artifact.
    pub(in crate::oci) fn is_image_config(&self) -> bool {
        [DOCKER_CONFIG, OCI_CONFIG].contains(&self.media_type.as_str())
    }

    /// The text of an annotation.
    pub(in crate::oci) fn annotation(&self, name: &str) -> Option<&str> {
        self.annotations.as_ref()?.0.get(name).map(String::as_str)
    }

    /// Whether it can be an archive of files. Signatures, charts and modules of other programs cannot.
    pub(in crate::oci) fn is_archive(&self) -> bool {
        self.media_type.contains("tar")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn read(text: &str) -> Result<Manifest, UnreadableManifest> {
        Manifest::read(text.replace("DIGEST", DIGEST).as_bytes(), &RegistryLimits::default())
    }

    #[test]
    fn fields_tell_what_a_manifest_is() {
        let layer = r#"{"mediaType": "x", "digest": "DIGEST", "size": 1}"#;
        for media_type in ["", r#""mediaType": "application/vnd.oci.image.manifest.v1+json","#] {
            let text = format!(r#"{{"schemaVersion": 2, {media_type} "config": {layer}, "layers": [{layer}]}}"#);
            assert!(matches!(read(&text), Ok(Manifest::Image(Image { layers, .. })) if layers.len() == 1), "{text}");
        }
        let list = format!(r#"{{"schemaVersion": 2, "mediaType": "{DOCKER_LIST}", "manifests": [{layer}]}}"#);
        assert!(matches!(read(&list), Ok(Manifest::Index(manifests)) if manifests.len() == 1));
    }

    #[test]
    fn everything_else_is_refused_by_name() {
        for (text, want) in [
            (
                r#"{"schemaVersion": 1, "fsLayers": []}"#,
                UnreadableManifest::Unsupported("a Docker schema 1 manifest".to_owned()),
            ),
            (r#"{"schemaVersion": 3}"#, UnreadableManifest::Unsupported("a manifest of schema 3".to_owned())),
            (r#"{"schemaVersion": 2}"#, UnreadableManifest::Unsupported("a manifest without layers".to_owned())),
            (
                r#"{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "layers": []}"#,
                UnreadableManifest::Unsupported(
                    "a manifest of type `application/vnd.oci.image.index.v1+json`".to_owned(),
                ),
            ),
            (
                r#"{"schemaVersion": 2, "layers": [], "manifests": []}"#,
                UnreadableManifest::Broken("its manifest cannot be read: it is both an image and an index".to_owned()),
            ),
        ] {
            assert_eq!(read(text), Err(want), "{text}");
        }
        for text in ["", "[]", "null", r#"{"schemaVersion": 2, "layers": [{"digest": "sha256:x", "size": 1}]}"#] {
            assert!(matches!(read(text), Err(UnreadableManifest::Broken(_))), "{text}");
        }
    }

    #[test]
    fn more_than_an_image_has_is_refused_by_name() {
        let limits = RegistryLimits { images: 2, layers: 2, layer_bytes: 20, ..RegistryLimits::default() };
        let part = |size: u64| format!(r#"{{"digest": "{DIGEST}", "size": {size}}}"#);
        let read = |key: &str, sizes: &[u64]| {
            let parts: Vec<String> = sizes.iter().map(|size| part(*size)).collect();
            Manifest::read(format!(r#"{{"schemaVersion": 2, "{key}": [{}]}}"#, parts.join(",")).as_bytes(), &limits)
        };
        for (key, sizes, cap) in [
            ("layers", &[10, 10][..], ""),
            ("layers", &[1, 1, 1], "layers"),
            ("layers", &[10, 11], "layer_bytes"),
            ("layers", &[u64::MAX, u64::MAX], "layer_bytes"),
            ("manifests", &[100, 100], ""),
            ("manifests", &[1, 1, 1], "images"),
        ] {
            match read(key, sizes) {
                Ok(_) => assert_eq!(cap, "", "{key} {sizes:?}"),
                Err(UnreadableManifest::Broken(why)) => assert!(why.contains(&format!("(the cap `{cap}`)")), "{why}"),
                Err(other) => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn annotations_that_nobody_looks_at_are_not_kept() {
        let many: Vec<String> = (0..1000).map(|number| format!(r#""{number}": "x""#)).collect();
        let text = format!(r#"{{"digest": "{DIGEST}", "size": 1, "annotations": {{{}}}}}"#, many.join(","));
        let descriptor: Descriptor = serde_json::from_str(&text).unwrap();
        assert_eq!(descriptor.annotations, Some(Annotations::default()));
    }

    #[test]
    fn attestations_are_told_from_images() {
        for (extra, want) in [
            ("", false),
            (r#", "platform": {"os": "linux", "architecture": "amd64"}"#, false),
            (r#", "platform": {"os": "unknown", "architecture": "unknown"}"#, true),
            (r#", "annotations": {"vnd.docker.reference.type": "attestation-manifest"}"#, true),
        ] {
            let text = format!(r#"{{"digest": "{DIGEST}", "size": 1{extra}}}"#);
            let descriptor: Descriptor = serde_json::from_str(&text).unwrap();
            assert_eq!(descriptor.is_attestation(), want, "{extra}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(text in r#"(\{"schemaVersion": ?[0-3](, ?"(layers|manifests|config|mediaType)": ?(\[\]|\{\}|null|"x"|7)){0,4}\}|.{0,40})"#) {
            let _ = Manifest::read(text.as_bytes(), &RegistryLimits::default());
        }
    }
}
