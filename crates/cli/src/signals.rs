//! How a command that keeps running is told to stop: SIGTERM or Ctrl-C. A second signal ends it at once.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Waits for the first signal to stop. From then on another one ends the process, whatever it is doing.
pub(crate) fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        either(&mut terminate, &mut interrupt).await;
        std::thread::spawn(move || {
            // A runtime of its own: that of the command may be busy with what does not end.
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            if let Ok(runtime) = runtime {
                runtime.block_on(async {
                    let (Ok(mut terminate), Ok(mut interrupt)) =
                        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
                    else {
                        return;
                    };
                    either(&mut terminate, &mut interrupt).await;
                    std::process::exit(3);
                });
            }
        });
    })
}

async fn either(terminate: &mut Signal, interrupt: &mut Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
