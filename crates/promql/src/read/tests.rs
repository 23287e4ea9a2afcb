use super::*;
use crate::eval::Value;
use crate::series::{Builder, Capacity, HISTOGRAM, STALE, Series};
use crate::syntax::duration::Millis;
use proptest::prelude::*;

/// Series as lines, to compare.
fn lines(series: &Series) -> Vec<String> {
    let line = |(labels, samples): (crate::Labels, crate::series::Samples<'_>)| {
        let samples: Vec<String> =
            samples.times.iter().zip(samples.values).map(|(time, value)| format!("{value}@{time}")).collect();
        format!("{labels} {}", samples.join(" "))
    };
    series.iter().map(line).collect()
}

#[test]
fn text_exposition_is_read() {
    let input = "# HELP up Whether it is up.\n# TYPE up gauge\nup{job=\"a\\\"b\\\\c\\nd\\x\",x=\"\"} 1 1500\n\
                 \nup { job = \"z\" , } +Inf\n{\"with.point\",\"l.m\"=\"}, 1\"} -1.5e3 -7\r\nplain\tNaN\n";
    let series = text(input.as_bytes(), Millis(99), &ReadLimits::default()).unwrap();
    assert_eq!(
        lines(&series),
        [
            "plain NaN@99",
            "up{job=\"a\\\"b\\\\c\\nd\\\\x\"} 1@1500",
            "up{job=\"z\"} inf@99",
            "{__name__=\"with.point\", \"l.m\"=\"}, 1\"} -1500@-7",
        ]
    );
}

#[test]
fn open_metrics_counts_seconds_and_ends() {
    let input = "# TYPE a counter\na_total{x=\"y\"} 1 1.5 # {trace=\"t\"} 0.5\nb 2 # {} 1 2\n# EOF\n";
    let series = open_metrics(input.as_bytes(), Millis(7), &ReadLimits::default()).unwrap();
    assert_eq!(lines(&series), ["a_total{x=\"y\"} 1@1500", "b 2@7"]);
    for (input, place, message) in [("a 1\n", (2, 1), "cut off"), ("# EOF\na 1\n", (2, 1), "follows the end")] {
        let error = open_metrics(input.as_bytes(), Millis(0), &ReadLimits::default()).unwrap_err();
        assert_eq!((error.line, error.column), place, "{error}");
        assert!(error.message.contains(message), "{error}");
    }
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    for (input, place, words) in [
        ("a 1\nb{x=1} 2\n", (2, 5), "double quotes"),
        ("b{x=\"1} 2\n", (1, 10), "does not end"),
        ("b{x=\"1\\", (1, 8), "does not end"),
        ("b{x=\"1\" y=\"2\"} 2", (1, 9), "`,` or `}`"),
        ("b{=\"1\"} 2", (1, 3), "name of a label"),
        ("b{x} 2", (1, 4), "`=` and a value"),
        ("b{x=\"1\",x=\"2\"} 2", (1, 15), "occurs twice"),
        ("é 2", (1, 1), "starts with the name"),
        ("1a 2", (1, 1), "is not a metric name"),
        ("a b", (1, 3), "`b` is not a number"),
        ("a", (1, 2), "`` is not a number"),
        ("a 1 2.5", (1, 5), "is not a"),
        ("a 1 2 3", (1, 7), "Nothing may follow"),
        ("a 1\na 2\n", (3, 1), "two values"),
    ] {
        let error = text(input.as_bytes(), Millis(0), &ReadLimits::default()).unwrap_err();
        assert_eq!((error.line, error.column), place, "{input:?}: {error}");
        assert!(error.message.contains(words), "{input:?}: {error}");
    }
    let error = text(b"a 1\n\xff", Millis(0), &ReadLimits::default()).unwrap_err();
    assert_eq!(error.to_string(), "line 2, column 1: The input is not UTF-8.");
    let error = text(b"a 1\n", Millis(0), &ReadLimits { bytes: 3, ..ReadLimits::default() }).unwrap_err();
    assert!(error.message.contains("the limit is 3"), "{error}");
}

