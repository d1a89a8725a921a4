//! A network inside turmoil: hosts, packets and times are simulated, and drawn from a seed (M-11).
//!
//! Two things turmoil does not have are made here, where connections are handed out: a connection that is broken on purpose, by one side or by
//! the network, and a host that is there while its server is not, so that connecting to it is refused at once.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;
use turmoil::net::{TcpListener, TcpStream};

use super::Network;
use reenact_wire::prelude::*;

/// The network of one simulation, as its hosts have it.
#[derive(Clone, Debug, Default)]
pub struct SimulatedNetwork {
    /// A cell that wakes those who look at it: connections belong to several runtimes.
    state: watch::Sender<ConnectionState>,
}

#[derive(Debug, Default)]
struct ConnectionState {
    /// How often everything broke.
    resets: u64,
    /// The connections, by their client's address, that one side breaks when it closes.
    broken: BTreeSet<SocketAddr>,
    /// Whether the server's process is gone.
    is_down: bool,
}

impl SimulatedNetwork {
    /// All connections break now.
    pub fn reset(&self) {
        self.state.send_modify(|state| state.resets += 1);
    }

    /// The server's process ends.
    pub fn server_gone(&self) {
        self.state.send_modify(|state| state.is_down = true);
    }

    /// It is started again.
    pub fn server_back(&self) {
        self.state.send_modify(|state| state.is_down = false);
    }

    fn stream(&self, tcp: TcpStream, client: SocketAddr) -> SimulatedStream {
        let mut receiver = self.state.subscribe();
        let resets = receiver.borrow().resets;
        let reset = async move {
            // The sender cannot be gone: the stream holds one.
            let _ = receiver.wait_for(|state| state.resets > resets).await;
        };
        SimulatedStream { tcp, client, network: self.clone(), reset: Box::pin(reset), is_reset: false }
    }
}

/// A connection.
pub struct SimulatedStream {
    tcp: TcpStream,
    /// The client's end, which names the connection.
    client: SocketAddr,
    network: SimulatedNetwork,
    /// Comes when the network breaks it.
    reset: Pin<Box<dyn Future<Output = ()> + Send>>,
    is_reset: bool,
}

impl SimulatedStream {
    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        self.is_reset = self.is_reset || self.reset.as_mut().poll(context).is_ready();
        if self.is_reset { Err(ErrorKind::ConnectionReset.into()) } else { Ok(()) }
    }

    fn is_broken(&self) -> bool {
        self.network.state.borrow().broken.contains(&self.client)
    }
}

impl AsyncRead for SimulatedStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.check(context)?;
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.tcp).poll_read(context, buffer);
        let is_end = matches!(read, Poll::Ready(Ok(()))) && buffer.filled().len() == before && buffer.remaining() > 0;
        // The end travels like any packet, so that a break comes when its time is.
        if is_end && self.is_broken() { Poll::Ready(Err(ErrorKind::ConnectionReset.into())) } else { read }
    }
}

impl AsyncWrite for SimulatedStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.check(context)?;
        Pin::new(&mut self.tcp).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(context)
    }
}

impl Network for SimulatedNetwork {
    type Stream = SimulatedStream;
    type Listener = (TcpListener, SimulatedNetwork);

    async fn connect(&self, host: &str, port: u16) -> io::Result<SimulatedStream> {
        if self.state.borrow().is_down {
            return Err(ErrorKind::ConnectionRefused.into());
        }
        let tcp = TcpStream::connect((host, port)).await?;
        let client = tcp.local_addr()?;
        Ok(self.stream(tcp, client))
    }

    async fn bind(&self, address: SocketAddr) -> io::Result<Self::Listener> {
        // A host has one address here, whatever it is called.
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await?;
        Ok((listener, self.clone()))
    }

    fn address((listener, _): &Self::Listener) -> io::Result<SocketAddr> {
        listener.local_addr()
    }

    async fn accept((listener, network): &Self::Listener) -> io::Result<(SimulatedStream, SocketAddr)> {
        let (tcp, client) = listener.accept().await?;
        Ok((network.stream(tcp, client), client))
    }

    fn break_on_close(stream: &SimulatedStream) {
        stream.network.state.send_modify(|state| {
            state.broken.insert(stream.client);
        });
    }
}
