//! Clusters from snapshots: each is read, assessed and dropped, on several threads.
//!
//! A thread holds one snapshot at a time, and what is kept of it is a few hundred bytes, so memory does not grow with the
//! size of the fleet by more than that. What comes out is in the order of names, whichever thread was faster.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clearway_advice::fleet::{ClusterAssessment, Member, UnusableEvidence};
use clearway_core::{Diagnostic, Timestamp, humanize};
use clearway_sources::clock;
use clearway_sources::snapshot::MANIFEST;

use super::FleetAssessments;
use super::prepared_graph::PreparedGraph;
use crate::arguments::{AsOf, FleetEvidence};
use crate::commands::assess::snapshot_evidence;
use crate::output::{self, LiveLine};

/// How archives of snapshots are named.
const ARCHIVES: [&str; 3] = [".tar", ".tar.gz", ".tgz"];
/// How often progress is shown.
const SHOWN_EVERY: usize = 50;

/// What became of one snapshot, with what is odd about it.
struct SnapshotResult<const GRAPHS: usize> {
    name: String,
    outcome: Result<(Member, [ClusterAssessment; GRAPHS]), String>,
    remarks: Vec<Diagnostic>,
    /// How old the evidence is that is too old to be believed.
    stale: Option<Duration>,
}

/// Assesses every snapshot.
pub(super) fn assess_clusters<const GRAPHS: usize>(
    options: &FleetEvidence,
    grounds: &[PreparedGraph; GRAPHS],
) -> Result<FleetAssessments<GRAPHS>> {
    let mut paths = Vec::new();
    for given in &options.snapshots {
        list(given, &mut paths)?;
    }
    paths.sort();
    paths.dedup();
    let mut assembled = FleetAssessments::default();
    let (now, mut stale) = (clock::now(), Vec::new());
    for read in each(&paths, threads(options), |path| one(path, options, grounds, now))? {
        stale.extend(read.stale);
        for remark in read.remarks {
            output::print_note!("{}: {}", output::printable(&read.name), output::printable(&remark.message));
        }
        match read.outcome {
            Ok(cluster) => assembled.clusters.push(cluster),
            Err(why) => assembled.refused.push(UnusableEvidence { name: read.name, why }),
        }
    }
    if let Some(oldest) = stale.iter().max() {
        output::print_note!(
            "{} of {} snapshots are too old (the oldest: {}), more than --max-age {}; --as-of snapshot evaluates each at \
             the time it was taken",
            stale.len(),
            paths.len(),
            humanize(*oldest),
            humanize(options.time.max_age),
        );
    }
    Ok(assembled)
}

fn threads(options: &FleetEvidence) -> usize {
    let wanted = options.threads.map(usize::from);
    wanted.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from))
}

/// The snapshots that a path stands for: itself, or what is in it. What is in it and looks like one is taken for one, so
/// that a broken one is refused by name and not passed over.
fn list(path: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let failed = || format!("cannot read {}", path.display());
    if !fs::metadata(path).with_context(failed)?.is_dir() || path.join(MANIFEST).exists() {
        found.push(path.to_owned());
        return Ok(());
    }
    let before = found.len();
    for entry in fs::read_dir(path).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_archive = ARCHIVES.iter().any(|ending| name.ends_with(ending));
        // Only a link has to be followed to know what it is. One that leads nowhere may have been a snapshot, and is refused.
        let is_directory = || match entry.file_type() {
            Ok(kind) if !kind.is_symlink() => kind.is_dir(),
            _ => !fs::metadata(entry.path()).is_ok_and(|found| found.is_file()),
        };
        if !name.starts_with('.') && (is_archive || is_directory()) {
            found.push(entry.path());
        }
    }
    if found.len() == before {
        bail!("no snapshots found in {}: neither directories nor archives (.tar, .tar.gz, .tgz)", path.display());
    }
    Ok(())
}

/// Does some work for each path, on several threads; the results are in the order of the paths.
fn each<T: Send>(paths: &[PathBuf], threads: usize, work: impl Fn(&Path) -> Result<T> + Sync) -> Result<Vec<T>> {
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let progress = Mutex::new(LiveLine::new());
    let worker = || {
        let mut made: Vec<(usize, Result<T>)> = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = paths.get(at) else { return made };
            let result = work(path);
            if result.is_err() {
                // The graph's source fails for every snapshot, so no thread starts another one.
                next.store(paths.len(), Ordering::Relaxed);
            }
            made.push((at, result));
            let count = done.fetch_add(1, Ordering::Relaxed) + 1;
            if count.is_multiple_of(SHOWN_EVERY)
                && let Ok(mut line) = progress.try_lock()
            {
                line.set(&format!("assessed {count} of {} snapshots", paths.len()));
            }
        }
    };
    let mut made: Vec<(usize, Result<T>)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(paths.len()).max(1)).map(|_| scope.spawn(worker)).collect();
        let joined = workers.into_iter().map(thread::ScopedJoinHandle::join);
        joined.flat_map(|made| made.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    made.sort_by_key(|(at, _)| *at);
    made.into_iter().map(|(_, result)| result).collect()
}

/// Reads one snapshot and assesses it under every graph.
fn one<const GRAPHS: usize>(
    path: &Path,
    options: &FleetEvidence,
    grounds: &[PreparedGraph; GRAPHS],
    now: Timestamp,
) -> Result<SnapshotResult<GRAPHS>> {
    let name = path.display().to_string();
    let refused = |why: String, remarks| SnapshotResult {
        name: path.display().to_string(),
        outcome: Err(why),
        remarks,
        stale: None,
    };
    // Opening a pipe without a writer would block.
    if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return Ok(refused("neither a directory nor a file".to_owned(), Vec::new()));
    }
    let (kept, remarks) = match snapshot_evidence::open(path, options.shared_store) {
        Ok(opened) => opened,
        Err(error) => return Ok(refused(error.to_string(), Vec::new())),
    };
    let about = kept.about();
    let Some(version) = about.version else {
        return Ok(refused("the snapshot has no cluster version".to_owned(), remarks));
    };
    let member = Member {
        name: name.clone(),
        id: about.id,
        version: version.without_build(),
        channel: options.channel.clone().or(about.channel),
        arch: options.arch.arch.clone().or(about.arch),
    };
    let time = AsOf::time(options.time.as_of, kept.taken_at(), now);
    let age = time.since(kept.taken_at());
    let stale = Some(age).filter(|age| options.time.as_of.is_none() && *age > options.time.max_age);
    let mut standings = Vec::with_capacity(GRAPHS);
    for ground in grounds {
        standings.push(match ground.prepared(&member)? {
            Err(why) => ClusterAssessment::Absent { why },
            Ok(prepared) => prepared.stance.assess(&kept.with_needs(&prepared.needs), time),
        });
    }
    let outcome = match <[ClusterAssessment; GRAPHS]>::try_from(standings) {
        Ok(standings) => Ok((member, standings)),
        Err(_) => unreachable!("there is one assessment for each graph"),
    };
    Ok(SnapshotResult { name, outcome, remarks, stale })
}
