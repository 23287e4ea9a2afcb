//! Conditions that block a request. The operator would accept it; this check is for the client (U23).

use clearway_conditions::Status as Word;
use clearway_update::api::Status;

use crate::commands::upgrade::condition_text::reason_and_message;
use crate::output::printable;

/// What the conditions say against it; nothing if all is well.
pub(crate) fn objections(status: &Status) -> Option<String> {
    let is_true = |type_| status.conditions.get(type_).filter(|condition| condition.status == Word::True);
    let desired = &status.desired;
    let at = printable(if desired.version.is_empty() { &desired.image } else { &desired.version });
    let said = [
        ("Invalid", "the cluster version object is invalid, you must correct the invalid state first:".to_owned()),
        ("Failing", format!("the cluster is experiencing an error reconciling \"{at}\":")),
        ("Progressing", "the cluster is already upgrading:".to_owned()),
    ];
    let said: Vec<String> = said
        .into_iter()
        .filter_map(|(type_, text)| {
            let condition = is_true(type_)?;
            Some(format!("{text}\n\n{}", reason_and_message(condition.reason, condition.message)))
        })
        .collect();
    (!said.is_empty()).then(|| said.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use clearway_conditions::Conditions;
    use clearway_update::api::Release;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_true_speaks_against_it() {
        let condition =
            |type_: &str, status: &str| json!({"type": type_, "status": status, "reason": "R", "message": "M\nN"});
        let status = |conditions: serde_json::Value| Status {
            desired: Release { version: "1.0.0".to_owned(), ..Release::default() },
            conditions: Conditions::read(&conditions).0,
            ..Status::default()
        };
        let none = json!([condition("Failing", "False"), condition("Progressing", "Unknown")]);
        assert_eq!(objections(&status(none)), None);
        assert_eq!(objections(&Status::default()), None);
        let two = json!([condition("Progressing", "True"), condition("Failing", "True")]);
        assert_eq!(
            objections(&status(two)).unwrap(),
            "the cluster is experiencing an error reconciling \"1.0.0\":\n\n  Reason: R\n  Message: M\n  N\n\n\
             the cluster is already upgrading:\n\n  Reason: R\n  Message: M\n  N"
        );
    }
}
