//! Series in files: text exposition, `OpenMetrics`, answers of Prometheus' HTTP API, snapshots; and in directories: a
//! snapshot, or files `*.prom`.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use clearway_core::{Limits, Timestamp};
use clearway_promql::read::{self, ApiError, ReadLimits};
use clearway_promql::{Millis, Series};
use clearway_sources::metrics_directory;
use clearway_sources::snapshot::{self, LoadedSnapshot, MANIFEST, Part};

use crate::arguments::SeriesFormat;
use crate::output;

/// The bytes of a file, or of standard input, as far as the limit for files goes.
pub(crate) fn input(file: &Path) -> Result<Vec<u8>> {
    let limit = Limits::default().file_bytes;
    let mut bytes = Vec::new();
    let read = if file.as_os_str() == "-" {
        std::io::stdin().take(limit + 1).read_to_end(&mut bytes).context("cannot read standard input")
    } else {
        let opened = fs::File::open(file).and_then(|file| file.take(limit + 1).read_to_end(&mut bytes));
        opened.with_context(|| format!("cannot read {}", file.display()))
    };
    if read? as u64 > limit {
        bail!("{} is larger than {limit} bytes", file.display());
    }
    Ok(bytes)
}

/// The first bytes of files that are packed with gzip and zstd.
const PACKED: [&[u8]; 2] = [b"\x1f\x8b", b"\x28\xb5\x2f\xfd"];
/// What an unpacked archive has at this place.
const TAR: (usize, &[u8]) = (257, b"ustar");

/// The series of a file, a directory or standard input. Samples without a time are of `now`.
pub(crate) fn open(path: &Path, format: SeriesFormat, now: Timestamp) -> Result<Series> {
    if path.is_dir() {
        if path.join(MANIFEST).exists() {
            let loaded = snapshot::read(path, &Limits::default());
            return of_snapshot(loaded.with_context(|| format!("cannot read {}", path.display()))?);
        }
        return metrics_directory::series(path, now).map_err(|why| anyhow!(why));
    }
    let (bytes, name) = (input(path)?, path.display());
    if format == SeriesFormat::Auto && is_archive(&bytes) {
        let loaded = snapshot::read_archive(bytes.as_slice(), &Limits::default());
        return of_snapshot(loaded.with_context(|| format!("cannot read {name}"))?);
    }
    let at = Millis(now.as_seconds().saturating_mul(1_000));
    read(&bytes, format, at).map_err(|error| anyhow!("{name}: {error}"))
}

fn is_archive(bytes: &[u8]) -> bool {
    PACKED.iter().any(|start| bytes.starts_with(start))
        || bytes.get(TAR.0..).is_some_and(|rest| rest.starts_with(TAR.1))
}

/// The series of what `clearway snapshot collect` wrote.
fn of_snapshot(loaded: LoadedSnapshot) -> Result<Series> {
    for diagnostic in &loaded.diagnostics {
        output::print_diagnostic(diagnostic);
    }
    match loaded.snapshot.series {
        Part::Collected(found) => Ok(found.series),
        Part::NotCollected { why } => bail!("the snapshot has no series: {why}"),
    }
}

/// Reads series in the given format, or in the one the bytes look like.
fn read(bytes: &[u8], format: SeriesFormat, now: Millis) -> std::result::Result<Series, String> {
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
