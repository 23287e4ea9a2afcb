//! Servers that do not answer: a person is told soon what is waited for, or tried again.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::Stdio;

use crate::Place;

/// Runs a command until it says on standard error that it waits, and ends it.
fn waits(place: &Place, line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let mut child = place.command(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let errors = BufReader::new(child.stderr.take().unwrap());
    let mut told = String::new();
    for line in errors.lines().map_while(Result::ok) {
        told = line;
        if told.starts_with("waiting: ") {
            break;
        }
    }
    let _ = child.kill();
    child.wait().unwrap();
    told
}

#[test]
fn a_server_that_accepts_and_is_silent_is_named_while_it_is_waited_for() {
    // The system accepts connections for it, and nobody ever answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let place = Place::new();
    place.write(
        "kube.yaml",
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{{name: a, context: {{cluster: a, user: a}}}}]\n\
             clusters: [{{name: a, cluster: {{server: 'http://{address}'}}}}]\nusers: [{{name: a, user: {{}}}}]\n"
        ),
    );
    let graph = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/graph-data");
    let lines = [
        format!("graph show c --graph http://{address}/api"),
        format!("graph show c --graph oci://{address}/graph-data:1"),
        format!("assess --graph {graph} --channel stable-1.5 --version 1.4.2 --prometheus http://{address}"),
        "status show deploy --kubeconfig kube.yaml".to_owned(),
    ];
    let (place, address) = (&place, address.to_string());
    let address = address.as_str();
    std::thread::scope(|scope| {
        for line in &lines {
            scope.spawn(move || {
                let told = waits(place, line);
                assert!(told.starts_with("waiting: no answer from ") && told.contains(address), "{line}: {told}");
                assert!(told.contains(" seconds; waiting for up to "), "{line}: {told}");
            });
        }
    });
}

#[test]
fn a_registry_that_refuses_connections_is_named_with_the_attempts() {
    // Nobody listens there any more.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let told = waits(&Place::new(), &format!("release show oci://{address}/platform:1.5.0"));
    assert!(told.starts_with(&format!("waiting: cannot reach {address}/platform:1.5.0: ")), "{told}");
    assert!(told.contains("; attempt 3 of 12 failed, trying again in "), "{told}");
}
