//! Which listeners of a Gateway and its ListenerSets exclude each other (rule 2.4).
//!
//! Resources come in order of precedence. First every listener that collides with one of an earlier resource drops out;
//! then, among those that are left of the resource, nobody wins: all that collide are in conflict. Listeners are compared
//! by tables of their port, so that many of them are no pairs.

use std::collections::HashMap;

use crate::hostname::Hostname;
use crate::model::{Listener, Protocol, TlsMode};
use crate::settings::{Choices, HttpBesideTls, HttpsBesideTls};
use crate::words::Reason;

/// What listeners of one port have in common.
#[derive(Debug, Default)]
struct PortTable {
    http: usize,
    https: usize,
    tls_terminated: usize,
    tls_passed: usize,
    tcp: usize,
    udp: usize,
    /// Listeners with HTTP, and those with TLS of some kind, by hostname.
    hostnames: HashMap<(bool, Option<Hostname>), usize>,
}

/// The listeners that are in use, by port.
#[derive(Debug)]
pub(super) struct Conflicts<'a> {
    choices: &'a Choices,
    /// Whether a port may both end TLS and pass it on.
    mixed_tls: bool,
    ports: HashMap<u16, PortTable>,
}

impl PortTable {
    fn add(&mut self, listener: &Listener) {
        match listener.protocol {
            Protocol::Http => self.http += 1,
            Protocol::Https => self.https += 1,
            Protocol::Tls if listener.tls_mode() == Some(&TlsMode::Passthrough) => self.tls_passed += 1,
            Protocol::Tls => self.tls_terminated += 1,
            Protocol::Tcp => self.tcp += 1,
            Protocol::Udp => self.udp += 1,
            Protocol::Other(_) => {}
        }
        if let Some(key) = hostname_key(listener) {
            *self.hostnames.entry(key).or_default() += 1;
        }
    }

    /// Why a listener collides with the others in the table; `own` is 1 if it is in the table itself.
    fn collision(&self, listener: &Listener, own: usize, choices: &Choices, mixed_tls: bool) -> Option<Reason> {
        let tls = self.tls_terminated + self.tls_passed;
        let (same_port, excluded) = match listener.protocol {
            Protocol::Udp => (self.udp > own, false),
            Protocol::Tcp => (self.tcp > own, self.http + self.https + tls > 0),
            Protocol::Http => {
                let beside = choices.http_beside_tls == HttpBesideTls::Conflict && self.https + tls > 0;
                (false, self.tcp > 0 || beside)
            }
            Protocol::Https => {
                let http = choices.http_beside_tls == HttpBesideTls::Conflict && self.http > 0;
                let beside = choices.https_beside_tls == HttpsBesideTls::Conflict && tls > 0;
                (false, self.tcp > 0 || http || beside)
            }
            Protocol::Tls => {
                let http = choices.http_beside_tls == HttpBesideTls::Conflict && self.http > 0;
                let beside = choices.https_beside_tls == HttpsBesideTls::Conflict && self.https > 0;
                let other_mode = match listener.tls_mode() {
                    Some(TlsMode::Passthrough) => self.tls_terminated,
                    _ => self.tls_passed,
                };
                (false, self.tcp > 0 || http || beside || (!mixed_tls && other_mode > 0))
            }
            Protocol::Other(_) => (false, false),
        };
        let same_hostname =
            hostname_key(listener).is_some_and(|key| self.hostnames.get(&key).copied().unwrap_or(0) > own);
        match (excluded, same_port || same_hostname) {
            (true, _) => Some(Reason::ProtocolConflict),
            (false, true) => Some(Reason::HostnameConflict),
            (false, false) => None,
        }
    }
}

fn hostname_key(listener: &Listener) -> Option<(bool, Option<Hostname>)> {
    match listener.protocol {
        Protocol::Http => Some((false, listener.hostname.clone())),
        // Both find the listener by the name that the client sends.
        Protocol::Https | Protocol::Tls => Some((true, listener.hostname.clone())),
        _ => None,
    }
}

impl<'a> Conflicts<'a> {
    pub(super) fn new(choices: &'a Choices, mixed_tls: bool) -> Self {
        Conflicts { choices, mixed_tls, ports: HashMap::new() }
    }

    /// Adds the listeners of the next resource; for each, why it is in conflict. `None` listeners take no part.
    pub(super) fn add(&mut self, listeners: &[Option<&Listener>]) -> Vec<Option<Reason>> {
        let port = |listener: &&Listener| listener.port.unwrap_or(0);
        let mut found: Vec<Option<Reason>> = Vec::with_capacity(listeners.len());
        let mut own: HashMap<u16, PortTable> = HashMap::new();
        for listener in listeners {
            let collision = listener.and_then(|listener| {
                let table = self.ports.get(&port(&listener))?;
                table.collision(listener, 0, self.choices, self.mixed_tls)
            });
            if let (None, Some(listener)) = (collision, listener) {
                own.entry(port(listener)).or_default().add(listener);
            }
            found.push(collision);
        }
        for (collision, listener) in found.iter_mut().zip(listeners) {
            let (None, Some(listener)) = (&collision, listener) else { continue };
            *collision =
                own.get(&port(listener)).and_then(|table| table.collision(listener, 1, self.choices, self.mixed_tls));
        }
        for (collision, listener) in found.iter().zip(listeners) {
            if let (None, Some(listener)) = (collision, listener) {
                self.ports.entry(port(listener)).or_default().add(listener);
            }
        }
        found
    }
}
