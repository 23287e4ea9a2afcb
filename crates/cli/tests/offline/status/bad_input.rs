//! What cannot be read gives one diagnostic with its place, and everything else is still checked.

use std::fmt::Write as _;

use crate::{Answer, FINE, Place, WIDGET};

/// Lints a stream of one faulty document and one with a finding behind it, from a file and from standard input.
///
/// `fault` is what is said of the first, as `CODE line:column`, and `code` how the command ends.
fn one_fault(document: impl AsRef<[u8]>, fault: &str, code: i32) -> String {
    let mut stream = document.as_ref().to_vec();
    let lines = stream.split(|byte| *byte == b'\n').count() - 1;
    assert_eq!(stream.last(), Some(&b'\n'));
    stream.extend_from_slice(b"---\n");
    stream.extend_from_slice(WIDGET.as_bytes());
    let place = Place::new();
    place.write("bad.yaml", &stream);
    let (rule, at) = fault.split_once(' ').unwrap();
    for (file, answer) in [
        ("bad.yaml", place.run(&["status", "lint", "-o", "json", "-f", "bad.yaml"])),
        ("-", place.run_with(&stream, &["status", "lint", "-o", "json", "-f", "-"])),
    ] {
        let want = [format!("{rule} {file}:{at}"), format!("SC002 {file}:{}:27", lines + 7)];
        assert_eq!(answer.places(), want, "{answer:?}");
        assert_eq!(answer.code, code, "{answer:?}");
        assert_eq!(answer.err.contains("1 part could not be read"), code == 3, "{answer:?}");
        for finding in answer.json().as_array().unwrap() {
            assert!(finding["help"].is_string(), "every finding says what to do: {finding}");
        }
    }
    let shown = place.run(&["status", "lint", "-f", "bad.yaml"]);
    assert!(shown.out.contains(&format!("--> bad.yaml:{at}\n")), "{shown:?}");
    assert_eq!(shown.code, code);
    shown.out
}

/// What stands in the first line of a report.
fn title(report: &str) -> &str {
    report.lines().next().unwrap()
}

#[test]
fn a_document_that_is_not_yaml() {
    let report = one_fault("kind: [unclosed\n", "IN001 1:7", 3);
    assert_eq!(title(&report), "error[IN001]: not YAML: unclosed bracket '['");
    one_fault("apiVersion: v1\nkind: Pod\n bad: indent\n", "IN001 3:5", 3);
    let report = one_fault("kind: \"never closed\n", "IN001 2:1", 3);
    assert_eq!(title(&report), "error[IN001]: not YAML: unclosed quote");
}

#[test]
fn a_text_is_not_an_object() {
    let report = one_fault("just some words\n", "IN007 1:1", 3);
    assert_eq!(title(&report), "error[IN007]: not a Kubernetes object but a string");
}

#[test]
fn an_object_without_metadata() {
    let report = one_fault("apiVersion: v1\nkind: Pod\n", "IN007 1:1", 3);
    assert_eq!(title(&report), "error[IN007]: a Pod without metadata");
    one_fault("apiVersion: v1\nkind: Pod\nmetadata:\n", "IN007 1:1", 3);
}

#[test]
fn metadata_that_is_a_list() {
    let report = one_fault("apiVersion: v1\nkind: Pod\nmetadata: []\n", "IN007 3:11", 3);
    assert_eq!(title(&report), "error[IN007]: metadata is a list, not an object");
}

#[test]
fn a_kind_or_an_api_version_that_is_a_number() {
    let report = one_fault("apiVersion: v1\nkind: 3\nmetadata: {name: a}\n", "IN007 2:7", 3);
    assert_eq!(title(&report), "error[IN007]: kind is a number, not a string");
    let report = one_fault("apiVersion: 1\nkind: Pod\nmetadata: {name: a}\n", "IN007 1:13", 3);
    assert_eq!(title(&report), "error[IN007]: apiVersion is a number, not a string");
}

#[test]
fn conditions_that_are_not_a_list() {
    let head = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nstatus:\n  conditions: ";
    let report = one_fault(format!("{head}{{Ready: true}}\n"), "SC000 5:15", 1);
    assert_eq!(title(&report), "error[SC000]: `conditions` is an object, not a list");
    one_fault(format!("{head}\"Ready\"\n"), "SC000 5:15", 1);
    one_fault(format!("{head}[Ready]\n"), "SC000 5:16", 1);
}

#[test]
fn a_status_that_is_a_number() {
    let report = one_fault("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nstatus: 3\n", "SC000 4:9", 1);
    assert_eq!(title(&report), "error[SC000]: status is a number, not an object");
}

#[test]
fn a_tab_in_the_indentation() {
    let report = one_fault("apiVersion: v1\n\tkind: Pod\n", "IN001 2:1", 3);
    assert_eq!(title(&report), "error[IN001]: not YAML: a tab where only spaces may indent");
}

