//! What a pass writes: exactly which fields, where in the list, and what becomes of what it does not mention.

use super::super::{ConditionSeverity, Progress, StoredFields, Transition};
use super::*;

#[test]
fn a_first_pass_writes_all_fields_of_all_conditions() {
    let outcome = pass_over(&Conditions::default(), |pass| {
        healthy(pass);
        pass.raise(Problem::DiskFull, reason!("NoSpace"), "99 % used");
    });
    let entry = |type_: &str, status: &str, reason: &str, message: &str| {
        json!({
            "type": type_, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": "2024-05-01T12:00:01Z", "observedGeneration": 4,
        })
    };
    let with = |mut entry: Value, severity: &str| {
        entry["severity"] = severity.into();
        entry
    };
    assert_eq!(
        serde_json::to_value(&outcome.conditions).unwrap(),
        json!([
            entry("Ready", "True", "AsExpected", ""),
            entry("Reachable", "True", "AsExpected", ""),
            entry("Configured", "True", "AsExpected", ""),
            with(entry("Licensed", "True", "AsExpected", ""), "Warning"),
            with(entry("Idle", "True", "AsExpected", ""), "Info"),
            with(entry("Failing", "False", "AsExpected", "Nothing is wrong."), "Info"),
            with(entry("example.com/DiskFull", "True", "NoSpace", "99 % used"), "Info"),
        ])
    );
    assert_eq!(outcome.owned, outcome.conditions);
}

#[test]
fn g1_problems_are_present_only_while_they_are_there() {
    let raised = pass_over(&Conditions::default(), |pass| {
        healthy(pass);
        pass.raise(Problem::DiskFull, reason!("NoSpace"), "99 % used");
        pass.raise(Problem::Upgradeable, reason!("OldConfig"), "the old configuration is in use");
    });
    assert_eq!(status_of(&raised, "example.com/DiskFull"), Some(Status::True));
    assert_eq!(status_of(&raised, "Upgradeable"), Some(Status::False));
    assert_eq!(ready(&raised).0, Status::True, "problems are not dependents");

    let cleared = pass_at(&raised.conditions, 4, 2, |pass| {
        healthy(pass);
        pass.clear(Problem::DiskFull);
        pass.clear(Problem::Upgradeable);
    });
    assert_eq!(status_of(&cleared, "example.com/DiskFull"), None);
    assert_eq!(status_of(&cleared, "Upgradeable"), None);
}

#[test]
fn a_problem_not_mentioned_stays_with_the_generation_it_was_seen_at() {
    let mut full = stored("example.com/DiskFull", "True", 3);
    full["severity"] = "Info".into();
    let before = list(&json!([full, stored("Overdue", "False", 3), stored("Upgradeable", "False", 3)]));
    let outcome = pass_over(&before, healthy);
    assert_eq!(outcome.conditions.entries().first(), before.entries().first());
    assert_eq!(status_of(&outcome, "Overdue"), None, "a negative condition that is not True says nothing (G1)");
    let upgradeable = outcome.conditions.get("Upgradeable").unwrap();
    assert_eq!((upgradeable.status, upgradeable.observed_generation), (Status::False, Some(3)));
    assert_eq!(upgradeable.severity, ConditionSeverity::Info, "put right, or K4 would have it lower the summary");
    assert_eq!(ready(&outcome).0, Status::True);
}

