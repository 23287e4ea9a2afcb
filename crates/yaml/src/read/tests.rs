//! What a stream gives, good and bad.

use super::*;
use proptest::prelude::*;

/// The names of the objects and the codes and places of the problems, in order.
fn gist(text: impl AsRef<[u8]>, limits: &Limits) -> Vec<String> {
    let mut gist = Vec::new();
    read(text.as_ref(), "x.yaml", limits, |found| {
        gist.push(match found {
            ReadEvent::Object { root, list, .. } => {
                let name = root.at(&["metadata", "name"]).map_or(root.raw(), Node::raw);
                let kind = list.and_then(|list| list.get("kind")).map_or("", Node::raw);
                format!("{kind}{name}@{}", root.span().unwrap().line)
            }
            ReadEvent::Problem(problem) => {
                let at = problem.place.position.unwrap();
                format!("{} {}:{}", problem.code, at.line, at.column)
            }
        });
    });
    gist
}

fn named(name: &str) -> String {
    format!("kind: A\nmetadata:\n  name: {name}\n")
}

#[test]
fn documents_are_handed_over_with_the_lines_of_the_file() {
    let text = format!("{}---\n{}---\n---\n# nothing\n---\n{}", named("a"), named("b"), named("c"));
    assert_eq!(gist(text, &Limits::default()), ["a@1", "b@5", "c@12"]);
}

#[test]
fn one_broken_document_does_not_take_the_others_with_it() {
    let text = format!("{}---\nkind: [unclosed\n---\n{}", named("a"), named("c"));
    let gist = gist(text, &Limits::default());
    assert_eq!((gist.first().unwrap().as_str(), gist.last().unwrap().as_str()), ("a@1", "c@7"));
    assert!(gist.len() == 3 && gist.get(1).unwrap().starts_with("IN001 "), "{gist:?}");
}

#[test]
fn items_of_a_list_are_objects_whether_kind_comes_before_or_after() {
    let before = "kind: DeploymentList\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n";
    assert_eq!(gist(before, &Limits::default()), ["DeploymentLista@3", "DeploymentListb@4"]);
    let after = r#"{"apiVersion": "v1", "items": [{"metadata": {"name": "a"}}], "kind": "List"}"#;
    assert_eq!(gist(after, &Limits::default()), ["a@1"]);
    let bare = "[{\"metadata\": {\"name\": \"a\"}}]";
    assert_eq!(gist(bare, &Limits::default()), ["a@1"]);
}

#[test]
fn an_object_with_items_of_its_own_is_one_object() {
    assert_eq!(gist("kind: Menu\nitems:\n- soup\nmetadata: {name: lunch}\n", &Limits::default()), ["lunch@1"]);
    assert_eq!(
        gist("items:\n- soup\nkind: Menu\nmetadata: {name: lunch}\n", &Limits::default()),
        ["soup@2", "lunch@1"]
    );
}

#[test]
fn documents_that_are_read_whole_keep_their_lists() {
    for text in ["to: a\nitems: [{to: b}]\n", "items: [{to: b}]\nto: a\n", "kind: List\nto: a\nitems: [{to: b}]\n"] {
        let mut found = Vec::new();
        let summary = read_documents(text.as_bytes(), "x.yaml", &Limits::default(), |event| match event {
            ReadEvent::Object { root, list, .. } => {
                assert!(list.is_none(), "{text}");
                found.push((
                    root.get("to").map(|to| to.raw().to_owned()),
                    root.get("items").map(|all| all.items().count()),
                ));
            }
            ReadEvent::Problem(problem) => panic!("{text}: {problem:?}"),
        });
        assert_eq!(found, [(Some("a".to_owned()), Some(1))], "{text}");
        assert_eq!(summary, Summary { objects: 1, problems: 0, lists: 0 }, "{text}");
    }
    let mut lists = 0;
    read_documents(&b"- 1\n- 2\n---\n[]\n"[..], "x.yaml", &Limits::default(), |event| {
        lists += usize::from(matches!(event, ReadEvent::Object { root, .. } if root.is_sequence()));
    });
    assert_eq!(lists, 2);
}

#[test]
fn an_unusually_long_list_is_read_whole_and_mentioned_once() {
    let limits = Limits { list_items: 2, ..Limits::default() };
    let gist = gist("kind: List\nitems: [{a: 1}, {a: 2}, {a: 3}]\n", &limits);
    assert_eq!(gist.len(), 4);
    assert_eq!(gist.last().unwrap(), "IN005 2:8");
}

