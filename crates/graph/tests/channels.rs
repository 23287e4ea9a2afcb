//! Channels are loaded in a time that grows with their number, and not with its square: 100,000 of them are within the cap.

use clearway_core::Limits;
use clearway_graph::{Inputs, load};

/// Graph-data with so many channels of two versions each.
fn inputs(channels: usize) -> Inputs {
    let release = |patch: usize| format!(r#"{{"version":"1.0.{patch}","arch":"amd64","payload":"p","previous":[]}}"#);
    let releases: Vec<String> = (0..1_000).map(release).collect();
    let mut files = vec![
        ("version".to_owned(), "1.1.0\n".to_owned()),
        ("releases/all.json".to_owned(), format!("[{}]", releases.join(","))),
    ];
    files.extend((0..channels).map(|number| {
        let (one, other) = (number % 1_000, (number + 1) % 1_000);
        let text = format!("name: c{number}\nversions: [1.0.{one}, 1.0.{other}]\n");
        (format!("channels/c{number}.yaml"), text)
    }));
    files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect()
}

/// The nanoseconds that this thread has computed for, which do not grow while it waits for a processor.
fn computed() -> u64 {
    let path = "/proc/thread-self/schedstat";
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("cannot read {path}: {error}"));
    text.split(' ').next().unwrap().parse().unwrap()
}

/// How long loading so many channels takes.
fn work(channels: usize) -> u64 {
    let inputs = inputs(channels);
    let before = computed();
    let loaded = load(&inputs, &Limits::for_graph_data());
    let after = computed();
    assert_eq!(loaded.revision.unwrap().channels().count(), channels);
    after - before
}

#[test]
fn many_channels_load_in_linear_time() {
    const FEW: usize = 2_500;
    const TIMES: usize = 16;
    let few = (0..3).map(|_| work(FEW)).min().unwrap();
    let many = work(FEW * TIMES);
    // Sixteen times as many take some sixteen times as long, and 256 times as long if every one is compared with every other.
    assert!(many < few * 64, "{few} ns for {FEW}, {many} ns for {}", FEW * TIMES);
}
