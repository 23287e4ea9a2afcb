//! IP addresses and networks, as Go's `net/netip` reads and writes them.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::functions::IpClass;

/// A network: an address, whose host bits may be set, and the length of its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Network {
    pub(crate) address: IpAddr,
    pub(crate) bits: u8,
}

/// Reads an address. Zones, leading zeros and IPv4 in IPv6 are not allowed.
pub(crate) fn parse_address(text: &str) -> Option<IpAddr> {
    match text.parse().ok()? {
        IpAddr::V6(address) if is_mapped(address) => None,
        address => Some(address),
    }
}

/// Reads an address as the specification does: IPv4 in IPv6 is IPv4, unless it is written with dots.
pub(crate) fn parse_any_address(text: &str) -> Option<IpAddr> {
    if text.contains(':') && text.contains('.') {
        return None;
    }
    text.parse::<IpAddr>().ok().map(|address| match address {
        IpAddr::V6(inner) => inner.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    })
}

fn is_mapped(address: Ipv6Addr) -> bool {
    matches!(address.segments(), [0, 0, 0, 0, 0, 0xffff, _, _])
}

/// Writes an address.
pub(crate) fn show_address(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => show_v6(address),
    }
}

/// The longest run of zeros becomes `::`; unlike Rust, Go writes no part of an address in IPv4's form.
fn show_v6(address: Ipv6Addr) -> String {
    let segments = address.segments();
    let (mut best_start, mut best_length) = (0, 0);
    let (mut start, mut length) = (0, 0);
    for (index, segment) in segments.iter().enumerate() {
        if *segment != 0 {
            length = 0;
            continue;
        }
        if length == 0 {
            start = index;
        }
        length += 1;
        if length > best_length {
            (best_start, best_length) = (start, length);
        }
    }
    let hex = |segments: &[u16]| {
        let words: Vec<String> = segments.iter().map(|segment| format!("{segment:x}")).collect();
        words.join(":")
    };
    if best_length < 2 {
        return hex(&segments);
    }
    let before = segments.get(..best_start).unwrap_or_default();
    let behind = segments.get(best_start + best_length..).unwrap_or_default();
    format!("{}::{}", hex(before), hex(behind))
}

/// Whether an address is of a class.
pub(crate) fn is_class(address: IpAddr, class: IpClass) -> bool {
    match class {
        IpClass::Unspecified => address.is_unspecified(),
        IpClass::Loopback => address.is_loopback(),
        IpClass::LinkLocalMulticast => match address {
            IpAddr::V4(address) => matches!(address.octets(), [224, 0, 0, _]),
            IpAddr::V6(address) => address.segments().first().is_some_and(|first| first & 0xff0f == 0xff02),
        },
        IpClass::LinkLocalUnicast => match address {
            IpAddr::V4(address) => address.is_link_local(),
            IpAddr::V6(address) => address.segments().first().is_some_and(|first| first & 0xffc0 == 0xfe80),
        },
        IpClass::GlobalUnicast => {
            let broadcast = address == IpAddr::V4(Ipv4Addr::BROADCAST);
            !broadcast
                && !address.is_unspecified()
                && !address.is_loopback()
                && !address.is_multicast()
                && !is_class(address, IpClass::LinkLocalUnicast)
        }
    }
}

impl Network {
    /// Reads a network such as `10.0.0.0/8`.
    pub(crate) fn parse(text: &str) -> Option<Network> {
        let (address, bits) = text.rsplit_once('/')?;
        let address = parse_address(address)?;
        let plain = !bits.is_empty() && bits.len() <= 3 && bits.bytes().all(|byte| byte.is_ascii_digit());
        if !plain || (bits.len() > 1 && bits.starts_with('0')) {
            return None;
        }
        let bits: u8 = bits.parse().ok()?;
        (bits <= width(address)).then_some(Network { address, bits })
    }

    pub(crate) fn text(&self) -> String {
        format!("{}/{}", show_address(self.address), self.bits)
    }

    /// The network with its host bits cleared.
    pub(crate) fn masked(&self) -> Network {
        let address = match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32_u32.saturating_sub(self.bits.into())).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask))
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128_u32.saturating_sub(self.bits.into())).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
            }
        };
        Network { address, bits: self.bits }
    }

    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        width(self.address) == width(address)
            && Network { address, bits: self.bits }.masked().address == self.masked().address
    }

    /// Whether every address of another network is in this one.
    pub(crate) fn contains_network(&self, other: &Network) -> bool {
        self.bits <= other.bits && self.contains(other.address)
    }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written_as_in_go() {
        for (text, shown) in [
            ("1.2.3.4", Some("1.2.3.4")),
            ("::1", Some("::1")),
            ("2001:DB8:0:0:1:0:0:1", Some("2001:db8::1:0:0:1")),
            ("::", Some("::")),
            ("::1.2.3.4", Some("::102:304")),
            ("::ffff:1.2.3.4", None),
            ("01.2.3.4", None),
            ("fe80::1%eth0", None),
            ("1.2.3", None),
        ] {
            assert_eq!(parse_address(text).map(show_address).as_deref(), shown, "{text}");
        }
    }

    #[test]
    fn networks_contain_addresses_and_networks() {
        let network = |text| Network::parse(text).unwrap();
        assert!(network("10.0.0.0/8").contains(parse_address("10.1.2.3").unwrap()));
        assert!(!network("10.0.0.0/8").contains(parse_address("::1").unwrap()));
        assert!(network("10.0.0.0/8").contains_network(&network("10.1.0.0/16")));
        assert!(!network("10.1.0.0/16").contains_network(&network("10.0.0.0/8")));
        assert_eq!(network("10.1.2.3/8").masked().text(), "10.0.0.0/8");
        assert_eq!(network("::1/0").masked().text(), "::/0");
        for text in ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/+8", "/8"] {
            assert!(Network::parse(text).is_none(), "{text}");
        }
    }
}
