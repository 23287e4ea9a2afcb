//! What goes wrong, each as an error of its own kind, with the address and without a secret.

use clearway_advice::evidence::FailureClass;
use clearway_promql::eval::Value;
use clearway_sources::prometheus::{CollectLimits, Measure, Prometheus, PrometheusError, PrometheusOptions, Window};

use crate::server::{Answer, Asked, Server, one, one_at, say};
use crate::{at, patient, quick, refused};

#[tokio::test]
async fn every_fault_has_its_kind_and_says_where() {
    type Script = fn(&Asked) -> Answer;
    let cases: [(Script, &str, FailureClass, &str); 17] = [
        (|_| Answer::Stall, "timeout", FailureClass::Timeout, "no complete answer within 300ms"),
        (|_| Answer::Hang, "timeout", FailureClass::Timeout, "no complete answer within 300ms"),
        (|_| Answer::Endless, "too_large", FailureClass::Budget, "more than 100000 bytes; select fewer series"),
        (|_| say(200, "<html>\nlog in"), "not_an_answer", FailureClass::Unreachable, "a web page"),
        (|_| say(200, ""), "not_an_answer", FailureClass::Unreachable, "the answer is empty"),
        (|_| say(200, "{\"nodes\":[]}"), "not_an_answer", FailureClass::Unreachable, "missing field `status`"),
        (
            |_| say(200, "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[{}"),
            "not_an_answer",
            FailureClass::Unreachable,
            "EOF",
        ),
        (
            |_| say(200, "{\"status\":\"success\",\"data\":{\"resultType\":\"streams\",\"result\":[]}}"),
            "not_an_answer",
            FailureClass::Unreachable,
            "`streams`",
        ),
        (|_| say(503, "<html>busy</html>"), "refused", FailureClass::Unreachable, "/api/v1/query answers 503"),
        (
            |_| say(503, "{\"status\":\"error\",\"errorType\":\"timeout\",\"error\":\"too\\nslow\"}"),
            "refused",
            FailureClass::Timeout,
            "answers 503 (timeout): too slow",
        ),
        (
            |_| say(422, "{\"status\":\"error\",\"errorType\":\"execution\",\"error\":\"many-to-many\"}"),
            "refused",
            FailureClass::Evaluation,
            "answers 422 (execution): many-to-many",
        ),
        (
            |_| say(400, "{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"what?\"}"),
            "refused",
            FailureClass::Evaluation,
            "answers 400 (bad_data): what?",
        ),
        (
            |_| say(200, "{\"status\":\"error\",\"errorType\":\"canceled\",\"error\":\"\"}"),
            "refused",
            FailureClass::Unreachable,
            "answers 200 (canceled)",
        ),
        (|_| say(401, "Unauthorized\n"), "refused", FailureClass::Unauthorized, "answers 401: Unauthorized"),
        // A body of the API does not make a success of another status.
        (
            |_| say(206, "{\"status\":\"success\",\"data\":{\"resultType\":\"scalar\",\"result\":[1,\"1\"]}}"),
            "refused",
            FailureClass::Unreachable,
            "answers 206",
        ),
        (
            |_| {
                say(
                    200,
                    "{\"status\":\"success\",\"warnings\":[\"store\\n1 is gone\",\"2 too\"],\"data\":{\"resultType\":\"vector\",\"result\":[]}}",
                )
            },
            "partial_response",
            FailureClass::Partial,
            "may be partial: store 1 is gone; 2 too",
        ),
        // VictoriaMetrics marks an answer that some of its stores did not contribute to.
        (
            |_| {
                say(
                    200,
                    "{\"status\":\"success\",\"isPartial\":true,\"data\":{\"resultType\":\"scalar\",\"result\":[1,\"0\"]}}",
                )
            },
            "partial_response",
            FailureClass::Partial,
            "may be partial: the answer is marked as partial",
        ),
    ];
    for (script, kind, class, words) in cases {
        let server = Server::start(script).await;
        let url = format!("http://me:hunter2@{}/?key=hunter2", server.host);
        let options = if words.contains("within 300ms") { quick() } else { patient() };
        let error =
            refused(&Prometheus::new(&url, &PrometheusOptions { body_bytes: 100_000, ..options }).unwrap()).await;
        let text = error.to_string();
        assert_eq!((error.kind(), error.class()), (kind, class), "{text}");
        assert!(text.contains(&format!("http://{}/api/v1/query", server.host)) && text.contains(words), "{text}");
        assert!(!format!("{error:?}").contains("hunter2") && !text.contains('\n'), "{error:?}");
    }
}

