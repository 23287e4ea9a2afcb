//! What a release says about itself: the files `release-metadata` and `image-references`.

use std::collections::BTreeMap;
use std::fmt;

use clearway_core::Version;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

/// The only kind of metadata that is read.
const KIND: &str = "cincinnati-metadata-v0";

/// The file `release-metadata`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Metadata {
    /// The version.
    pub version: Version,
    /// Versions that may update to it.
    pub previous: Vec<String>,
    /// Versions that it may update to.
    pub next: Vec<String>,
    /// Anything else, such as `url`.
    pub metadata: BTreeMap<String, String>,
}

/// Why bytes are no metadata of a release.
#[derive(Debug, thiserror::Error)]
pub enum MetadataError {
    /// They are no JSON, or lack something.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// They are of another kind.
    #[error("it is of kind `{kind}`, not `{KIND}`")]
    Kind {
        /// Which.
        kind: String,
    },
}

#[derive(Serialize, Deserialize)]
struct Raw {
    kind: String,
    version: Version,
    #[serde(default)]
    previous: Option<Vec<String>>,
    #[serde(default)]
    next: Option<Vec<String>>,
    #[serde(default, deserialize_with = "unique")]
    metadata: Option<BTreeMap<String, String>>,
}

/// Texts by key, each of which stands once: of two expressions that remove updates, the first one would be lost.
fn unique<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<BTreeMap<String, String>>, D::Error> {
    struct Texts;
    impl<'de> Visitor<'de> for Texts {
        type Value = Option<BTreeMap<String, String>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of strings")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut texts = BTreeMap::new();
            while let Some((key, text)) = map.next_entry::<String, String>()? {
                if texts.contains_key(&key) {
                    let key: String = key.chars().filter(|letter| !letter.is_control()).take(80).collect();
                    return Err(A::Error::custom(format_args!("the key `{key}` is set twice")));
                }
                texts.insert(key, text);
            }
            Ok(Some(texts))
        }
    }
    deserializer.deserialize_any(Texts)
}

impl Metadata {
    /// Reads the file.
    pub fn read(bytes: &[u8]) -> Result<Self, MetadataError> {
        let raw: Raw = serde_json::from_slice(bytes)?;
        if raw.kind != KIND {
            let kind = raw.kind.chars().filter(|letter| !letter.is_control()).take(80).collect();
            return Err(MetadataError::Kind { kind });
        }
        Ok(Metadata {
            version: raw.version,
            previous: raw.previous.unwrap_or_default(),
            next: raw.next.unwrap_or_default(),
            metadata: raw.metadata.unwrap_or_default(),
        })
    }

    /// The file, the same bytes for the same metadata.
    pub fn write(&self) -> Vec<u8> {
        let raw = Raw {
            kind: KIND.to_owned(),
            version: self.version.clone(),
            previous: Some(self.previous.clone()),
            next: Some(self.next.clone()),
            metadata: Some(self.metadata.clone()),
        };
        // Strings under string keys always have a form in JSON.
        let mut text = serde_json::to_vec_pretty(&raw).unwrap_or_default();
        text.push(b'\n');
        text
    }
}

/// The file `image-references`: the images that a release is made of, by the names it gives them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct References {
    /// The name of the list, which must be the version of the release.
    pub name: String,
    /// Where each image is, by its name.
    pub images: BTreeMap<String, String>,
}

impl References {
    /// Reads the file: an `ImageStream` of `image.openshift.io/v1`.
    pub fn read(bytes: &[u8]) -> Result<Self, ReferencesError> {
        #[derive(Deserialize)]
        struct Stream {
            #[serde(default)]
            kind: String,
            #[serde(default)]
            metadata: Named,
            #[serde(default)]
            spec: Spec,
        }
        #[derive(Deserialize, Default)]
        struct Named {
            #[serde(default)]
            name: String,
        }
        #[derive(Deserialize, Default)]
        struct Spec {
            #[serde(default)]
            tags: Vec<Tag>,
        }
        #[derive(Deserialize)]
        struct Tag {
            name: String,
            #[serde(default)]
            from: Option<Named>,
        }
        let stream: Stream = serde_json::from_slice(bytes)?;
        if stream.kind != "ImageStream" {
            return Err(ReferencesError::Kind);
        }
        let tags = stream.spec.tags.into_iter();
        let images = tags.filter_map(|tag| Some((tag.name, tag.from?.name))).collect();
        Ok(References { name: stream.metadata.name, images })
    }
}

/// Why bytes are no references to images.
#[derive(Debug, thiserror::Error)]
pub enum ReferencesError {
    /// They are no JSON, or lack something.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// They are something else.
    #[error("it is not an ImageStream")]
    Kind,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_read_as_it_is_written() {
        let metadata = Metadata {
            version: "1.5.0-rc.1".parse().unwrap(),
            previous: vec!["1.4.2".to_owned()],
            next: Vec::new(),
            metadata: [("url".to_owned(), "https://example.com".to_owned())].into(),
        };
        assert_eq!(Metadata::read(&metadata.write()).unwrap(), metadata);
        let bare = br#"{"kind": "cincinnati-metadata-v0", "version": "1.0.0", "next": null}"#;
        assert_eq!(Metadata::read(bare).unwrap().previous, Vec::<String>::new());
    }

    #[test]
    fn metadata_whose_keys_stand_twice_is_refused() {
        const REGEX: &str = "io.openshift.upgrades.graph.previous.remove_regex";
        let read = |fields: &str| {
            let text = format!(r#"{{"kind": "cincinnati-metadata-v0", "version": "1.0.0", {fields}}}"#);
            Metadata::read(text.as_bytes()).map(|read| read.metadata.len()).map_err(|error| error.to_string())
        };
        let twice = format!("the key `{REGEX}` is set twice");
        for (fields, want) in [
            (format!(r#""metadata": {{"{REGEX}": "^1", "{REGEX}": "^2"}}"#), twice.as_str()),
            (format!(r#""metadata": {{"{REGEX}": "^1", "url": "u", "{REGEX}": "^1"}}"#), &twice),
            (r#""metadata": {"a": "b"}, "metadata": {"c": "d"}"#.to_owned(), "duplicate field `metadata`"),
            (r#""previous": ["0.1.0"], "previous": []"#.to_owned(), "duplicate field `previous`"),
            (r#""metadata": {"a": 1}"#.to_owned(), "expected a string"),
            (r#""metadata": ["a"]"#.to_owned(), "expected an object of strings"),
        ] {
            let error = read(&fields).unwrap_err();
            assert!(error.contains(want), "{fields}: {error}");
        }
        assert_eq!(read(r#""metadata": null"#), Ok(0));
        assert_eq!(read(r#""metadata": {"a": "b", "c": "b"}"#), Ok(2));
    }

    #[test]
    fn references_are_the_tags_of_an_image_stream() {
        let stream = br#"{"kind": "ImageStream", "apiVersion": "image.openshift.io/v1", "metadata": {"name": "4.5.0"},
            "spec": {"tags": [{"name": "cli", "from": {"kind": "DockerImage", "name": "q.io/a@sha256:0"}}, {"name": "x"}]}}"#;
        let references = References::read(stream).unwrap();
        assert_eq!(references.name, "4.5.0");
        assert_eq!(references.images, [("cli".to_owned(), "q.io/a@sha256:0".to_owned())].into());
        for (text, want) in [("{}", "not an ImageStream"), ("[]", "not an ImageStream"), ("", "EOF")] {
            let error = References::read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(want), "{text}: {error}");
        }
    }
}
