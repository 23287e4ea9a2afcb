//! The open connections of a listener, and which of them is closed to make room for a new one.
//!
//! A listener bounds the number of its connections. Whoever can connect could fill it with connections that ask nothing, and
//! nobody else would be answered. So where there is no room, a connection that waits for its client is closed: of the peer
//! that has the most connections the one that has waited the longest. Who fills a listener closes connections of its own.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The open connections of one listener, by the peer they came from. Cheap to clone; all clones are of the same listener.
pub struct OpenConnections<P>(Arc<Mutex<State<P>>>);

struct State<P> {
    /// Counts what happens; what waits the longest has the smallest number.
    next: u64,
    /// Connections that room is wanted for and could not be made yet.
    wanted: usize,
    open: BTreeMap<u64, Open<P>>,
}

struct Open<P> {
    peer: P,
    /// Since when it waits for its client; nothing while a request is being answered.
    waits_since: Option<u64>,
    close: Box<dyn FnOnce() + Send>,
}

/// One connection; it is closed when this value is dropped.
pub struct OpenConnection<P> {
    all: OpenConnections<P>,
    id: u64,
}

impl<P: Ord> OpenConnections<P> {
    /// Closes a connection that waits for its client. Where all are at work, the next one that waits is closed.
    pub fn make_room(&self) {
        let mut state = self.lock();
        let mut of_peer: BTreeMap<&P, usize> = BTreeMap::new();
        for open in state.open.values() {
            *of_peer.entry(&open.peer).or_default() += 1;
        }
        let waiting = state.open.iter().filter_map(|(id, open)| Some((id, open, open.waits_since?)));
        let worst = waiting.max_by_key(|(_, open, since)| (of_peer.get(&open.peer), std::cmp::Reverse(*since)));
        match worst.map(|(id, ..)| *id) {
            Some(id) => {
                let closed = state.open.remove(&id);
                drop(state);
                if let Some(open) = closed {
                    (open.close)();
                }
            }
            None => state.wanted = state.wanted.saturating_add(1),
        }
    }
}

impl<P> OpenConnections<P> {
    /// Notes a new connection, which waits for its client. `close` is called if another one needs its room.
    pub fn add(&self, peer: P, close: impl FnOnce() + Send + 'static) -> OpenConnection<P> {
        let mut state = self.lock();
        let id = state.count();
        state.open.insert(id, Open { peer, waits_since: Some(id), close: Box::new(close) });
        OpenConnection { all: OpenConnections(Arc::clone(&self.0)), id }
    }

    fn lock(&self) -> MutexGuard<'_, State<P>> {
        // Every change is whole before anything else is called, so a panic elsewhere leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P> State<P> {
    fn count(&mut self) -> u64 {
        let number = self.next;
        self.next = number.wrapping_add(1);
        number
    }
}

impl<P> OpenConnection<P> {
    /// The client has sent all of a request, which is being answered: the connection is not closed for another one.
    pub fn works(&self) {
        if let Some(open) = self.all.lock().open.get_mut(&self.id) {
            open.waits_since = None;
        }
    }

    /// From now on the client is waited for: until it has sent a request, or the rest of one.
    pub fn waits(&self) {
        let mut state = self.all.lock();
        let number = state.count();
        let Some(open) = state.open.get_mut(&self.id) else { return };
        open.waits_since = Some(number);
        if let Some(left) = state.wanted.checked_sub(1) {
            state.wanted = left;
            let closed = state.open.remove(&self.id);
            drop(state);
            if let Some(open) = closed {
                (open.close)();
            }
        }
    }
}

impl<P> Drop for OpenConnection<P> {
    fn drop(&mut self) {
        let mut state = self.all.lock();
        if state.open.remove(&self.id).is_some() {
            // There is room now.
            state.wanted = state.wanted.saturating_sub(1);
        }
    }
}

impl<P> Default for OpenConnections<P> {
    fn default() -> Self {
        OpenConnections(Arc::new(Mutex::new(State { next: 0, wanted: 0, open: BTreeMap::new() })))
    }
}

impl<P> Clone for OpenConnections<P> {
    fn clone(&self) -> Self {
        OpenConnections(Arc::clone(&self.0))
    }
}

impl<P> fmt::Debug for OpenConnections<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenConnections").field("open", &self.lock().open.len()).finish_non_exhaustive()
    }
}

impl<P> fmt::Debug for OpenConnection<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenConnection").field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Connections with a name each, and the names of those that were closed for others.
    #[derive(Default)]
    struct Listener {
        open: OpenConnections<&'static str>,
        closed: Arc<Mutex<Vec<&'static str>>>,
    }

    impl Listener {
        fn add(&self, peer: &'static str, name: &'static str) -> OpenConnection<&'static str> {
            let closed = Arc::clone(&self.closed);
            self.open.add(peer, move || closed.lock().unwrap().push(name))
        }

        /// What is closed to make room once.
        fn closed(&self) -> Vec<&'static str> {
            self.open.make_room();
            std::mem::take(&mut self.closed.lock().unwrap())
        }
    }

    #[test]
    fn who_has_the_most_connections_closes_its_own() {
        let listener = Listener::default();
        let _server = listener.add("server", "server 1");
        let attack = ["attack 1", "attack 2", "attack 3", "attack 4"].map(|name| listener.add("attacker", name));
        attack[0].waits();
        attack[2].works();
        // The first was heard of later than the second, and the third is at work.
        assert_eq!([listener.closed(), listener.closed()], [["attack 2"], ["attack 4"]]);
        assert_eq!(listener.closed(), ["attack 1"]);
        // Now both have one, and that of the attacker is at work.
        assert_eq!(listener.closed(), ["server 1"]);
    }

    #[test]
    fn of_peers_with_as_many_connections_the_longest_wait_ends() {
        let listener = Listener::default();
        let [a, _b, _c] = [("a", "1"), ("b", "2"), ("c", "3")].map(|(peer, name)| listener.add(peer, name));
        a.waits();
        assert_eq!([listener.closed(), listener.closed(), listener.closed()], [["2"], ["3"], ["1"]]);
    }

    #[test]
    fn while_all_are_at_work_the_next_that_waits_is_closed() {
        let listener = Listener::default();
        let [a, b] = ["1", "2"].map(|name| listener.add("a", name));
        a.works();
        b.works();
        assert_eq!(listener.closed(), [""; 0]);
        b.waits();
        assert_eq!(std::mem::take(&mut *listener.closed.lock().unwrap()), ["2"]);
        // Room was made once, so the other one stays.
        a.waits();
        assert_eq!(*listener.closed.lock().unwrap(), [""; 0]);
    }

    #[test]
    fn a_connection_that_ends_makes_room_as_well() {
        let listener = Listener::default();
        let [a, b] = ["1", "2"].map(|name| listener.add("a", name));
        a.works();
        b.works();
        assert_eq!(listener.closed(), [""; 0]);
        drop(a);
        b.waits();
        assert_eq!(*listener.closed.lock().unwrap(), [""; 0]);
        drop(b);
        assert_eq!(listener.closed(), [""; 0]);
    }
}