#[tokio::test]
async fn nobody_there_is_said_so() {
    let gone = {
        let server = Server::start(|_| one()).await;
        server.url()
    };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    for url in [gone, closed] {
        let error = refused(&at(&url)).await;
        assert!(error.kind() == "unreachable" && error.class() == FailureClass::Unreachable, "{error}");
    }
}

#[tokio::test]
async fn a_form_is_sent_and_an_address_where_forms_are_not_taken() {
    let server = Server::start(|asked| if asked.line.starts_with("POST") { say(405, "no") } else { one_at(5) }).await;
    let prometheus = at(&format!("{}/prefix?tenant=a", server.url()));
    let time = clearway_core::Timestamp::from_seconds(7).unwrap();
    let answered = prometheus.instant("up{a=\"b&c\"} + 1", Some(time)).await.unwrap();
    assert!(matches!(answered.value, Value::Vector(samples) if samples.len() == 1));
    assert_eq!((answered.time, answered.infos), (Some(5_000), vec!["mind".to_owned()]));
    let asked = server.take();
    let form = "query=up%7Ba%3D%22b%26c%22%7D+%2B+1&time=7&timeout=30000ms";
    assert_eq!((asked[0].line.as_str(), asked[0].body.as_str()), ("POST /prefix/api/v1/query?tenant=a", form));
    assert_eq!(asked[0].header("content-type"), "application/x-www-form-urlencoded");
    assert_eq!(asked[1].line, format!("GET /prefix/api/v1/query?tenant=a&{form}"));
    assert_eq!(asked.len(), 2);
}

#[tokio::test]
async fn a_redirect_does_not_lose_the_question_nor_leak_the_token() {
    let token = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(token.path(), "hunter2").unwrap();
    let there = Server::start(|asked| {
        let empty = asked.body.is_empty() && !asked.line.contains("query=");
        if empty { say(400, "{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"no query\"}") } else { one() }
    })
    .await;
    let port = there.host.rsplit_once(':').unwrap().1.to_owned();
    for (status, host) in
        [301, 302, 307, 308].into_iter().flat_map(|status| [(status, "127.0.0.1"), (status, "localhost")])
    {
        // Another port is somebody else, who is not to have the token; another host is not asked at all.
        let location = format!("http://{host}:{port}");
        let here = Server::start(move |asked| {
            let path = asked.line.split_once(' ').unwrap().1;
            Answer::Say(status, vec![("location", format!("{location}{path}"))], Vec::new())
        })
        .await;
        let options = PrometheusOptions { token_file: Some(token.path().to_owned()), ..PrometheusOptions::default() };
        let prometheus = Prometheus::new(&here.url(), &options).unwrap();
        let outcome = prometheus.instant("up", None).await.map_err(|error| error.to_string());
        assert!(here.take().iter().all(|asked| asked.header("authorization") == "Bearer hunter2"));
        let asked = there.take();
        assert!(asked.iter().all(|asked| asked.header("authorization").is_empty()));
        if host == "localhost" {
            assert!(outcome.unwrap_err().contains("redirects to another host"), "{status}");
            assert!(asked.is_empty(), "{status}");
        } else {
            outcome.unwrap_or_else(|error| panic!("{status}: {error}"));
        }
    }
}

#[tokio::test]
async fn the_token_is_read_for_every_request_and_never_shown() {
    let server = Server::start(|asked| match asked.header("authorization") {
        "Bearer good" => one(),
        _ => say(401, "Unauthorized"),
    })
    .await;
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("token");
    let options = PrometheusOptions { token_file: Some(path.clone()), ..PrometheusOptions::default() };
    let prometheus = Prometheus::new(&server.url().replace("//", "//me:pass@"), &options).unwrap();
    assert!(matches!(refused(&at(&server.url())).await, PrometheusError::Refused { status: 401, .. }));
    for (content, words) in [
        (None, "token cannot be used as a bearer token: No such file"),
        (Some(" \n".to_owned()), "it is empty"),
        (Some("hunter2\nhunter3".to_owned()), "it is not one line"),
        (Some("hunter2".repeat(10_000)), "it is larger than 65536 bytes"),
        (Some("hunter2".to_owned()), "answers 401"),
    ] {
        if let Some(content) = content {
            std::fs::write(&path, content).unwrap();
        }
        let error = refused(&prometheus).await;
        assert!(error.to_string().contains(words), "{error}");
        assert!(!format!("{error:?}{prometheus:?}").contains("hunter"), "{error:?}");
    }
    std::fs::write(&path, "good\n").unwrap();
    prometheus.instant("up", None).await.unwrap();
}