#[test]
fn bytes_that_are_not_utf8() {
    let report = one_fault(b"apiVersion: v1\nkind: Pod\nmetadata: {name: \xff}\n", "IN002 3:18", 3);
    assert_eq!(title(&report), "error[IN002]: not UTF-8 text");
}

#[test]
fn aliases_that_multiply() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let below = vec![format!("*a{}", level - 1); 10].join(", ");
        let _ = writeln!(bomb, "a{level}: &a{level} [{below}]");
    }
    let report = one_fault(bomb, "IN004 6:40", 3);
    assert!(title(&report).starts_with("error[IN004]: more than 1000000 values in one object"), "{report}");
}

#[test]
fn a_hundred_thousand_levels() {
    let report = one_fault("[".repeat(100_000) + "\n", "IN004 1:129", 3);
    assert_eq!(title(&report), "error[IN004]: lists and objects nest deeper than 128 levels");
    one_fault("- ".repeat(100_000) + "x\n", "IN004 1:257", 3);
    one_fault("{\"a\":".repeat(100_000) + "\n", "IN004 1:641", 3);
}

#[test]
fn a_binary_file() {
    let place = Place::new();
    place.write("a.yaml", (0..=255_u8).cycle().take(5_000).collect::<Vec<_>>());
    place.write("b.yaml", b"\0\x01\x02\x03 text of a kind\0");
    place.write("c.yaml", WIDGET);
    let answer = place.run(&["status", "lint", "-o", "json", "-f", "."]);
    let places = answer.places();
    assert_eq!(places.len(), 3, "{places:?}");
    assert!(places[0].starts_with("IN002 ./a.yaml:") && places[1].starts_with("IN001 ./b.yaml:1:1"), "{places:?}");
    assert_eq!((places[2].as_str(), answer.code), ("SC002 ./c.yaml:6:27", 3));
}

#[test]
fn a_file_over_the_size_limit() {
    let place = Place::new();
    let big = format!("{WIDGET}---\n# {}\n{WIDGET}", "x".repeat(2_000));
    place.write("big.yaml", &big);
    place.write("other.yaml", WIDGET);
    let answer =
        place.run(&["status", "lint", "--max-file-size", "500", "-o", "json", "-f", "big.yaml", "-f", "other.yaml"]);
    assert_eq!(answer.places(), ["SC002 big.yaml:6:27", "IN003 big.yaml:8:1", "SC002 other.yaml:6:27"]);
    assert_eq!(answer.code, 3);
    let answer = place.run_with(&big, &["status", "lint", "--max-file-size", "500", "-o", "json", "-f", "-"]);
    assert_eq!((answer.places(), answer.code), (vec!["SC002 -:6:27".to_owned(), "IN003 -:8:1".to_owned()], 3));
    let shown = place.run(&["status", "lint", "--max-file-size", "500", "-f", "big.yaml"]);
    assert!(
        shown.out.contains("the file is larger than 500 bytes (the cap `file_bytes`)")
            && shown.out.contains("raise --max-file-size")
    );
}

