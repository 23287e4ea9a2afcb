//! A gate between a program and the API server: it opens for so many bytes, and then waits.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};

use super::lab::Lab;

/// Bytes that pass on the way to the program before the gate closes.
#[derive(Default)]
struct State {
    passed: usize,
    closes_after: Option<usize>,
}

pub(crate) struct Gate {
    state: Arc<(Mutex<State>, Condvar)>,
    /// Through which the program reaches the API server.
    pub(crate) kubeconfig: PathBuf,
}

impl Gate {
    /// A gate that closes after so many bytes of answers.
    pub(crate) fn closing_after(lab: &Lab, bytes: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = lab.cluster.url().strip_prefix("https://").unwrap().trim_end_matches('/').to_owned();
        let text = fs::read_to_string(lab.cluster.kubeconfig()).unwrap();
        assert!(text.contains(&server), "{text}");
        let kubeconfig = lab.directory.path().join("gate.kubeconfig");
        fs::write(&kubeconfig, text.replace(&server, &listener.local_addr().unwrap().to_string())).unwrap();
        let state = Arc::new((Mutex::new(State { passed: 0, closes_after: Some(bytes) }), Condvar::new()));
        let shared = state.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(upstream)) = (client, TcpStream::connect(&server)) else { continue };
                let (to_server, to_client) = (upstream.try_clone().unwrap(), client.try_clone().unwrap());
                std::thread::spawn(move || copy(client, to_server, |_| {}));
                let shared = shared.clone();
                std::thread::spawn(move || copy(upstream, to_client, |bytes| pass(&shared, bytes)));
            }
        });
        Gate { state, kubeconfig }
    }

    /// Waits until the gate has closed; false if the program ended before.
    pub(crate) fn is_closed(&self) -> bool {
        let state = self.state.0.lock().unwrap();
        state.closes_after.is_some_and(|limit| state.passed >= limit)
    }

    /// Opens it for good.
    pub(crate) fn open(&self) {
        self.state.0.lock().unwrap().closes_after = None;
        self.state.1.notify_all();
    }
}

fn pass(state: &(Mutex<State>, Condvar), bytes: usize) {
    let mut held = state.0.lock().unwrap();
    held.passed += bytes;
    while held.closes_after.is_some_and(|limit| held.passed >= limit) {
        held = state.1.wait(held).unwrap();
    }
}

/// Copies until one side ends, and then ends the other.
fn copy(mut from: TcpStream, mut to: TcpStream, passing: impl Fn(usize)) {
    let mut buffer = [0; 1 << 14];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        passing(count);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
