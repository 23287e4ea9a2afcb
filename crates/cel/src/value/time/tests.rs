use super::*;

#[test]
fn times_are_read_and_written_with_their_offset() {
    for (text, written) in [
        ("2009-02-13T23:31:30Z", "2009-02-13T23:31:30Z"),
        ("2009-02-13T23:31:30.500+05:30", "2009-02-13T23:31:30.5+05:30"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"),
        ("2024-02-29T00:00:00-00:00", "2024-02-29T00:00:00Z"),
        ("2024-02-29T5:00:00Z", "2024-02-29T05:00:00Z"),
    ] {
        assert_eq!(parse_timestamp(text, true).map(Timestamp::text).as_deref(), Some(written), "{text}");
    }
    for text in [
        "2023-02-29T00:00:00Z",
        "2023-01-01T24:00:00Z",
        "2023-01-01T00:00:00",
        "2023-1-01T00:00:00Z",
        "",
        "2023-01-01t00:00:00z",
        "2023-01-01T00:00:60Z",
        "2023-01-01T00:00:00Zx",
    ] {
        assert!(parse_timestamp(text, true).is_none(), "{text}");
    }
    assert!(parse_timestamp("2023-01-01T00:00:00", false).is_some());
}

#[test]
fn the_calendar_agrees_with_jiff() {
    for days in (-719_162..2_932_896).step_by(97) {
        let seconds = days * 86_400 + 12_345;
        let civil = Civil::of_seconds(seconds);
        let expected = jiff::Timestamp::from_second(seconds).unwrap().to_zoned(jiff::tz::TimeZone::UTC);
        let date = (i64::from(expected.year()), i64::from(expected.month()), i64::from(expected.day()));
        assert_eq!((civil.year, civil.month, civil.day), date);
        assert_eq!(civil.day_of_year + 1, i64::from(expected.day_of_year()));
        assert_eq!(civil.weekday, i64::from(expected.weekday().to_sunday_zero_offset()));
        assert_eq!(days_before(civil.year, civil.month, civil.day), days);
    }
}

#[test]
fn arithmetic_ends_at_the_years() {
    let last = parse_timestamp("9999-12-31T23:59:59.999999999Z", true).unwrap();
    assert!(last.plus(1).is_none());
    assert_eq!(last.plus(-1_000_000_000).map(Timestamp::text).as_deref(), Some("9999-12-31T23:59:58.999999999Z"));
    let first = parse_timestamp("0001-01-01T00:00:00Z", true).unwrap();
    assert!(first.plus(-1).is_none());
    assert!(last.since(first).is_none());
}

#[test]
fn durations_are_read_as_go_reads_them() {
    for (text, nanoseconds) in [
        ("0", 0),
        ("-1.5h", -5_400_000_000_000),
        ("1h30m2.5s", 5_402_500_000_000),
        (".5us", 500),
        ("1µs", 1_000),
        ("-9223372036854775808ns", i64::MIN),
        ("2562047h47m16.854775807s", i64::MAX),
    ] {
        assert_eq!(parse_duration(text), Some(nanoseconds), "{text}");
    }
    for text in ["", "1", "s", "1x", ".s", "1d", "9223372036854775808ns", "1 s", "--1s", "1s ", "2562048h"] {
        assert_eq!(parse_duration(text), None, "{text}");
    }
    assert_eq!(parse_schema_duration("2 days 3hours"), Some(183_600_000_000_000));
    assert_eq!(parse_schema_duration("1 week"), Some(604_800_000_000_000));
    assert_eq!(parse_schema_duration("soon"), None);
}

#[test]
fn zones_have_names_and_offsets() {
    let offset = |name: &str, text: &str| {
        let time = parse_timestamp(text, true).unwrap();
        zone(name).map(|zone| zone.offset_at(time.seconds))
    };
    assert_eq!(offset("Europe/Berlin", "2024-07-01T00:00:00Z"), Some(7_200));
    assert_eq!(offset("Europe/Berlin", "2024-01-01T00:00:00Z"), Some(3_600));
    assert_eq!(offset("-08:30", "2024-01-01T00:00:00Z"), Some(-30_600));
    assert_eq!(offset("europe/berlin", "2024-01-01T00:00:00Z"), None);
    assert_eq!(offset("Nowhere", "2024-01-01T00:00:00Z"), None);
}