#[tokio::test]
async fn a_user_in_the_address_is_sent() {
    let server = Server::start(|_| one()).await;
    at(&server.url().replace("//", "//me:pass@")).instant("up", None).await.unwrap();
    assert_eq!(server.take()[0].header("authorization"), "Basic bWU6cGFzcw==");
}

#[tokio::test]
async fn what_is_left_of_a_limit_is_what_the_next_window_has() {
    let body =
        r#"{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"a":"b"},"values":[[1,"1"]]}]}}"#;
    let server = Server::start(move |_| say(200, body)).await;
    let window = |name: &str| Window { selector: name.to_owned(), end: 1_500, width: 60_000, instant: false };
    let limits = CollectLimits { bytes: body.len() as u64 + 10, ..CollectLimits::default() };
    let collected = at(&server.url()).series_of(&[window("a"), window("b")], &limits, &|_, _| {}).await.unwrap();
    assert_eq!((collected.series.len(), collected.complete.len()), (1, 1));
    let why = &collected.left_out[0].why;
    let of_all =
        matches!(why, PrometheusError::TooLarge { measure: Measure::Bytes, limit, .. } if *limit == limits.bytes);
    assert!(of_all, "{why}");
    assert!(server.take()[0].body.starts_with("query=a%5B1m%5D&time=1.5&"));
}

/// What a cache replays of another time would be a window without a current sample, which many rules take for "no".
#[tokio::test]
async fn a_window_with_samples_of_another_time_is_left_out_by_name() {
    let (end, width) = (1_000_000_000_i64, 300_000);
    let matrix = |time: i64| {
        let millis = format!("{}.{:03}", time / 1_000, time % 1_000);
        let result = format!(r#"[{{"metric":{{"a":"b"}},"values":[[{millis},"1"]]}}]"#);
        say(200, &format!(r#"{{"status":"success","data":{{"resultType":"matrix","result":{result}}}}}"#))
    };
    // The times of answers may differ by a minute, and nobody answers with what is still to come.
    for (time, alive, whole) in [
        (end, end, true),
        (end - width, end, true),
        (end - width - 60_000, end, true),
        (end - width - 60_001, end, false),
        (end + 1, end, false),
        (0, end, false),
        (end, end - 60_000, true),
        (end, end - 61_000, false),
        (end, end + 61_000, false),
    ] {
        let script = move |asked: &Asked| if asked.body.contains("%5B") { matrix(time) } else { one_at(alive / 1_000) };
        let server = Server::start(script).await;
        let window = Window { selector: "a".to_owned(), end, width, instant: true };
        let windows = [window.clone()];
        let collected = at(&server.url()).series_of(&windows, &CollectLimits::default(), &|_, _| {}).await.unwrap();
        let what = format!("{time} {alive}: {:?}", collected.left_out);
        assert_eq!(
            (collected.series.len(), collected.complete.len()),
            (usize::from(whole), usize::from(whole)),
            "{what}"
        );
        assert_eq!(collected.left_out.first().map(|left| &left.window), (!whole).then_some(&window), "{what}");
    }
}

#[tokio::test]
async fn a_large_answer_is_read_and_counted() {
    let samples: Vec<String> = (0..100_000).map(|time| format!("[{time},\"1\"]")).collect();
    let samples = samples.join(",");
    let body = format!(
        r#"{{"status":"success","data":{{"resultType":"matrix","result":[{{"metric":{{}},"values":[{samples}]}}]}}}}"#
    );
    assert!(body.len() > 1 << 20);
    let server = Server::start(move |_| say(200, &body)).await;
    let windows = [Window { selector: "a".to_owned(), end: 100_000_000, width: 100_000_000, instant: false }];
    let gathered = at(&server.url()).series_of(&windows, &CollectLimits::default(), &|_, _| {}).await.unwrap();
    assert_eq!(gathered.series.samples(), 100_000);
    let few = CollectLimits { samples: 99_999, ..CollectLimits::default() };
    let gathered = at(&server.url()).series_of(&windows, &few, &|_, _| {}).await.unwrap();
    let why = &gathered.left_out[0].why;
    assert!(matches!(why, PrometheusError::TooLarge { measure: Measure::Samples, limit: 99_999, .. }), "{why}");
}
