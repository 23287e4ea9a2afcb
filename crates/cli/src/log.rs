//! The log of commands that keep running, on standard error.

use std::io::IsTerminal as _;

use anyhow::{Context as _, Result};
use tracing_subscriber::EnvFilter;

use crate::arguments::LogFormat;

/// Writes the log from now on.
pub(crate) fn start(format: LogFormat, filter: &str) -> Result<()> {
    let filter = EnvFilter::try_new(filter).with_context(|| format!("`{filter}` is no filter for the log"))?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false)
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none());
    // The demo may have started one; then it goes on with that.
    let _ = match format {
        LogFormat::Text => log.compact().try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
    Ok(())
}
