//! Kinds with conventions of their own: Gateway API, `OpenShift`, definitions, owners of fields.

use clearway_core::Severity;

use super::*;

const T: &str = "\"True\"";
const F: &str = "\"False\"";

fn nested(kind: &str, head: &str, lists: &[(&str, &[&str])]) -> String {
    let start = format!(
        "apiVersion: gateway.networking.k8s.io/v1\nkind: {kind}\nmetadata: {{name: a, namespace: b, uid: u, generation: 3, \
         creationTimestamp: 2025-06-01T08:00:00Z}}\nstatus:\n{head}"
    );
    lists.iter().fold(start, |text, (entry, conditions)| {
        let text = text + "  - " + entry + "\n    conditions:\n";
        conditions.iter().fold(text, |text, condition| text + "    - {" + condition + "}\n")
    })
}

pub(super) fn route(conditions: &[&str]) -> String {
    nested("HTTPRoute", "  parents:\n", &[("parentRef: {name: edge}", conditions)])
}

fn accepted() -> String {
    condition("Accepted", T, "reason: Accepted")
}

fn programmed() -> String {
    condition("Programmed", T, "reason: Programmed")
}

fn resolved() -> String {
    condition("ResolvedRefs", T, "reason: ResolvedRefs")
}

fn gateway(listener: &[&str]) -> String {
    let head = format!("  conditions:\n  - {{{}}}\n  - {{{}}}\n  listeners:\n", accepted(), programmed());
    nested("Gateway", &head, &[("name: http", listener)])
}

#[test]
fn gw24_nested_lists_are_found_and_named() {
    let stale = accepted().replace("observedGeneration: 3", "observedGeneration: 4");
    let yaml = nested(
        "HTTPRoute",
        "  parents:\n",
        &[
            ("parentRef: {name: x}", &[&accepted(), &resolved()]),
            ("parentRef: {name: y}", &[&accepted(), &resolved()]),
            ("parentRef: {name: z}", &[&stale, &resolved()]),
        ],
    );
    assert_eq!(
        places(&found(&yaml, &policy())),
        ["SC008 status.parents[2].conditions[type=Accepted].observedGeneration"]
    );
    let yaml = gateway(&[&accepted(), &programmed(), "status: \"True\""]);
    let findings = places(&found(&yaml, &policy()));
    assert!(findings.contains(&"SC003 status.listeners[name=http].conditions[2].type".to_owned()), "{findings:?}");
}

#[test]
fn gw7_what_is_missing_is_named_per_list() {
    let findings = found(&gateway(&[&accepted()]), &policy());
    assert_eq!(places(&findings), ["SC013 status.listeners[name=http].conditions"]);
    assert_eq!(findings[0].message, "the conditions lack `ResolvedRefs`, `Programmed`");
    let silent = "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: a, creationTimestamp: 2025-06-01T08:00:00Z}\n\
                  status: {listeners: [{name: http}]}\n";
    assert_eq!(
        places(&found(silent, &policy())),
        ["SC013 status.conditions", "SC013 status.listeners[name=http].conditions"]
    );
    // A manifest that was never applied owes nothing; neither does an object that is a moment old.
    let manifest = "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: a}\nspec: {}\n";
    assert_eq!(codes(&found(manifest, &policy())), Vec::<&str>::new());
    let young = silent.replace("2025-06-01T08:00:00Z", "2025-12-31T23:59:59Z");
    assert_eq!(codes(&found(&young, &policy())), Vec::<&str>::new());
}

#[test]
fn gw20_what_the_crd_wrote_is_left_alone() {
    let pending = |type_: &str| {
        format!(
            "type: {type_}, status: Unknown, reason: Pending, message: Waiting for controller, \
             lastTransitionTime: \"1970-01-01T00:00:00Z\""
        )
    };
    let yaml = object("gateway.networking.k8s.io/v1", "Gateway", &[&pending("Accepted"), &pending("Programmed")])
        .replace("  observedGeneration: 3\n", "");
    assert_eq!(codes(&found(&yaml, &policy())), Vec::<&str>::new());
}

