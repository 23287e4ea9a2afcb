//! Odd input: it is refused or answered, nothing panics, no connection is left behind, and others are served as before
//! (U16, U22).

use crate::client::{Client, request};
use crate::site::{CANDIDATE, Data, EMPTY, PREFIX, Site};

/// The service answers as it should, and every connection of the test has ended.
async fn unharmed(site: &Site) {
    site.connections(0).await;
    assert_eq!(site.graph("c").await.versions(), ["1.0.0"]);
}

#[tokio::test]
async fn header_values_may_be_any_bytes() {
    let data = Data::of(&["1.0.0"]);
    let site = Site::start(data.config()).await;
    for (name, status) in [
        ("Accept", 406),
        ("Accept-Encoding", 200),
        ("If-None-Match", 200),
        ("Origin", 200),
        ("User-Agent", 200),
        ("X-Forwarded-For", 200),
        ("Cookie", 200),
    ] {
        for value in [b"\xff\xfe".as_slice(), "grün, \u{1f600};q=ü".as_bytes(), b"\xc3\x28\x80"] {
            let mut client = Client::connect(site.address).await;
            client.write(format!("GET {PREFIX}/graph?channel=c HTTP/1.1\r\n{name}: ").as_bytes()).await.unwrap();
            client.write(value).await.unwrap();
            client.write(b"\r\n\r\n").await.unwrap();
            assert_eq!(client.read(false).await.unwrap().status, status, "{name}: {value:?}");
        }
    }
    unharmed(&site).await;
}

#[tokio::test]
async fn what_is_too_long_is_refused_by_name() {
    let data = Data::of(&["1.0.0"]);
    let site = Site::start(data.config()).await;
    // An address of a length that is looked at, and longer ones.
    let padded = |length: usize| {
        let start = format!("{PREFIX}/graph?channel=c&id=");
        // The question mark is no part of path and query.
        format!("{start}{}", "x".repeat(length + 1 - start.len()))
    };
    assert_eq!(site.get(&padded(4096)).await.versions(), ["1.0.0"]);
    let long = site.get(&padded(4097)).await;
    assert_eq!((long.status, long.json()["kind"].as_str()), (414, Some("uri_too_long")));
    for (target, headers, status) in [
        (format!("/{}", "x".repeat(10_000)), 0, 414),
        (format!("{PREFIX}/graph?{}", "a=b&".repeat(2_000)), 0, 414),
        (padded(4096), 20_000, 431),
        (format!("{PREFIX}/graph?channel=c"), 1_000_000, 431),
    ] {
        let mut client = Client::connect(site.address).await;
        let text = request("GET", &target, &[("X-Long", &"y".repeat(headers))]);
        // The server may refuse while the rest is still being sent.
        let _ = client.write(text.as_bytes()).await;
        let reply = client.read(false).await.map(|reply| reply.status);
        // A refusal that comes while the client still writes may be lost with the connection.
        assert!(
            reply.is_err() && headers > 100_000 || reply.as_ref().is_ok_and(|seen| *seen == status),
            "{status}: {reply:?}"
        );
    }
    let many = "X-Many: y\r\n".repeat(200);
    let mut client = Client::connect(site.address).await;
    client.write(format!("GET {PREFIX}/graph?channel=c HTTP/1.1\r\n{many}\r\n").as_bytes()).await.unwrap();
    assert_eq!(client.read(false).await.unwrap().status, 431, "more headers than anybody sends");
    drop(client);
    unharmed(&site).await;
}

