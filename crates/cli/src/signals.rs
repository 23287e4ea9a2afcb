//! Stop signals (SIGTERM, Ctrl-C) of long-running commands. A second signal exits immediately.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

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

/// While this is kept, Ctrl-C is left to a program that was started; afterwards it ends this process with exit code 3.
pub(crate) struct IgnoredInterrupts(Arc<AtomicBool>);

impl Drop for IgnoredInterrupts {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Leaves Ctrl-C to a program that reads the terminal. Without a thread to receive signals it ends this process, too.
pub(crate) fn ignore_interrupts() -> IgnoredInterrupts {
    let ignored = Arc::new(AtomicBool::new(true));
    let (kept, (started, outcome)) = (Arc::clone(&ignored), mpsc::sync_channel(1));
    let thread = std::thread::Builder::new().name("interrupts".to_owned()).spawn(move || {
        let Ok(runtime) = crate::runtime::build_on_this_thread() else { return };
        runtime.block_on(async {
            let Ok(mut interrupt) = signal(SignalKind::interrupt()) else { return };
            let _ = started.send(());
            while interrupt.recv().await.is_some() {
                if !kept.load(Ordering::Relaxed) {
                    std::process::exit(3);
                }
            }
        });
    });
    if thread.is_ok() {
        let _ = outcome.recv();
    }
    IgnoredInterrupts(ignored)
}
