//! Signals that end a command: Ctrl-C, or a service manager. They are caught from the first wait on, so that none is missed.

/// A signal that ends a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum StopSignal {
    /// Ctrl-C was pressed: every process of the same group got it, too.
    Interrupt,
    /// This process alone was asked to end.
    Terminate,
}

/// The signals that this process listens for.
#[derive(Debug)]
#[doc(hidden)]
pub struct StopSignals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

impl StopSignals {
    /// Begins to listen; needs a runtime.
    #[doc(hidden)]
    pub fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for the next signal.
    #[doc(hidden)]
    pub async fn next(&mut self) -> StopSignal {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => StopSignal::Terminate,
            _ = self.interrupt.recv() => StopSignal::Interrupt,
        }
    }
}
