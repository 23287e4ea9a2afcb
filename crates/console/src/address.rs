//! The addresses of pages, in both directions: a request becomes a [`Route`], and a [`Route`] becomes a link.
//!
//! Names come as parameters and not as parts of the path, because they may contain anything.

use std::borrow::Cow;
use std::collections::BTreeMap;

use clearway_core::{Arch, Version};
use clearway_graph::render::RenderDetail;

use crate::foreign_text;

/// What comes before every path of the console.
pub const PREFIX: &str = "/console/";
/// The sizes of drawings in percent, from the smallest on.
pub const ZOOMS: [u32; 8] = [25, 40, 60, 80, 100, 125, 160, 200];

/// Letters of what can be searched for; no version has more.
const MOST_SEARCHED: usize = 256;

/// A page or a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// What there is, and its state.
    Overview,
    /// The graph of a channel.
    Channel(ChannelView),
    /// One update, or the paths between two versions.
    Update {
        /// The channel.
        channel: String,
        /// The architecture.
        arch: Arch,
        /// The source.
        from: Version,
        /// The target.
        to: Version,
    },
    /// All risks.
    Risks,
    /// The risks of one name.
    Risk {
        /// The name.
        name: String,
    },
    /// The revisions since the start.
    Revisions,
    /// What a revision changed.
    Revision {
        /// Its id.
        id: String,
    },
    /// The state of the parts.
    Health,
    /// An update of a cluster, with its proof.
    ClusterUpdate {
        /// The kind of the object that describes the cluster or component.
        kind: String,
        /// Its name.
        name: String,
        /// The target.
        version: Version,
    },
    /// Policies and their violations.
    Policies,
    /// Bundles of CRDs.
    Bundles,
    /// Gateways and their status.
    Gateways,
    /// A file that pages refer to.
    Asset {
        /// Its name.
        name: String,
    },
}

/// How the graph of a channel is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelView {
    /// The channel.
    pub channel: String,
    /// The architecture.
    pub arch: Arch,
    /// Which updates are drawn.
    pub show: RenderDetail,
    /// Whether blocked updates are drawn as well.
    pub blocked: bool,
    /// The version whose updates are drawn; all versions if there is none.
    pub from: Option<Version>,
    /// The size of the drawing in percent, one of [`ZOOMS`].
    pub zoom: u32,
    /// A part of a version to look for.
    pub find: String,
}

/// Why a request leads to no page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    /// There is no such page.
    #[error("There is no page at this address.")]
    NoPage,
    /// A parameter is missing.
    #[error("The parameter {0} is missing.")]
    Missing(&'static str),
    /// A parameter has a value that it cannot have.
    #[error("{value:?} is not a value of the parameter {name}: {help}.")]
    Invalid {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: String,
        /// What it can be.
        help: &'static str,
    },
}

impl ChannelView {
    /// The graph of a channel as it is shown first.
    pub fn new(channel: impl Into<String>, arch: Arch) -> Self {
        ChannelView {
            channel: channel.into(),
            arch,
            show: RenderDetail::Risks,
            blocked: false,
            from: None,
            zoom: 100,
            find: String::new(),
        }
    }
}

/// The parameters of a request, or the fields of a form; the first of several with one name.
pub(crate) struct Parameters<'q>(BTreeMap<Cow<'q, str>, Cow<'q, str>>);

impl<'q> Parameters<'q> {
    pub(crate) fn read(encoded: &'q [u8]) -> Self {
        let mut parameters = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(encoded) {
            parameters.entry(name).or_insert(value);
        }
        Parameters(parameters)
    }