#[tokio::test]
async fn ten_thousand_parameters_and_absurd_addresses_are_answered_or_refused() {
    let data = Data::of(&["1.0.0"]);
    let mut config = data.config();
    config.listen.head_bytes = 256 << 10;
    let site = Site::start(config).await;
    let parameters: Vec<String> = (0..10_000).map(|number| format!("&p{number}={number}")).collect();
    let parameters = parameters.concat();
    let separators = "&".repeat(3_000);
    for (target, status) in [
        (format!("{PREFIX}/graph?channel=c{parameters}"), 414),
        (format!("{PREFIX}/graph?channel=c{separators}"), 200),
        (format!("{PREFIX}/graph?{}channel=c", "channel=x&".repeat(300)), 200),
        (format!("{PREFIX}/graph?channel=c?channel=d"), 400),
        (format!("{PREFIX}/graph?%00%ff%2525=%&channel=c"), 200),
        (format!("{PREFIX}/graph?channel=c#fragment"), 200),
        (format!("{PREFIX}/{}graph", "../".repeat(500)), 404),
        (format!("{PREFIX}/signatures/{}", "%2e%2e%2f".repeat(300)), 400),
        (format!("{PREFIX}/signatures/sha256={}/x", "a".repeat(3_000)), 404),
        ("/%".to_owned(), 404),
        ("/\u{7f}".to_owned(), 400),
        ("//".to_owned(), 404),
        ("?channel=c".to_owned(), 400),
        ("http://".to_owned(), 400),
        ("http://[::1".to_owned(), 400),
        ("http://user:secret@host:99999/graph".to_owned(), 404),
        ("/".repeat(200_000), 414),
    ] {
        let shown: String = target.chars().take(60).collect();
        let reply = Client::connect(site.address).await.ask("GET", &target, &[]).await;
        let reply = reply.unwrap_or_else(|error| panic!("{shown}: {error}"));
        assert_eq!(reply.status, status, "{shown}: {}", reply.text());
    }
    unharmed(&site).await;
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let data = Data::of(&["1.0.0"]);
    let site = Site::start(data.config()).await;
    let mut client = Client::connect(site.address).await;
    let kinds = [("GET", "c"), ("GET", "none"), ("HEAD", "c"), ("GET", "Wrong"), ("POST", "c")];
    let mut all = String::new();
    for number in 0..200 {
        let (method, channel) = kinds[number % kinds.len()];
        all += &request(method, &format!("{PREFIX}/graph?channel={channel}&id={number}"), &[]);
    }
    client.write(all.as_bytes()).await.unwrap();
    for number in 0..200 {
        let (method, channel) = kinds[number % kinds.len()];
        let reply = client.read(method == "HEAD").await.unwrap();
        match (method, channel) {
            ("GET", "c") => assert_eq!(reply.versions(), ["1.0.0"], "{number}"),
            ("GET", "none") => assert_eq!(reply.text(), EMPTY, "{number}"),
            ("HEAD", _) => assert_eq!((reply.status, reply.body.len()), (200, 0), "{number}"),
            ("GET", _) => assert_eq!(reply.status, 400, "{number}"),
            _ => assert_eq!(reply.status, 405, "{number}"),
        }
    }
    // An answer does not wait for a request of which only the beginning is there.
    let next = request("GET", &format!("{PREFIX}/graph?channel=none"), &[]);
    let (begin, rest) = next.split_at(20);
    client.write((request("GET", &format!("{PREFIX}/graph?channel=c"), &[]) + begin).as_bytes()).await.unwrap();
    assert_eq!(client.read(false).await.unwrap().versions(), ["1.0.0"]);
    client.write(rest.as_bytes()).await.unwrap();
    assert_eq!(client.read(false).await.unwrap().text(), EMPTY);
    drop(client);
    unharmed(&site).await;
}

#[tokio::test]
async fn old_clients_are_answered_in_their_own_way() {
    let data = Data::of(&["1.0.0"]);
    let mut config = data.config();
    // Less than can be: it is taken for the least that can.
    config.listen.head_bytes = 1;
    let site = Site::start(config).await;
    let target = format!("{PREFIX}/graph?channel=c");
    let mut client = Client::connect(site.address).await;
    client.write(format!("GET {target} HTTP/1.0\r\n\r\n").as_bytes()).await.unwrap();
    assert_eq!(client.read(false).await.unwrap().versions(), ["1.0.0"]);
    assert_eq!(client.ended().await, 0);
    let mut client = Client::connect(site.address).await;
    for _ in 0..2 {
        client.write(format!("GET {target} HTTP/1.0\nConnection: keep-alive\n\n").as_bytes()).await.unwrap();
        assert_eq!(client.read(false).await.unwrap().versions(), ["1.0.0"]);
    }
    let reply = client.ask("GET", &target, &[("Connection", "close")]).await.unwrap();
    assert_eq!(reply.header("connection"), Some("close"));
    assert_eq!(client.ended().await, 0);
    unharmed(&site).await;
}

