//! What came of a test program.

use std::fmt;
use std::process::ExitStatus;
use std::time::Duration;

/// How many tests there were.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    passed: u32,
    failed: u32,
    ignored: u32,
}

/// A program that has ended.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) label: String,
    pub(super) success: bool,
    /// The exit status, in words.
    how: String,
    pub(super) counts: Counts,
    pub(super) output: String,
    took: Duration,
    processor_time: Duration,
}

impl Counts {
    /// The sums of all lines such as `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out`.
    fn read(output: &str) -> Self {
        let mut counts = Counts::default();
        for line in output.lines().filter(|line| line.starts_with("test result: ")) {
            let number = |word: &str| {
                let before = line.split_once(&format!(" {word}"))?.0;
                before.rsplit([' ', '.']).next()?.parse::<u32>().ok()
            };
            let read = |word: &str| number(word).unwrap_or_default();
            counts.add(&Counts { passed: read("passed"), failed: read("failed"), ignored: read("ignored") });
        }
        counts
    }

    pub(super) fn add(&mut self, other: &Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.ignored)
    }
}

impl Outcome {
    /// `status` is none if the program was stuck.
    pub(super) fn new(
        label: String,
        status: Option<ExitStatus>,
        took: Duration,
        processor_time: Duration,
        output: &str,
    ) -> Self {
        let (success, how) = match status {
            Some(status) => (status.success(), status.to_string()),
            None => (false, "it did not end, and was killed".to_owned()),
        };
        Outcome { label, success, how, counts: Counts::read(output), output: output.to_owned(), took, processor_time }
    }

    /// The program and how it ended, if it failed.
    pub(super) fn failure(&self) -> Option<String> {
        (!self.success).then(|| format!("{} ({})", self.label, self.how))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.success { "ok" } else { "FAILED" };
        let (took, processor_time) = (self.took.as_secs(), self.processor_time.as_secs());
        write!(f, "{word:<6} {:<34} {took:>4} s, {processor_time:>4} s CPU  {}", self.label, self.counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_counted() {
        let output = "running 4 tests\ntest a ... ok\n\ntest result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n";
        assert_eq!(Counts::read(output), Counts { passed: 2, failed: 1, ignored: 1 });
        assert_eq!(Counts::read("thread 'main' panicked"), Counts::default());
    }

    #[test]
    fn a_program_that_was_stuck_has_failed() {
        let outcome = Outcome::new("a/b".to_owned(), None, Duration::from_secs(3), Duration::from_secs(2), "");
        assert!(!outcome.success);
        assert_eq!(
            outcome.to_string(),
            format!("FAILED {:<34}    3 s,    2 s CPU  0 passed, 0 failed, 0 skipped", "a/b")
        );
    }
}