    /// The value of a parameter; an empty one is as good as none, because forms send empty fields.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(AsRef::as_ref).map(str::trim).filter(|value| !value.is_empty())
    }

    pub(crate) fn text(&self, name: &'static str) -> Result<String, BadAddress> {
        self.get(name).map(str::to_owned).ok_or(BadAddress::Missing(name))
    }

    pub(crate) fn version(&self, name: &'static str) -> Result<Option<Version>, BadAddress> {
        let invalid = |value: &str| BadAddress::Invalid {
            name,
            value: foreign_text::line(value),
            help: "use a version such as 4.14.3",
        };
        self.get(name).map(|value| value.parse().map_err(|_| invalid(value))).transpose()
    }

    fn arch(&self) -> Result<Arch, BadAddress> {
        let invalid = |value: &str| BadAddress::Invalid {
            name: "arch",
            value: foreign_text::line(value),
            help: "use an architecture such as amd64",
        };
        self.get("arch").map_or_else(|| Ok(Arch::default()), |value| value.parse().map_err(|_| invalid(value)))
    }

    fn channel_view(&self) -> Result<ChannelView, BadAddress> {
        let show = match self.get("show") {
            Some("essential") => RenderDetail::Essential,
            None | Some("risks") => RenderDetail::Risks,
            Some("all") => RenderDetail::All,
            Some(other) => {
                let help = "use essential, risks or all";
                return Err(BadAddress::Invalid { name: "show", value: foreign_text::line(other), help });
            }
        };
        let zoom = match self.get("zoom") {
            None => 100,
            Some(value) => {
                let wanted: Option<u32> = value.parse().ok();
                // The nearest of the sizes, so that there are few different pages.
                wanted.and_then(|wanted| ZOOMS.into_iter().min_by_key(|zoom| zoom.abs_diff(wanted))).unwrap_or(100)
            }
        };
        Ok(ChannelView {
            channel: self.text("channel")?,
            arch: self.arch()?,
            show,
            blocked: self.get("blocked").is_some(),
            from: self.version("from")?,
            zoom,
            find: self.get("find").unwrap_or_default().chars().take(MOST_SEARCHED).collect(),
        })
    }
}

impl Route {
    /// What a path and a query lead to.
    pub fn read(path: &str, query: Option<&str>) -> Result<Self, BadAddress> {
        let rest = path.strip_prefix(PREFIX).ok_or(BadAddress::NoPage)?;
        let parameters = Parameters::read(query.unwrap_or_default().as_bytes());
        Ok(match rest {
            "" => Route::Overview,
            "channel" => Route::Channel(parameters.channel_view()?),
            "update" => Route::Update {
                channel: parameters.text("channel")?,
                arch: parameters.arch()?,
                from: parameters.version("from")?.ok_or(BadAddress::Missing("from"))?,
                to: parameters.version("to")?.ok_or(BadAddress::Missing("to"))?,
            },
            "risks" => Route::Risks,
            "risk" => Route::Risk { name: parameters.text("name")? },
            "revisions" => Route::Revisions,
            "revision" => Route::Revision { id: parameters.text("id")? },
            "health" => Route::Health,
            "cluster-update" => Route::ClusterUpdate {
                kind: parameters.text("kind")?,
                name: parameters.text("name")?,
                version: parameters.version("version")?.ok_or(BadAddress::Missing("version"))?,
            },
            "policies" => Route::Policies,
            "bundles" => Route::Bundles,
            "gateways" => Route::Gateways,
            _ => match rest.strip_prefix("assets/") {
                Some(name) => Route::Asset { name: name.to_owned() },
                None => return Err(BadAddress::NoPage),
            },
        })
    }