#[test]
fn g8_deprecated_names_are_told_with_their_replacement() {
    let top = object(
        "gateway.networking.k8s.io/v1",
        "Gateway",
        &[&accepted(), &programmed(), &condition("Scheduled", T, ""), &condition("Ready", T, "reason: Ready")],
    );
    let found_on = |yaml: &str| -> Vec<_> {
        found(yaml, &policy()).into_iter().map(|one| (one.code, one.severity, one.help.unwrap())).collect()
    };
    // `Ready` is extended, not deprecated; `Scheduled` beside an `Accepted` that says the same is a note.
    let found_here = found_on(&top);
    assert_eq!(found_here.len(), 1, "{found_here:?}");
    let (code, severity, help) = &found_here[0];
    assert!(code == "SC018" && *severity == Severity::Info && help.contains("`Accepted`"), "{found_here:?}");
    for (status, severity) in [(F, Severity::Info), (T, Severity::Warning)] {
        let yaml = gateway(&[
            &accepted(),
            &programmed(),
            &resolved(),
            &condition("Ready", T, "reason: Ready"),
            &condition("Detached", status, ""),
        ]);
        let found_here = found_on(&yaml);
        assert_eq!(found_here.len(), 1, "{found_here:?}");
        assert_eq!((found_here[0].0.as_ref(), found_here[0].1), ("SC018", severity), "{found_here:?}");
        assert!(found_here[0].2.contains("Detached=False is Accepted=True"));
    }
}

#[test]
fn g7_gw17_types_of_an_implementation_carry_its_domain() {
    let list =
        |own: &str| codes(&found(&route(&[&accepted(), &resolved(), &condition(own, T, "")]), &policy())).join(" ");
    assert_eq!((list("Throttled").as_str(), list("example.com/Throttled").as_str()), ("SC018", ""));
    // Readers take every unlisted type for an error (GW9).
    assert_eq!(list("example.com/BackendHealthy"), "SC017");
}

#[test]
fn gw8_error_conditions_are_only_there_while_true() {
    let list = |type_: &str, status: &str, reason: &str| {
        let own = condition(type_, status, &format!("reason: {reason}"));
        codes(&found(&gateway(&[&accepted(), &programmed(), &resolved(), &own]), &policy())).join(" ")
    };
    assert_eq!(list("OverlappingTLSConfig", F, "OverlappingHostnames"), "SC014");
    assert_eq!(list("OverlappingTLSConfig", T, "OverlappingHostnames"), "");
    assert_eq!(list("Conflicted", F, "NoConflicts"), "SC014");
    assert_eq!(list("Conflicted", T, "HostnameConflict"), "SC016");
}

#[test]
fn gw16_partial_validity_says_what_was_done_and_may_keep_the_old_generation() {
    let old = accepted().replace("observedGeneration: 3", "observedGeneration: 2");
    let partial =
        |message: &str| condition("PartiallyInvalid", T, &format!("reason: UnsupportedValue ; message: {message}"));
    let told = |accepted: &str, message: &str| {
        codes(&found(&route(&[accepted, &resolved(), &partial(message)]), &policy())).join(" ")
    };
    assert_eq!(told(&old, "Fall Back to the last good rules"), "");
    assert_eq!(told(&old, "Dropped Rule 2"), "SC009");
    assert_eq!(told(&accepted(), "rule 2 is bad"), "SC020");
}

#[test]
fn gw22_reasons_the_api_does_not_list_are_an_info() {
    let findings = found(&route(&[&condition("Accepted", F, "reason: Weird"), &resolved()]), &policy());
    assert_eq!((codes(&findings), findings[0].severity), (vec!["SC019"], Severity::Info));
}

#[test]
fn gw21_a_ninth_condition_is_refused_by_the_schema() {
    let own: Vec<String> = (0..7).map(|number| condition(&format!("example.com/Odd{number}"), T, "")).collect();
    let (first, second) = (accepted(), resolved());
    let mut list = vec![first.as_str(), second.as_str()];
    list.extend(own.iter().map(String::as_str));
    assert_eq!(codes(&found(&route(&list), &policy())), ["SC025"]);
}

#[test]
fn openshift_operators_report_three_conditions_and_may_be_brief() {
    let operator =
        |conditions: &[&str]| found(&object("config.openshift.io/v1", "ClusterOperator", conditions), &policy());
    let brief = |type_: &str, status: &str| condition(type_, status, "reason: - ; message: - ; observedGeneration: -");
    let findings = operator(&[&brief("Available", T), &brief("Progressing", F), &brief("Degraded", F)]);
    assert!(findings.iter().all(|one| one.code == "SC004" && one.severity == Severity::Info), "{findings:#?}");
    let joined = condition("Degraded", T, "reason: 'Pods_Failing::Config_Missing'");
    let findings = operator(&[&condition("Available", T, ""), &joined]);
    assert_eq!(codes(&findings), ["SC013"]);
    assert_eq!(findings[0].message, "the conditions lack `Progressing`");
}