#[test]
fn reconciling_and_stalled_are_never_both_there() {
    let stuck = || Progress::stalled(reason!("NoQuota"), "ask for more");
    let busy = || Progress::reconciling(reason!("Restarting"), "soon done");
    let both = pass_over(&Conditions::default(), |pass| {
        pass.progress(stuck());
        pass.progress(busy());
    });
    assert_eq!((status_of(&both, "Stalled"), status_of(&both, "Reconciling")), (Some(Status::True), None));

    let moved_on = pass_at(&both.conditions, 4, 2, |pass| pass.progress(busy()));
    assert_eq!((status_of(&moved_on, "Stalled"), status_of(&moved_on, "Reconciling")), (None, Some(Status::True)));
    let silent = pass_at(&moved_on.conditions, 4, 3, |_| {});
    assert_eq!(silent.conditions.get("Reconciling"), moved_on.conditions.get("Reconciling"));
    let settled = pass_at(&silent.conditions, 4, 4, |pass| pass.progress(Progress::settled()));
    assert_eq!((status_of(&settled, "Stalled"), status_of(&settled, "Reconciling")), (None, None));

    // An earlier release left both: the newer generation, then the graver, stays.
    for (reconciling, stalled, stays) in [(3, 4, "Stalled"), (4, 3, "Reconciling"), (4, 4, "Stalled")] {
        let before = list(&json!([stored("Stalled", "True", stalled), stored("Reconciling", "True", reconciling)]));
        let outcome = pass_over(&before, |_| {});
        let left: Vec<&str> =
            ["Stalled", "Reconciling"].into_iter().filter(|type_| status_of(&outcome, type_).is_some()).collect();
        assert_eq!(left, [stays]);
    }
}

#[test]
fn an_early_return_never_leaves_an_old_ready() {
    let before = pass_over(&Conditions::default(), healthy);
    assert_eq!(ready(&before).0, Status::True);
    for number in [4, 5] {
        let outcome = Pass::<Machine>::begin(&before.conditions, generation(number), at(9)).finish();
        assert_eq!((ready(&outcome).0, ready(&outcome).1), (Status::Unknown, "NotReported"));
        for condition in outcome.conditions.iter() {
            assert_eq!((condition.status, condition.observed_generation), (Status::Unknown, Some(number)));
            assert_eq!(condition.last_transition_time, Some(at(9)));
        }
    }
}

#[test]
fn what_is_retained_holds_for_its_own_generation_only() {
    let before = pass_over(&Conditions::default(), |pass| {
        healthy(pass);
        pass.report(Aspect::Configured, down());
    });
    let retain = |number| {
        pass_at(&before.conditions, number, 9, |pass| {
            pass.retain(Aspect::Reachable);
            pass.retain(Aspect::Configured);
        })
    };
    let same = retain(4);
    assert!(!same.changed);
    let next = retain(5);
    assert_eq!(status_of(&next, "Reachable"), Some(Status::Unknown));
    assert_eq!(
        (ready(&next).0, ready(&next).1),
        (Status::Unknown, "StaleObservation"),
        "a failure of another generation is no failure of this one"
    );
    let reported = pass_at(&before.conditions, 5, 9, |pass| {
        pass.retain(Aspect::Configured);
        healthy(pass);
    });
    assert_eq!(ready(&reported).0, Status::True, "a report overrides");
}

#[test]
fn a_failure_that_remains_wins_over_what_is_unknown() {
    let before = list(&json!([stored("Configured", "True", 3)]));
    let outcome = pass_over(&before, |pass| {
        pass.retain(Aspect::Configured);
        pass.report(Aspect::Reachable, down());
    });
    assert_eq!(
        ready(&outcome),
        (
            Status::False,
            "DbDown",
            "Reachable: connection refused\nConfigured: Last observed at generation 3; the object is at generation 4."
        )
    );
}

#[test]
fn a_foreign_true_about_another_generation_proves_nothing() {
    let stale = pass_over(&list(&json!([stored("Stray", "True", 3)])), healthy);
    assert_eq!((ready(&stale).0, ready(&stale).1), (Status::Unknown, "StaleObservation"));
    let silent = pass_over(&list(&json!([{ "type": "Stray", "status": "True" }])), healthy);
    assert_eq!(ready(&silent).0, Status::True, "one that names no generation is believed");
    let failed = pass_over(&list(&json!([stored("Stray", "False", 3)])), healthy);
    assert_eq!((ready(&failed).0, ready(&failed).1), (Status::False, "Before"), "K4: False is False");
}

