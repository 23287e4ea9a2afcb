//! What was brought about, newest first: when an entry begins, when it ends, and which are forgotten.
//!
//! More than [`MOST`] entries are not kept. The first of all, the newest five and the newest Completed one stay for good;
//! of the others a Partial one goes before a Completed one, and the older before the newer.

use clearway_core::Timestamp;

use crate::api::{Release, UpdateHistory, UpdateState};

/// Entries that are kept.
pub const MOST: usize = 100;
/// The newest ones, which are never forgotten.
const NEWEST: usize = 5;

/// Begins an entry; one that is still open ends without being completed.
pub fn begin(
    history: &mut Vec<UpdateHistory>,
    release: &Release,
    verified: bool,
    accepted_risks: String,
    now: Timestamp,
) {
    if let Some(open) = history.first_mut() {
        open.completion_time.get_or_insert(now);
    }
    history.insert(
        0,
        UpdateHistory {
            state: UpdateState::Partial,
            started_time: now,
            completion_time: None,
            version: release.version.clone(),
            image: release.image.clone(),
            verified,
            accepted_risks,
        },
    );
    prune(history);
}

/// Completes the newest entry, if it is open.
pub fn complete(history: &mut [UpdateHistory], now: Timestamp) {
    if let Some(open) = history.first_mut().filter(|entry| entry.completion_time.is_none()) {
        // A clock that was set back must not make an update end before it began.
        open.completion_time = Some(now.max(open.started_time));
        open.state = UpdateState::Completed;
    }
}

fn prune(history: &mut Vec<UpdateHistory>) {
    while history.len() > MOST {
        let completed = |entry: &UpdateHistory| entry.state == UpdateState::Completed;
        let newest_completed = history.iter().position(completed);
        let last = history.len() - 1;
        let may_go = |at: &usize| *at >= NEWEST && *at != last && Some(*at) != newest_completed;
        let oldest = |state: UpdateState| {
            (0..history.len())
                .rev()
                .filter(may_go)
                .find(|at| history.get(*at).is_some_and(|entry| entry.state == state))
        };
        let Some(goes) = oldest(UpdateState::Partial).or_else(|| oldest(UpdateState::Completed)) else { return };
        history.remove(goes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds).unwrap()
    }

    fn release(version: &str) -> Release {
        Release { version: version.to_owned(), image: format!("example.com/r@{version}"), ..Release::default() }
    }

    #[test]
    fn a_new_entry_ends_the_open_one_and_only_the_newest_is_completed() {
        let mut history = Vec::new();
        begin(&mut history, &release("1.0.0"), true, String::new(), at(10));
        complete(&mut history, at(20));
        complete(&mut history, at(30));
        begin(&mut history, &release("1.0.1"), false, "risky".to_owned(), at(40));
        begin(&mut history, &release("1.0.2"), false, String::new(), at(50));
        complete(&mut history, at(45));
        let shown: Vec<_> = history
            .iter()
            .map(|e| {
                (
                    e.version.as_str(),
                    e.state.as_str(),
                    e.started_time.as_seconds(),
                    e.completion_time.map(Timestamp::as_seconds),
                )
            })
            .collect();
        let want = [
            ("1.0.2", "Completed", 50, Some(50)),
            ("1.0.1", "Partial", 40, Some(50)),
            ("1.0.0", "Completed", 10, Some(20)),
        ];
        assert_eq!(shown, want);
    }

    #[test]
    fn the_first_the_newest_and_the_last_completed_are_never_forgotten() {
        let mut history = Vec::new();
        for number in 0..300 {
            begin(&mut history, &release(&format!("1.0.{number}")), false, String::new(), at(number * 10));
            if number % 40 == 0 {
                complete(&mut history, at(number * 10 + 5));
            }
        }
        assert_eq!(history.len(), MOST);
        let versions: Vec<&str> = history.iter().map(|entry| entry.version.as_str()).collect();
        assert_eq!((versions[0], versions[4], versions[MOST - 1]), ("1.0.299", "1.0.295", "1.0.0"));
        let completed: Vec<_> = history.iter().filter(|entry| entry.state == UpdateState::Completed).collect();
        assert_eq!(completed.len(), 8, "a Partial one goes first");
    }
}
