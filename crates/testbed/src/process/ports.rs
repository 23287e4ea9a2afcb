//! Free ports on loopback.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};

/// The lowest port that is tried.
const LOWEST: u16 = 20_000;
/// The lowest port that Linux gives to outgoing connections, where it does not say otherwise.
const EPHEMERAL: u16 = 32_768;

/// Ports that this process has given out. A server takes its port only after a while, and another one may be looked for meanwhile.
static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// Finds `N` different free ports, and none that was found before.
///
/// The ports lie below those that the system gives to outgoing connections. A server that is killed and started again
/// on its port would otherwise sometimes find it taken by a client: even by one that connected to itself while it tried
/// to reach that very server. Another process may still take a port before the server has it; whoever starts a server
/// tries again with other ports then.
pub(crate) fn free<const N: usize>() -> Result<[u16; N]> {
    let range = LOWEST..first_ephemeral().unwrap_or(EPHEMERAL);
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    // All listeners are held until the last port is found: the system gives no port twice then.
    let mut listeners = Vec::with_capacity(N);
    let mut ports = [0; N];
    for port in &mut ports {
        let listener = bind_below(&range, &given).map_or_else(|| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)), Ok);
        let listener = listener.map_err(Error::io("looking for a free port"))?;
        *port = listener.local_addr().map_err(Error::io("looking for a free port"))?.port();
        given.insert(*port);
        listeners.push(listener);
    }
    Ok(ports)
}

/// A listener on a random port of the range that was not given before; none when the range is empty or many attempts fail.
fn bind_below(range: &std::ops::Range<u16>, given: &BTreeSet<u16>) -> Option<TcpListener> {
    let size = u64::try_from(range.len()).ok().filter(|size| *size > 0)?;
    (0..100).find_map(|_| {
        let port = range.start + u16::try_from(random() % size).ok()?;
        if given.contains(&port) { None } else { TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok() }
    })
}

fn first_ephemeral() -> Option<u16> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// A number that differs between processes and calls; not for secrets.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_free_and_different() {
        // So many that one would be given twice if that could happen.
        let ports: Vec<u16> = (0..50).flat_map(|_| free::<20>().unwrap()).collect();
        let distinct: BTreeSet<_> = ports.iter().collect();
        assert_eq!(distinct.len(), ports.len());
        assert!(ports.iter().all(|port| *port >= LOWEST));
    }
}
