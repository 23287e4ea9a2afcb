//! What every page has around its content: the title, the navigation, and the names of the assets.

use crate::address::Route;
use crate::assets;

/// What a console knows about; its pages are those in the navigation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parts {
    /// A graph with its channels, risks and revisions.
    pub graph: bool,
    /// Objects of a cluster: policies, bundles of CRDs, and Gateways.
    pub objects: bool,
    /// Clusters with their updates and the risks of these.
    pub clusters: bool,
}

/// An entry of the navigation.
#[derive(Debug)]
pub(crate) struct NavigationLink {
    pub(crate) text: &'static str,
    pub(crate) link: String,
    pub(crate) is_current: bool,
}

/// What is around the content of a page.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) title: String,
    pub(crate) navigation: Vec<NavigationLink>,
    pub(crate) style: String,
    pub(crate) script: String,
    pub(crate) icon: String,
}

impl Frame {
    /// The frame of a page that belongs to `section` of the navigation.
    pub(crate) fn new(title: impl Into<String>, parts: Parts, section: &Route) -> Self {
        let entries = [
            ("Overview", Route::Overview, true),
            ("Risks", Route::Risks, parts.graph || parts.clusters),
            ("Revisions", Route::Revisions, parts.graph),
            ("Policies", Route::Policies, parts.objects),
            ("Bundles", Route::Bundles, parts.objects),
            ("Gateways", Route::Gateways, parts.objects),
            ("Health", Route::Health, true),
        ];
        let navigation = entries.into_iter().filter(|(.., shown)| *shown).map(|(text, route, _)| NavigationLink {
            text,
            link: route.link(),
            is_current: route == *section,
        });
        let asset = |asset: &assets::Asset| Route::Asset { name: asset.name.clone() }.link();
        Frame {
            title: title.into(),
            navigation: navigation.collect(),
            style: asset(&assets::STYLE),
            script: asset(&assets::SCRIPT),
            icon: asset(&assets::ICON),
        }
    }
}