    /// The address of the page. Reading it gives the same route.
    pub fn link(&self) -> String {
        let with = |path: &str, pairs: &[(&str, &str)]| {
            let mut query = form_urlencoded::Serializer::new(String::new());
            query.extend_pairs(pairs);
            format!("{PREFIX}{path}?{}", query.finish())
        };
        match self {
            Route::Overview => PREFIX.to_owned(),
            Route::Channel(view) => {
                let (from, zoom) = (view.from.as_ref().map(Version::to_string), view.zoom.to_string());
                let mut pairs = vec![("channel", view.channel.as_str()), ("arch", view.arch.as_str())];
                match view.show {
                    RenderDetail::Risks => {}
                    RenderDetail::Essential => pairs.push(("show", "essential")),
                    RenderDetail::All => pairs.push(("show", "all")),
                }
                if view.blocked {
                    pairs.push(("blocked", "yes"));
                }
                if let Some(from) = &from {
                    pairs.push(("from", from));
                }
                if view.zoom != 100 {
                    pairs.push(("zoom", &zoom));
                }
                if !view.find.is_empty() {
                    pairs.push(("find", &view.find));
                }
                with("channel", &pairs)
            }
            Route::Update { channel, arch, from, to } => with(
                "update",
                &[("channel", channel), ("arch", arch.as_str()), ("from", &from.to_string()), ("to", &to.to_string())],
            ),
            Route::Risks => format!("{PREFIX}risks"),
            Route::Risk { name } => with("risk", &[("name", name)]),
            Route::Revisions => format!("{PREFIX}revisions"),
            Route::Revision { id } => with("revision", &[("id", id)]),
            Route::Health => format!("{PREFIX}health"),
            Route::ClusterUpdate { kind, name, version } => {
                with("cluster-update", &[("kind", kind), ("name", name), ("version", &version.to_string())])
            }
            Route::Policies => format!("{PREFIX}policies"),
            Route::Bundles => format!("{PREFIX}bundles"),
            Route::Gateways => format!("{PREFIX}gateways"),
            Route::Asset { name } => format!("{PREFIX}assets/{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(address: &str) -> Result<Route, BadAddress> {
        let (path, query) = address.split_once('?').map_or((address, None), |(path, query)| (path, Some(query)));
        Route::read(path, query)
    }

    #[test]
    fn a_link_leads_back_to_its_route() {
        let version = |text: &str| text.parse::<Version>().unwrap();
        let hostile = "a&b=c#d?e/<script>\"'\u{202e} ü";
        let view = ChannelView {
            show: RenderDetail::All,
            blocked: true,
            from: Some(version("1.2.3-rc.1")),
            zoom: 160,
            find: "4.1".to_owned(),
            ..ChannelView::new(hostile, Arch::default())
        };
        for route in [
            Route::Overview,
            Route::Channel(ChannelView::new("stable-4.14", Arch::default())),
            Route::Channel(view),
            Route::Update {
                channel: hostile.to_owned(),
                arch: Arch::default(),
                from: version("1.0.0"),
                to: version("1.0.1"),
            },
            Route::Risks,
            Route::Risk { name: hostile.to_owned() },
            Route::Revisions,
            Route::Revision { id: "sha256:ab".to_owned() },
            Route::Health,
            Route::ClusterUpdate {
                kind: "ClusterVersion".to_owned(),
                name: hostile.to_owned(),
                version: version("1.0.1"),
            },
            Route::Policies,
            Route::Bundles,
            Route::Gateways,
        ] {
            let link = route.link();
            assert!(!link.contains(['<', '"', '\'', ' ']), "{link}");
            assert_eq!(read(&link), Ok(route), "{link}");
        }
    }

    #[test]
    fn an_address_that_is_wrong_says_what_is_wrong() {
        for (address, sentence) in [
            ("/console/nothing", "There is no page at this address."),
            ("/other", "There is no page at this address."),
            ("/console/channel", "The parameter channel is missing."),
            ("/console/update?channel=a&from=1.0.0", "The parameter to is missing."),
            (
                "/console/update?channel=a&from=1&to=1.0.0",
                "\"1\" is not a value of the parameter from: use a version such as 4.14.3.",
            ),
        ] {
            assert_eq!(read(address).unwrap_err().to_string(), sentence, "{address}");
        }
        let Ok(Route::Channel(view)) = read("/console/channel?channel=a&zoom=150&from=") else { panic!("a channel") };
        assert_eq!((view.zoom, view.from), (160, None));
    }
}