#[test]
fn the_unhappy_are_named_in_the_order_of_declaration_then_foreign_ones_by_type() {
    let (zebra, ant) = (json!({ "type": "Zebra", "status": "False" }), json!({ "type": "Ant", "status": "Unknown" }));
    let bee = json!({ "type": "Bee", "status": "False", "reason": "DbDown", "message": "same here" });
    for order in [[&zebra, &ant, &bee], [&ant, &bee, &zebra], [&bee, &zebra, &ant]] {
        let outcome = pass_over(&list(&json!(order)), |pass| {
            pass.report(Aspect::Configured, down());
            pass.report(Aspect::Reachable, down());
        });
        let message = "Reachable: connection refused\nConfigured: connection refused\nBee: same here\n\
                       Zebra: Zebra is False.\nAnt: Ant is Unknown.";
        assert_eq!(ready(&outcome), (Status::False, "MultipleReasons", message));
    }
    let shared = pass_over(&list(&json!([bee])), |pass| {
        healthy(pass);
        pass.report(Aspect::Configured, down());
    });
    assert_eq!(ready(&shared).1, "DbDown", "a reason that all failures share is the summary's");
}

#[test]
fn foreign_entries_stay_byte_for_byte_in_their_places_and_ours_once() {
    let text = r#"[{"a":{"z":[1,null]},"type":"First","status":""},{"type":"Ready","status":"True"},"odd",{"lastHeartbeatTime":null,"severity":"Info","status":"False","type":"Second"},{"type":"Ready","status":"False"},{"type":"Second"},{"type":"Healthy","status":"True"},{}]"#;
    let before: Conditions = serde_json::from_str(text).unwrap();
    let outcome = pass_over(&before, healthy);
    let kinds: Vec<String> = outcome
        .conditions
        .entries()
        .iter()
        .map(|entry| entry.get("type").and_then(Value::as_str).unwrap_or("-").to_owned())
        .collect();
    assert_eq!(
        kinds,
        ["First", "Ready", "-", "Second", "Second", "-", "Reachable", "Configured", "Licensed", "Idle", "Failing"],
        "ours in its place, its double and the retired one gone, new ones at the end"
    );
    for (new, old) in [(0, 0), (2, 2), (3, 3), (4, 5), (5, 7)] {
        let bytes = |list: &Conditions, index: usize| serde_json::to_string(&list.entries()[index]).unwrap();
        assert_eq!(bytes(&outcome.conditions, new), bytes(&before, old));
    }
    assert_eq!(outcome.owned.entries().len(), 6);
}

#[test]
fn a_stored_entry_that_says_the_same_stays_as_it_is() {
    let mut first = pass_over(&Conditions::default(), healthy).conditions.entries().to_vec();
    first[0]["lastUpdateTime"] = "2024-05-01T12:00:07Z".into(); // as a default of the CRD may add
    first[1]["lastTransitionTime"] = "2024-05-01T14:00:01.5+02:00".into();
    first[2]["severity"] = "".into();
    let outcome = pass_at(&Conditions::from_entries(first.clone()), 4, 9, healthy);
    assert!(!outcome.changed);

    for (index, field, odd) in [
        (0, "status", json!("true")),
        (0, "severity", json!("Info")),
        (1, "lastTransitionTime", json!(null)),
        (1, "observedGeneration", json!("4")),
        (3, "severity", json!("")),
    ] {
        let mut entries = first.clone();
        entries[index][field] = odd;
        let outcome = pass_at(&Conditions::from_entries(entries), 4, 9, healthy);
        assert!(outcome.changed, "{field} is put right");
        let again = pass_at(&outcome.conditions, 4, 10, healthy);
        assert!(!again.changed, "{field} is right now");
    }
}

