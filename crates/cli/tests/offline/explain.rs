//! `clearway explain`: every code has a page, and a misspelt one a suggestion.

use super::Place;

fn run(arguments: &[&str]) -> super::Answer {
    Place::new().run(&[&["explain"], arguments].concat())
}

#[test]
fn a_page_says_what_it_means_and_what_to_do() {
    for (code, texts) in [
        (
            "GD021",
            &["GD021: A block whose `from` cannot be read", "Severity: error", "What to do:", "Wrong:", "Right:"][..],
        ),
        ("gd021", &["GD021: "]),
        ("SC011", &["SC011: The summary follows its conditions", "kind: PingSource"]),
        ("R12", &["R12: ", "# before", "# after"]),
        ("PQ031", &["PQ031: A query that never gives 0", "or 0 * group(cluster_version)"]),
        ("CEL004", &["CEL004: "]),
        ("PO001", &["PO001: "]),
        ("IN001", &["IN001: Text that is not YAML or JSON"]),
        ("PromQLError", &["Unknown: a query of a risk could not be evaluated", "clearway assess --why"]),
        ("NoUpstream", &["No update service is set"]),
        ("Accepted/Pending", &["Accepted/Pending: "]),
        ("GW4", &["GW4: ", "observedGeneration"]),
        ("V5", &["V5: "]),
        ("2", &["Exit code 2: unknown, or not yet"]),
    ] {
        let answer = run(&[code]);
        assert_eq!((answer.code, answer.err.as_str()), (0, ""), "{code}");
        for text in texts {
            assert!(answer.out.contains(text), "{code}: {text:?} in {}", answer.out);
        }
    }
}

#[test]
fn sentences_fit_a_small_terminal() {
    for code in ["GD112", "SC011", "R12", "PromQLError", "U1", "VersionNotFound"] {
        let answer = run(&[code]);
        let sentences = answer.out.lines().skip(1).take_while(|line| !line.starts_with("Wrong:"));
        let wide: Vec<&str> = sentences.filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty(), "{code}: {wide:#?}");
    }
}

#[test]
fn a_name_that_several_pages_have_shows_all_of_them() {
    let conditions = run(&["Programmed", "-o", "json"]).json();
    assert!(conditions.as_array().unwrap().len() > 2, "{conditions}");
}

#[test]
fn an_unknown_code_is_answered_with_the_nearest() {
    let answer = run(&["PromQLErorr"]);
    assert_eq!((answer.code, answer.out.as_str()), (3, ""));
    assert!(answer.err.contains("code `PromQLErorr` not found; did you mean PromQLError?"), "{answer:?}");
    let near = run(&["GD22"]);
    assert!(near.err.contains("did you mean GD"), "{near:?}");
}

#[test]
fn all_codes_are_listed() {
    let list = run(&[]);
    assert_eq!(list.code, 0);
    for line in ["CODE ", "GD001 ", "SC000 ", "PromQLError ", "GW4 "] {
        assert!(list.out.lines().any(|found| found.starts_with(line)), "{line}");
    }
    let data = run(&["-o", "json"]).json();
    assert!(data.as_array().unwrap().len() > 400, "{}", data.as_array().unwrap().len());
}
