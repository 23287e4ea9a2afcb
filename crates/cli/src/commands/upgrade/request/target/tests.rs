//! Targets by object and command line, one row each.

use clearway_conditions::Conditions;
use clearway_update::api::{ConditionalUpdate, Release, UpdateHistory};
use serde_json::json;

use super::*;

const CLUSTER: &str = "Cluster";

fn digest(letter: char) -> String {
    format!("sha256:{}", letter.to_string().repeat(64))
}

fn image(letter: char) -> String {
    format!("registry.example.com/release@{}", digest(letter))
}

fn release(version: &str, letter: char) -> Release {
    Release { version: version.to_owned(), image: image(letter), ..Release::default() }
}

fn conditional(version: &str, letter: char, recommended: &str) -> ConditionalUpdate {
    let conditions = match recommended {
        "" => json!([]),
        status => json!([{"type": "Recommended", "status": status, "reason": "Why", "message": "One.\n\nTwo."}]),
    };
    ConditionalUpdate { release: release(version, letter), risks: vec![], conditions: Conditions::read(&conditions).0 }
}

fn entry(version: &str, letter: char, state: UpdateState) -> UpdateHistory {
    let started_time = "2026-05-04T09:00:00Z".parse().unwrap();
    let completion_time = (state == UpdateState::Completed).then_some(started_time);
    let (version, image) = (version.to_owned(), image(letter));
    let accepted_risks = String::new();
    UpdateHistory { state, started_time, completion_time, version, image, verified: true, accepted_risks }
}

/// At 1.4.2, where 1.4.1 was before: 1.4.3 is recommended, 1.5.0 is not, 1.5.1 is not known, 1.5.2 was never evaluated, and
/// 1.5.3 is recommended although it carries risks.
fn status() -> Status {
    Status {
        desired: release("1.4.2", '2'),
        history: vec![entry("1.4.2", '2', UpdateState::Completed), entry("1.4.1", '1', UpdateState::Completed)],
        conditions: Conditions::read(&json!([{"type": "RetrievedUpdates", "status": "True"}])).0,
        available_updates: vec![release("1.4.3", '3'), release("1.5.3", '7')],
        conditional_updates: vec![
            conditional("1.5.0", '4', "False"),
            conditional("1.5.1", '5', "Unknown"),
            conditional("1.5.2", '6', ""),
            conditional("1.5.3", '7', "True"),
        ],
        ..Status::default()
    }
}

fn with(status: Status, condition: &serde_json::Value) -> Status {
    let retrieved = json!({"type": "RetrievedUpdates", "status": "True"});
    // Of two conditions of one type the first is read.
    Status { conditions: Conditions::read(&json!([condition, retrieved])).0, ..status }
}

const NOTHING: AllowFlags = AllowFlags {
    not_recommended: false,
    explicit: false,
    with_warnings: false,
    force: false,
    client: Client::CommandLine,
};
const RISKY: AllowFlags = AllowFlags { not_recommended: true, ..NOTHING };
const EXPLICIT: AllowFlags = AllowFlags { explicit: true, ..NOTHING };
const FORCE: AllowFlags = AllowFlags { force: true, explicit: true, ..NOTHING };

fn to(status: &Status, version: &str, allowed: AllowFlags) -> Result<Choice, Refusal> {
    choose(status, RequestedTarget::Version(&version.parse().unwrap()), allowed, CLUSTER)
}

