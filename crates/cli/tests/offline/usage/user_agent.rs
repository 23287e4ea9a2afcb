//! What the program says of itself to the servers it asks.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use crate::Place;

#[test]
fn the_api_server_is_told_who_asks() {
    let place = Place::new();
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", socket.local_addr().unwrap());
    let kubeconfig = serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    });
    place.write("kubeconfig", kubeconfig.to_string());
    let asked = thread::spawn(move || {
        let (mut stream, _) = socket.accept().unwrap();
        let mut request = [0; 4096];
        let read = stream.read(&mut request).unwrap();
        let _ = stream.write_all(b"HTTP/1.1 401 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        String::from_utf8_lossy(&request[..read]).to_lowercase()
    });
    assert_eq!(place.run(&["status", "show", "deploy", "--kubeconfig", "kubeconfig"]).code, 3);
    assert!(asked.join().unwrap().contains(concat!("user-agent: clearway/", env!("CARGO_PKG_VERSION"), "\r\n")));
}
