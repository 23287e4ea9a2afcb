//! The log of long-running commands, on standard error.

use std::io::{self, Write};

use anyhow::{Context as _, Result};
use clearway_core::terminal_text::{escape_json, escape_record};
use tracing_subscriber::EnvFilter;

use crate::arguments::{LogFormat, Logging};

/// Writes the log from now on.
pub(crate) fn start(options: &Logging) -> Result<()> {
    let filter = EnvFilter::try_new(&options.log).with_context(|| format!("`{}` is not a log filter", options.log))?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| EscapedStderr)
        .with_target(false)
        // Styles could not be told from those that foreign text brings along.
        .with_ansi(false);
    // The demo may have started one; then it goes on with that.
    let _ = match options.log_format {
        LogFormat::Text => log.compact().try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
    Ok(())
}

/// Standard error, on which foreign text can neither drive a terminal nor begin a record. The subscriber writes whole records.
struct EscapedStderr;

impl Write for EscapedStderr {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        // In a log that is JSON all controls are escaped already, and what is left stands in strings.
        let escaped = if text.starts_with('{') { escape_json(&text) } else { escape_record(&text).into() };
        io::stderr().write_all(escaped.as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
