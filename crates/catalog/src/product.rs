//! One `product.yaml`: what a product is called, and how its installed version is found.
//!
//! ```yaml
//! name: cert-manager                       # the directory's name
//! title: cert-manager
//! url: https://cert-manager.io/docs/installation/upgrade/
//! summary: cert-manager with its CRDs.
//! channel: stable                          # the channel that is assessed by default
//! detect:
//! - objects: {apiVersion: apps/v1, kind: Deployment, name: cert-manager}
//!   label: app.kubernetes.io/version       # or `annotation`, or `image`: the last part of an image's name
//! - apiServer: version                     # the version that the API server reports
//! ```
//!
//! `objects` selects by `namespace`, `name` or `names`, `labels`, and of CRDs by the API group that they define
//! (`definitionGroup`). Credentials and `ConfigMap`s cannot be selected. An unknown key is an error: passing over it would
//! select more objects than its author meant.

use std::collections::BTreeMap;

use clearway_core::{GroupKind, Limits, form, is_config_map, is_secret_kind};
use clearway_yaml::{Node, ReadEvent};

/// Bytes of one product file.
pub const PRODUCT_BYTES: u64 = 64 << 10;
/// Ways to find a version that one product may have.
const METHODS: usize = 16;
/// Names and labels that one selection may have.
const SELECTED: usize = 16;
/// Bytes of one text.
const TEXT: usize = 2 << 10;

/// Why a product file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("product.yaml is not valid: {why}")]
pub struct ProductError {
    why: String,
}

impl ProductError {
    /// An error with what is wrong.
    pub(crate) fn new(why: String) -> Self {
        ProductError { why }
    }
}

/// A product of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// The name that commands take.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// The page that says how to update it.
    pub url: String,
    /// What it is and how far one update goes, in a few sentences.
    pub summary: String,
    /// The channel that is assessed if none is named.
    pub channel: String,
    /// How the installed version is found. All of them have to agree.
    pub detect: Vec<DetectionMethod>,
}

/// One way to find the installed version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DetectionMethod {
    /// The version that the API server reports.
    ApiServer,
    /// A text of objects.
    Objects {
        /// Which objects.
        filter: ObjectFilter,
        /// Where in them the version is.
        source: VersionSource,
    },
}

/// Which objects are looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectFilter {
    /// Their kind.
    pub kind: GroupKind,
    /// Only those in this namespace.
    pub namespace: Option<String>,
    /// Only those of these names; any if it is empty.
    pub names: Vec<String>,
    /// Only those with these labels.
    pub labels: BTreeMap<String, String>,
    /// Of CRDs only those that define kinds of this API group.
    pub definition_group: Option<String>,
}

/// Where the version is in an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VersionSource {
    /// In a label.
    Label(String),
    /// In an annotation.
    Annotation(String),
    /// In the tag of the images with this last part of their name.
    Image(String),
}

impl Product {
    /// Reads a product file.
    pub fn read(bytes: &[u8]) -> Result<Self, ProductError> {
        if bytes.len() as u64 > PRODUCT_BYTES {
            return Err(ProductError::new(format!("it is larger than {PRODUCT_BYTES} bytes")));
        }
        let limits = Limits { depth: 16, nodes: 1_000, ..Limits::for_graph_data() };
        let (mut product, mut problem, mut objects) = (None, None, 0_usize);
        clearway_yaml::read_documents(bytes, "product.yaml", &limits, |event| match event {
            ReadEvent::Object { root, source, .. } => {
                objects += 1;
                product = Some(read_product(root).map_err(|(node, why)| match source.place(node).position {
                    Some(at) => ProductError::new(format!("{why} (line {}, column {})", at.line, at.column)),
                    None => ProductError::new(why),
                }));
            }
            ReadEvent::Problem(found) => problem = problem.take().or(Some(found.message)),
        });
        match (problem, product) {
            (Some(problem), _) => Err(ProductError::new(problem)),
            (None, Some(product)) if objects == 1 => product,
            _ => Err(ProductError::new("it does not contain exactly one object".to_owned())),
        }
    }

    /// The same product, if it has the name of its directory: two products of one name could not be told apart.
    pub(crate) fn of_directory(self, directory: &str) -> Result<Self, ProductError> {
        if self.name == directory {
            return Ok(self);
        }
        let directory: String = directory.chars().filter(|letter| !letter.is_control()).take(64).collect();
        Err(ProductError::new(format!("`name` is `{}`, but the directory is `{directory}`", self.name)))
    }

    /// The kinds of objects that have to be read to find the version.
    pub fn kinds(&self) -> impl Iterator<Item = &GroupKind> {
        self.detect.iter().filter_map(|method| match method {
            DetectionMethod::ApiServer => None,
            DetectionMethod::Objects { filter, .. } => Some(&filter.kind),
        })
    }