#[tokio::test]
async fn who_closes_his_half_after_asking_is_answered() {
    let data = Data::example();
    data.write("signatures/sha256/ab/signature-1", vec![7; 4 << 20]);
    let site = Site::start(data.config()).await;
    let large = format!("{PREFIX}/signatures/sha256=ab/signature-1");
    for (target, size) in [(CANDIDATE, site.get(CANDIDATE).await.body.len()), (large.as_str(), 4 << 20)] {
        let mut client = Client::connect(site.address).await;
        client.write((request("GET", target, &[]) + &request("GET", target, &[])).as_bytes()).await.unwrap();
        client.half_close().await;
        for _ in 0..2 {
            assert_eq!(client.read(false).await.unwrap().body.len(), size);
        }
        assert_eq!(client.ended().await, 0, "and then the server closes as well");
    }
    // Whoever closes in the middle of a request is not answered, and not waited for.
    let mut client = Client::connect(site.address).await;
    client.write(b"GET /api/upgrades_info/gr").await.unwrap();
    client.half_close().await;
    client.ended().await;
    site.connections(0).await;
}

#[tokio::test]
async fn what_is_no_request_ends_the_connection_and_nothing_else() {
    let data = Data::of(&["1.0.0"]);
    let site = Site::start(data.config()).await;
    // The first bytes of a TLS connection, of HTTP/2, of SSH, and of nothing at all.
    let hello = [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".as_slice(), &[0xAB; 500]].concat();
    let noise: Vec<u8> = (0..60_000_u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let zeros = vec![0; 20_000];
    // What begins like a request is told what is wrong with it.
    let cases: [(&[u8], Option<u16>); 14] = [
        (&hello, Some(400)),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", None),
        (b"SSH-2.0-OpenSSH_9.7\r\n", Some(400)),
        (&noise, None),
        (&zeros, None),
        (b"\r\n\r\n\r\n\r\nGET", None),
        (b"GET\r\n\r\n", Some(400)),
        (b"GET /\r\n\r\n", Some(400)),
        (b"GET / HTTP/1.1 extra\r\n\r\n", Some(400)),
        (b"GET / HTTP/9.9\r\n\r\n", Some(400)),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", Some(400)),
        (b"GET / HTTP/1.1\r\nbad name: x\r\n\r\n", Some(400)),
        (b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", Some(400)),
        (b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", Some(400)),
    ];
    for (bytes, status) in cases {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).into_owned();
        let mut client = Client::connect(site.address).await;
        // The server may have closed before all of it was sent.
        let written = client.write(bytes).await;
        if written.is_ok() {
            client.half_close().await;
        }
        let reply = client.read(false).await.map(|reply| reply.status).ok();
        assert!(reply == status || status.is_none(), "{shown:?}: {reply:?}");
        assert!(reply.is_none_or(|reply| (400..500).contains(&reply)), "{shown:?}: {reply:?}");
        client.ended().await;
    }
    unharmed(&site).await;
}

#[tokio::test]
async fn bodies_of_requests_are_not_waited_for() {
    let data = Data::of(&["1.0.0"]);
    let site = Site::start(data.config()).await;
    let target = format!("{PREFIX}/graph?channel=c");
    for (method, headers, status) in [
        ("GET", [("Content-Length", "10")].as_slice(), 200),
        ("GET", &[("Transfer-Encoding", "chunked")], 200),
        ("HEAD", &[("Content-Length", "999999999999")], 200),
        ("POST", &[("Content-Length", "10")], 405),
        ("POST", &[("Content-Length", "10"), ("Expect", "100-continue")], 405),
    ] {
        let mut client = Client::connect(site.address).await;
        let reply = client.ask(method, &target, headers).await.unwrap();
        assert_eq!(reply.status, status, "{method} {headers:?}");
        // What would come next on this connection is anybody's guess, so it ends.
        client.ended().await;
    }
    // A body that did come is passed over, and the connection goes on.
    let mut client = Client::connect(site.address).await;
    for _ in 0..3 {
        let text = request("GET", &target, &[("Content-Length", "4")]) + "body";
        client.write(text.as_bytes()).await.unwrap();
        assert_eq!(client.read(false).await.unwrap().versions(), ["1.0.0"]);
    }
    drop(client);
    unharmed(&site).await;
}

#[tokio::test]
async fn resets_at_any_moment_leave_nothing_behind() {
    let data = Data::of(&["1.0.0"]);
    data.write("signatures/sha256/ab/signature-1", vec![7; 4 << 20]);
    let site = Site::start(data.config()).await;
    let target = format!("{PREFIX}/signatures/sha256=ab/signature-1");
    let asked = request("GET", &target, &[]);
    for sent in (0..asked.len()).step_by(9).chain([asked.len(); 20]) {
        let mut client = Client::connect_narrow(site.address).await;
        client.write(&asked.as_bytes()[..sent]).await.unwrap();
        if sent == asked.len() {
            client.read_head().await.unwrap();
        }
        client.reset();
    }
    unharmed(&site).await;
}
