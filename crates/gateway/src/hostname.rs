//! Hostnames of listeners and routes, and when two of them meet (rule 2.2).
//!
//! A hostname that is not given matches every request. `*.example.com` stands for every name with at least one more label,
//! never for `example.com` itself. `HostnameIndex` answers how many of a set of hostnames meet another one without
//! comparing each pair.

use std::collections::HashMap;
use std::fmt;

use crate::model::Name;

/// Bytes of the longest hostname that DNS allows. Longer texts match nothing.
const LONGEST: usize = 253;

/// A hostname, in lower case; precise, or a wildcard such as `*.example.com`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hostname(Name);

impl Hostname {
    /// Reads a hostname; an empty text is none, so it matches everything.
    pub fn read(text: &str) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        if text.len() > LONGEST {
            // Cut at a character no hostname has, so that it is shown and never matches.
            let cut: String = text.chars().take(64).chain(std::iter::once('…')).collect();
            return Some(Hostname(cut.into()));
        }
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Some(Hostname(text.to_ascii_lowercase().into()));
        }
        Some(Hostname(text.into()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The domain behind `*.`, for a wildcard.
    fn wildcard_domain(&self) -> Option<&str> {
        self.0.strip_prefix("*.")
    }

    /// Whether some request has a name that both stand for.
    pub fn meets(&self, other: &Hostname) -> bool {
        match (self.wildcard_domain(), other.wildcard_domain()) {
            (None, None) => self == other,
            (Some(domain), None) => is_below(&other.0, domain),
            (None, Some(domain)) => is_below(&self.0, domain),
            (Some(one), Some(two)) => one == two || is_below(one, two) || is_below(two, one),
        }
    }

    /// The narrower of two hostnames that meet.
    fn narrower(&self, other: &Hostname) -> Hostname {
        match (self.wildcard_domain(), other.wildcard_domain()) {
            (None, _) => self.clone(),
            (_, None) => other.clone(),
            (Some(one), Some(two)) => {
                if one.len() >= two.len() {
                    self.clone()
                } else {
                    other.clone()
                }
            }
        }
    }
}

impl fmt::Display for Hostname {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether `name` has at least one label more than `domain`, and ends with it.
fn is_below(name: &str, domain: &str) -> bool {
    name.strip_suffix(domain).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
}

/// Whether the hostnames of a route meet that of a listener. None on either side matches everything.
pub fn route_meets_listener(route: &[Hostname], listener: Option<&Hostname>) -> bool {
    match listener {
        None => true,
        Some(listener) => route.is_empty() || route.iter().any(|hostname| hostname.meets(listener)),
    }
}

/// The hostnames a route has at a listener; empty for all.
pub(crate) fn effective_hostnames(route: &[Hostname], listener: Option<&Hostname>) -> Vec<Hostname> {
    match (route, listener) {
        ([], None) => Vec::new(),
        ([], Some(listener)) => vec![listener.clone()],
        (route, None) => route.to_vec(),
        (route, Some(listener)) => route
            .iter()
            .filter(|hostname| hostname.meets(listener))
            .map(|hostname| hostname.narrower(listener))
            .collect(),
    }
}

/// A set of hostnames that knows how many of its members meet another hostname.
#[derive(Debug, Default)]
pub(crate) struct HostnameIndex {
    total: usize,
    everything: usize,
    precise: HashMap<String, usize>,
    wildcards: HashMap<String, usize>,
    /// How many members lie below a domain.
    below: HashMap<String, usize>,
}

impl HostnameIndex {
    /// Adds a hostname; none for everything.
    pub(crate) fn insert(&mut self, hostname: Option<&Hostname>) {
        self.total += 1;
        let Some(hostname) = hostname else {
            self.everything += 1;
            return;
        };
        let name = if let Some(domain) = hostname.wildcard_domain() {
            *self.wildcards.entry(domain.to_owned()).or_default() += 1;
            domain
        } else {
            *self.precise.entry(hostname.0.to_string()).or_default() += 1;
            hostname.as_str()
        };
        for domain in domains_above(name) {
            *self.below.entry(domain.to_owned()).or_default() += 1;
        }
    }

    /// How many members meet a hostname; none meets all of them.
    pub(crate) fn count_meeting(&self, hostname: Option<&Hostname>) -> usize {
        let Some(hostname) = hostname else { return self.total };
        let count = |map: &HashMap<String, usize>, key: &str| map.get(key).copied().unwrap_or(0);
        let (name, same) = match hostname.wildcard_domain() {
            Some(domain) => (domain, count(&self.wildcards, domain) + count(&self.below, domain)),
            None => (hostname.as_str(), count(&self.precise, hostname.as_str())),
        };
        let above: usize = domains_above(name).map(|domain| count(&self.wildcards, domain)).sum();
        self.everything + same + above
    }

    /// Whether a route with these hostnames (none for everything) meets a member.
    pub(crate) fn meets_any(&self, hostnames: &[Hostname]) -> bool {
        match hostnames {
            [] => self.total > 0,
            some => some.iter().any(|hostname| self.count_meeting(Some(hostname)) > 0),
        }
    }
}

/// The domains that a name lies in, from the narrowest: `a.b.c` is in `b.c` and `c`.
fn domains_above(name: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(name.split_once('.').map(|(_, rest)| rest), |rest| rest.split_once('.').map(|(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn host(text: &str) -> Hostname {
        Hostname::read(text).unwrap()
    }

    #[test]
    fn hostnames_meet_as_the_specification_says() {
        for (one, two, want) in [
            ("example.com", "example.com", true),
            ("Example.com", "example.COM", true),
            ("example.com", "example.org", false),
            ("*.example.com", "a.example.com", true),
            ("*.example.com", "a.b.example.com", true),
            ("*.example.com", "example.com", false),
            ("*.example.com", "aexample.com", false),
            ("*.com", "*.example.com", true),
            ("*.example.com", "*.example.com", true),
            ("*.example.com", "*.example.org", false),
            ("*.example.com", "*.xexample.com", false),
        ] {
            assert_eq!(host(one).meets(&host(two)), want, "{one} {two}");
            assert_eq!(host(two).meets(&host(one)), want, "{two} {one}");
        }
    }

    #[test]
    fn no_hostname_matches_everything() {
        assert_eq!(Hostname::read(""), None);
        assert!(route_meets_listener(&[], Some(&host("a.b"))) && route_meets_listener(&[host("a.b")], None));
        assert!(!route_meets_listener(&[host("a.b"), host("c.b")], Some(&host("*.a.b"))));
        assert_eq!(effective_hostnames(&[host("*.b"), host("c")], Some(&host("a.b"))), [host("a.b")]);
    }

    #[test]
    fn a_text_longer_than_any_hostname_meets_only_itself() {
        let long = host(&"a".repeat(100_000));
        assert!(long.as_str().len() < 100 && !long.meets(&host("*.a")) && !long.meets(&host("a")));
    }

    fn any_hostname() -> impl Strategy<Value = Option<Hostname>> {
        "(\\*\\.)?[ab](\\.[ab]){0,3}|".prop_map(|text| Hostname::read(&text))
    }

    proptest! {
        #[test]
        fn the_index_counts_as_comparing_each_pair_does(
            members in prop::collection::vec(any_hostname(), 0..12), other in any_hostname()
        ) {
            let mut index = HostnameIndex::default();
            for member in &members {
                index.insert(member.as_ref());
            }
            let meet = |member: &Option<Hostname>| match (member, &other) {
                (Some(one), Some(two)) => one.meets(two),
                _ => true,
            };
            let want = members.iter().filter(|member| meet(member)).count();
            prop_assert_eq!(index.count_meeting(other.as_ref()), want);
        }
    }
}