#[test]
fn kn24_a_knative_service_reports_its_parts() {
    let ready = condition("Ready", T, "observedGeneration: -");
    let findings = found(&object("serving.knative.dev/v1", "Service", &[&ready]), &policy());
    assert_eq!(codes(&findings), ["SC013"]);
    assert_eq!(findings[0].message, "the conditions lack `ConfigurationsReady`, `RoutesReady`");
}

#[test]
fn kn1_only_what_reports_at_all_owes_conditions() {
    let bare = |api_version: &str, kind: &str, status: &str| {
        let head = "metadata: {name: a, creationTimestamp: 2025-06-01T08:00:00Z}";
        codes(&found(&format!("apiVersion: {api_version}\nkind: {kind}\n{head}\n{status}"), &policy())).join(" ")
    };
    assert_eq!(bare("sources.knative.dev/v1", "PingSource", ""), "SC013");
    assert_eq!(bare("caching.internal.knative.dev/v1alpha1", "Image", "status: {}\n"), "");
    assert_eq!(bare("tekton.dev/v1", "Task", ""), "");
    assert_eq!(bare("tekton.dev/v1", "TaskRun", "status: {podName: a}\n"), "SC013");
}

#[test]
fn a_part_may_hold_the_status_of_another_object() {
    let part = condition("Ready", T, "observedGeneration: 9");
    let yaml = database(&[&condition("Ready", T, "")]) + &format!("  members:\n  - conditions: [{{{part}}}]\n");
    let findings = found(&yaml, &policy());
    assert_eq!(places(&findings), ["SC008 status.members[0].conditions[type=Ready].observedGeneration"]);
    assert_eq!(findings[0].severity, Severity::Warning);
}

#[test]
fn sc025_definitions_are_checked_at_any_depth() {
    let good = super::super::rule("SC025").unwrap().good;
    let errors = |yaml: &str| {
        let findings = found(yaml, &policy());
        findings.iter().filter(|one| one.severity == Severity::Error).count() * 10 + findings.len()
    };
    assert_eq!(errors(good), 0);
    assert_eq!(errors(&good.replace("      status: {}\n", "      scale: {}\n")), 11);
    assert_eq!(errors(&good.replace("list-type: map", "list-type: atomic")), 11);
    assert_eq!(errors(&good.replace("list-map-keys: [type]", "list-map-keys: [type, status]")), 11);
    assert_eq!(errors(&good.replace("                maxItems: 16\n", "")), 1);
    assert_eq!(errors(&good.replace("                      maxLength: 316\n", "")), 1);
    // Knative asks for the sixth field and not for patterns.
    assert_eq!(errors(&good.replace("group: example.com", "group: serving.knative.dev")), 1);
    let findings = found(&good.replace("list-type: map", "list-type: set"), &policy());
    assert_eq!(
        findings[0].place.path.as_deref(),
        Some("spec.versions[name=v1].schema.openAPIV3Schema.properties.status.properties.conditions")
    );
}

#[test]
fn sc025_an_updating_manager_and_an_applying_one_do_not_share_a_condition() {
    let owners = |first: &str, second: &str| {
        let yaml = database(&[&condition("Ready", T, "")]).replace(
            "uid: u,",
            &format!(
                "uid: u, managedFields: [{{manager: one, operation: Apply, fieldsV1: {{\"f:status\": {{\"f:conditions\": {first}}}}}}}, \
                 {{manager: two, operation: Update, fieldsV1: {{\"f:status\": {{\"f:conditions\": {second}}}}}}}],"
            ),
        );
        codes(&found(&yaml, &policy())).join(" ")
    };
    let (ready, other) = (r#"{'k:{"type":"Ready"}': {}}"#, r#"{'k:{"type":"Other"}': {}}"#);
    assert_eq!(owners(ready, ready), "SC025");
    assert_eq!(owners(ready, "{}"), "SC025");
    assert_eq!(owners(ready, other), "");
}

#[test]
fn a_cluster_version_follows_who_keeps_it() {
    let available = condition("Available", T, "reason: AsExpected");
    let progressing = condition("Progressing", F, "reason: AsExpected ; severity: Info");
    let ready = condition("Ready", T, "reason: AsExpected");
    let ours = condition("clearway.dev/ReleaseApplied", T, "reason: Applied");
    let found = |conditions: &[&str]| {
        let yaml = object("config.openshift.io/v1", "ClusterVersion", conditions);
        codes(&found(&yaml, &policy())).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(found(&[&ready, &available, &ours, &progressing]), [""; 0], "Clearway's: a severity is part of it");
    assert!(found(&[&available, &progressing]).contains(&"SC012".to_owned()), "OpenShift's own operator has none");
}
