//! Output of the demo: short lines that fit a small terminal, with the time since its start, and commands that are run
//! exactly as they are printed.

use std::io::{Stdout, Write as _};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::Parser as _;
use clearway_core::terminal_text::escape;

use super::{heading, quoted};
use crate::arguments::{Arguments, Command};
use crate::commands::upgrade;

/// Columns that sentences are wrapped at. Tables and what commands print are as wide as they are.
const WIDTH: usize = 60;

/// Speaks.
pub(super) struct Narrator {
    pub(super) out: anstream::AutoStream<Stdout>,
    start: Instant,
    /// Whether the demo runs until a signal.
    pub(super) stays: bool,
}

impl Narrator {
    pub(super) fn new(stays: bool) -> Self {
        Narrator { out: anstream::stdout(), start: Instant::now(), stays }
    }

    pub(super) fn heading(&mut self, text: &str) -> Result<()> {
        Ok(writeln!(self.out, "\n{}", heading(text))?)
    }

    /// Sentences.
    pub(super) fn prose(&mut self, text: &str) -> Result<()> {
        Ok(write!(self.out, "{}", wrapped("", "", &escape(text)))?)
    }

    /// Prints an event. The time is printed only at a terminal, because it differs each time.
    pub(super) fn say(&mut self, text: &str) -> Result<()> {
        let stamp =
            if self.stays { format!("{:>5.1}s  ", self.start.elapsed().as_secs_f64()) } else { "• ".to_owned() };
        let margin = " ".repeat(stamp.chars().count());
        Ok(write!(self.out, "{}", wrapped(&stamp, &margin, &escape(text)))?)
    }

    /// Lines as they are.
    pub(super) fn lines(&mut self, text: &str) -> Result<()> {
        Ok(writeln!(self.out, "{}", escape(text))?)
    }

    /// Runs `clearway upgrade` on a state directory, as with `CLEARWAY_STATE` in the environment.
    pub(super) async fn upgrade(&mut self, state: &Path, words: &[&str]) -> Result<()> {
        let shown: Vec<String> = ["clearway", "upgrade"].iter().chain(words).map(|word| quoted(word)).collect();
        let style = anstyle::Style::new().bold();
        writeln!(self.out, "\n{style}$ {}{style:#}\n", shown.join(" "))?;
        self.out.flush()?;
        let state = state.display().to_string();
        let words: Vec<&str> = [&["clearway", "upgrade", "--state", &state], words].concat();
        let Command::Upgrade(options) = Arguments::try_parse_from(words)?.command else {
            bail!("`clearway upgrade` is not the upgrade command");
        };
        // It waits by itself, which must not be done on a thread of this runtime.
        tokio::task::spawn_blocking(move || upgrade::run(&options)).await.context("the command stopped early")??;
        Ok(())
    }
}

/// Words on lines that are not too long; a word that is too long alone has a line.
fn wrapped(first: &str, margin: &str, text: &str) -> String {
    let mut lines = String::new();
    let mut line = first.to_owned();
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push_str(line.trim_end());
            lines.push('\n');
            margin.clone_into(&mut line);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    lines + line.trim_end() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_a_small_terminal() {
        let text = "one two ".repeat(30) + &"x".repeat(70) + " end";
        let told = wrapped("  1.0s  ", "        ", &text);
        let mut lines = told.lines();
        assert!(lines.next().unwrap().starts_with("  1.0s  one two"));
        for line in lines {
            assert!(line.starts_with("        ") && (line.len() <= WIDTH || line.trim().len() == 70), "{line:?}");
        }
        assert_eq!(wrapped("", "", ""), "\n");
    }
}