#[test]
fn a_list_of_a_hundred_thousand_objects() {
    let place = Place::new();
    let mut list = String::from("{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [\n");
    for number in 0..100_000 {
        let status = if number == 77_777 { r#", "status": {"conditions": 3}"# } else { "" };
        let comma = if number == 99_999 { "" } else { "," };
        let _ = writeln!(
            list,
            r#"{{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {{"name": "w{number}"}}{status}}}{comma}"#
        );
    }
    list.push_str("]}\n");
    place.write("list.json", &list);
    let answer = place.run(&["status", "lint", "-o", "json", "-f", "list.json"]);
    let places = answer.places();
    assert_eq!(places.len(), 2, "{places:?}");
    assert!(places[0].starts_with("SC000 list.json:77779:"), "{places:?}");
    assert_eq!((places[1].as_str(), answer.code), ("IN005 list.json:1:47", 1));
    assert_eq!(answer.err, "100000 objects checked: 1 error, 0 warnings, 1 note\n");
}

#[test]
fn nothing_at_all_is_no_yes() {
    let place = Place::new();
    for (name, text) in [
        ("empty.yaml", ""),
        ("blank.yaml", "\n\n"),
        ("comment.yaml", "# later\n"),
        ("null.yaml", "---\nnull\n---\n~\n"),
    ] {
        place.write(name, text);
        for verb in ["lint", "show"] {
            let answer = place.run(&["status", verb, "-f", name]);
            assert_eq!(answer.code, 3, "{name}: {answer:?}");
            let said = answer.out + &answer.err;
            assert_eq!(said.matches("error[IN009]: it contains no objects").count(), 1, "{said}");
            assert!(said.contains(&format!("--> {name}\n")), "{said}");
        }
        assert_eq!(place.run_with(text, &["status", "lint", "-f", "-"]).code, 3);
    }
    // Beside others, an empty file is nothing to speak of; and a list may well be empty.
    place.write("dir/a.yaml", "# later\n");
    place.write("dir/b.yaml", FINE);
    let answer = place.run(&["status", "lint", "-f", "dir"]);
    assert_eq!((answer.code, answer.out.as_str()), (0, ""));
    let list = r#"{"apiVersion": "v1", "items": [], "kind": "List"}"#;
    let answer = place.run_with(list, &["status", "lint", "-f", "-"]);
    assert_eq!(answer.code, 0);
    assert!(answer.err.contains("nothing to check"), "{answer:?}");
}

#[test]
fn a_directory_without_manifests() {
    let place = Place::new();
    place.write("dir/notes.txt", "hello\n");
    place.write("w.yaml", WIDGET);
    let answer = place.run(&["status", "lint", "-o", "json", "-f", "dir", "-f", "w.yaml"]);
    assert_eq!((answer.places(), answer.code), (vec!["IN006 dir".to_owned(), "SC002 w.yaml:6:27".to_owned()], 3));
}

#[test]
fn a_file_that_is_missing_does_not_keep_the_others_from_being_checked() {
    let place = Place::new();
    place.write("w.yaml", WIDGET);
    let answer = place.run(&["status", "lint", "-o", "json", "-f", "nope.yaml", "-f", "w.yaml"]);
    assert_eq!((answer.places(), answer.code), (vec!["IN006 nope.yaml".to_owned(), "SC002 w.yaml:6:27".to_owned()], 3));
    let shown = place.run(&["status", "show", "-f", "nope.yaml", "-f", "w.yaml"]);
    assert!(shown.out.contains("Widget.example.com later") && shown.code == 3, "{shown:?}");
    assert!(shown.err.contains("cannot be read: No such file or directory"), "{shown:?}");
    assert!(shown.err.contains("--> nope.yaml\n"), "{shown:?}");
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let path = place.write("dir/a.yaml", WIDGET);
    place.write("dir/b.yaml", WIDGET);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    let answer = place.run(&["status", "lint", "-o", "json", "-f", "dir"]);
    // The superuser may read everything.
    if std::fs::File::open(&path).is_err() {
        assert_eq!(answer.places(), ["IN006 dir/a.yaml", "SC002 dir/b.yaml:6:27"]);
        assert_eq!(answer.code, 3);
    } else {
        assert_eq!(answer.places(), ["SC002 dir/a.yaml:6:27", "SC002 dir/b.yaml:6:27"]);
    }
    // A directory in the place of a file is one of its manifests, or of none.
    std::fs::create_dir(place.path().join("dir/c.yaml")).unwrap();
    assert_eq!(place.run(&["status", "lint", "-o", "json", "-f", "dir/c.yaml"]).places(), ["IN006 dir/c.yaml"]);
}

#[cfg(unix)]
#[test]
fn a_directory_with_bad_files_among_good_ones() {
    let place = Place::new();
    place.write("dir/a.yaml", FINE);
    place.write("dir/b.yaml", "kind: [unclosed\n");
    std::os::unix::fs::symlink("nowhere", place.path().join("dir/c.yaml")).unwrap();
    place.write("dir/sub/d.yml", WIDGET);
    place.write("dir/notes.txt", "kind: [unclosed\n");
    place.write("dir/.hidden.yaml", "kind: [unclosed\n");
    let answer = place.run(&["status", "lint", "-o", "json", "-f", "dir"]);
    assert_eq!(answer.places(), ["IN001 dir/b.yaml:1:7", "IN006 dir/c.yaml", "SC002 dir/sub/d.yml:6:27"]);
    assert_eq!(answer.code, 3);
    assert!(answer.err.starts_with("2 objects checked: 3 errors"), "{answer:?}");
}

#[test]
fn the_same_file_named_twice_is_read_once() {
    let place = Place::new();
    place.write("dir/w.yaml", WIDGET);
    let files = ["-f", "dir", "-f", "dir/w.yaml", "-f", "./dir/../dir/w.yaml"];
    let answer = place.run(&[&["status", "lint", "-o", "json"][..], &files].concat());
    assert_eq!((answer.places(), answer.code), (vec!["SC002 dir/w.yaml:6:27".to_owned()], 1));
    let shown = place.run(&[&["status", "show"][..], &files].concat());
    assert_eq!(shown.err, "1 object: 1 InProgress\n");
    let twice = place.run_with(WIDGET, &["status", "lint", "-o", "json", "-f", "-", "-f", "-"]);
    assert_eq!((twice.places(), twice.code), (vec!["SC002 -:6:27".to_owned()], 1));
}

fn lint_stdin(text: impl AsRef<[u8]>) -> Answer {
    Place::new().run_with(text, &["status", "lint", "-o", "json", "-f", "-"])
}

#[test]
fn a_name_that_is_a_number_is_a_name() {
    let answer = lint_stdin(WIDGET.replace("later", "4711"));
    assert_eq!((answer.places(), answer.code), (vec!["SC002 -:6:27".to_owned()], 1));
    assert_eq!(answer.json()[0]["where"]["object"], "Widget.example.com 4711");
}

#[test]
fn line_ends_and_byte_order_marks_of_other_systems() {
    let answer = lint_stdin(format!("{WIDGET}---\n{WIDGET}").replace('\n', "\r\n"));
    assert_eq!((answer.places(), answer.code), (vec!["SC002 -:6:27".to_owned(), "SC002 -:13:27".to_owned()], 1));
    let answer = lint_stdin(format!("\u{feff}{WIDGET}"));
    assert_eq!((answer.places(), answer.code), (vec!["SC002 -:6:27".to_owned()], 1));
    let utf16: Vec<u8> = std::iter::once(0xfeff).chain(WIDGET.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let answer = lint_stdin(utf16);
    assert_eq!((answer.places(), answer.code), (vec!["IN002 -:1:1".to_owned()], 3));
}

/// A Widget in JSON.
fn widget(name: &str, status: &str) -> serde_json::Value {
    serde_json::json!({
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name},
        "status": {"conditions": [{
            "type": "Ready", "status": status, "reason": "X", "message": "m",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]},
    })
}

/// A list as `kubectl get -o json` writes it: the items come before the kind.
fn kubectl_list(items: &[serde_json::Value]) -> serde_json::Value {
    serde_json::json!({"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}})
}

#[test]
fn a_list_as_kubectl_writes_it() {
    let list = kubectl_list(&[widget("a", "True"), widget("b", "maybe"), widget("c", "True")]);
    let text = format!("{list:#}\n");
    assert!(text.find("\"items\"") < text.find("\"kind\": \"List\""));
    let answer = lint_stdin(&text);
    let line = text.lines().position(|line| line.contains("maybe")).unwrap() + 1;
    assert_eq!((answer.places().len(), answer.code), (1, 1));
    assert!(answer.places()[0].starts_with(&format!("SC002 -:{line}:")), "{answer:?}");
    assert_eq!(answer.json()[0]["where"]["object"], "Widget.example.com b");
    assert!(answer.err.starts_with("3 objects checked"));
}

#[test]
fn items_of_a_list_that_are_no_objects() {
    let list = kubectl_list(&[serde_json::json!(3), serde_json::json!({"kind": "Pod"}), widget("b", "maybe")]);
    let answer = lint_stdin(list.to_string());
    let codes: Vec<String> = answer.places().iter().map(|place| place[..5].to_owned()).collect();
    assert_eq!((codes.join(" ").as_str(), answer.code), ("IN007 IN007 SC002", 3));
}

#[test]
fn one_line_of_megabytes() {
    let mut items: Vec<_> = (0..5_000).map(|number| widget(&format!("w{number}"), "True")).collect();
    items.push(widget("last", "maybe"));
    let text = kubectl_list(&items).to_string();
    assert!(text.len() > 900_000 && !text.contains('\n'));
    let column = text.find("\"maybe\"").unwrap() + 1;
    let answer = lint_stdin(&text);
    assert_eq!((answer.places(), answer.code), (vec![format!("SC002 -:1:{column}")], 1));
    let shown = Place::new().run_with(&text, &["status", "lint", "-f", "-"]);
    assert!(shown.out.contains(&format!("--> -:1:{column}\n")) && shown.out.len() < 1_000, "{}", shown.out);
}

#[test]
fn json_objects_in_a_row_as_jq_writes_them() {
    let row = format!("{}\n{:#}\n{}\n", widget("a", "True"), widget("b", "maybe"), widget("c", "maybe"));
    let answer = lint_stdin(&row);
    let objects: Vec<_> = answer.json().as_array().unwrap().iter().map(|at| at["where"]["object"].clone()).collect();
    assert_eq!(objects, ["Widget.example.com b", "Widget.example.com c"]);
    assert!(answer.err.starts_with("3 objects checked"), "{answer:?}");
}

#[test]
fn json_that_is_broken_is_called_json() {
    let place = Place::new();
    place.write("a.json", "{\"apiVersion\": \"v1\", \"kind\": }]\n");
    place.write("b.json", widget("b", "maybe").to_string());
    let answer = place.run(&["status", "lint", "-f", "."]);
    assert!(answer.out.starts_with("error[IN001]: not JSON: ") && answer.code == 3, "{answer:?}");
    assert!(answer.out.contains("error[SC002]"), "{answer:?}");
}