#[test]
fn aliases_and_merge_keys_are_followed() {
    let text = "base: &b {x: 1, y: 2}\nmetadata: {name: m}\ncopy: *b\nmerged: {<<: *b, y: 3}\n";
    read(text.as_bytes(), "x", &Limits::default(), |found| {
        let ReadEvent::Object { root, .. } = found else { panic!("{found:?}") };
        let want = serde_json::json!({
            "base": {"x": 1, "y": 2}, "metadata": {"name": "m"}, "copy": {"x": 1, "y": 2}, "merged": {"y": 3, "x": 1},
        });
        assert_eq!(root.to_json(), want);
    });
}

#[test]
fn a_tag_says_what_a_scalar_is() {
    let text = "[!!str 1, !!int \"12\", !!bool 'yes', ! 12, !local 12, !!float 1.5, !!str ~, \"~\", !!null ~, !!str ]";
    let mut seen = Vec::new();
    read(text.as_bytes(), "x", &Limits::default(), |found| {
        let ReadEvent::Object { root, .. } = found else { panic!("{found:?}") };
        seen.push(root.to_json());
    });
    assert_eq!(serde_json::json!(seen), serde_json::json!(["1", 12, true, "12", "12", 1.5, "~", "~", null, ""]));
}

#[test]
fn fields_that_are_not_wanted_stand_as_null_and_take_nothing_with_them() {
    let keep: FieldFilter = |kind, field| field != "spec" || kind != Some("A");
    let read_all = |text: &str| {
        let mut objects = Vec::new();
        read_fields(text.as_bytes(), "x", &Limits::default(), keep, |found| match found {
            ReadEvent::Object { root, .. } => objects.push(root.to_json().to_string()),
            ReadEvent::Problem(problem) => panic!("{problem:?}"),
        });
        objects
    };
    let text = "kind: A\nspec: {deep: [{x: 1}], y: 2}\nstatus: {z: 3}\n---\nkind: B\nspec: [4]\n";
    assert_eq!(read_all(text), [r#"{"kind":"A","spec":null,"status":{"z":3}}"#, r#"{"kind":"B","spec":[4]}"#]);
    let list = "items: [{kind: A, spec: [1], status: 2}, {spec: [1], kind: A}]\nkind: List\n";
    assert_eq!(read_all(list), [r#"{"kind":"A","spec":null,"status":2}"#, r#"{"kind":"A","spec":[1]}"#]);
    let anchored = "kind: A\nspec: [&a 5]\nstatus: *a\n";
    assert_eq!(read_all(anchored), [r#"{"kind":"A","spec":[5],"status":5}"#]);
}

#[test]
fn what_would_grow_without_bound_is_refused() {
    let levels = (1..12).map(|level| {
        let below = vec![format!("*a{}", level - 1); 10].join(", ");
        format!("a{level}: &a{level} [{below}]\n")
    });
    let bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned() + &levels.collect::<String>();
    let deep = "[".repeat(100_000);
    for text in [bomb + "---\nkind: B\n", deep + "\n---\nkind: B\n"] {
        let gist = gist(text, &Limits::default());
        assert!(gist.len() == 2 && gist.first().unwrap().starts_with("IN004 "), "{gist:?}");
    }
    assert_eq!(gist("a: &a [*a]\n", &Limits::default()), ["IN004 1:8"]);
    assert_eq!(gist("? [a]\n: b\n", &Limits::default()), ["IN004 1:3"]);
}

#[test]
fn aliases_of_a_long_text_are_refused_before_they_are_copied() {
    // A block scalar is unfolded, so each alias is a copy of it.
    let text = |aliases: usize| {
        let line = format!("  {}\n", "x".repeat(1_000));
        format!("a: &a |\n{}b: [{}]\n", line.repeat(1_000), vec!["*a"; aliases].join(", "))
    };
    assert_eq!(gist(text(5), &Limits::default()), ["@1"]);
    let refused = gist(text(5_000), &Limits::default());
    assert!(refused.len() == 1 && refused.first().unwrap().starts_with("IN004 1002:"), "{refused:?}");
    // The same text, anchored at every level.
    let nested = format!("k: {}\"\\n{}\"{}\n", "&a [".repeat(60), "x".repeat(400_000), "]".repeat(60));
    let refused = gist(nested, &Limits::default());
    assert!(refused.len() == 1 && refused.first().unwrap().starts_with("IN004 "), "{refused:?}");
}

#[test]
fn what_aliases_stand_for_is_counted_for_the_whole_stream() {
    let messages = |text: &str, limits: &Limits| {
        let (mut objects, mut problems) = (0, Vec::new());
        let mut count = |found: ReadEvent<'_>| match found {
            ReadEvent::Object { .. } => objects += 1,
            ReadEvent::Problem(problem) => problems.push(problem.message),
        };
        read(text.as_bytes(), "x", limits, &mut count);
        read_documents(text.as_bytes(), "x", limits, &mut count);
        (objects, problems)
    };
    let too_much = |what: &str| (0, vec![format!("aliases expand to more than {what} in one file"); 2]);
    // A text without escapes is borrowed here, and copied by whoever keeps the object.
    for quote in ["", "'", "\""] {
        let text = format!("a: &x {quote}{}{quote}\nb: [{}]\n", "x".repeat(1 << 20), vec!["*x"; 90_000].join(", "));
        assert_eq!(messages(&text, &Limits::default()), too_much("16777216 bytes of text"));
    }
    let limits = Limits { alias_values: 100, alias_text: 1_000, ..Limits::default() };
    let ten = "1, 1, 1, 1, 1, 1, 1, 1, 1";
    let items = |first: &str, aliases: usize| format!("[{{x: &c [{first}]}}{}]", ", {x: *c}".repeat(aliases));
    let documents = |first: &str, aliases: usize| format!("{{x: &c [{first}], y: *c}}\n---\n").repeat(aliases);
    for (text, want) in [(items(ten, 10), (12, Vec::new())), (documents(ten, 10), (20, Vec::new()))] {
        assert_eq!(messages(&text, &limits), want, "{text}");
    }
    for (text, objects, what) in [
        // Each of them is small, and so is all that stands in the text.
        (items(ten, 11), 11, "100 values"),
        (documents(ten, 11), 20, "100 values"),
        (items(&"x".repeat(300), 4), 4, "1000 bytes of text"),
        (documents(&"x".repeat(300), 4), 6, "1000 bytes of text"),
        (format!("{}\n---\n{{x: &c [{ten}], y: *c}}\n", items(ten, 11)), 11, "100 values"),
    ] {
        let (found, problems) = messages(&text, &limits);
        assert!(found >= objects && problems.iter().all(|problem| problem.contains(what)), "{text}: {problems:?}");
        assert!(problems.len() >= 2, "{text}: {problems:?}");
    }
    // Texts that no alias repeats are not counted, whether they have an anchor or not.
    let plain = format!("a: &x '{}'\nb: [{}]\n", "x".repeat(1_500), vec!["yyyyyyyy"; 1_000].join(", "));
    assert_eq!(messages(&plain, &limits), (2, Vec::new()));
}

#[test]
fn keys_that_stand_many_times_are_read_in_the_time_of_their_number() {
    // Each of these took the square of their number: this ends at once, or not at all.
    let many = 60_000;
    let items = "items: []\n".repeat(many);
    assert_eq!(gist(format!("kind: List\n{items}"), &Limits::default()), [""; 0]);
    let fields = "a: []\n".repeat(many);
    assert_eq!(gist(fields, &Limits::default()), ["@1"]);
    let own: Vec<String> = (0..many / 4).map(|at| format!("  k{at}: 1\n")).collect();
    let own = own.concat();
    let merged = format!("x: &x\n{own}y:\n  <<: *x\n{}", own.replace('k', "l"));
    assert_eq!(gist(merged, &Limits::default()), ["@1"]);
    assert_eq!(gist("\n".repeat(2 << 20) + "{}", &Limits::default()), [format!("@{}", (2 << 20) + 1)]);
}

#[test]
fn bytes_that_are_no_text_are_refused_with_their_place() {
    assert_eq!(gist(b"a: 1\nb: \xff\n---\nkind: B\n", &Limits::default()), ["IN002 2:4", "@4"]);
}

#[test]
fn places_are_those_of_the_file_and_excerpts_show_the_line() {
    let text = "kind: A\n---\nkind: B\nstatus: maybe\n";
    let mut seen = Vec::new();
    read(text.as_bytes(), "x.yaml", &Limits::default(), |found| {
        if let ReadEvent::Object { root, source, .. } = found
            && let Some(status) = root.get("status")
        {
            seen.push((source.place(status).position, source.excerpt(status)));
        }
    });
    let excerpt = Excerpt { text: "status: maybe".into(), start: 8, end: 13 };
    assert_eq!(seen, [(Some(Position { line: 4, column: 9 }), Some(excerpt))]);
}

#[test]
fn tabs_and_escapes_of_json_are_read() {
    let text = "{\n\t\"kind\": \"A\",\n\t\"metadata\": {\"name\": \"a\\u003cb\\/c\"}\n}\n";
    assert_eq!(gist(text, &Limits::default()), ["a<b/c@1"]);
}

#[test]
fn json_values_in_a_row_are_read_one_after_the_other() {
    let row = "{\"metadata\": {\"name\": \"a\"}}\n  {\n \"metadata\": {\"name\": \"b\"}\n}\n[{\"metadata\": {\"name\": \"c\"}}]\n{\"x\": ]}\n";
    assert_eq!(gist(row, &Limits::default()), ["a@1", "b@2", "c@5", "IN001 6:1"]);
    // On one line, or after what is no JSON, it is a mistake.
    assert_eq!(gist("{} {}\n", &Limits::default()), ["@1", "IN001 1:4"]);
    assert_eq!(gist("\"a\"\n{}\n", &Limits::default()), ["a@1", "IN001 2:1"]);
}

#[test]
fn a_tab_is_shown_where_it_stands() {
    assert_eq!(gist("a: b\n\tc: d\n", &Limits::default()), ["IN001 2:1"]);
    assert_eq!(gist("a:\n\t- b\n---\nkind: B\n", &Limits::default()), ["IN001 2:1", "@4"]);
}

#[test]
fn a_stream_of_nothing_is_told_from_an_empty_list() {
    let summary = |text: &str| read(text.as_bytes(), "x", &Limits::default(), |_| {});
    for nothing in ["", "\n# a\n", "---\n---\nnull\n", "\u{feff}"] {
        assert!(summary(nothing).is_empty(), "{nothing:?}");
    }
    for something in ["[]", "kind: List\nitems: []\n", "a", "]", "{}"] {
        assert!(!summary(something).is_empty(), "{something:?}");
    }
}

/// What YAML is made of, in any order.
const YAML_LIKE: &str =
    "([a-z<]{1,3}: ?|kind: |items: |- |[&*][a-c] |\\[|\\]|\\{|\\}|, |\\n {0,4}|---\\n|\"|'|\\||>|#|!!str |~|1|é){0,60}";

proptest! {
    #[test]
    fn no_bytes_panic_or_stop_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read(bytes.as_slice(), "x", &Limits::default(), |_| {});
    }

    #[test]
    fn no_yaml_like_text_panics(text in YAML_LIKE) {
        read(text.as_bytes(), "x", &Limits { nodes: 500, ..Limits::default() }, |found| {
            if let ReadEvent::Object { root, source, .. } = found {
                let _ = (root.to_json(), source.excerpt(root));
            }
        });
    }

    #[test]
    fn leaving_fields_out_changes_nothing_about_the_others(text in YAML_LIKE) {
        let kinds = |keep: FieldFilter| {
            let mut kinds = Vec::new();
            let summary = read_fields(text.as_bytes(), "x", &Limits::default(), keep, |found| {
                if let ReadEvent::Object { root, .. } = found {
                    kinds.push(root.get("kind").map(Node::to_json));
                }
            });
            (summary, kinds)
        };
        prop_assert_eq!(kinds(|_, field| field == "kind"), kinds(|_, _| true));
    }
}

#[test]
fn an_object_has_fewer_bytes_than_a_list_of_them() {
    let limits = Limits { object_bytes: 40, ..Limits::default() };
    let text = |name: &str| format!("{{a: {name}}}");
    let (small, large) = (text("bbbbbbbbbb"), text(&"x".repeat(60)));
    let read_with = |text: &str| {
        let (mut objects, mut problems) = (0, Vec::new());
        read(text.as_bytes(), "f", &limits, |event| match event {
            ReadEvent::Object { .. } => objects += 1,
            ReadEvent::Problem(problem) => problems.push(format!("{}: {}", problem.code, problem.message)),
        });
        (objects, problems)
    };
    // A list may have more bytes than its objects, wherever its kind stands.
    let items = [small.as_str(); 10].join(", ");
    for list in
        [format!("[{items}]"), format!("{{items: [{items}], kind: List}}"), format!("{{kind: List, items: [{items}]}}")]
    {
        assert_eq!(read_with(&list), (10, Vec::new()), "{list}");
    }
    let refused = vec!["IN003: the object is larger than 40 bytes (the cap `object_bytes`)".to_owned()];
    for (text, objects) in [
        (large.clone(), 0),
        (format!("[{small}, {large}, {small}]"), 1),
        (format!("{{items: [{small}, {large}], kind: List}}"), 1),
        (format!("{{items: [{small}], b: {large}}}"), 1),
        (format!("{small}\n---\n{large}\n---\n{small}"), 2),
        (format!("- {small}\n- a:\n    - {}\n", ["bbbb"; 12].join("\n    - ")), 1),
    ] {
        assert_eq!(read_with(&text), (objects, refused.clone()), "{text}");
    }
}
