//! The configuration of a connection: from a kubeconfig file, from what `kubectl` would use, or from the pod.

use std::path::Path;

use clearway_core::suggestion::did_you_mean;
use kube::config::{KubeConfigOptions, Kubeconfig};

use super::{ClusterError, Connection};
use crate::http::{innermost, install_tls};

/// Reads the configuration that a connection names. Nothing is sent, and no credential plug-in is run.
pub(super) async fn load(connection: &Connection) -> Result<kube::Config, ClusterError> {
    install_tls();
    let why = |error: &dyn std::error::Error| ClusterError::Config { why: chain(error) };
    let unread = |path: &Path, error: &(dyn std::error::Error + 'static)| ClusterError::Config {
        why: format!("the kubeconfig {} cannot be read: {}", path.display(), innermost(error)),
    };
    let options = KubeConfigOptions { context: connection.context.clone(), ..KubeConfigOptions::default() };
    match &connection.kubeconfig {
        Some(path) => {
            let kubeconfig = Kubeconfig::read_from(path).map_err(|error| unread(path, &error))?;
            check_context(&kubeconfig, connection.context.as_deref())?;
            kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|error| why(&error))
        }
        None if !connection.is_configured() => {
            let why = "KUBECONFIG is not set, and ~/.kube/config does not exist".to_owned();
            Err(ClusterError::Config { why })
        }
        None if connection.context.is_some() => {
            let kubeconfig = Kubeconfig::read().map_err(|error| why(&error))?;
            check_context(&kubeconfig, connection.context.as_deref())?;
            kube::Config::from_kubeconfig(&options).await.map_err(|error| why(&error))
        }
        None => kube::Config::infer().await.map_err(|error| why(&error)),
    }
}

/// Refuses a context that the kubeconfig does not have, with those that it has.
fn check_context(kubeconfig: &Kubeconfig, context: Option<&str>) -> Result<(), ClusterError> {
    let Some(context) = context else { return Ok(()) };
    let known: Vec<&str> = kubeconfig.contexts.iter().map(|known| known.name.as_str()).collect();
    if known.contains(&context) {
        return Ok(());
    }
    let hint = did_you_mean(context, known.iter().copied());
    let names = if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
    Err(ClusterError::Config { why: format!("the kubeconfig has no context `{context}`{hint}; {names}") })
}

/// All causes, from what was tried to what went wrong.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut causes = vec![error.to_string()];
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        // Many errors repeat their cause in their own text.
        if !causes.iter().any(|seen| seen.contains(&text)) {
            causes.push(text);
        }
        source = cause.source();
    }
    causes.join(": ")
}
