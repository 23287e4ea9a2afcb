//! The rules of the attacks by graph-data, as a hostile update service answers them: to commands, a mirror and the operator.
//!
//! Nothing has looked at such an answer before: what our own service would refuse to publish is in it, too.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::attack;
use crate::evidence;
use crate::graph_data::Attack;
use crate::operator::{Operator, advice, is_recommended};
use crate::program::{COMMAND, Ended, Service, run, shortened};
use crate::stranger::{Said, Stranger};

/// An answer with one risk on the update to 1.1.0, if there is one, and a good one on that to 1.2.0.
fn answer(hostile: Option<&Value>) -> String {
    let node = |version: &str| json!({"version": version, "payload": format!("r.example.com/p:{version}")});
    let rules = json!([{"type": "PromQL", "promql": {"promql": "max(broken)"}}]);
    let watched =
        json!({"name": "Watched", "url": "https://example.com/w", "message": "It breaks.", "matchingRules": rules});
    let group = |to: &str, risk: &Value| json!({"edges": [{"from": "1.0.0", "to": to}], "risks": [risk]});
    let groups = [Some(group("1.2.0", &watched)), hostile.map(|risk| group("1.1.0", risk))];
    json!({
        "version": 1,
        "nodes": [node("1.0.0"), node("1.1.0"), node("1.2.0")],
        "edges": if hostile.is_some() { json!([]) } else { json!([[0, 1]]) },
        "conditionalEdges": groups.into_iter().flatten().collect::<Vec<_>>(),
    })
    .to_string()
}

/// The attacks that are a risk with rules, each with its answer.
fn attacks() -> BTreeMap<String, (Attack, String)> {
    let answered = attack::all::<Attack>("graph-data").into_iter().filter_map(|(name, attack)| {
        let text = String::from_utf8(attack.files.get("risks/x.yaml")?.bytes()?).ok()?;
        if !text.contains("matchingRules:") {
            return None;
        }
        // What is not a value, because a key is in it twice, cannot be in an answer.
        let mut risk: Value = serde_saphyr::from_str(&text).ok()?;
        for of_blocks in ["to", "from"] {
            risk.as_object_mut().unwrap().remove(of_blocks);
        }
        let answer = answer(Some(&risk));
        Some((name, (attack, answer)))
    });
    let attacks: BTreeMap<_, _> = answered.collect();
    assert!(attacks.len() > 20, "only {:?}", attacks.keys());
    attacks
}

/// Every fifth of them, and those that our own service does not publish.
fn some() -> impl Iterator<Item = (String, (Attack, String))> {
    let is_refused = |attack: &Attack| attack.refused.is_some() || attack.closed;
    attacks()
        .into_iter()
        .enumerate()
        .filter(move |(at, (_, (attack, _)))| at % 5 == 0 || is_refused(attack))
        .map(|(_, one)| one)
}

/// Fails unless this is what is advised. A risk that is left out of graph-data with its update is unknown in an answer.
fn judge(what: &str, attack: &Attack, touched: Option<(String, String)>) {
    if attack.refused.is_some() || attack.closed {
        assert_eq!(touched.as_ref().map(|(status, _)| status.as_str()), Some("Unknown"), "{what}: {touched:?}");
        assert!(touched.is_some_and(|(_, message)| !message.is_empty()), "{what}");
    } else {
        attack.judges(what, touched);
    }
}

fn assess(place: &Path, graph: &str) -> Ended {
    let of_cluster = ["assess", "--version", "1.0.0", "--channel", "c", "--arch", "amd64", "--graph", graph];
    let of_snapshot = ["--snapshot", "evidence", "--as-of", "snapshot", "-o", "json"];
    run(place, &[&of_cluster[..], &of_snapshot].concat())
}

fn judge_command(what: &str, attack: &Attack, ended: &Ended) {
    let text = shortened(&ended.text);
    if let Some(never) = &attack.never {
        assert!(!ended.text.contains(never.as_str()), "{what}: prints {never:?}");
    }
    let other = evidence::advice(ended, "1.2.0").map(|(status, _)| status);
    assert_eq!(other.as_deref(), Some("True"), "{what}: the other update: {text}");
    judge(what, attack, evidence::advice(ended, "1.1.0"));
}

#[test]
fn answers_with_such_rules_for_commands() {
    let place = tempfile::tempdir().unwrap();
    evidence::write(&place.path().join("evidence"));
    let stranger = Stranger::start(|_| Said::json(answer(None)));
    for (name, (attack, answer)) in attacks() {
        stranger.says(move |_| Said::json(answer.clone()));
        let ended = assess(place.path(), &format!("http://{}/api/upgrades_info", stranger.host));
        judge_command(&format!("{name} ({})", attack.title), &attack, &ended);
    }
}

/// A mirror passes on what it was answered: its clients are not better off, and no worse.
#[test]
fn answers_with_such_rules_for_a_mirror() {
    let place = tempfile::tempdir().unwrap();
    evidence::write(&place.path().join("evidence"));
    let stranger = Stranger::start(|_| Said::json(answer(None)));
    for (name, (attack, answer)) in some() {
        stranger.says(move |_| Said::json(answer.clone()));
        let upstream = format!("http://{}/api/upgrades_info", stranger.host);
        let listen = ["--listen", "127.0.0.1:0", "--status-listen", "127.0.0.1:0", "--log", "info"];
        let mirror = ["serve", "--upstream", &upstream, "--mirror", "c/amd64"];
        let mut mirror = Service::start(place.path(), &[&mirror[..], &listen].concat());
        let line = mirror.line_with(&["serving on http://127.0.0.1:"]);
        let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap();
        let ended = assess(place.path(), &format!("http://{address}/api/upgrades_info"));
        judge_command(&format!("{name} ({}) from a mirror", attack.title), &attack, &ended);
        mirror.end(COMMAND);
    }
}

/// The operator judges such an answer as commands do, and the next one as if it had never been.
#[test]
fn answers_with_such_rules_for_the_operator() {
    let place = tempfile::tempdir().unwrap();
    let stranger = Stranger::start(|_| Said::json(answer(None)));
    let upstream = format!("http://{}/api/upgrades_info", stranger.host);
    let mut operator = Operator::start(place.path(), &["--upstream", &upstream]);
    let both = |status: &Value| is_recommended(status, "1.1.0") && is_recommended(status, "1.2.0");
    operator.until("both updates are recommended", both);
    // What comes to nothing cannot be told from what was there before.
    for (name, (attack, answer)) in some().filter(|(_, (attack, _))| !attack.harmless) {
        let what = format!("{name} ({}) for the operator", attack.title);
        stranger.says(move |_| Said::json(answer.clone()));
        let expected = if attack.applies { "False" } else { "Unknown" };
        let status = operator.until(&what, |status| {
            advice(status, "1.1.0").is_some_and(|(found, message)| {
                found == expected && message.contains(attack.unknown.as_deref().unwrap_or_default())
            }) && is_recommended(status, "1.2.0")
        });
        judge(&what, &attack, advice(&status, "1.1.0"));
        if let Some(never) = &attack.never {
            assert!(!status.to_string().contains(never.as_str()), "{what}: the status has {never:?}");
            assert!(!operator.log().contains(never.as_str()), "{what}: the log has {never:?}");
        }
        stranger.says(|_| Said::json(self::answer(None)));
        operator.until(&format!("after {what}, both updates are recommended"), both);
    }
    operator.end();
}
