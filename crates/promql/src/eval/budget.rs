//! How much an evaluation may do before it is refused.

use crate::error::{Code, Error};
use crate::syntax::ast::Span;

/// Counts what is done, and asks now and then whether to go on.
pub(crate) struct Budget<'a> {
    limit: u64,
    left: u64,
    /// How much may be done until it is asked again.
    until_asked: u64,
    stop: Option<&'a dyn Fn() -> bool>,
}

/// So many samples are looked at between two questions whether to stop: a fraction of a millisecond.
const STRETCH: u64 = 1 << 16;

impl<'a> Budget<'a> {
    pub(crate) fn new(limit: u64, stop: Option<&'a dyn Fn() -> bool>) -> Self {
        Budget { limit, left: limit, until_asked: 0, stop }
    }

    /// Takes so many samples from the budget, at least one.
    pub(crate) fn charge(&mut self, samples: usize, span: Span) -> Result<(), Error> {
        let samples = (samples as u64).max(1);
        let Some(left) = self.left.checked_sub(samples) else {
            let message = format!("The evaluation takes more than {} samples.", self.limit);
            let help = "Select fewer series, a shorter range or larger steps.";
            return Err(Error::new(Code::Budget, span, message, help));
        };
        self.left = left;
        if let Some(rest) = self.until_asked.checked_sub(samples) {
            self.until_asked = rest;
            return Ok(());
        }
        self.until_asked = STRETCH;
        if self.stop.is_some_and(|stop| stop()) {
            let help = "Raise the time limit, or select fewer series or a shorter range.";
            return Err(Error::new(Code::Stopped, span, "The evaluation was stopped.", help));
        }
        Ok(())
    }
}
