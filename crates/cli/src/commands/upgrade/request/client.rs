//! Where a request comes from: its refusals and warnings say what its user can do there.

use clearway_console::change::{ALLOW_NOT_RECOMMENDED, ALLOW_WITH_WARNINGS};

/// The client of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Client {
    /// `clearway upgrade`, with its options.
    #[default]
    CommandLine,
    /// The web console, with the ticks and fields of its forms.
    Console,
}

impl Client {
    /// How an update that is not recommended is allowed.
    pub(crate) fn allow_not_recommended(self) -> String {
        match self {
            Client::CommandLine => "use --allow-not-recommended".to_owned(),
            Client::Console => format!("tick “{ALLOW_NOT_RECOMMENDED}”"),
        }
    }

    /// The beginning of the sentence that says what was allowed.
    pub(crate) fn having_allowed(self) -> &'static str {
        match self {
            Client::CommandLine => "with --allow-not-recommended you have",
            Client::Console => "you have",
        }
    }

    /// How an update is allowed in spite of conditions.
    pub(crate) fn allow_with_warnings(self) -> String {
        match self {
            Client::CommandLine => "use --allow-upgrade-with-warnings".to_owned(),
            Client::Console => format!("tick “{ALLOW_WITH_WARNINGS}”"),
        }
    }

    /// The beginning of the sentence that says which conditions were bypassed.
    pub(crate) fn bypassing(self) -> &'static str {
        match self {
            Client::CommandLine => "--allow-upgrade-with-warnings is bypassing",
            Client::Console => "you have bypassed",
        }
    }

    /// What comes before an option that only the command line has.
    pub(crate) fn specify(self) -> &'static str {
        match self {
            Client::CommandLine => "specify",
            Client::Console => "the console cannot request it; with `clearway upgrade`, specify",
        }
    }

    /// The condition under which the operator skips its checks.
    pub(crate) fn forced(self) -> &'static str {
        match self {
            Client::CommandLine => "--force is set",
            Client::Console => "spec.desiredUpdate.force is true",
        }
    }

    /// What to do where risks cannot be accepted by name.
    pub(crate) fn instead_of_accepting(self) -> String {
        match self {
            Client::CommandLine => "use --allow-not-recommended with --to for one update".to_owned(),
            Client::Console => format!("to start one update anyway, tick “{ALLOW_NOT_RECOMMENDED}” on its page"),
        }
    }

    /// How a reason is given.
    pub(crate) fn give_reason(self) -> &'static str {
        match self {
            Client::CommandLine => "pass a reason with --reason TEXT",
            Client::Console => "fill in the reason",
        }
    }

    /// What the end of an acceptance is called.
    pub(crate) fn end(self) -> &'static str {
        match self {
            Client::CommandLine => "--until",
            Client::Console => "the end",
        }
    }
}