#[track_caller]
fn target(choice: Result<Choice, Refusal>) -> Target {
    match choice {
        Ok(Choice::Update(target)) => target,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn refusal(choice: Result<Choice, Refusal>) -> (Exit, String) {
    let refusal = choice.unwrap_err();
    (refusal.exit, refusal.text)
}

/// U13: only what is recommended is taken without more words; False and Unknown are told apart.
#[test]
fn what_is_recommended_is_taken_and_the_rest_has_to_be_allowed() {
    let status = status();
    for (version, letter) in [("1.4.3", '3'), ("1.5.3", '7')] {
        let want = Target { version: version.to_owned(), image: image(letter), ..Target::default() };
        assert_eq!(target(to(&status, version, NOTHING)), want);
    }
    for (version, letter, exit, word, reason) in [
        ("1.5.0", '4', Exit::No, "False", "Why"),
        ("1.5.1", '5', Exit::Unknown, "Unknown", "Why"),
        ("1.5.2", '6', Exit::Unknown, "Unknown", "NotEvaluated"),
    ] {
        let (code, text) = refusal(to(&status, version, NOTHING));
        assert_eq!(code, exit, "{text}");
        let opening = format!(
            "the update {version} is not one of the recommended updates, but is available as a conditional update. To accept the Recommended={word} risk and to proceed with update use --allow-not-recommended.\n  Reason: {reason}\n  Message: "
        );
        assert!(text.starts_with(&opening), "{text}");
        // Neither of the others lets it through.
        assert!(to(&status, version, FORCE).is_err());
        let taken = target(to(&status, version, RISKY));
        assert_eq!((taken.version.as_str(), taken.image), (version, image(letter)));
        let warning = format!(
            "with --allow-not-recommended you have accepted the risks with {version} and bypassed Recommended={word} {reason}: "
        );
        assert!(taken.warnings[0].starts_with(&warning), "{:?}", taken.warnings);
    }
    assert!(refusal(to(&status, "1.5.0", NOTHING)).1.ends_with("  Message: One.\n\n  Two."));
}

/// U16: a list that contradicts a condition does not make an update recommended.
#[test]
fn a_contradiction_recommends_nothing() {
    let mut status = status();
    status.available_updates.push(release("1.5.0", '4'));
    assert_eq!(refusal(to(&status, "1.5.0", NOTHING)).0, Exit::No);
}

#[test]
fn what_is_there_is_not_asked_for_and_what_is_stuck_may_be_asked_for_again() {
    let mut status = status();
    assert_eq!(
        to(&status, "1.4.2", NOTHING),
        Ok(Choice::AlreadyThere("Cluster is already at version 1.4.2".to_owned()))
    );
    let mirrored = format!("mirror.example.com/other@{}", digest('2'));
    assert_eq!(
        choose(&status, RequestedTarget::Image(&mirrored), NOTHING, CLUSTER),
        Ok(Choice::AlreadyThere(format!("Cluster is already at {mirrored}")))
    );
    status.history[0] = entry("1.4.2", '2', UpdateState::Partial);
    let again = target(to(&status, "1.4.2", NOTHING));
    assert_eq!((again.image, again.again), (image('2'), true));
}

#[test]
fn an_image_is_known_by_its_digest_and_keeps_the_name_it_was_given() {
    let status = status();
    let by = |image: &str, allowed| choose(&status, RequestedTarget::Image(image), allowed, CLUSTER);
    let mirrored = |letter| format!("mirror.example.com:5000/ours@{}", digest(letter));
    let known = target(by(&mirrored('3'), NOTHING));
    assert_eq!((known.version.as_str(), known.image), ("1.4.3", mirrored('3')));
    assert_eq!(refusal(by(&mirrored('4'), NOTHING)).0, Exit::No);
    let (exit, text) = refusal(by(&mirrored('9'), NOTHING));
    assert_eq!(exit, Exit::No);
    assert_eq!(
        text,
        "the update is not one of the possible targets: 1.5.3, 1.4.3. specify --allow-explicit-upgrade to continue with the update."
    );
    let foreign = target(by(&mirrored('9'), EXPLICIT));
    assert_eq!((foreign.version.as_str(), foreign.image), ("", mirrored('9')));
    assert!(foreign.warnings[0].starts_with("The requested upgrade image is not one of the available updates."));
    for (image, why) in [
        ("", "--to-image must be a valid image pull spec: "),
        ("release", "--to-image must be a valid image pull spec: "),
        ("registry.example.com/release", "--to-image must be a valid image pull spec: no tag or digest specified"),
        ("registry.example.com/release:1", "--to-image must be a by-digest pull spec, unless --force is also set"),
    ] {
        let (exit, text) = refusal(by(image, EXPLICIT));
        assert!(exit == Exit::CouldNotRun && text.starts_with(why), "{image}: {text}");
    }
    let tagged = target(by("registry.example.com/release:1", FORCE));
    assert!(tagged.warnings.iter().any(|warning| warning.starts_with("Using by-tag pull specs is dangerous")));
    assert!(tagged.warnings.iter().any(|warning| warning.starts_with("--force overrides cluster verification")));
    assert_eq!(target(by("/releases/1.9.0", EXPLICIT)).image, "/releases/1.9.0");
}

/// U23: a version is looked for in the history too; a version alone does not say where an unknown release is.
#[test]
fn an_explicit_version_is_explained() {
    let status = status();
    let (exit, text) = refusal(to(&status, "1.4.1", NOTHING));
    assert!(
        exit == Exit::No && text.ends_with("specify --allow-explicit-upgrade to continue with the update."),
        "{text}"
    );
    let back = target(to(&status, "1.4.1", EXPLICIT));
    assert_eq!((back.image, back.warnings.len()), (image('1'), 2));
    assert_eq!(
        back.warnings[1],
        "Downgrade from 1.4.2 to 1.4.1: a rollback to the previous release. The operator records this in the history."
    );
    let (exit, text) = refusal(to(&status, "1.9.0", EXPLICIT));
    assert!(exit == Exit::No && text.contains("--allow-explicit-upgrade needs an image"), "{text}");
    let (_, text) = refusal(to(&status, "1.9.0", NOTHING));
    assert_eq!(
        text,
        "the update 1.9.0 is not one of the possible targets: 1.5.3, 1.4.3. specify --to-image to continue with the update."
    );
    let (_, text) = refusal(to(&status, "1.9.0", RISKY));
    assert!(text.contains("1.5.3, 1.5.2, 1.5.1, 1.5.0, 1.4.3"), "{text}");
}

#[test]
fn the_latest_is_the_newest_that_is_allowed() {
    let latest = |status: &Status, allowed| choose(status, RequestedTarget::Latest, allowed, CLUSTER);
    let mut status = status();
    assert_eq!(target(latest(&status, NOTHING)).version, "1.5.3");
    status.available_updates.clear();
    status.conditional_updates.truncate(3);
    let (exit, text) = refusal(latest(&status, NOTHING));
    assert!(exit == Exit::No && text.contains("(not recommended: 1.5.0; Unknown: 1.5.2, 1.5.1)"), "{text}");
    let newest = target(latest(&status, RISKY));
    assert_eq!((newest.version.as_str(), newest.warnings.len()), ("1.5.2", 1));
    status.conditional_updates.remove(0);
    assert_eq!(refusal(latest(&status, NOTHING)).0, Exit::Unknown, "none is known not to be recommended");
    status.conditional_updates.clear();
    assert_eq!(
        latest(&status, NOTHING),
        Ok(Choice::AlreadyThere("Cluster is already at the latest available version 1.4.2".to_owned()))
    );
}

#[test]
fn what_cannot_be_known_is_not_no() {
    let nothing = Status { available_updates: vec![], conditional_updates: vec![], ..status() };
    let (exit, text) = refusal(to(&nothing, "1.9.0", NOTHING));
    let wait = "no recommended updates, specify --to-image to continue with the update or wait for new updates to be available.";
    assert_eq!((exit, text.as_str()), (Exit::No, wait));
    let away = json!({"type": "RetrievedUpdates", "status": "False", "reason": "RemoteFailed", "message": "away"});
    let away = with(nothing, &away);
    for choice in [to(&away, "1.9.0", NOTHING), choose(&away, RequestedTarget::Latest, RISKY, CLUSTER)] {
        let (exit, text) = refusal(choice);
        let text_of_all = "cannot refresh available updates:\n  Reason: RemoteFailed\n  Message: away\n\nspecify --to-image to continue with the update.";
        assert_eq!((exit, text.as_str()), (Exit::Unknown, text_of_all));
    }
    // What is listed all the same may be taken.
    let old = target(to(&Status { conditions: away.conditions, ..status() }, "1.4.3", NOTHING));
    assert_eq!(old.version, "1.4.3");
    assert_eq!(old.warnings, ["The list of updates may be out of date: RemoteFailed: away"]);
    let untold = Status { desired: release("1.4.2", '2'), ..Status::default() };
    let (exit, text) = refusal(choose(&untold, RequestedTarget::Latest, NOTHING, CLUSTER));
    assert!(exit == Exit::Unknown && text.contains("NotRetrieved"), "it is not the latest by lack of news: {text}");
}

/// U23: the client refuses what the operator would refuse, and says what the operator does with the rest.
#[test]
fn a_downgrade_is_refused_as_the_operator_refuses_it() {
    let mut status = status();
    status.history.push(entry("1.4.0", '0', UpdateState::Completed));
    status.available_updates.push(release("1.3.9", '8'));
    let by = |image: &str, allowed| choose(&status, RequestedTarget::Image(image), allowed, CLUSTER);
    let why = "is older than the current release 1.4.2; without force, only a rollback to the previous release (1.4.1) is allowed. specify --force to continue with the update; this also skips the other checks of the release.";
    for (choice, version) in [
        (to(&status, "1.4.0", EXPLICIT), "1.4.0"),
        (to(&status, "1.3.9", NOTHING), "1.3.9"),
        (by(&image('8'), NOTHING), "1.3.9"),
        (by(&image('0'), EXPLICIT), "1.4.0"),
    ] {
        assert_eq!(refusal(choice), (Exit::No, format!("{version} {why}")));
    }
    let forced = target(to(&status, "1.4.0", FORCE));
    let recorded = "Downgrade from 1.4.2 to 1.4.0, which is not the previous release: the update was forced. The operator records this in the history.";
    assert!(forced.warnings.contains(&recorded.to_owned()), "{:?}", forced.warnings);
    let unknown = target(by(&image('9'), EXPLICIT));
    assert!(
        unknown.warnings[1].contains("If it is older than 1.4.2, the operator refuses it"),
        "{:?}",
        unknown.warnings
    );
    assert_eq!(target(by(&image('1'), EXPLICIT)).warnings.len(), 2, "the previous one, by its image");
}

#[test]
fn the_change_of_architecture_is_asked_for_at_the_present_version() {
    let mut status = status();
    let multi = |status: &Status| choose(status, RequestedTarget::MultiArch, NOTHING, CLUSTER);
    let asked = target(multi(&status));
    assert_eq!((asked.version.as_str(), asked.image.as_str(), asked.multi), ("1.4.2", "", true));
    status.desired.architecture = Some("Multi".to_owned());
    let there = "Cluster is already at the multi-architecture release of 1.4.2";
    assert_eq!(multi(&status), Ok(Choice::AlreadyThere(there.to_owned())));
    assert_eq!(refusal(multi(&Status::default())).0, Exit::No);
}

/// U12: what the client says of `Upgradeable=False` is what becomes of the request.
#[test]
fn what_becomes_of_another_minor_version_is_told() {
    let held = json!({"type": "Upgradeable", "status": "False", "reason": "AdminAck", "message": "Acknowledge it."});
    let status = with(status(), &held);
    let warned = target(to(&status, "1.5.3", NOTHING)).warnings;
    assert_eq!(
        warned[0],
        "1.5.3 is another minor version, and Upgradeable=False AdminAck: Acknowledge it. Clearway's operator applies the update and records this in the history; OpenShift's operator refuses it unless --force is set."
    );
    assert!(target(to(&status, "1.4.3", NOTHING)).warnings.is_empty());
}

/// A console has ticks; an option of the command line is named only where the console cannot do it.
#[test]
fn a_refusal_names_what_its_client_has() {
    let mut status = status();
    let console = |allowed: AllowFlags| AllowFlags { client: Client::Console, ..allowed };
    let (_, text) = refusal(to(&status, "1.5.0", console(NOTHING)));
    assert!(text.contains("tick “Start it although it is not recommended”.") && !text.contains("--"), "{text}");
    let warnings = target(to(&status, "1.5.0", console(RISKY))).warnings;
    assert!(warnings[0].starts_with("you have accepted the risks with 1.5.0"), "{warnings:?}");
    for version in ["1.4.1", "1.9.0"] {
        let (_, text) = refusal(to(&status, version, console(NOTHING)));
        assert!(text.contains("the console cannot request it; with `clearway upgrade`, specify --"), "{text}");
    }
    status = with(status, &json!({"type": "Upgradeable", "status": "False", "reason": "R", "message": "M."}));
    let warnings = target(to(&status, "1.5.3", console(NOTHING))).warnings;
    assert!(warnings.iter().any(|text| text.contains("unless spec.desiredUpdate.force is true")), "{warnings:?}");
}
