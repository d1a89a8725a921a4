//! Markers: the signs by which a tool shows that it runs (K-9).
//!
//! A tool of the scenario makes a file in the client's folder, prints a line that the client prints, or opens a connection to a port of ours.

use core::convert::Infallible;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::process_message::ClientSign;
use crate::network::LOOPBACK;
use reenact_wire::prelude::*;

/// The variable with the URL that a tool opens to show that it runs.
pub(super) const VARIABLE: &str = "REENACT_MARKER_URL";

/// How often the file is looked for.
const LOOK: Duration = Duration::from_millis(5);

/// How long a tool may take to send its request.
const REQUEST_TIME_MAX: Duration = Duration::from_millis(500);

const ANSWER: &[u8] = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";

/// The port that tools open, and the file that they make.
#[derive(Debug)]
pub(super) struct MarkerPlaces {
    port: TcpListener,
    file: Option<PathBuf>,
}

impl MarkerPlaces {
    pub(super) async fn open(file: Option<PathBuf>) -> std::io::Result<Self> {
        Ok(Self { port: TcpListener::bind(LOOPBACK).await?, file })
    }

    /// The value of [`VARIABLE`].
    pub(super) fn url(&self) -> std::io::Result<String> {
        Ok(format!("http://{}/", self.port.local_addr()?))
    }

    /// Tells each marker, until this is dropped.
    pub(super) async fn watch(&self, tell: &mpsc::UnboundedSender<ClientSign>) -> Infallible {
        tokio::join!(self.watch_file(tell), self.watch_port(tell));
        core::future::pending().await
    }

    async fn watch_file(&self, tell: &mpsc::UnboundedSender<ClientSign>) {
        let Some(file) = &self.file else { return };
        // A file that was there before is no marker until it changes.
        let seen = || std::fs::metadata(file).ok().map(|known| (known.modified().unwrap_or(SystemTime::UNIX_EPOCH), known.len()));
        let mut before = seen();
        loop {
            sleep(LOOK).await;
            let now = seen();
            if now.is_some() && now != before {
                // Who does not listen any more wants to know nothing.
                let _ = tell.send(ClientSign::Marker);
            }
            before = now;
        }
    }

    async fn watch_port(&self, tell: &mpsc::UnboundedSender<ClientSign>) {
        while let Ok((stream, _)) = self.port.accept().await {
            let _ = tell.send(ClientSign::Marker);
            let _ = timeout(REQUEST_TIME_MAX, answer(stream)).await;
        }
    }
}

/// A client of HTTP wants an answer; another one is gone.
async fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let _ = stream.read(&mut [0; 1024]).await?;
    stream.write_all(ANSWER).await?;
    stream.shutdown().await
}
