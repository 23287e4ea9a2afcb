//! Tokio runtimes. No other module builds one.

use std::io;

use anyhow::{Context as _, Result};
use tokio::runtime::{Builder, Runtime};

/// A runtime on the calling thread: it makes progress only while that thread blocks on it.
pub(crate) fn on_this_thread() -> Result<Runtime> {
    build_on_this_thread().context("cannot start a runtime")
}

/// The same, with the error of the system for callers that report one.
pub(crate) fn build_on_this_thread() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// A runtime with worker threads, which go on while the calling thread computes.
pub(crate) fn with_workers(threads: usize) -> Result<Runtime> {
    Builder::new_multi_thread().worker_threads(threads).enable_all().build().context("cannot start a runtime")
}

/// A runtime with named worker threads and a limit on threads for blocking work.
pub(crate) fn with_named_workers(name: &str, threads: usize, blocking_threads: usize) -> Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(threads).max_blocking_threads(blocking_threads).thread_name(name);
    builder.enable_all().build().with_context(|| format!("cannot start the {name} threads"))
}

/// Runs a future to its end on the calling thread.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> Result<T> {
    Ok(on_this_thread()?.block_on(work))
}
