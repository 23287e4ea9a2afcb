//! The files that pages refer to: a style sheet, a script and an icon.
//!
//! Their names contain a hash of their content, so browsers keep them for good and never use one of another version.

use std::sync::LazyLock;

use clearway_core::Digest;
use clearway_graph::render::PAGE_STYLE;

/// A file that pages refer to.
#[derive(Debug)]
pub struct Asset {
    /// Its name, with a hash of its content.
    pub name: String,
    /// Its media type.
    pub media_type: &'static str,
    /// Its content.
    pub content: String,
}

impl Asset {
    fn new(stem: &str, extension: &str, media_type: &'static str, content: String) -> Self {
        let hash: String = Digest::sha256(content.as_bytes()).hex().chars().take(16).collect();
        Asset { name: format!("{stem}-{hash}.{extension}"), media_type, content }
    }
}

/// The style sheet, with the style of drawings.
pub static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    let content = format!("{}\n.drawing{{{PAGE_STYLE}}}\n", include_str!("../assets/console.css"));
    Asset::new("console", "css", "text/css; charset=utf-8", content)
});

/// The script.
pub static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    let content = include_str!("../assets/console.js").to_owned();
    Asset::new("console", "js", "text/javascript; charset=utf-8", content)
});

/// The icon of the pages.
pub static ICON: LazyLock<Asset> = LazyLock::new(|| {
    let content = include_str!("../assets/icon.svg").to_owned();
    Asset::new("icon", "svg", "image/svg+xml", content)
});

/// Every asset.
pub fn all() -> [&'static Asset; 3] {
    [&STYLE, &SCRIPT, &ICON]
}

/// The asset of a name.
pub fn find(name: &str) -> Option<&'static Asset> {
    all().into_iter().find(|asset| asset.name == name)
}
