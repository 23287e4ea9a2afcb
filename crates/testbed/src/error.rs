//! What can go wrong while a part of the test bed is started or used.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::missing::MissingComponent;

/// An error of the test bed. A test shows it and fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A program is not installed.
    #[error(transparent)]
    Missing(#[from] MissingComponent),
    /// A file could not be read or written, or a process not started.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// A process does not run: it ended by itself or was killed.
    #[error("{component} does not run; the end of its log:\n{log}")]
    Exited {
        /// The component's name.
        component: String,
        /// The last lines of its log.
        log: String,
    },
    /// A process did not become ready in time.
    #[error("{component} was not ready after {after:?}; the end of its log:\n{log}")]
    NotReady {
        /// The component's name.
        component: String,
        /// How long was waited.
        after: Duration,
        /// The last lines of its log.
        log: String,
    },
    /// A condition did not come true in time.
    #[error("waited {after:?} in vain until {what}")]
    Deadline {
        /// The condition, as text.
        what: String,
        /// How long was waited.
        after: Duration,
    },
    /// A program of the test bed refused its input.
    #[error("{program} failed: {output}")]
    Program {
        /// The program's path.
        program: PathBuf,
        /// What it wrote.
        output: String,
    },
    /// A server of the test bed answered something else than expected.
    #[error("unexpected answer to {request}: {answer}")]
    Answer {
        /// The request, as text.
        request: String,
        /// The answer.
        answer: String,
    },
    /// The API server refused a request, or it could not be sent.
    #[error("request to the API server: {0}")]
    Kube(Box<kube::Error>),
    /// A kubeconfig could not be used.
    #[error("kubeconfig: {0}")]
    Kubeconfig(Box<kube::config::KubeconfigError>),
    /// A certificate could not be made.
    #[error("certificate: {0}")]
    Certificate(#[from] rcgen::Error),
}

impl Error {
    /// For `map_err`: an I/O error with the attempt it belongs to.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// Whether a new attempt with other ports may help.
    pub(crate) fn is_port_collision(&self) -> bool {
        matches!(self, Self::Exited { log, .. } | Self::NotReady { log, .. } if log.contains("address already in use"))
    }
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        Self::Kube(Box::new(error))
    }
}

impl From<kube::config::KubeconfigError> for Error {
    fn from(error: kube::config::KubeconfigError) -> Self {
        Self::Kubeconfig(Box::new(error))
    }
}

/// The result of a call to the test bed.
pub type Result<T, E = Error> = std::result::Result<T, E>;
