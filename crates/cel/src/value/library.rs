//! Values of Kubernetes' own types: quantities, URLs, addresses, versions and named formats.

mod address;
mod format;
mod quantity;
mod semver;
mod url;

use core::net::IpAddr;
use std::sync::Arc;

pub(crate) use address::{Network, is_class, parse_address, parse_any_address, show_address};
pub(crate) use format::NamedFormat;
pub(crate) use quantity::Quantity;
pub(crate) use semver::Version;
pub(crate) use url::Url;

/// A value that only the functions of its library look into.
#[derive(Debug, Clone)]
pub(crate) enum LibraryValue {
    Url(Arc<Url>),
    /// A quantity, and whether it was calculated: as in the API server, such a one is equal to nothing on its left.
    Quantity(Arc<Quantity>, bool),
    Semver(Arc<Version>),
    Format(&'static NamedFormat),
    Ip(IpAddr),
    Cidr(Network),
}

impl LibraryValue {
    pub(crate) fn type_name(&self) -> &'static str {
        use crate::types::Named;
        match self {
            LibraryValue::Url(_) => Named::Url,
            LibraryValue::Quantity(..) => Named::Quantity,
            LibraryValue::Semver(_) => Named::Semver,
            LibraryValue::Format(_) => Named::Format,
            LibraryValue::Ip(_) => Named::Ip,
            LibraryValue::Cidr(_) => Named::Cidr,
        }
        .name()
    }

    /// The size by which costs are counted.
    pub(crate) fn size(&self) -> usize {
        match self {
            LibraryValue::Ip(IpAddr::V4(_)) => 4,
            LibraryValue::Ip(IpAddr::V6(_)) => 16,
            LibraryValue::Cidr(network) => usize::from(network.bits).div_ceil(8),
            _ => 1,
        }
    }

    /// Whether two values of one type are equal; nothing if they are of two.
    pub(crate) fn equal(&self, other: &LibraryValue) -> Option<bool> {
        use LibraryValue as V;
        Some(match (self, other) {
            (V::Url(one), V::Url(two)) => one.text() == two.text(),
            (V::Quantity(one, _), V::Quantity(two, false)) => one.compare(two).is_eq(),
            (V::Semver(one), V::Semver(two)) => one.compare(two).is_eq(),
            (V::Format(one), V::Format(two)) => one.name == two.name,
            (V::Ip(one), V::Ip(two)) => one == two,
            (V::Cidr(one), V::Cidr(two)) => one == two,
            _ => return None,
        })
    }

    /// How the value is written for people.
    pub(crate) fn text(&self) -> String {
        match self {
            LibraryValue::Url(url) => url.text(),
            LibraryValue::Quantity(quantity, _) => quantity.text(),
            LibraryValue::Semver(version) => version.text(),
            LibraryValue::Format(format) => format.name.to_owned(),
            LibraryValue::Ip(address) => show_address(*address),
            LibraryValue::Cidr(network) => network.text(),
        }
    }
}