    /// The names that the ways to find the version depend on: whoever replaces names has to keep these.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.detect.iter().flat_map(|method| match method {
            DetectionMethod::ApiServer => Vec::new(),
            DetectionMethod::Objects { filter, source } => {
                let labels = filter.labels.iter().flat_map(|(key, value)| [key.as_str(), value.as_str()]);
                let (VersionSource::Label(text) | VersionSource::Annotation(text) | VersionSource::Image(text)) =
                    source;
                let names = filter.names.iter().map(String::as_str).chain(filter.namespace.as_deref());
                names.chain(labels).chain([text.as_str()]).chain(filter.definition_group.as_deref()).collect()
            }
        })
    }
}

/// What is wrong, and the value that it is about.
type Fault<'t> = (Node<'t>, String);

fn read_product(root: Node<'_>) -> Result<Product, Fault<'_>> {
    check_keys(root, &["name", "title", "url", "summary", "channel", "detect"])?;
    let name = text(root, "name")?;
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if !name.bytes().all(plain) {
        return Err((root, "`name` has other characters than lower-case letters, digits and `-`".to_owned()));
    }
    let list = root.get("detect").filter(|list| list.is_sequence());
    let list = list.ok_or_else(|| (root, "`detect` is not a list".to_owned()))?;
    let detect: Vec<DetectionMethod> = list.items().map(method).collect::<Result<_, _>>()?;
    if detect.is_empty() || detect.len() > METHODS {
        return Err((list, format!("`detect` has no entry, or more than {METHODS}")));
    }
    Ok(Product {
        name,
        title: text(root, "title")?,
        url: text(root, "url")?,
        summary: text(root, "summary")?,
        channel: text(root, "channel")?,
        detect,
    })
}

fn method(node: Node<'_>) -> Result<DetectionMethod, Fault<'_>> {
    check_keys(node, &["apiServer", "objects", "label", "annotation", "image"])?;
    let sources = ["label", "annotation", "image"].into_iter().filter(|key| node.get(key).is_some());
    let sources: Vec<&str> = sources.collect();
    match (node.get("apiServer"), node.get("objects"), sources.as_slice()) {
        (Some(what), None, []) if what.as_text() == Some("version") => Ok(DetectionMethod::ApiServer),
        (None, Some(objects), [key]) => {
            let value = text(node, key)?;
            let source = match *key {
                "label" => VersionSource::Label(value),
                "annotation" => VersionSource::Annotation(value),
                _ => VersionSource::Image(value),
            };
            Ok(DetectionMethod::Objects { filter: filter(objects)?, source })
        }
        _ => {
            let why = "an entry of `detect` is `apiServer: version`, or `objects` with one of `label`, `annotation` and \
                       `image`";
            Err((node, why.to_owned()))
        }
    }
}

fn filter(node: Node<'_>) -> Result<ObjectFilter, Fault<'_>> {
    check_keys(node, &["apiVersion", "kind", "namespace", "name", "names", "labels", "definitionGroup"])?;
    let kind = GroupKind::from_api_version(&text(node, "apiVersion")?, &text(node, "kind")?);
    // Credentials, and what holds whatever its owner put there.
    if is_secret_kind(&kind.kind) || is_config_map(&kind) {
        return Err((node, format!("{kind} objects cannot be selected")));
    }
    if !form::is_kind(&kind.kind) || !(kind.group.is_empty() || form::is_dns_subdomain(&kind.group)) {
        return Err((node, "`kind` or `apiVersion` is not one that an API server has".to_owned()));
    }
    let mut names: Vec<String> = Vec::new();
    if node.get("name").is_some() {
        names.push(text(node, "name")?);
    }
    if let Some(list) = node.get("names") {
        for item in list.items() {
            names.push(item.as_text().map(str::to_owned).ok_or_else(|| (item, "a name is not a string".to_owned()))?);
        }
        if names.is_empty() {
            return Err((list, "`names` is not a list of names".to_owned()));
        }
    }
    let mut labels = BTreeMap::new();
    for (key, value) in node.get("labels").into_iter().flat_map(Node::fields) {
        let value = value.as_text().ok_or_else(|| (value, "a label is not a string".to_owned()))?;
        labels.insert(key.raw().to_owned(), value.to_owned());
    }
    if names.len() > SELECTED || labels.len() > SELECTED {
        return Err((node, format!("more than {SELECTED} names or labels")));
    }
    let definition_group = optional(node, "definitionGroup")?;
    if definition_group.is_some() && !is_definition(&kind) {
        return Err((node, "`definitionGroup` is only for CustomResourceDefinition".to_owned()));
    }
    // All objects of a kind are not one product.
    if names.is_empty() && labels.is_empty() && definition_group.is_none() {
        return Err((node, "`objects` needs `name`, `names`, `labels` or `definitionGroup`".to_owned()));
    }
    Ok(ObjectFilter { kind, namespace: optional(node, "namespace")?, names, labels, definition_group })
}

/// Whether it is the kind of CRDs.
fn is_definition(kind: &GroupKind) -> bool {
    kind.group == "apiextensions.k8s.io" && kind.kind == "CustomResourceDefinition"
}

fn check_keys<'t>(node: Node<'t>, known: &[&str]) -> Result<(), Fault<'t>> {
    let mut seen: Vec<&str> = Vec::new();
    if !node.is_mapping() {
        return Err((node, format!("{} instead of an object", node.describe())));
    }
    for (key, _) in node.fields() {
        let name = key.raw();
        if !known.contains(&name) {
            let shown: String = name.chars().filter(|letter| !letter.is_control()).take(64).collect();
            return Err((key, format!("unknown key `{shown}`; known keys are {}", known.join(", "))));
        }
        if seen.contains(&name) {
            return Err((key, format!("`{name}` is set twice")));
        }
        seen.push(name);
    }
    Ok(())
}

/// A text that must be there, on one line.
fn text<'t>(node: Node<'t>, key: &str) -> Result<String, Fault<'t>> {
    let found = node.get(key).ok_or_else(|| (node, format!("`{key}` is missing")))?;
    let value = found.as_text().map(str::trim).filter(|text| !text.is_empty());
    let value = value.ok_or_else(|| (found, format!("`{key}` is not a string, or is empty")))?;
    if value.len() > TEXT || value.chars().any(char::is_control) {
        return Err((found, format!("`{key}` has more than {TEXT} bytes, or several lines")));
    }
    Ok(value.to_owned())
}

