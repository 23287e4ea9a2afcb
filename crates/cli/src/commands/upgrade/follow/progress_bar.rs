//! The progress bar of `--watch`: how many objects are done, and which ones are waited for. Only on a terminal.

use std::io::{self, IsTerminal as _};

use indicatif::{ProgressBar, ProgressStyle};

use crate::output::{self, printable};

/// How far an update is, as the operator says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UpdateProgress {
    pub(super) done: u64,
    pub(super) total: u64,
    /// What is waited for, as the operator lists it; empty if it does not say.
    pub(super) waiting_for: String,
}

impl UpdateProgress {
    /// Reads the message of `Progressing`, which Clearway's and OpenShift's operators write alike: `Working towards 4.7.4:
    /// 350 of 720 done (48% complete), waiting on etcd`. Nothing for any other message.
    pub(super) fn read(message: &str) -> Option<Self> {
        let (before, behind) = message.split_once(" done (")?;
        let mut words = before.rsplit(' ');
        let (total, of, done) = (words.next()?, words.next()?, words.next()?);
        let (done, total) = (done.parse().ok()?, total.parse().ok()?);
        let waiting_for =
            behind.split_once("waiting on ").map(|(_, names)| names.trim().to_owned()).unwrap_or_default();
        (of == "of" && total > 0 && done <= total).then_some(UpdateProgress { done, total, waiting_for })
    }
}

/// A bar on standard error that is drawn anew as the update goes on; nothing at all where that is not a terminal.
pub(super) struct WatchBar {
    bar: Option<ProgressBar>,
}

impl WatchBar {
    /// A bar without progress so far.
    pub(super) fn new() -> Self {
        let is_seen = io::stderr().is_terminal() && !output::settings().quiet;
        let bar = is_seen.then(ProgressBar::no_length);
        WatchBar { bar }
    }

    /// Whether anybody sees it.
    pub(super) fn is_live(&self) -> bool {
        self.bar.is_some()
    }

    /// Shows how far it is, or what is said while nobody counts.
    pub(super) fn set(&self, progress: Option<&UpdateProgress>, text: &str) {
        let Some(bar) = &self.bar else { return };
        if let Some(UpdateProgress { done, total, waiting_for }) = progress {
            bar.set_style(style("{elapsed} [{bar:30}] {pos} of {len} done{wide_msg}"));
            bar.set_length(*total);
            bar.set_position(*done);
            let waiting = if waiting_for.is_empty() { String::new() } else { format!(", waiting for {waiting_for}") };
            bar.set_message(printable(&waiting));
        } else {
            bar.set_style(style("{elapsed} {wide_msg}"));
            bar.set_message(printable(text));
        }
        bar.tick();
    }

    /// Prints something lasting above the bar; on standard error where there is no bar.
    pub(super) fn print_above(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::print_note!("{text}")),
            None => output::print_note!("{text}"),
        }
    }

    /// Takes the bar away for good.
    pub(super) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Drop for WatchBar {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The style of a template. The templates are those above, and a template that cannot be read is the default.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_messages_of_operators_are_read() {
        let read = |text: &str| UpdateProgress::read(text).map(|found| (found.done, found.total, found.waiting_for));
        let of = |done, total, waiting: &str| Some((done, total, waiting.to_owned()));
        assert_eq!(read("Working towards 1.5.2: 3 of 14 done (21% complete), waiting on a, b"), of(3, 14, "a, b"));
        assert_eq!(read("Working towards 4.7.4: 350 of 720 done (48% complete)"), of(350, 720, ""));
        for other in [
            "Cluster version is 4.7.4",
            "",
            "Working towards 1.5.2: 0 of 0 done (0% complete)",
            "9 of 3 done (1%)",
            "x of y done (",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
