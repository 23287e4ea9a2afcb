//! What Knative's condition manager gets wrong, one test each, so that it is not inherited. Q5a alone is meant to be as
//! it is there: K4 asks for it.

use super::*;

#[test]
fn q1_an_unknown_does_not_lend_its_reason_to_a_failure() {
    let outcome = pass_over(&Conditions::default(), |pass| {
        pass.report(Aspect::Configured, down());
        pass.report(Aspect::Reachable, waiting());
    });
    assert_eq!(
        ready(&outcome),
        (Status::False, "DbDown", "Configured: connection refused\nReachable: not tried yet"),
        "the reason is the failing condition's"
    );
}

#[test]
fn q2_a_new_generation_makes_an_old_failure_unknown_and_keeps_a_new_ones_reason() {
    let before = list(&json!([stored("Reachable", "False", 3), stored("Ready", "False", 3)]));
    let silent = pass_over(&before, |_| {});
    assert_eq!(ready(&silent).0, Status::Unknown, "the failure was that of another generation");
    assert_eq!(status_of(&silent, "Reachable"), Some(Status::Unknown));

    let failing = pass_over(&before, |pass| pass.report(Aspect::Reachable, down()));
    assert_eq!((ready(&failing).0, ready(&failing).1), (Status::False, "DbDown"));
}

#[test]
fn q3_the_last_failure_reported_does_not_hide_the_first() {
    let full = || Verdict::bad(reason!("DiskFull"), "no space left");
    let one = pass_over(&Conditions::default(), |pass| {
        pass.report(Aspect::Reachable, down());
        pass.report(Aspect::Configured, full());
    });
    let other = pass_over(&Conditions::default(), |pass| {
        pass.report(Aspect::Configured, full());
        pass.report(Aspect::Reachable, down());
    });
    assert_eq!(one, other);
    assert_eq!(
        ready(&one),
        (Status::False, "MultipleReasons", "Reachable: connection refused\nConfigured: no space left")
    );
}

// That a set without dependents cannot be declared at all is shown at `condition_set!`.
#[test]
fn q4_a_condition_that_does_not_count_lifts_nothing() {
    let before = list(&json!([stored("Ready", "False", 4)]));
    let outcome = pass_over(&before, |pass| pass.report(Aspect::Idle, Verdict::ok()));
    assert_eq!((ready(&outcome).0, ready(&outcome).1), (Status::Unknown, "NotReported"));
}

#[test]
fn q5a_k4_anybodys_condition_of_severity_error_drags_the_summary_down() {
    for (severity, status, want) in [
        (json!(""), "False", Status::False),
        (json!(null), "False", Status::False),
        (json!(""), "Unknown", Status::Unknown),
        (json!("Fatal"), "False", Status::False),
        (json!("Warning"), "False", Status::True),
        (json!("Info"), "Unknown", Status::True),
        (json!(""), "True", Status::True),
    ] {
        let stray = json!({ "type": "Stray", "status": status, "severity": severity });
        let outcome = pass_over(&list(&json!([stray])), healthy);
        assert_eq!(ready(&outcome).0, want, "{stray}");
    }
    let without = pass_over(&list(&json!([{ "type": "Stray", "status": "False" }])), healthy);
    assert_eq!(ready(&without), (Status::False, "NoReasonGiven", "Stray is False."));
}

#[test]
fn q5b_a_stray_true_does_not_stand_in_for_a_missing_dependent() {
    let outcome = pass_over(&list(&json!([stored("Stray", "True", 4)])), |pass| {
        pass.report(Aspect::Reachable, Verdict::ok());
    });
    assert_eq!((ready(&outcome).0, ready(&outcome).1), (Status::Unknown, "NotReported"));
    assert_eq!(status_of(&outcome, "Configured"), Some(Status::Unknown));
}

#[test]
fn q6_a_dependent_that_an_upgrade_adds_starts_unknown() {
    // The earlier release knew only `Reachable`, and was satisfied.
    let before = list(&json!([stored("Ready", "True", 4), stored("Reachable", "True", 4)]));
    let outcome = pass_over(&before, |pass| pass.report(Aspect::Reachable, Verdict::ok()));
    assert_eq!(status_of(&outcome, "Configured"), Some(Status::Unknown));
    assert_eq!(ready(&outcome).0, Status::Unknown);
}

#[test]
fn q7_k4_another_reason_or_message_moves_no_time() {
    let first = pass_over(&Conditions::default(), |pass| {
        healthy(pass);
        pass.report(Aspect::Reachable, down());
    });
    let second = pass_at(&first.conditions, 5, 60, |pass| {
        healthy(pass);
        pass.report(Aspect::Reachable, Verdict::bad(reason!("Firewalled"), "packets are dropped"));
    });
    assert!(second.changed);
    assert_eq!(second.transitions, []);
    for type_ in ["Ready", "Reachable"] {
        let condition = second.conditions.get(type_).unwrap();
        assert_eq!((condition.reason, condition.observed_generation), ("Firewalled", Some(5)));
        assert_eq!(condition.last_transition_time, Some(at(1)), "{type_}");
    }
}

#[test]
fn q8_an_empty_status_is_unknown_and_not_fine() {
    let outcome = pass_over(&list(&json!([{ "type": "Stray", "status": "" }])), healthy);
    assert_eq!(ready(&outcome), (Status::Unknown, "NoReasonGiven", "Stray is Unknown."));
}

// That the summary cannot be reported is shown at `Pass::report`.
#[test]
fn q9_the_summary_follows_from_the_conditions_and_not_from_its_own_past() {
    for past in ["True", "False", "Unknown", ""] {
        let before = list(&json!([stored("Ready", past, 4)]));
        let outcome = pass_over(&before, |pass| {
            healthy(pass);
            pass.report(Aspect::Reachable, down());
        });
        assert_eq!((ready(&outcome).0, ready(&outcome).1), (Status::False, "DbDown"), "{past:?}");
    }
}

#[test]
fn q10_a_status_of_any_shape_can_be_reported_on() {
    for odd in [json!(null), json!({}), json!("none"), json!([null, 3, [], {}, { "type": 7 }, { "type": "Ready" }])] {
        let outcome = pass_over(&list(&odd), healthy);
        assert_eq!(ready(&outcome).0, Status::True, "{odd}");
    }
}

// That a verdict cannot be made without a reason is shown at `Verdict::bad`, and that none is empty with `Reason`.
#[test]
fn q11_k5_what_is_not_true_has_a_reason_and_a_message() {
    let outcome = pass_over(&Conditions::default(), |pass| {
        pass.report(Aspect::Reachable, Verdict::bad(reason!("DbDown"), ""));
    });
    for condition in outcome.conditions.iter() {
        assert!(!condition.reason.is_empty(), "{condition:?}");
        assert!(condition.status == Status::True || !condition.message.is_empty(), "{condition:?}");
    }
}