fn optional<'t>(node: Node<'t>, key: &str) -> Result<Option<String>, Fault<'t>> {
    node.get(key).map(|_| text(node, key)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "name: a-b\ntitle: A B\nurl: https://example.com\nsummary: It is.\nchannel: stable\ndetect:\n";

    fn read(detect: &str) -> Result<Product, String> {
        Product::read(format!("{GOOD}{detect}").as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_product_says_what_it_is_and_where_its_version_is() {
        let product = read(
            "- apiServer: version\n- objects: {apiVersion: apps/v1, kind: Deployment, name: a, namespace: b}\n  image: c\n",
        );
        let product = product.unwrap();
        assert_eq!((product.name.as_str(), product.title.as_str(), product.channel.as_str()), ("a-b", "A B", "stable"));
        assert_eq!(product.kinds().map(ToString::to_string).collect::<Vec<_>>(), ["Deployment.apps"]);
        assert_eq!(product.words().collect::<Vec<_>>(), ["a", "b", "c"]);
    }

    /// The product that a reader sees is the one that is used.
    #[test]
    fn a_product_is_not_hidden_behind_items() {
        let detect = "detect: [{apiServer: version}]";
        let inner =
            format!("{{name: c, title: C, url: https://example.com, summary: It is., channel: stable, {detect}}}");
        let good = GOOD.replace("detect:\n", &format!("{detect}\n"));
        assert!(Product::read(good.as_bytes()).is_ok());
        for (text, want) in [
            (format!("{good}items: [{inner}]\n"), "unknown key `items`"),
            (format!("items: [{inner}]\n{good}"), "unknown key `items`"),
            (format!("kind: List\n{good}items: [{inner}]\n"), "unknown key `kind`"),
            (format!("items: [{inner}]\n"), "unknown key `items`"),
            (format!("[{inner}]\n"), "instead of an object"),
        ] {
            let error = Product::read(text.as_bytes()).map_err(|error| error.to_string()).unwrap_err();
            assert!(error.contains(want), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_not_a_product_is_refused_with_the_reason_and_the_place() {
        let deployment = "- objects: {apiVersion: apps/v1, kind: Deployment, name: a";
        for (detect, want) in [
            (" []\n", "`detect` has no entry"),
            ("- {}\n", "an entry of `detect` is"),
            ("- apiServer: uptime\n", "an entry of `detect` is"),
            (&format!("{deployment}}}\n"), "an entry of `detect` is"),
            (&format!("{deployment}}}\n  label: a\n  image: b\n"), "an entry of `detect` is"),
            (&format!("{deployment}, selector: x}}\n  label: a\n"), "unknown key `selector`"),
            (&format!("{deployment}, definitionGroup: x}}\n  label: a\n"), "only for CustomResourceDefinition"),
            ("- objects: {apiVersion: v1, kind: Secret, name: a}\n  label: a\n", "Secret objects cannot be selected"),
            ("- objects: {apiVersion: v1, kind: 'a b', name: a}\n  label: a\n", "not one that an API server has"),
            ("- objects: {apiVersion: a_b/v1, kind: A, name: a}\n  label: a\n", "not one that an API server has"),
            ("- objects: {apiVersion: v1, kind: ConfigMap, name: a}\n  label: a\n", "ConfigMap objects cannot be"),
            ("- objects: {apiVersion: v1, kind: Namespace}\n  label: a\n", "needs `name`, `names`, `labels`"),
            ("- objects: [1]\n  label: a\n", "instead of an object (line 7, column 12)"),
            ("- apiServer: version\n---\na: b\n", "exactly one object"),
            ("- apiServer: version\nname: again\n", "`name` is set twice"),
            ("- {{{", "product.yaml is not valid"),
        ] {
            let why = read(detect).unwrap_err();
            assert!(why.contains(want), "{detect}: {why}");
        }
        let why = Product::read(&vec![b' '; 1 << 17]).unwrap_err().to_string();
        assert!(why.contains("larger than 65536 bytes"), "{why}");
    }
}
