//! Stop signals (SIGTERM, Ctrl-C) of long-running commands. A second signal exits immediately.

use std::io;
use std::sync::mpsc;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

/// Waits for the first signal to stop. From then on another one ends the process with exit code 3, whatever it is doing.
///
/// Signals are received on a thread and a runtime of their own from now on: the runtime of the command may be busy with
/// what does not end, and a signal that comes right behind the first one is not missed.
pub(crate) fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    let (stop, stopped) = oneshot::channel();
    let (started, outcome) = mpsc::sync_channel(1);
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if let Err(error) = receive(&started, stop) {
            let _ = started.send(Err(error));
        }
    })?;
    outcome.recv().unwrap_or_else(|_| Err(io::Error::other("the signal thread stopped")))?;
    Ok(async move {
        // Without a sender there is nothing left that could be stopped in order.
        let _ = stopped.await;
    })
}

/// Reports that signals are received, passes the first one on, and ends the process at the second.
fn receive(started: &mpsc::SyncSender<io::Result<()>>, stop: oneshot::Sender<()>) -> io::Result<()> {
    let runtime = crate::runtime::build_on_this_thread()?;
    runtime.block_on(async {
        let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let _ = started.send(Ok(()));
        either(&mut terminate, &mut interrupt).await;
        let _ = stop.send(());
        either(&mut terminate, &mut interrupt).await;
        std::process::exit(3);
    })
}

async fn either(terminate: &mut Signal, interrupt: &mut Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