#[test]
fn api_answers_are_read() {
    let limits = ReadLimits::default();
    let vector =
        br#"{"status":"success","warnings":["partial"],"infos":["mind"],"data":{"resultType":"vector","result":[
        {"metric":{"__name__":"up","job":"a"},"value":[1700000000.123,"1"]},
        {"metric":{},"histogram":[1700000000.123,{"count":"1","buckets":[[0,"1","2","3"]]}]}]}}"#;
    let answer = api(vector, &limits).unwrap();
    assert_eq!((answer.time, answer.warnings.len(), answer.infos.len()), (Some(1_700_000_000_123), 1, 1));
    assert!(answer.has_histograms());
    assert_eq!(answer.into_series(limits.capacity.clone()).unwrap().len(), 2);
    let matrix = br#"{"status":"success","data":{"result":[{"metric":{"a":"b"},"values":[[1,"2"],[2,"NaN"]]}],"resultType":"matrix"}}"#;
    let series = api(matrix, &limits).unwrap().into_series(limits.capacity.clone()).unwrap();
    assert_eq!(lines(&series), ["{a=\"b\"} 2@1000 NaN@2000"]);
    let partial = br#"{"status":"success","isPartial":true,"data":{"resultType":"vector","result":[]}}"#;
    assert_eq!(api(partial, &limits).unwrap().warnings, ["the answer is marked as partial"]);
    let whole = br#"{"status":"success","isPartial":false,"data":{"resultType":"vector","result":[]}}"#;
    assert_eq!(api(whole, &limits).unwrap().warnings, [""; 0]);
    let scalar = api(br#"{"status":"success","data":{"resultType":"scalar","result":[1,"+Inf"]}}"#, &limits).unwrap();
    assert_eq!(scalar.value, Value::Scalar(f64::INFINITY));
    let string = api(br#"{"status":"success","data":{"resultType":"string","result":[1,"x"]}}"#, &limits).unwrap();
    assert_eq!(string.value, Value::String("x".to_owned()));
}

#[test]
fn a_series_has_a_bounded_number_of_labels() {
    let labels: Vec<String> = (0..2_000).map(|number| format!("\"l{number}\":\"x\"")).collect();
    let answer = |count: usize| {
        let metric = labels[..count].join(",");
        format!(
            r#"{{"status":"success","data":{{"resultType":"vector","result":[{{"metric":{{{metric}}},"value":[1,"1"]}}]}}}}"#
        )
    };
    assert!(api(answer(1_000).as_bytes(), &ReadLimits::default()).is_ok());
    let error = api(answer(1_001).as_bytes(), &ReadLimits::default()).unwrap_err();
    assert!(error.to_string().contains("too many labels"), "{error}");
    let few = ReadLimits { capacity: Capacity { series: 1, ..Capacity::default() }, ..ReadLimits::default() };
    let two = br#"{"status":"success","data":{"resultType":"vector","result":[{"value":[1,"1"]},{"value":[1,"1"]}]}}"#;
    assert!(api(two, &few).unwrap_err().to_string().contains("more than 1 series"));
}

#[test]
fn api_errors_are_errors() {
    let limits = ReadLimits::default();
    let refused = api(br#"{"status":"error","errorType":"execution","error":"no"}"#, &limits).unwrap_err();
    assert_eq!(refused, ApiError::Refused { kind: "execution".to_owned(), message: "no".to_owned() });
    for (input, place) in [
        (&b"{\n  oops"[..], (2, 3)),
        (b"{\"status\":\"success\"}", (1, 1)),
        (b"{\"status\":\"success\",\"data\":{\"resultType\":\"scalar\",\"result\":[1]}}", (1, 62)),
        (b"{\"status\":\"success\",\"data\":{\"resultType\":\"cube\",\"result\":[1]}}", (1, 1)),
        (b"<html>", (1, 1)),
        // What contradicts itself says nothing.
        (br#"{"status":"success","error":"no","data":{"resultType":"scalar","result":[1,"0"]}}"#, (1, 1)),
        (br#"{"status":"success","errorType":"timeout","data":{"resultType":"scalar","result":[1,"0"]}}"#, (1, 1)),
        (
            br#"{"status":"success","data":{"resultType":"vector","result":[
                {"metric":{},"value":[1,"0"],"histogram":[1,{"count":"1"}]}]}}"#,
            (1, 1),
        ),
        // One sample of now must not make others current.
        (
            br#"{"status":"success","data":{"resultType":"vector","result":[
                {"metric":{"a":"b"},"value":[1,"1"]},{"metric":{},"value":[1700000000,"1"]}]}}"#,
            (1, 1),
        ),
    ] {
        match api(input, &limits) {
            Err(ApiError::Form(error)) => assert_eq!((error.line, error.column), place, "{error}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_snapshot_is_compact_and_says_when_it_was_cut_off() {
    let mut builder = Builder::default();
    builder.label("__name__", "up").unwrap();
    builder.label("job", "a\"\n\\").unwrap();
    let series = builder.series().unwrap();
    for index in 0..100 {
        builder.sample(series, 1_000 + 30 * index, 1.0).unwrap();
    }
    for (time, value) in [(9_000, 0.5), (9_001, STALE), (9_002, HISTOGRAM), (9_003, f64::NAN)] {
        builder.sample(series, time, value).unwrap();
    }
    let written = write_snapshot(&builder.finish().unwrap());
    assert_eq!(
        written,
        "# clearway-series 1\nup{job=\"a\\\"\\n\\\\\"} 1000:1 +30x99:1 +5030:0.5 +1:stale +1:histogram +1:NaN\n# end 1\n"
    );
    let limits = ReadLimits::default();
    assert_eq!(write_snapshot(&snapshot(written.as_bytes(), &limits).unwrap()), written);
    for (input, place) in [
        ("", (1, 1)),
        ("# clearway-series 2\n", (1, 1)),
        ("# clearway-series 1\nup 1:1\n", (3, 1)),
        ("# clearway-series 1\nup 1:1\n# end 2\n", (4, 1)),
        ("# clearway-series 1\nup +1:1\n# end 1\n", (2, 5)),
        ("# clearway-series 1\nup 1:1 2:1\n# end 1\n", (2, 8)),
        ("# clearway-series 1\nup 1\n# end 1\n", (2, 5)),
        ("# clearway-series 1\nup 1:x\n# end 1\n", (2, 6)),
        ("# clearway-series 1\nup 1:1 +9223372036854775807:1\n# end 1\n", (2, 30)),
        ("# clearway-series 1\n# end 0\nmore", (3, 1)),
    ] {
        let error = snapshot(input.as_bytes(), &limits).unwrap_err();
        assert_eq!((error.line, error.column), place, "{input:?}: {error}");
    }
    let few = ReadLimits { capacity: Capacity { samples: 10, ..Capacity::default() }, ..ReadLimits::default() };
    let error = snapshot(b"# clearway-series 1\nup 1:1 +1x4000000000:1\n# end 1\n", &few).unwrap_err();
    assert!(error.message.contains("more than 10 samples"), "{error}");
}

#[test]
fn samples_that_repeat_are_those_of_the_line_before() {
    let input =
        "# clearway-series 1\na 1:1\na 2:1\nb 2:1\nc 2:1\nc 3:1\nd 3:1 +1:2\ne 3:1 +1:2\nf\ng 3:1 +1:2\n# end 9\n";
    let series = snapshot(input.as_bytes(), &ReadLimits::default()).unwrap();
    let expected = ["a 1@1 1@2", "b 1@2", "c 1@2 1@3", "d 1@3 2@4", "e 1@3 2@4", "f ", "g 1@3 2@4"];
    assert_eq!(lines(&series), expected);
}

proptest! {
    /// What is written is read back, whatever the labels and values are.
    #[test]
    fn a_snapshot_reads_back(rows in prop::collection::vec(
        ("[a-z:]{0,3}|(?s).{0,3}", "(?s).{1,3}", "(?s).{0,4}", prop::collection::vec((-5_i64..5, prop::num::f64::ANY), 0..6)), 0..8,
    )) {
        let mut builder = Builder::default();
        for (metric, label, value, samples) in &rows {
            builder.label("__name__", metric).unwrap();
            if label != "__name__" {
                builder.label(label, value).unwrap();
            }
            let series = builder.series().unwrap();
            for (time, value) in samples {
                builder.sample(series, *time, *value).unwrap();
            }
        }
        let Ok(series) = builder.finish() else { return Ok(()) };
        let written = write_snapshot(&series);
        let read = snapshot(written.as_bytes(), &ReadLimits::default()).unwrap();
        prop_assert_eq!(lines(&series), lines(&read));
        prop_assert_eq!(written, write_snapshot(&read));
    }

    /// No bytes panic a reader.
    #[test]
    fn readers_survive_anything(text in "(# clearway-series 1\n)?([a-z{}\"=,.:+# 0-9\\\\\n]{0,40}|(?s).{0,20})") {
        let limits = ReadLimits::default();
        let _ = super::text(text.as_bytes(), Millis(0), &limits);
        let _ = open_metrics(text.as_bytes(), Millis(0), &limits);
        let _ = snapshot(text.as_bytes(), &limits);
        let _ = api(text.as_bytes(), &limits);
    }
}