#[test]
fn g2_a_crd_that_prunes_does_not_make_us_write_for_ever() {
    for kept in [
        StoredFields::metav1(),
        StoredFields::only(["type", "status", "reason", "message", "lastTransitionTime"]),
        StoredFields::only(["type", "status", "reason", "message"]),
        StoredFields::only(["type", "status"]),
    ] {
        let run = |before: &Conditions, second| {
            let mut pass = Pass::<Machine>::begin(before, generation(4), at(second)).stored_in(kept.clone());
            healthy(&mut pass);
            pass.raise(Problem::Overdue, reason!("NoBackup"), "since Monday");
            pass.finish()
        };
        let first = run(&Conditions::default(), 1);
        let pruned: Vec<Value> = first
            .conditions
            .entries()
            .iter()
            .map(|entry| {
                let fields = entry.as_object().unwrap().iter().filter(|(field, _)| kept.stores(field));
                Value::Object(fields.map(|(field, value)| (field.clone(), value.clone())).collect())
            })
            .collect();
        let second = run(&Conditions::from_entries(pruned), 2);
        assert!(first.changed && !second.changed, "{kept:?}");
        assert!(kept.same(&first.conditions, &second.conditions));
    }
}

#[test]
fn transitions_tell_what_changed_from_what_to_what_and_why() {
    let before = list(&json!([
        stored("Ready", "True", 4),
        stored("Reachable", "True", 4),
        stored("Configured", "True", 4),
        stored("Overdue", "True", 4),
        stored("Healthy", "True", 4),
    ]));
    let outcome = pass_over(&before, |pass| {
        healthy(pass);
        pass.report(Aspect::Reachable, down());
        pass.clear(Problem::Overdue);
    });
    let told: Vec<(&str, Option<Status>, Option<Status>, &str)> = outcome
        .transitions
        .iter()
        .map(|Transition { type_, from, to, reason }| (type_.as_str(), *from, *to, reason.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("Ready", Some(Status::True), Some(Status::False), "DbDown"),
            ("Reachable", Some(Status::True), Some(Status::False), "DbDown"),
            ("Licensed", None, Some(Status::True), "AsExpected"),
            ("Idle", None, Some(Status::True), "AsExpected"),
            ("Failing", None, Some(Status::False), "AsExpected"),
            ("Overdue", Some(Status::True), None, "Before"),
            ("Healthy", Some(Status::True), None, "Before"),
        ]
    );
}

#[test]
fn several_verdicts_on_one_condition_come_to_the_worst_with_all_reasons() {
    let outcome = pass_over(&Conditions::default(), |pass| {
        healthy(pass);
        pass.report(Aspect::Reachable, waiting());
        pass.report(Aspect::Reachable, down());
        pass.report(Aspect::Reachable, Verdict::bad(reason!("CertExpired"), "since May"));
        pass.report(Aspect::Failing, down());
    });
    let reachable = outcome.conditions.get("Reachable").unwrap();
    assert_eq!((reachable.status, reachable.reason), (Status::False, "MultipleReasons"));
    assert_eq!(reachable.message, "CertExpired: since May\nDbDown: connection refused");
    assert_eq!(ready(&outcome), (Status::False, "MultipleReasons", reachable.message), "one unhappy: as it says");
    assert_eq!(status_of(&outcome, "Failing"), Some(Status::True), "bad is True where the polarity is negative");
}

#[test]
fn a_list_inside_a_status_needs_no_summary() {
    condition_set! {
        set Risk { summary: Omitted }
        always RiskCondition { Recommended: info, }
    }
    let none = Conditions::default();
    let mut pass = Pass::<Risk>::begin(&none, generation(1), at(0)).stored_in(StoredFields::metav1());
    pass.report(RiskCondition::Recommended, waiting());
    let types: Vec<String> = pass.finish().conditions.iter().map(|c| c.type_.to_owned()).collect();
    assert_eq!(types, ["Recommended"]);
}
