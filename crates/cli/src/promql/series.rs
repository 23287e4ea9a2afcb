//! Series in files: text exposition, `OpenMetrics`, answers of Prometheus' HTTP API, snapshots.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use clearway_core::Limits;
use clearway_promql::read::{self, ApiError, ReadLimits};
use clearway_promql::{Millis, Series};

use crate::arguments::SeriesFormat;

/// The bytes of a file, or of standard input, as far as the limit for files goes.
pub(crate) fn input(file: &Path) -> Result<Vec<u8>> {
    let limit = Limits::default().file_bytes;
    let mut bytes = Vec::new();
    let read = if file.as_os_str() == "-" {
        std::io::stdin().take(limit + 1).read_to_end(&mut bytes).context("standard input cannot be read")
    } else {
        let opened = fs::File::open(file).and_then(|file| file.take(limit + 1).read_to_end(&mut bytes));
        opened.with_context(|| format!("{} cannot be read", file.display()))
    };
    if read? as u64 > limit {
        bail!("{} is larger than {limit} bytes", file.display());
    }
    Ok(bytes)
}

/// Reads series in the given format, or in the one the bytes look like.
pub(crate) fn read(bytes: &[u8], format: SeriesFormat, now: Millis) -> std::result::Result<Series, String> {
    let limits = ReadLimits::default();
    let trimmed = bytes.trim_ascii();
    let format = match format {
        SeriesFormat::Auto if bytes.starts_with(read::SNAPSHOT_HEADER.as_bytes()) => SeriesFormat::Snapshot,
        SeriesFormat::Auto if trimmed.ends_with(b"# EOF") => SeriesFormat::Openmetrics,
        // Text exposition may start with a brace, too, but then a line of it ends with a number.
        SeriesFormat::Auto if trimmed.starts_with(b"{") && trimmed.ends_with(b"}") => SeriesFormat::Api,
        SeriesFormat::Auto => SeriesFormat::Text,
        other => other,
    };
    match format {
        SeriesFormat::Text | SeriesFormat::Auto => read::text(bytes, now, &limits).map_err(|error| error.to_string()),
        SeriesFormat::Openmetrics => read::open_metrics(bytes, now, &limits).map_err(|error| error.to_string()),
        SeriesFormat::Snapshot => read::snapshot(bytes, &limits).map_err(|error| error.to_string()),
        SeriesFormat::Api => {
            let answer = read::api(bytes, &limits).map_err(|error: ApiError| error.to_string())?;
            answer.into_series(limits.capacity).map_err(|error| error.to_string())
        }
    }
}
